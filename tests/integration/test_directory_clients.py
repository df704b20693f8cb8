"""Clients of a directory, against a real etcd: `jpeer peers`, dir: URLs of the commands, and programs in C, which are modes of
tests/integration/directory/directory_calls.c."""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest
import uuid
from pathlib import Path

from support import etcd as directory
from support.peer import BINARY, BUILD, START_SECONDS, Peer, environment, eventually, kill_after, run_to_end

PROGRAM = BUILD / "tests/integration/directory/directory_calls"
OK, CLOSED = 0, 3  # enum jp_client_status


class ClientsCase(directory.DirectoryCase):
    def peer(self, *options):
        return self.enterContext(Peer("-d", self.etcd.endpoints, *options))

    def command(self, *words, **variables):
        return run_to_end(*words, env=environment(leaks=True, **variables))


class Commands(ClientsCase):
    def test_peers_are_listed(self):
        self.assertEqual(self.command("peers", "-d", self.etcd.endpoints).stdout, "")
        peer = self.peer("--name", "calc", "--service", "math")
        other = self.etcd.put_peer("ws://127.0.0.1:1")
        done = self.command("peers", JPEER_DIRECTORY=self.etcd.endpoints)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        head, first, second = done.stdout.splitlines()
        address = peer.address("ws").removesuffix("/rpc")
        self.assertEqual(head.split(), ["NAME", "UUID", "SINCE", "ADDRESSES"])
        self.assertRegex(first, rf"^calc +{peer.facts['uuid']}  \d+-\d\d-\d\d \d\d:\d\d  {address} {peer.address('tcp')}$")
        self.assertRegex(second, rf"^- +{other}  - +ws://127.0.0.1:1$")
        lines = self.command("peers", "-d", self.etcd.endpoints, "--json").stdout.splitlines()
        shown, bare = map(json.loads, lines)
        self.assertRegex(shown.pop("since"), r"^\d+-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$")
        self.assertEqual(shown, {"name": "calc", "uuid": peer.facts["uuid"], "jsonRpc": address,
                                 "zmqRpc": peer.address("tcp"), "zmqCurve": None})
        self.assertEqual(bare, {"name": None, "uuid": other, "since": None, "jsonRpc": "ws://127.0.0.1:1", "zmqRpc": None,
                                "zmqCurve": None})
        self.assertEqual(self.command("peers", "-d", self.etcd.endpoints, "--dir-namespace", "other").stdout, "")

    def test_other_commands_find_a_peer_by_the_directory(self):
        peer = self.peer("--name", "calc", "--service", "math")
        for target in ("calc", peer.facts["uuid"], "service/math"):
            done = self.command("call", "-u", self.url(target), "Math.max(3, 5)")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "5\n", ""))
        self.assertEqual(self.command("shell", self.url("calc"), "-e", "Math.max(3, 5)").stdout, "5\n")
        self.assertIn(peer.address("http").partition("://")[2],
                      self.command("call", "--curl", "-u", self.url("calc"), "Math.max(3, 5)").stdout)
        done = subprocess.run([BINARY, "rpc", "-u", self.url("calc")], capture_output=True, text=True, check=True,
                              env=environment(leaks=True),
                              input='{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"ping"}}\n')
        self.assertEqual(json.loads(done.stdout), {"jsonrpc": "2.0", "id": 1, "result": {"void": True}})
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            for expression, shown in (("x = List.of(1, 2)", None), ("x.size()", "2\n")):
                done = self.command("call", "-s", "w", "-u", self.url("calc"), expression, XDG_RUNTIME_DIR=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, shown)
            done = self.command("call", "-s", "v", "-u", self.url("service/math"), "1", XDG_RUNTIME_DIR=folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("-s is for one peer", done.stderr)

    def test_failures_have_their_status(self):
        for words, status, text in (
            (["peers"], 2, "needs -d HOST:PORT or JPEER_DIRECTORY"),
            (["peers", "-d", "nothing"], 2, "takes HOST:PORT"),
            (["peers", "-d", self.etcd.endpoints, "--dir-namespace", "a/b"], 2, "takes a name"),
            (["peers", "-d", "127.0.0.1:1"], 4, "127.0.0.1:1"),
            (["call", "-u", self.url("nobody"), "1"], 4, "no peer of the directory has that name"),
            (["call", "-u", self.url("service/none"), "1"], 4, "no peer of the directory has that service"),
            (["call", "-u", self.url(""), "1"], 2, "is followed by /NAME"),
            (["rpc", "-u", self.url("nobody")], 4, "no peer of the directory has that name"),
        ):
            with self.subTest(words):
                done = self.command(*words)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertIn(text, done.stderr)

    def test_without_libcurl_the_error_says_what_to_install(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-test-") as folder:
            for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
                Path(folder, name).write_text("no library")
            for words, status in ((["peers", "-d", self.etcd.endpoints], 1), (["call", "-u", self.url("calc"), "1"], 4)):
                with self.subTest(words):
                    done = self.command(*words, LD_LIBRARY_PATH=folder)
                    self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                    self.assertIn("the directory needs libcurl, which cannot be loaded (Debian: libcurl4)", done.stderr)
            self.assertEqual(self.command("--version", LD_LIBRARY_PATH=folder).returncode, 0)

    def test_watch_prints_each_change(self):
        process = subprocess.Popen([BINARY, "peers", "-d", self.etcd.endpoints, "--watch", "--json"],
                                   env=environment(leaks=True), stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        with kill_after(process):
            self.assertEqual(json.loads(process.stdout.readline()), [])
            peer = self.peer("--name", "calc")
            shown = []
            while [each["name"] for each in shown] != ["calc"]:
                shown = json.loads(process.stdout.readline())
            peer.stop()
            while shown:
                shown = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(START_SECONDS), 130)
        process.stdout.close()

    def test_watch_goes_on_while_etcd_restarts(self):
        with directory.Etcd() as etcd:
            [member] = etcd.members
            process = subprocess.Popen([BINARY, "peers", "-d", etcd.endpoints, "--watch", "--json"],
                                       env=environment(leaks=True), stdout=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            with kill_after(process), process.stdout:
                self.assertEqual(json.loads(process.stdout.readline()), [])
                member.kill()
                time.sleep(1)
                member.start()
                etcd.await_health()
                etcd.put(f"/pal/peers/{uuid.uuid4()}/state", json.dumps({"jsonRpc": "ws://127.0.0.1:1"}))
                self.assertEqual(len(json.loads(process.stdout.readline())), 1)
                member.kill()
                self.assertEqual(process.wait(START_SECONDS), 4)

    def test_watch_ends_with_its_pipe(self):
        process = subprocess.Popen([BINARY, "peers", "-d", self.etcd.endpoints, "--watch"], env=environment(leaks=True),
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdout.close()
        self.assertEqual(process.wait(START_SECONDS), 0)

    def test_a_terminal_gets_no_control_characters(self):
        self.etcd.put_peer("ws://127.0.0.1:1", "a\u202eb")
        number = self.etcd.put_peer("ws://127.0.0.1:1")
        self.etcd.put(f"/pal/peers/{number}/state", "\x1b[2J")
        self.etcd.put(f"/pal/peers/by-name/\x1b[2J", number)
        self.etcd.put(f"/pal/peers/{number}/info", json.dumps({"uuid": number, "name": "\x1b[2J"}))
        parent, child = pty.openpty()
        with contextlib.closing(os.fdopen(parent, "rb", 0)) as terminal:
            done = subprocess.run([BINARY, "peers", "-d", self.etcd.endpoints], stdout=child, stderr=child,
                                  env=environment(leaks=True), timeout=START_SECONDS, check=True)
            os.close(child)
            shown = terminal.read(10000).decode()
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\u202e", shown)
        self.assertIn("a\\u202eb", shown)
        self.assertIn("entries of the directory cannot be read", shown)


class SilentServer:
    """Accepts a WebSocket, reads nothing more, and resets the connection on demand."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}"
        self.is_full = threading.Event()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        connection, _ = self.listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            key = re.search(rb"sec-websocket-key: (\S+)", head, re.I)[1]
            accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            self._await_standstill(connection)
            self.is_full.set()
            self.is_over.wait(START_SECONDS)

    @staticmethod
    def _await_standstill(connection):
        """Returns when no byte has arrived for half a second after the first one."""
        before, since = 0, time.monotonic()
        while before == 0 or time.monotonic() - since < 0.5:
            unread = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0]
            if unread != before:
                before, since = unread, time.monotonic()
            time.sleep(0.01)

    def close(self):
        self.is_over.set()
        self.thread.join(START_SECONDS)
        self.listener.close()


class Programs(ClientsCase):
    def run_program(self, *words, **arguments):
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=environment(leaks=True), **arguments)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        return process

    def call_and_kill(self, *options):
        """A call runs in a peer, which is killed while another one serves. Returns the status and the text, and how often
        the call has run."""
        tally = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-test-")), "tally")
        service = f"s{uuid.uuid4()}"
        first = self.peer("--service", service, "--rpc-idempotent", "fixtures.Tally.addSlowly")
        process = self.run_program("call", self.url(f"service/{service}"), tally, "line", 5000, *options)
        with kill_after(process):
            self.assertEqual(process.stdout.readline(), "open\n")
            eventually(tally.exists, "the call runs")
            self.peer("--service", service, "--rpc-idempotent", "fixtures.Tally.addSlowly")
            first.process.kill()
            first.process.wait()
            status, _, text = process.stdout.readline().rstrip("\n").partition(" ")
        self.assertEqual(process.wait(START_SECONDS), 0)
        return int(status), text, tally.read_text().splitlines()

    def test_a_call_that_was_sent_is_not_sent_again(self):
        status, text, ran = self.call_and_kill()
        self.assertEqual((status, ran), (CLOSED, ["line"]))
        self.assertIn("the request was sent, and may have run", text)

    def test_an_idempotent_call_goes_to_another_peer(self):
        status, text, ran = self.call_and_kill("idempotent")
        self.assertEqual((status, text, ran), (OK, "line", ["line", "line"]))

    def test_a_call_that_was_not_sent_goes_to_another_peer(self):
        silent = self.enterContext(contextlib.closing(SilentServer()))
        self.etcd.put_peer(silent.url, service="math")
        process = self.run_program("blocked", self.url("service/math"), 15_000_000)
        with kill_after(process):
            self.assertEqual(process.stdout.readline(), "open\n")
            self.assertTrue(silent.is_full.wait(START_SECONDS))
            time.sleep(2)
            process.stdin.write("\n")
            process.stdin.close()
            self.peer("--service", "math")
            silent.is_over.set()
            results = sorted(process.stdout.readline().rstrip("\n").split(" ", 2) for _ in range(2))
        self.assertEqual(results[0][:2], ["1", str(CLOSED)])
        self.assertIn("the request was sent, and may have run", results[0][2])
        self.assertEqual(results[1], ["2", str(OK), "short"])
        self.assertEqual(process.wait(START_SECONDS), 0)

    def test_a_watch_reports_each_state(self):
        process = self.run_program("watch", self.etcd.endpoints, 3)
        with kill_after(process):
            self.assertEqual(process.stdout.readline(), "\n")
            first = self.etcd.put_peer("ws://127.0.0.1:1")
            self.assertEqual(process.stdout.readline(), f"- {first} ws://127.0.0.1:1\n")
            self.etcd.put(f"/pal/peers/{first}/state", json.dumps({"jsonRpc": "ws://127.0.0.1:1", "mtimeMillis": 2}))
            self.etcd.put("/pal/peers/by-name/other", first)  # neither changes what is listed
            second = self.etcd.put_peer("wss://127.0.0.1:2")
            both = sorted([f"- {first} ws://127.0.0.1:1", f"- {second} wss://127.0.0.1:2"])
            self.assertEqual(process.stdout.readline().rstrip("\n").split("|"), both)
        self.assertEqual(process.wait(START_SECONDS), 0)

    def test_a_watch_notices_a_directory_that_has_lost_its_data(self):
        with directory.Etcd() as etcd:
            [member] = etcd.members
            for number in range(20):
                etcd.put("/pal/peers/other", str(number))
            process = self.run_program("watch", etcd.endpoints, 2, "wait")
            with kill_after(process), process.stdin:
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "\n")
                member.kill()
                shutil.rmtree(Path(etcd.folder.name, "data0"))
                member.start()
                etcd.await_health()
                number = str(uuid.uuid4())
                etcd.put(f"/pal/peers/{number}/state", json.dumps({"jsonRpc": "ws://127.0.0.1:1"}))
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), f"- {number} ws://127.0.0.1:1\n")
                self.assertEqual(process.wait(START_SECONDS), 0)

    def test_wrong_configurations(self):
        process = self.run_program("names", self.etcd.endpoints)
        self.assertEqual(process.communicate(timeout=START_SECONDS)[0], "good\n")


if __name__ == "__main__":
    unittest.main()
