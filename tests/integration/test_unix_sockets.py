"""Unix sockets of the real peer: who may use them, what may be in their place at the start, and what remains at the
end."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.clients import SECONDS, HttpClient, RpcError, UnixHttpClient, UnixWebSocketClient, UnixZmqClient
from support.peer import BINARY, Peer, environment, run_to_end
from support.peer_case import PeerCase

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call",
                   "params": {"type": "java.lang.Math", "method": "max", "args": [3, 5]}})
UNIX_CLIENTS = (UnixWebSocketClient, UnixHttpClient, UnixZmqClient)
STRANGER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
CAN_BE_A_STRANGER = os.geteuid() == 0 and shutil.which("setpriv") is not None
NO_STRANGER = "needs root and setpriv to be another user"

ZMQ_STRANGER = """
import sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.linger = 0
socket.connect(sys.argv[1])
socket.send(sys.argv[2].encode())
print(socket.recv().decode() if socket.poll(2000) else "nothing")
"""


def curl(path, *arguments, url="http://localhost/rpc", body=CALL, before=()):
    """Runs curl. Returns (status, body)."""
    done = subprocess.run([*before, "curl", "--silent", "--max-time", str(SECONDS), "--unix-socket", path, "--header",
                           "Content-Type: application/json", "--data", body, "--write-out", "\n%{http_code}",
                           *arguments, url], capture_output=True, text=True, check=False)
    content, _, status = done.stdout.rpartition("\n")
    return int(status), content


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def leave_stale_socket(path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)


class Serving(PeerCase):
    options = ("--rpc-threads", "1", "--allow-origin", "https://app.test")
    peer_arguments = {"sockets": True}

    def setUp(self):
        super().setUp()
        self.json, self.zmq = self.peer.socket_path("ws+unix"), self.peer.socket_path("ipc")

    def test_the_addresses_are_announced(self):
        self.assertEqual([address for address in self.peer.facts["addresses"] if self.peer.folder.name in address],
                         [f"ws+unix:{self.json}", f"http+unix:{self.json}", f"ipc://{self.zmq}"])
        self.assertIn(f", ws+unix:{self.json}, http+unix:{self.json}", self.peer.stderr())

    def test_other_users_cannot_open_the_files(self):
        self.assertEqual([mode_of(self.json), mode_of(self.zmq)], [0o600, 0o600])
        self.assertEqual([name for name in os.listdir(self.peer.folder.name) if name.endswith(".lock")], [])

    def test_a_session_is_found_from_a_unix_socket_and_from_tcp(self):
        one = self.connect(UnixHttpClient)
        ref = one.new("java.util.ArrayList")
        other = self.connect(HttpClient, one.peer_id)
        self.assertEqual(other.call("java.util.List", "size", on=ref), "0")

    def test_large_messages_pass_both_ways(self):
        text = "x" * 3_000_000
        for client in self.each(*UNIX_CLIENTS):
            self.assertEqual(client.call("java.lang.String", "concat", "y", on={"type": "java.lang.String",
                                                                                "value": text}), text + "y")

    def test_every_host_is_served_there_and_no_foreign_page(self):
        self.assertEqual(curl(self.json, url="http://peer.example/rpc")[0], 200)
        self.assertEqual(curl(self.json, "--header", "Origin: https://evil.test")[0], 403)
        self.assertEqual(curl(self.json, "--header", "Origin: https://app.test")[0], 200)

    def test_a_head_from_a_unix_socket_opens_nothing_on_tcp(self):
        # The one thread keeps the head, which is the same in every byte.
        headers = {"Host": "rebound.example"}
        for kind, status in ((UnixHttpClient, 200), (HttpClient, 403), (UnixHttpClient, 200)):
            with kind(self.peer) as client:
                self.assertEqual([client.post(CALL, headers)[0].status for _ in range(2 if status == 200 else 1)],
                                 [status] * (2 if status == 200 else 1))


@unittest.skipUnless(CAN_BE_A_STRANGER, NO_STRANGER)
class Strangers(PeerCase):
    def test_another_user_is_kept_out_by_the_mode_and_by_the_peer(self):
        peer = self.start(sockets=True)
        path, endpoint = peer.socket_path("ws+unix"), peer.address("ipc")
        os.chmod(peer.folder.name, 0o755)
        for mode in (0o600, 0o666):  # the mode at the start, and a mode that somebody has set later
            os.chmod(path, mode)
            os.chmod(peer.socket_path("ipc"), mode)
            with self.subTest(mode=oct(mode)):
                self.assertEqual(curl(path, before=STRANGER), (0, ""))
                done = subprocess.run([*STRANGER, sys.executable, "-c", ZMQ_STRANGER, endpoint, CALL],
                                      capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout, "nothing\n")
            self.assertEqual("a connection of user 65534" in peer.stderr(), mode == 0o666)
        self.assertEqual(curl(path)[0], 200)

    def test_root_is_another_user_too(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            run = os.path.join(folder, "run")
            os.mkdir(run)
            os.chown(run, 65534, 65534)
            # The build folder may be closed to others: the binary is opened before the user changes.
            path = os.path.join(run, "json")
            process = subprocess.Popen([*STRANGER, BINARY, "run", "--as-service", "--json-rpc", f"unix:{path}"],
                                       stderr=subprocess.PIPE, text=True, cwd=run, env=environment())
            try:
                lines = []
                for line in process.stderr:
                    lines.append(line)
                    if "jpeer ready" in line:
                        break
                else:
                    self.skipTest(f"the peer does not run as another user here: {lines}")
                self.assertEqual(curl(path), (0, ""))
                self.assertIn("a connection of user 0", process.stderr.readline())
                status, _ = curl(path, before=STRANGER)
                self.assertEqual(status, 200)
            finally:
                process.terminate()
                process.wait()
                process.stderr.close()


class Starts(PeerCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-unix-"))
        self.json, self.zmq = (os.path.join(self.folder, name) for name in ("json", "zmq"))
        self.words = ("--json-rpc", f"unix:{self.json}", "--zmq-rpc", f"ipc://{self.zmq}")

    def start_here(self):
        return Peer(*self.words, addresses=False)

    def refuse(self, *options, status=1):
        """Starts a peer that must fail. Returns its error."""
        done = run_to_end("run", "--as-service", *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_sigterm_and_the_end_of_the_application_remove_the_files(self):
        with self.start_here() as peer:
            self.assertEqual(sorted(os.listdir(self.folder)), ["json", "zmq"])
            self.assertEqual(peer.stop(signal.SIGTERM), 0)
            self.assertEqual(os.listdir(self.folder), [])
        with self.start_here() as peer:
            with UnixWebSocketClient(peer) as client:
                client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"java.lang.System",'
                            '"method":"exit","args":[7]}}')
                self.assertEqual(peer.wait(), 7)
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_start_that_fails_leaves_no_file(self):
        self.assertIn("is not a socket", self.refuse("--json-rpc", f"unix:{self.json}", "--zmq-rpc",
                                                     f"ipc://{self.folder}"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_a_killed_peer_left_is_replaced(self):
        with self.start_here() as peer:
            peer.process.kill()
            peer.process.wait()
            self.assertEqual(sorted(os.listdir(self.folder)), ["json", "zmq"])
            with self.start_here() as second:
                for kind in UNIX_CLIENTS:
                    with self.subTest(kind.name), kind(second) as client:
                        self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
            peer.process.returncode = 0  # killed by this test

    def test_a_live_socket_is_not_replaced(self):
        with self.start_here() as peer:
            self.assertIn(f"{self.json}: it is in use", self.refuse("--json-rpc", f"unix:{self.json}"))
            self.assertIn(f"{self.zmq}: it is in use", self.refuse("--zmq-rpc", f"ipc://{self.zmq}"))
            for kind in UNIX_CLIENTS:
                with self.subTest(kind.name), kind(peer) as client:
                    self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")

    def test_one_of_two_peers_that_start_at_once_gets_a_stale_path(self):
        leave_stale_socket(self.json)
        command = [BINARY, "run", "--as-service", "--json-rpc", f"unix:{self.json}"]
        starting = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) for _ in range(4)]
        ready = [process for process in starting if any("jpeer ready" in line for line in process.stderr)]
        self.assertEqual(len(ready), 1)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.json)
        for process in starting:
            process.terminate()
            process.wait()
            process.stderr.close()
        self.assertEqual(sorted(process.returncode for process in starting), [0, 1, 1, 1])

    def test_a_file_that_is_no_socket_stays(self):
        Path(self.json).write_text("mine", encoding="ascii")
        os.mkdir(self.zmq)
        self.assertIn("it exists, and is not a socket", self.refuse("--json-rpc", f"unix:{self.json}"))
        self.assertIn("it exists, and is not a socket", self.refuse("--zmq-rpc", f"ipc://{self.json}"))
        self.assertIn("it exists, and is not a socket", self.refuse("--json-rpc", f"unix:{self.zmq}"))
        self.assertEqual(Path(self.json).read_text(encoding="ascii"), "mine")

    def test_impossible_paths_are_reported(self):
        self.assertIn("its folder", self.refuse("--json-rpc", f"unix:{self.folder}/no/json"))
        self.assertIn("at most 107 bytes", self.refuse("--json-rpc", f"unix:/tmp/{'x' * 103}", status=2))
        self.assertIn("at most 107 bytes", self.refuse("--zmq-rpc", f"ipc:///tmp/{'x' * 103}", status=2))
        self.assertIn("an abstract name has no mode", self.refuse("--json-rpc", "unix:@name", status=2))

    def test_a_relative_path_is_announced_as_an_absolute_one(self):
        process = subprocess.Popen([BINARY, "run", "--as-service", "--rpc-default-action", "ALLOW", "--json-rpc",
                                    "unix:rel"], stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   env=environment())
        ready = next(line for line in process.stderr if "jpeer ready" in line)
        self.assertIn(f", ws+unix:{self.folder}/rel, http+unix:{self.folder}/rel\n", ready)
        self.assertEqual(curl(os.path.join(self.folder, "rel"))[0], 200)
        process.terminate()
        self.assertEqual(process.wait(), 0)
        process.stderr.close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_anothers_file_is_not_removed(self):
        with self.start_here() as peer:
            for path in (self.json, self.zmq):
                os.unlink(path)
                leave_stale_socket(path)
            self.assertEqual(peer.stop(), 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["json", "zmq"])

    def test_the_clients_of_unix_sockets_share_the_limit_of_an_address(self):
        self.start("--sessions-per-address", "2", sockets=True)
        one = self.connect(UnixWebSocketClient)
        two = self.connect(UnixWebSocketClient)
        three = self.connect(UnixWebSocketClient)
        other = self.connect()
        one.new("java.util.ArrayList")
        two.new("java.util.ArrayList")
        with self.assertRaisesRegex(RpcError, "sessions-per-address"):
            three.new("java.util.ArrayList")
        other.new("java.util.ArrayList")

    def test_a_peer_without_a_port_describes_itself(self):
        with self.start_here() as peer, UnixHttpClient(peer) as client:
            self.assertEqual([server["url"] for server in client.request("rpc.discover")["result"]["servers"]],
                             peer.facts["addresses"])
            description = json.loads(client.exchange('{"version":"1.1","id":1,"method":"system.describe"}'))["result"]
            self.assertNotIn("address", description)
            self.assertIn("POST ADDRESS", subprocess.run(["curl", "--silent", "--unix-socket", self.json,
                                                  "http://localhost/help"], capture_output=True, text=True,
                                                 check=True).stdout)
