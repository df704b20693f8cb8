"""Tests when a peer is ready, its ready file and its standard streams, its use of processors, and how it
detects a lost connection."""

import json
import os
import re
import socket
import subprocess
import tempfile
from pathlib import Path

from support.clients import WebSocketClient
from support.peer import BINARY, FIXTURES, START_SECONDS, Peer, environment, eventually, jvm_options, run_to_end
from support.peer_case import PeerCase
from test_service import ServiceManager

MAIN = "fixtures.SlowMain"
GATES = "fixtures.SlowMain$Gates"


class ReadyFile(PeerCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-ready-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ready.json"

    def start(self):
        process = subprocess.Popen([BINARY, "run", "--ready-file", self.path, "--json-rpc", "auto", *jvm_options(),
                                    "--as-service"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(lambda: self.path.exists() and json.loads(self.path.read_text())["pid"] == process.pid,
                   "the ready file of this peer")
        return process

    def test_a_start_that_fails_leaves_no_old_file(self):
        peer = self.start()
        peer.kill()
        peer.wait()
        self.assertTrue(self.path.exists())
        for arguments, status in ((("--jvm", "/nonexistent"), 1), (("--rpc-policy", "/nonexistent"), 2),
                                  (("-J", "-XX:+NoSuchOption"), 1)):
            with self.subTest(arguments=arguments):
                self.path.write_text('{"uuid":"0"}')
                done = run_to_end("run", "--ready-file", str(self.path), *arguments, "--as-service")
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertFalse(self.path.exists())

    def test_of_two_peers_with_one_file_each_removes_its_own(self):
        first, second = self.start(), self.start()
        first.terminate()
        self.assertEqual(first.wait(START_SECONDS), 0)
        self.assertEqual(json.loads(self.path.read_text())["pid"], second.pid)
        second.terminate()
        self.assertEqual(second.wait(START_SECONDS), 0)
        self.assertFalse(self.path.exists())

    def test_a_start_that_fails_leaves_the_file_of_a_running_peer(self):
        peer = self.start()
        done = run_to_end("run", "--ready-file", str(self.path), "--jvm", "/nonexistent", "--as-service")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(self.path.read_text())["pid"], peer.pid)

    def test_something_else_than_a_file_is_refused_before_the_jvm_starts(self):
        os.mkfifo(self.path)
        done = run_to_end("run", "--ready-file", str(self.path), "--as-service")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot write {self.path}: it is no file", done.stderr)
        self.assertTrue(self.path.exists())


class ReadyWhen(PeerCase):
    """The output and the ready file of the peer at each stage of the application."""

    def start(self, *words, arguments=(), variables=()):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-ready-")
        self.addCleanup(folder.cleanup)
        self.socket, self.file = Path(folder.name) / "socket", Path(folder.name) / "ready.json"
        self.log = open(Path(folder.name) / "log", "w+b")
        self.addCleanup(self.log.close)
        process = subprocess.Popen([BINARY, "run", "--ready-file", self.file, "--json-rpc", f"unix:{self.socket}",
                                    "--rpc-default-action", "ALLOW", "-cp", FIXTURES, *jvm_options(), *words, MAIN,
                                    *arguments], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                   env=environment(**dict(variables)))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.await_line("initialiser")
        return process

    def printed(self):
        return Path(self.log.name).read_text(encoding="utf-8")

    def await_line(self, text):
        eventually(lambda: text in self.printed(), f"{text!r} is printed")

    def open(self, gate):
        """Opens a latch by a call to the peer, which serves although it is not ready yet."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call",
                           "params": {"type": GATES, "method": gate, "args": []}})
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket))
            client.sendall(f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            answer = b""
            while part := client.recv(65536):
                answer += part
        self.assertIn(b'"result"', answer)

    def assert_ready(self, is_ready):
        self.assertEqual("jpeer ready: " in self.printed(), is_ready, self.printed())
        self.assertEqual(self.file.exists(), is_ready)

    def test_now_is_before_the_initialiser(self):
        self.start()
        self.assert_ready(True)

    def test_class_loaded_is_after_the_initialiser(self):
        self.start("--ready-when", "class-loaded")
        self.assert_ready(False)
        self.open("openInitialiser")
        self.await_line("jpeer ready: ")
        self.await_line("\nmain\n")
        self.assert_ready(True)

    def test_main_returned(self):
        peer = self.start("--ready-when", "main-returned")
        self.open("openInitialiser")
        self.await_line("main\n")
        self.assert_ready(False)
        self.open("openMain")
        self.await_line("jpeer ready: ")
        self.assert_ready(True)
        peer.terminate()
        self.assertEqual(peer.wait(START_SECONDS), 0)
        self.assertFalse(self.file.exists())

    def test_the_service_manager_is_told_with_the_ready_line(self):
        manager = ServiceManager(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-service-")))
        self.addCleanup(manager.socket.close)
        self.start("--ready-when", "class-loaded", variables={"NOTIFY_SOCKET": manager.name})
        self.assertEqual(manager.next(), {"STATUS": "starts the JVM"})
        self.open("openInitialiser")
        self.assertEqual(manager.next()["READY"], "1")

    def test_a_main_that_throws_never_makes_the_peer_ready(self):
        peer = self.start("--ready-when", "main-returned", arguments=("on purpose",))
        self.open("openInitialiser")
        self.open("openMain")
        self.assertEqual(peer.wait(START_SECONDS), 1)
        self.assertIn("on purpose", self.printed())
        self.assert_ready(False)

    def test_a_stop_while_main_runs_leaves_no_file(self):
        peer = self.start("--ready-when", "main-returned")
        self.open("openInitialiser")
        self.await_line("main\n")
        peer.terminate()
        self.assertEqual(peer.wait(START_SECONDS), 0)
        self.assert_ready(False)

    def test_a_file_that_cannot_be_written_at_last_ends_the_peer(self):
        peer = self.start("--ready-when", "main-returned")
        self.file.mkdir()
        self.open("openInitialiser")
        self.open("openMain")
        self.assertEqual(peer.wait(START_SECONDS), 1)
        self.assertIn(f"jpeer run: cannot write {self.file}", self.printed())

    def test_a_service_is_ready_at_once_and_a_missing_class_ends_as_ever(self):
        with Peer("--ready-when", "main-returned") as peer:
            self.assertIn("jpeer ready: ", peer.stderr())
        done = run_to_end("run", "--ready-when", "class-loaded", "-cp", str(FIXTURES), "fixtures.Nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("main class fixtures.Nowhere not found", done.stderr)
        self.assertNotIn("jpeer ready", done.stderr)
        self.assertEqual(run_to_end("run", "--ready-when", "soon", MAIN).returncode, 2)


class Streams(PeerCase):
    def test_closed_streams_do_not_become_descriptors_of_the_peer(self):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-ready-")
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "ready.json"
        process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BINARY, "run", "--ready-file", path,
                                    "--json-rpc", "auto", "--as-service"], env=environment())
        try:
            eventually(path.exists, "the ready file")
            targets = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
            self.assertEqual(targets, ["/dev/null"] * 3)
        finally:
            process.terminate()
            self.assertEqual(process.wait(START_SECONDS), 0)

    def test_a_warning_of_the_jvm_has_a_line_of_its_own(self):
        with Peer("-J", "-Xverify:none") as peer:
            lines = peer.stderr().splitlines()
        self.assertEqual([line for line in lines if "warning: " in line and "-Xverify:none" not in line], [])
        self.assertEqual(len([line for line in lines if "VM warning: Options -Xverify:none" in line]), 1, lines)
        self.assertEqual(len([line for line in lines if line.startswith("jpeer ready: ")]), 1, lines)


class Machine(PeerCase):
    @staticmethod
    def await_crew(peer, size):
        """Waits until `size` threads have the crew's name: a thread gets its name a moment after it
        begins."""
        def count():
            names = (task.joinpath("comm").read_text() for task in Path(f"/proc/{peer.pid}/task").iterdir())
            return sum(re.fullmatch(r"rpc-\d+\n", name) is not None for name in names)
        eventually(lambda: count() >= size, lambda: f"{size} threads of the crew, of which there are {count()}")
        assert count() == size, f"{count()} threads of the crew in place of {size}"

    def test_there_are_as_many_threads_as_processors_that_the_peer_may_use(self):
        """The test sets a maximum, because the watcher otherwise adds threads on a busy machine."""
        allowed = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(allowed)})
            with Peer("--rpc-threads-max", "1") as peer, WebSocketClient(peer) as client:
                client.control("ping")
                self.await_crew(peer, 1)
        finally:
            os.sched_setaffinity(0, allowed)
        peer = self.start("--rpc-threads", "3", "--rpc-threads-max", "3")
        client = self.connect()
        client.control("ping")
        self.await_crew(peer, 3)

    def test_connections_over_tcp_are_probed_while_they_are_idle(self):
        peer = self.start()
        client = self.connect()
        client.control("ping")
        port = int(peer.address("ws").rpartition(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port)):
            # The sixth column is the timer of the socket: 02 is the timer of keepalive (proc(5)).
            def timers():
                rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
                return [row[5].partition(":")[0] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"]
            eventually(lambda: timers() == ["02", "02"], "both connections have a timer of keepalive")
