"""Unix sockets of the real peer: which users may use them, which files may be in their place at the start, and which
files remain at the end."""

import contextlib
import grp
import json
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.callback_client import UnixCallbackClient
from support.clients import SECONDS, WHOAMI, HttpClient, RpcError, UnixHttpClient, UnixWebSocketClient, UnixZmqClient
from support.other_users import CALL, CAN_BECOME, CANNOT_BECOME, ask_zmq, become, curl
from support.peer import BINARY, Peer, descriptors, environment, eventually, kill_after, run_to_end
from support.peer_case import PeerCase

UNIX_CLIENTS = (UnixWebSocketClient, UnixHttpClient, UnixZmqClient)
WHO = json.dumps(WHOAMI)
STRANGER = become(65534, 65534)
ADMITTED, OTHERS_GROUP = 65533, 65532  # numbers without a name
REFUSED = "user 65534 may not use this peer\n"


def member_of_a_group():
    """A user and a supplementary group by the system's database; None: the system has no such user."""
    names = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    return next(((names[name], group) for group in grp.getgrall() for name in group.gr_mem
                 if name in names and names[name].pw_gid != group.gr_gid), None)


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


@unittest.skipUnless(CAN_BECOME, CANNOT_BECOME)
class Strangers(PeerCase):
    def test_another_user_is_kept_out_by_the_mode_and_by_the_peer(self):
        peer = self.start(sockets=True)
        path, endpoint = peer.socket_path("ws+unix"), peer.address("ipc")
        os.chmod(peer.folder.name, 0o755)
        for mode in (0o600, 0o666):  # the mode at the start, and a mode that somebody has set later
            os.chmod(path, mode)
            os.chmod(peer.socket_path("ipc"), mode)
            with self.subTest(mode=oct(mode)):
                self.assertEqual(curl(path, before=STRANGER), (0, "") if mode == 0o600 else (403, REFUSED))
                self.assertIsNone(ask_zmq(endpoint, CALL, before=STRANGER))
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
                with kill_after(process):
                    for line in process.stderr:
                        lines.append(line)
                        if "jpeer ready" in line:
                            break
                    else:
                        self.skipTest(f"the peer does not run as another user here: {lines}")
                self.assertEqual(curl(path), (403, "user 0 may not use this peer\n"))
                with kill_after(process):
                    self.assertIn("a connection of user 0, group 0, to", process.stderr.readline())
                status, _ = curl(path, before=STRANGER)
                self.assertEqual(status, 200)
            finally:
                process.terminate()
                process.wait(SECONDS)
                process.stderr.close()


@unittest.skipUnless(CAN_BECOME, CANNOT_BECOME)
class Admitted(PeerCase):
    """Other users of the machine, by the options that admit them."""

    def serve_others(self, *options):
        self.start(*options, sockets=True)
        os.chmod(self.peer.folder.name, 0o755)
        self.json, self.zmq = self.peer.socket_path("ws+unix"), self.peer.address("ipc")

    def known_by(self, words):
        """By each transport: what the peer takes the user for; None: it is refused."""
        status, content = curl(self.json, body=WHO, before=words)
        self.assertIn(status, (200, 403), content)
        answers = (content if status == 200 else None, ask_zmq(self.zmq, WHO, before=words))
        facts = [answer and json.loads(json.loads(answer)["result"]["value"]["value"]) for answer in answers]
        for fact in filter(None, facts):
            self.assertEqual(fact["principal"], "owner")
            self.assertEqual(fact["limits"], {"connections": 10000, "sessions": 100000, "sessions_per_address": 10000,
                                              "objects": 4000000, "calls": 256})
        return [fact and fact["known_by"] for fact in facts]

    def test_admitted_users_and_groups_use_each_transport(self):
        self.serve_others("--allow-user", "65533", "--allow-group", str(OTHERS_GROUP))
        self.assertEqual([mode_of(self.json), mode_of(self.zmq.removeprefix("ipc://"))], [0o666, 0o666])
        self.assertEqual(self.known_by(become(ADMITTED, 65534)), ["unix-user 65533"] * 2)
        self.assertEqual(self.known_by(become(65531, OTHERS_GROUP)), ["unix-user 65531"] * 2)
        self.assertEqual(self.known_by([]), ["unix-user root"] * 2)
        self.assertEqual(self.known_by(STRANGER), [None, None])
        self.assertEqual(curl(self.json, before=STRANGER), (403, REFUSED))
        self.assertIn(f"a connection of user 65534, group 65534, to {self.json} is refused", self.peer.stderr())
        self.assertIn("every user of this machine can use the ports", self.peer.stderr())

    def test_a_client_of_an_old_zmtp_is_known_by_nothing(self):
        self.serve_others("--allow-user", str(ADMITTED))
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(SECONDS)
            client.connect(self.zmq.removeprefix("ipc://"))
            # ZMTP 2: signature, revision, DEALER, no identity; a message of one frame
            client.sendall(b"\xff" + bytes(7) + b"\x01\x7f\x01\x05" + bytes(2) + bytes((0, len(WHO))) + WHO.encode())
            answer = b""
            while b"known_by" not in answer or not answer.endswith(b"}}"):
                piece = client.recv(4096)
                self.assertTrue(piece, answer)
                answer += piece
        self.assertIn(b'known_by\\":\\"nothing\\"', answer)

    def test_a_supplementary_group_is_the_kernels_and_on_zeromq_the_databases(self):
        self.serve_others("--allow-group", str(OTHERS_GROUP))
        for groups in ((OTHERS_GROUP,), (*range(70000, 70200), OTHERS_GROUP)):
            self.assertEqual(self.known_by(become(65531, 65534, *groups)), ["unix-user 65531", None])
        self.assertEqual(self.known_by(become(65531, 65534, *range(70000, 70200))), [None, None])
        found = member_of_a_group()
        if found is None:
            self.skipTest("no user here is a member of another group than its own")
        user, group = found
        self.serve_others("--allow-group", group.gr_name)
        words = become(user.pw_uid, user.pw_gid, group.gr_gid)
        self.assertEqual(self.known_by(words), [f"unix-user {user.pw_name}"] * 2)

    def test_the_sockets_group_is_admitted_by_the_mode_and_by_the_peer(self):
        self.serve_others("--socket-group", str(OTHERS_GROUP))
        self.assertEqual((mode_of(self.json), os.stat(self.json).st_gid), (0o660, OTHERS_GROUP))
        self.assertEqual(self.known_by(become(65531, OTHERS_GROUP)), ["unix-user 65531"] * 2)
        self.assertEqual(curl(self.json, before=STRANGER), (0, ""))
        self.assertEqual(stat.S_IMODE(self.peer.ready_file.stat().st_mode), 0o644)

    def test_limits_count_for_each_user(self):
        self.serve_others("--allow-user", str(ADMITTED), "--sessions-per-address", "1")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "new", "params": {"type": "java.util.ArrayList"}})
        named = ("--header", "peer-id: ")
        with UnixWebSocketClient(self.peer) as client:
            client.new("java.util.ArrayList")
            for words, number in ((become(ADMITTED, 65534), 1), ([], 2)):
                content = curl(self.json, named[0], f"peer-id: 00000000-0000-4000-8000-00000000000{number}", body=body,
                               before=words)[1]
                self.assertEqual("sessions-per-address" in content, not words, content)

    def test_the_connections_of_a_process_are_of_one_user(self):
        self.serve_others("--allow-user", str(ADMITTED))
        session = {"peer-id": "00000000-0000-4000-8000-000000000001"}
        join = {"method": "session", "args": [{"name": "process", "value": "0123456789abcdef0123456789abcdef"}]}

        def number_of(user):
            os.seteuid(user)
            try:
                client = self.connect(UnixCallbackClient, session)
            finally:
                os.seteuid(0)
            return json.loads(client.value("control", join)["value"])["client"]

        numbers = [number_of(user) for user in (0, ADMITTED, 0, ADMITTED)]
        self.assertEqual(numbers[:2], numbers[2:])
        self.assertNotEqual(*numbers[:2])

    def test_refused_users_hold_no_descriptors(self):
        self.serve_others("--allow-user", str(ADMITTED))
        before = descriptors(self.peer.pid)
        flood = """
import socket, sys
held = []
for _ in range(500):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].settimeout(30)
    held[-1].connect(sys.argv[1])
answers = [each.recv(4096).split(b"\\r\\n")[0] for each in held]
print(set(answers), flush=True)
sys.stdin.read()
"""
        process = subprocess.Popen([*STRANGER, sys.executable, "-c", flood, self.json], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        try:
            with kill_after(process):
                self.assertEqual(process.stdout.readline(), "{b'HTTP/1.1 403 Forbidden'}\n")
            self.assertLessEqual(descriptors(self.peer.pid), before + 16)
            self.assertEqual(curl(self.json, before=become(ADMITTED, 65534))[0], 200)
            eventually(lambda: descriptors(self.peer.pid) <= before, "the refused connections are closed")
        finally:
            process.communicate("", SECONDS)
        lines = [line for line in self.peer.stderr().splitlines() if "a connection of user 65534" in line]
        self.assertLess(len(lines), 10)

    def test_a_group_that_the_peer_may_not_give_ends_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, 65534, 65534)
            done = subprocess.run([*STRANGER, BINARY, "run", "--as-service", "--json-rpc", f"unix:{folder}/json",
                                   "--socket-group", str(OTHERS_GROUP)], capture_output=True, text=True, check=False,
                                  env=environment(), cwd=folder, timeout=SECONDS)
            if done.returncode != 1 or "jpeer run" not in done.stderr:
                self.skipTest(f"the peer does not run as another user here: {done.stderr}")
            self.assertIn(f"{folder}/json: its group cannot be", done.stderr)
            self.assertIn("has to be a member unless it is root", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_the_user_for_whom_a_namespace_has_no_number_is_not_admitted(self):
        if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False, timeout=SECONDS).returncode != 0:
            self.skipTest("no user namespace can be made here")
        for option, words in (("--allow-user", "--allow-user 65534 would admit every user"),
                              ("--allow-group", "the group 65534 would admit"),
                              ("--socket-group", "the group 65534 would admit")):
            with self.subTest(option):
                done = subprocess.run(["unshare", "-Ur", BINARY, "run", "--as-service", "--json-rpc", "unix:json", option,
                                       "65534"], capture_output=True, text=True, check=False, env=environment(),
                                      timeout=SECONDS)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.returncode, 2)

    def test_a_folder_that_others_do_not_pass_is_named(self):
        self.start("--allow-user", str(ADMITTED), sockets=True)
        self.assertIn(f"the folder {self.peer.folder.name} has the mode 0700", self.peer.stderr())
        self.serve_others("--allow-user", str(ADMITTED))
        os.chmod(self.peer.folder.name, 0o700)
        self.assertEqual(curl(self.json, before=become(ADMITTED, 65534)), (0, ""))


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
        with contextlib.ExitStack() as deadlines:
            for process in starting:
                deadlines.enter_context(kill_after(process))
            ready = [process for process in starting if any("jpeer ready" in line for line in process.stderr)]
        self.assertEqual(len(ready), 1)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.json)
        for process in starting:
            process.terminate()
            process.wait(SECONDS)
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
        with kill_after(process):
            ready = next((line for line in process.stderr if "jpeer ready" in line), "")
        self.assertIn(f", ws+unix:{self.folder}/rel, http+unix:{self.folder}/rel\n", ready)
        self.assertEqual(curl(os.path.join(self.folder, "rel"))[0], 200)
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 0)
        process.stderr.close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_anothers_file_is_not_removed(self):
        with self.start_here() as peer:
            for path in (self.json, self.zmq):
                os.unlink(path)
                leave_stale_socket(path)
            self.assertEqual(peer.stop(), 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["json", "zmq"])

    def test_the_clients_of_a_user_share_the_limit_of_an_address(self):
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
                                                 check=True, timeout=SECONDS).stdout)
