"""Faults from outside. Each fault is an error only for the client that it affects. The peer continues, and keeps no
trace of the fault.

tests/release/failing_memory.py tests faults of the peer's own memory; other faults are in test_limits.py (Java's
memory, descriptors), test_policy_reload.py (the policy's file), test_sessions.py and net/test_load.py (clients that
vanish).
"""

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.clients import (HttpClient, ShmClient, UnixWebSocketClient, WebSocketClient, ZmqClient, await_running,
                             call_request, ref, typed)
from support.failing_memory import failing_peer
from support.peer import BINARY, FIXTURES, ROOT, START_SECONDS, Peer, descriptors, environment, eventually
from support.peer_case import PING, PeerCase
from support.raw_websocket import MASK, RawWebSocket, frame

HOSTILE = "fixtures.HostileThrowables"
BLOCKERS = "fixtures.Blockers"
ENDLESS = "fixtures.Hostile$Endless"
SERVED = call_request(1, "fixtures.Calculator", "add", 1, 2)


def sanitized():
    return b"libasan" in Path(BINARY).read_bytes()


class Errors(PeerCase):
    """Java code throws in the places where the peer itself calls Java."""

    options = ()
    peer_arguments = {"sockets": True}

    def assert_serves(self, client):
        self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))

    def test_each_error_is_the_answer(self):
        for client in self.each(WebSocketClient, HttpClient, ZmqClient, ShmClient):
            for call, throwable in (((BLOCKERS, "recurse", typed("int", 0)), "java.lang.StackOverflowError"),
                                    ((HOSTILE, "death"), "java.lang.ThreadDeath")):
                self.assertEqual(throwable, self.failure(client.call, *call).throwable)
                self.assert_serves(client)
        failing = f"{HOSTILE}$FailingInitialiser"
        self.assertEqual("java.lang.OutOfMemoryError", self.failure(self.client.call, failing, "touch").throwable)
        self.assertEqual("java.lang.NoClassDefFoundError", self.failure(self.client.call, failing, "touch").throwable)

    def test_methods_that_never_end_have_the_deadline(self):
        """The methods: getMessage of a throwable, and hashCode and toString of an argument and of a receiver."""
        for client in self.each(WebSocketClient, HttpClient, ShmClient):
            endless = client.new(ENDLESS)
            for params in ({"type": HOSTILE, "method": "throwNew", "args": ["EndlessMessage"]},
                           {"type": ENDLESS, "method": "hashCode", "instance": endless, "args": []},
                           {"type": "java.util.Objects", "method": "toString", "args": [ref(endless)]},
                           {"type": "fixtures.Arguments", "method": "echoObject", "args": [typed("java.util.Set", [ref(endless)])]}):
                reply = client.request("call", params, options={"timeout": 100})
                self.assertEqual("timeout", reply.get("error", {}).get("data", {}).get("reason"), (params, reply))
                self.client.call(BLOCKERS, "open")
                await_running(self.client, 0)
                self.assert_serves(client)


class JavaMemory(PeerCase):
    def test_collections_under_load_cross_no_objects(self):
        """Each client holds lists with words of its own, in a heap that is nearly full."""
        self.start("-Xmx32m", sockets=True)
        end = time.monotonic() + 5
        over = threading.Event()
        kinds = (WebSocketClient, ShmClient, HttpClient, ZmqClient)

        def run(kind, name):
            with kind(self.peer) as client:
                held = []
                number = 0
                while time.monotonic() < end or number < 10:
                    words = [f"{name} {number} {part}" * 20 for part in range(3)]
                    held.append((client.new("java.util.ArrayList", words), words))
                    number += 1
                    if len(held) > 40:
                        client.control("delete_object", ref(held.pop(number % 40)[0]))
                    at = held[number % len(held)]
                    self.assertEqual(f"[{', '.join(at[1])}]", client.call("java.util.ArrayList", "toString", on=at[0]))

        def collect():
            with WebSocketClient(self.peer) as client:
                while not over.is_set():
                    client.call("java.lang.System", "gc")

        with ThreadPoolExecutor(2 * len(kinds) + 1) as pool:
            collecting = pool.submit(collect)
            runs = [pool.submit(run, kind, f"{kind.name}-{number}") for kind in kinds for number in range(2)]
            try:
                for one in runs:
                    one.result()
            finally:
                over.set()
            collecting.result()


class Threads(PeerCase):
    def test_the_peer_serves_if_no_thread_can_be_made(self):
        if sanitized():
            self.skipTest("the preloaded library has an allocator of its own")
        with failing_peer("--rpc-threads", "1", "--busy-timeout", "300ms", sockets=True) as (peer, memory):
            self.peer = peer
            slow, other = self.connect(UnixWebSocketClient), self.connect(UnixWebSocketClient)
            memory.no_threads = 1
            slow.send(json.dumps(call_request(1, BLOCKERS, "pass")))
            eventually(lambda: "busy" in json.dumps(other.request("call", SERVED["params"])))
            self.assertIsNone(other.control("ping"))
            refused = memory.refused
            self.assertGreater(refused, 0)
            time.sleep(1)
            self.assertLess(memory.refused - refused, 50, "it is tried again and again")
            memory.no_threads = 0
            eventually(lambda: "result" in other.request("call", SERVED["params"]))
            other.call(BLOCKERS, "open")
            self.assertIn("result", json.loads(slow.receive()))
            other.close()
            slow.close()


class Clients(PeerCase):
    """Very many clients, and clients that send very much."""

    def test_ten_thousand_connections(self):
        timeouts = ("--header-timeout", "10m", "--idle-timeout", "10m")  # longer than a loaded machine needs to connect
        peer = self.start("--connections-max", "9000", *timeouts, sockets=True)
        before = descriptors(peer.pid)
        with contextlib.ExitStack() as stack:
            many = []
            for _ in range(10000):
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(peer.socket_path("ws+unix"))  # waits where the queue is full
                one.settimeout(START_SECONDS)
                many.append(one)
            for one in many[9000::100]:
                self.assertIn(b" 503 ", one.recv(1000))
            many[0].sendall(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                            % len(json.dumps(SERVED)) + json.dumps(SERVED).encode())
            self.assertIn(b'"3"', many[0].recv(10000))
        eventually(lambda: descriptors(peer.pid) <= before + 2, lambda: f"{descriptors(peer.pid)} descriptors, {before} before")
        self.assertEqual("3", self.connect(UnixWebSocketClient).call("fixtures.Calculator", "add", 1, 2))

    def test_a_message_of_a_gibibyte_is_dropped(self):
        """A message of 1 GiB, with a mask of zeros. The peer reads and drops the message, and serves others."""
        peer = self.start("--body-timeout", "10m", sockets=True)
        other = self.connect(UnixWebSocketClient)
        other.control("ping")
        resident = peer.resident_kib()
        part = bytes(a ^ b for a, b in zip(MASK, b"xxxx")) * (1 << 18)
        with RawWebSocket(peer) as client:
            client.socket.sendall(frame(b"", length=1 << 30))
            for _ in range(1 << 10):
                client.socket.sendall(part)
            self.assertEqual(-32600, json.loads(client.receive())["error"]["code"])
            self.assertEqual("3", other.call("fixtures.Calculator", "add", 1, 2))
            client.send(json.dumps(SERVED))
            self.assertIn("result", json.loads(client.receive()))
        self.assertLess(peer.peak_kib() - resident, 64 * 1024)


class Outputs(PeerCase):
    """The peer continues to serve if its log cannot be written."""

    def serve_with(self, errors, read=None):
        """Starts a peer with this stderr, and sends requests, each of which makes the peer write a line."""
        with tempfile.TemporaryDirectory(prefix="jpeer-faults-") as folder:
            policy = Path(folder, "policy.yaml")
            policy.write_text("version: 1\nrules:\n  - {class: 'fixtures.**', action: LOG_AND_ALLOW}\n")
            ready = Path(folder, "ready.json")
            process = subprocess.Popen([BINARY, "run", "--ready-file", ready, "--json-rpc", f"unix:{folder}/json", "-cp", FIXTURES,
                                        "--rpc-policy", policy, "--as-service"], env=environment(), stderr=errors)
            try:
                eventually(ready.exists, "the ready file")
                if read is not None:
                    read()
                facts = Peer.__new__(Peer)
                facts.facts, facts.clients = json.loads(ready.read_text()), []
                with UnixWebSocketClient(facts) as client:
                    for _ in range(2000):
                        self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
            finally:
                process.terminate()
                self.assertIn(process.wait(START_SECONDS), (0, 143))

    def test_a_log_on_a_full_disk_stops_nothing(self):
        with open("/dev/full", "w") as full:
            self.serve_with(full)

    def test_a_log_whose_reader_has_gone_stops_nothing(self):
        reader, writer = os.pipe()
        self.serve_with(writer, lambda: (os.close(reader), os.close(writer)))

    def test_a_log_that_nobody_reads_stops_nothing(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        try:
            self.serve_with(writer)
        finally:
            os.close(reader)
            os.close(writer)


class Crashes(PeerCase):
    def test_a_crash_of_native_code_leaves_a_report_and_ends_by_the_signal(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-faults-") as folder:
            report = Path(folder, "hs_err.log")
            peer = Peer("-J", f"-XX:ErrorFile={report}")
            resource.prlimit(peer.pid, resource.RLIMIT_CORE, (0, 0))
            try:
                client = WebSocketClient(peer)
                client.send(json.dumps(call_request(1, "fixtures.Hostile", "crash")))
                self.assertEqual(-signal.SIGABRT, peer.process.wait(START_SECONDS))
                self.assertIn("SIGSEGV", report.read_text())
                self.assertIn("fixtures.Hostile.crash", report.read_text())
            finally:
                peer.close()


def waited_seconds(pid):
    """How long the threads of a process have waited for a processor."""
    waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            waited += int(path.read_text().split()[1])
    return waited / 1e9


class Kills(PeerCase):
    LISTENING_SECONDS = 1  # from the start of the JVM on, without the time for which a loaded machine lets it wait

    @staticmethod
    def start_again(*options):
        """Returns a peer, and the seconds from the start of its JVM to its ready file."""
        peer = Peer(*options, addresses=False, first_ref=None)
        waited = waited_seconds(peer.pid)
        with UnixWebSocketClient(peer) as client:
            runtime = client.call("java.lang.management.ManagementFactory", "getRuntimeMXBean")
            started = int(client.call("java.lang.management.RuntimeMXBean", "getStartTime", on=runtime)) / 1000
        return peer, peer.ready_file.stat().st_mtime - started - waited

    def test_a_killed_peer_starts_again_at_its_address_under_load(self):
        """The next peer listens within a second of its JVM's start. Clients that repeat requests are served then. Refs of
        the killed peer are refused."""
        with tempfile.TemporaryDirectory(prefix="jpeer-faults-") as folder:
            address = f"unix:{folder}/json"
            over = threading.Event()
            peer = Peer("--json-rpc", address, addresses=False, first_ref=None)
            served, wrong = [0] * 3, []

            def ask(number):
                while not over.is_set():
                    with contextlib.suppress(OSError, EOFError, AssertionError), RawWebSocket(peer) as client:
                        while not over.is_set():
                            client.send(json.dumps(SERVED))
                            answer = client.receive()
                            served[number] += 1
                            if '"value":"3"' not in answer:
                                wrong.append(answer)

            threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(3)]
            for thread in threads:
                thread.start()
            try:
                old = None
                for _ in range(5):
                    with UnixWebSocketClient(peer) as client:
                        if old is not None:
                            self.failure(client.call, "java.util.ArrayList", "size", on=old)
                        old = client.new("java.util.ArrayList")
                        before = list(served)
                        eventually(lambda: all(now > then for now, then in zip(served, before)), "each client is served")
                        peer.process.kill()
                        peer.process.wait()
                    before_peer = peer
                    peer, seconds = self.start_again("--json-rpc", address)
                    before_peer.close()
                    self.assertLess(seconds, self.LISTENING_SECONDS)
            finally:
                over.set()
                for thread in threads:
                    thread.join(START_SECONDS)
                peer.stop()
                peer.close()
            self.assertEqual([], wrong)


class OwnMemory(PeerCase):
    def test_the_peer_survives_each_failed_allocation(self):
        """tests/release/failing_memory.py has more kinds of clients."""
        if sanitized():
            self.skipTest("the preloaded library has an allocator of its own")
        done = subprocess.run([sys.executable, ROOT / "tests/release/failing_memory.py", "--kind", "batch", "--kind", "pieces"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=START_SECONDS)
        self.assertEqual(0, done.returncode, done.stdout)
