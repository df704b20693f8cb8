"""Many clients at once, also slow, greedy and vanished clients; and how a server ends while it has clients."""

import contextlib
import random
import socket
import ssl
import threading
import time
import unittest

import zmq

from stub import SECONDS, Reader, Stub, StubTest, WebSocket, frame, post, request
from support.peer import eventually
from support.raw_websocket import CLOSE, CONTINUATION, PING, PONG, TEXT

RESERVED = 2  # threads that serve only control and metadata, in addition to the crew


def wait_inside(stub, count):
    """Waits until this number of calls have begun and not ended."""
    with contextlib.closing(WebSocket(stub)) as one:
        def is_so():
            one.send_text("inside")
            return one.receive_text() == str(count)
        eventually(is_so)


class LoadTest(StubTest):
    def websocket(self, **fields):
        one = WebSocket(self.stub, **fields)
        self.addCleanup(one.close)
        return one

    def ask(self, connection, text):
        connection.send_text(text)
        return connection.receive_text()

    def is_sanitized(self):
        with open(f"/proc/{self.stub.process.pid}/maps") as maps:
            return any("san.so" in line for line in maps)


class OneThread(LoadTest):
    options = {"threads": 1, "threads_max": 1}

    def test_frames_that_came_together_are_served_across_turns(self):
        first, second = self.websocket(), self.websocket()
        texts = [str(i) for i in range(40)]
        first.send_text("sleep 200 x", *texts)
        wait_inside(self.stub, 1)
        second.send_text(*texts)
        self.assertEqual(" x", first.receive_text())
        for one in (first, second):
            self.assertEqual(texts, [one.receive_text() for _ in texts])


class Crew(LoadTest):
    options = {"threads": 2, "linger_ms": 100}

    def test_slow_calls_delay_nobody_and_the_crew_shrinks_again(self):
        slow = [self.websocket() for _ in range(50)]
        for one in slow:
            one.send_text("hold x")
        wait_inside(self.stub, 50)
        other = self.websocket()
        for _ in range(20):
            self.assertEqual("quick", self.ask(other, "quick"))
        self.assertGreater(int(self.ask(other, "threads")), 50)
        self.stub.release()
        for one in slow:
            self.assertEqual("x", one.receive_text())
        eventually(lambda: int(self.ask(other, "threads")) == 2 + RESERVED)

    def test_answers_do_not_wait_for_the_slow_call_after_them(self):
        one = self.websocket()
        one.send_text("first", "hold second")
        self.assertEqual("first", one.receive_text())
        wait_inside(self.stub, 1)
        self.stub.release()
        self.assertEqual("second", one.receive_text())

    def test_requests_of_one_connection_keep_their_order(self):
        one = self.websocket()
        one.send_text("sleep 100 a", "b", "sleep 50 c", "ping")
        self.assertEqual([" a", "b", " c", "pong"], [one.receive_text() for _ in range(4)])

    def test_a_greedy_connection_starves_nobody(self):
        greedy = [self.websocket() for _ in range(4)]
        for one in greedy:
            one.send(frame(TEXT, "sleep 1 x") * 500)
        modest = self.websocket()
        self.assertEqual("mine", self.ask(modest, "mine"))
        for one in greedy:
            for _ in range(500):
                one.receive_text()


class Busy(LoadTest):
    options = {"threads": 1, "threads_max": 2, "busy_timeout_ms": 300}

    def setUp(self):
        super().setUp()
        self.holders = [self.websocket() for _ in range(2)]
        for one in self.holders:
            one.send_text("hold x")
        wait_inside(self.stub, 2)

    def test_pings_are_answered_while_other_requests_are_refused(self):
        one = self.websocket()
        self.assertEqual("pong", self.ask(one, "ping"))
        one.send_text("work", "ping", "more work", "note", "ping")
        for expected in ["rpc-threads-max", "pong", "rpc-threads-max", "pong"]:
            self.assertIn(expected, one.receive_text())
        with self.stub.connect() as connection:
            connection.sendall(post(b"ping") + post(b"work") + post(b"note") + post(b"ping"))
            reader = Reader(connection)
            self.assertEqual(b"pong", reader.response()[2])
            self.assertIn(b"rpc-threads-max", reader.response()[2])
            self.assertEqual(204, reader.response()[0])
            self.assertEqual(b"pong", reader.response()[2])
        self.stub.release()
        for holder in self.holders:
            self.assertEqual("x", holder.receive_text())
        self.assertEqual("work", self.ask(one, "work"))

    def test_a_client_that_leaves_while_it_waits_is_forgotten(self):
        one = self.websocket()
        one.send_text("work")
        one.close()
        other = self.websocket()
        eventually(lambda: self.ask(other, "open") == "3")
        self.stub.release()
        self.assertEqual("x", self.holders[0].receive_text())


class Waiting(LoadTest):
    options = {"threads": 1, "threads_max": 1, "busy_timeout_ms": 60000}

    def test_what_waits_is_served_when_a_thread_comes_back(self):
        first, second = self.websocket(), self.websocket()
        first.send_text("sleep 500 x")
        second.send_text("served")
        self.assertEqual("served", second.receive_text())
        self.assertEqual(" x", first.receive_text())


class Clients(LoadTest):
    def test_clients_that_leave_during_a_call_are_forgotten(self):
        for _ in range(20):
            one = WebSocket(self.stub)
            one.send_text("sleep 200 x", "y")
            one.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            one.close()
        other = self.websocket()
        eventually(lambda: self.ask(other, "open") == "1")

    def test_clients_that_leave_during_a_stream_are_forgotten(self):
        for _ in range(5):
            one = WebSocket(self.stub)
            one.send_text("stream 50000000")
            one.exactly(100000)
            one.close()
        other = self.websocket()
        eventually(lambda: self.ask(other, "open") == "1")

    def test_a_client_that_never_reads_is_bounded_and_dropped(self):
        self.restart(send_buffer_max=1000000, body_timeout_ms=500)
        deaf = self.websocket()
        other = self.websocket()
        before = self.stub.resident_kib()
        deaf.connection.settimeout(0.2)
        with contextlib.suppress(OSError):
            for _ in range(200):
                deaf.send(frame(TEXT, "large 10000") * 100)
                self.assertEqual("here", self.ask(other, "here"))
        self.assertLess(self.stub.resident_kib() - before, 20000)
        eventually(lambda: self.ask(other, "open") == "1")

    def test_a_client_that_never_reads_a_stream_is_dropped(self):
        self.restart(body_timeout_ms=500)
        deaf = self.websocket()
        other = self.websocket()
        before = self.stub.resident_kib()
        deaf.send_text("stream 2000000000")
        eventually(lambda: self.ask(other, "open") == "1")
        self.assertLess(self.stub.resident_kib() - before, 20000)

    def test_a_slow_reader_gets_all(self):
        self.restart(send_buffer_max=200000)
        slow = self.websocket()
        slow.send_text(*["large 100000"] * 200)
        for _ in range(200):
            self.assertEqual(100000, len(slow.receive_text()))

    def test_an_answer_that_would_be_too_long_is_an_error(self):
        self.restart(send_buffer_max=200000)
        one = self.websocket()
        self.assertEqual("too large", self.ask(one, "large 200001"))
        self.assertEqual(100000, len(self.ask(one, "large 100000")))

    def test_a_connection_above_the_limit_is_refused(self):
        self.restart(connections_max=3)
        held = [self.stub.connect() for _ in range(3)]
        for connection in held:
            connection.sendall(post(b"x"))
            self.assertEqual(200, Reader(connection).response()[0])
        if self.stub.tls:
            with self.assertRaisesRegex(ssl.SSLError, "internal error"):
                self.stub.connect()
        else:
            with self.stub.connect() as connection:
                self.assertEqual(503, Reader(connection).response()[0])
        held.pop().close()

        def is_served():
            try:
                with self.stub.connect() as connection:
                    connection.sendall(post(b"x"))
                    return Reader(connection).response()[0] == 200
            except (EOFError, ConnectionError, ssl.SSLError):
                return False
        eventually(is_served)
        for connection in held:
            connection.close()

    def test_an_idle_connection_needs_little_memory(self):
        count = 10000
        try:
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
            enough = resource.getrlimit(resource.RLIMIT_NOFILE)[0] > count + 100
        except (ImportError, ValueError):
            enough = False
        if not enough:
            self.skipTest("too few descriptors")
        self.restart(connections_max=count + 1)
        first = self.websocket()
        before = self.stub.resident_kib()
        idle = [WebSocket(self.stub) for _ in range(count)]
        for one in idle:
            one.send_text("hello")
        for one in idle:
            self.assertEqual("hello", one.receive_text())
        grown = self.stub.resident_kib() - before
        self.assertEqual("here", self.ask(first, "here"))
        for one in idle:
            one.close()
        eventually(lambda: self.ask(first, "open") == "1")
        if not self.is_sanitized():
            self.assertLess(grown * 1024 / count, 20 * 1024 if self.stub.tls else 4096)


class Input(LoadTest):
    """The limit on the input that is collected from all clients together."""

    MIB = 1 << 20
    options = {"threads": 2, "threads_max": 4, "message_max": MIB, "input_max_total": 8 * MIB}

    def begin(self, kind):
        """Opens a connection that announces 1 MiB of input."""
        if kind == "websocket":
            one = self.websocket()
            one.send(frame(TEXT, length=self.MIB) + b"")
            return one
        if kind == "fragments":
            return self.websocket()
        one = Reader(self.stub.connect())
        self.addCleanup(one.connection.close)
        length = {"Transfer-Encoding": "chunked"} if kind == "chunks" else {"Content-Length": self.MIB}
        one.connection.sendall(request("POST /rpc", {"Content-Type": "application/json", **length}))
        return one

    @staticmethod
    def piece(kind, size, first, last):
        if kind == "fragments":
            return frame(TEXT if first else CONTINUATION, b"x" * size, fin=last)
        if kind == "chunks":
            return b"%x\r\n" % size + b"x" * size + (b"\r\n0\r\n\r\n" if last else b"\r\n")
        return b"x" * size

    def send_message(self, one, kind, size):
        """Sends the first `size` bytes of the announced message. If the server closes the connection while the
        client sends, the server has sent its answer before."""
        piece = 16384
        one.connection.settimeout(SECONDS)
        with contextlib.suppress(OSError):
            for at in range(0, size, piece):
                one.connection.sendall(self.piece(kind, piece, at == 0, at + piece == self.MIB))

    def outcome(self, one, kind):
        """Reads the answer. Returns an HTTP status, a close code, or the length of the returned text."""
        try:
            if kind in ("websocket", "fragments"):
                first, payload = one.receive()
                return int.from_bytes(payload[:2], "big") if first & 15 == CLOSE else len(payload)
            status, _, body = one.response()
            return len(body) if status == 200 else (status, b"input-max-total" in body and body[:6])
        except (OSError, EOFError) as fault:
            return repr(fault)

    def run_all(self, kinds, size, outcomes):
        def run(kind):
            one = self.begin(kind)
            self.send_message(one, kind, size)
            outcomes.append((kind, self.outcome(one, kind)))
        threads = [threading.Thread(target=run, args=(kind,), daemon=True) for kind in kinds]
        for thread in threads:
            thread.start()
        return threads

    def test_the_greediest_are_cut_and_others_are_served(self):
        """30 clients stop just before the end of 1 MiB. As many requests are cut off as needed for the rest
        to fit, and small requests are served."""
        before = self.stub.resident_kib()
        outcomes = []
        self.run_all(["websocket", "fragments", "http", "chunks", "http"] * 6, self.MIB - 65536, outcomes)
        other = self.websocket()
        most = 0

        def most_are_cut():
            nonlocal most
            self.assertEqual("here", self.ask(other, "here"))
            with self.stub.connect() as connection:
                connection.sendall(post(b"small"))
                self.assertEqual(200, Reader(connection).response()[0])
            most = max(most, self.stub.resident_kib() - before)
            return len(outcomes) >= 30 - 9
        eventually(most_are_cut)
        expected = {"websocket": 1013, "fragments": 1013, "http": (503, b"-32000"), "chunks": (503, b"-32000")}
        for kind, outcome in outcomes:
            self.assertEqual(expected[kind], outcome, kind)
        if not self.is_sanitized():
            self.assertLess(most, 8 * 1024 + 16 * 1024)
        self.assertEqual(self.MIB // 2, len(self.ask(other, "y" * (self.MIB // 2))))

    def test_whoever_goes_on_to_the_end_is_served(self):
        """Clients send three times the limit at once. Some of them have to wait, which they notice only as a delay. A
        client that a loaded machine keeps from sending 16 KiB in 100 ms loses its place and may be cut off. Such a
        client sends its message again; only few clients may have to."""
        kinds = ["websocket", "fragments", "http", "chunks"] * 6
        cut = {1013, (503, b"-32000")}
        seen = []
        outcomes = []
        left = kinds
        end = time.monotonic() + SECONDS
        while left:
            self.assertLess(time.monotonic(), end, f"{left} are still cut, after {seen}")
            outcomes = []
            for thread in self.run_all(left, self.MIB, outcomes):
                thread.join()
            seen += outcomes
            left = [kind for kind, outcome in outcomes if outcome in cut]
        self.assertEqual([], [outcome for outcome in seen if outcome[1] != self.MIB and outcome[1] not in cut])
        self.assertEqual(sorted(kinds), sorted(kind for kind, outcome in seen if outcome == self.MIB))
        self.assertLess(len(seen) - len(kinds), len(kinds) // 2)

    def test_who_waits_still_has_its_deadline(self):
        self.restart(**{**self.options, "body_timeout_ms": 1500})
        outcomes = []
        kinds = ["websocket", "http"] * 15
        for thread in self.run_all(kinds, self.MIB - 65536, outcomes):
            thread.join()
        allowed = {"websocket": {1013, 1008}, "http": {(503, b"-32000"), (408, False)}}
        for kind, outcome in outcomes:
            self.assertIn(outcome, allowed[kind])
        other = self.websocket()
        eventually(lambda: self.ask(other, "open") == "1")

    def test_the_server_ends_while_clients_wait(self):
        outcomes = []
        threads = self.run_all(["websocket", "http"] * 15, self.MIB - 65536, outcomes)
        eventually(lambda: len(outcomes) > 3)
        self.stub.end_input()
        for thread in threads:
            thread.join()

    def dealer(self, context):
        one = context.socket(zmq.DEALER)
        one.linger = 0
        one.rcvtimeo = SECONDS * 1000
        one.connect(self.stub.zmq_url)
        return one

    def test_zeromq_messages_that_do_not_fit_are_refused(self):
        self.restart(**{**self.options, "input_max_total": self.MIB})
        full = self.websocket()
        # The pong shows that the fragment was read and counted. Before that, the request over ZeroMQ would fit.
        full.send(frame(TEXT, b"x" * (self.MIB // 2), fin=False), frame(PING))
        self.assertEqual(0x80 | PONG, full.receive()[0])
        with zmq.Context() as context, self.dealer(context) as one:
            def is_refused():
                one.send(b"z" * (self.MIB - 65536))
                answer = one.recv()
                return b"input-max-total" in answer
            self.assertTrue(is_refused())
            one.send(b"small")
            self.assertEqual(b"small", one.recv())
            full.connection.close()
            eventually(lambda: not is_refused())

    def test_a_message_that_finds_zeromq_requests_at_the_bound_is_cut(self):
        """The request over ZeroMQ was sent first. It is served, and later requests are not refused."""
        self.restart(**{**self.options, "input_max_total": self.MIB})
        late = self.websocket()
        with zmq.Context() as context, self.dealer(context) as one:
            request = b"hold " + b"z" * (self.MIB - 65536)
            one.send(request)
            wait_inside(self.stub, 1)
            late.send(frame(TEXT, b"x" * (self.MIB // 2), fin=False))
            first, payload = late.receive()
            self.assertEqual((0x80 | CLOSE, 1013), (first, int.from_bytes(payload[:2], "big")))
            self.stub.release()
            self.assertEqual(request[5:], one.recv())
            one.send(request[5:])
            self.assertEqual(request[5:], one.recv())


class Churn(LoadTest):
    """Clients that connect, misbehave and leave while deadlines pass: for the sanitizers, and for leaks."""

    options = {"threads": 3, "threads_max": 6, "linger_ms": 20, "busy_timeout_ms": 20, "header_timeout_ms": 30,
               "body_timeout_ms": 40, "idle_timeout_ms": 30, "send_buffer_max": 100000, "connections_max": 30}

    def half_a_head(self, chance):
        with self.stub.connect() as connection:
            connection.sendall(b"POST / HT")
            time.sleep(chance.choice([0, 0.03]))

    def half_a_frame(self, chance):
        with contextlib.closing(WebSocket(self.stub)) as one:
            one.send(frame(TEXT, "abc") * 3, frame(TEXT, "abcdef")[:7])
            time.sleep(chance.choice([0, 0.04]))

    def slow_calls(self, chance):
        with contextlib.closing(WebSocket(self.stub)) as one:
            one.send_text(*["sleep 15 x", "ping", "note"] * 3)
            if chance.random() < 0.5:
                one.receive()

    def unread(self, chance):
        with contextlib.closing(WebSocket(self.stub)) as one:
            one.send_text(*["large 90000"] * 10, "stream 3000000")
            time.sleep(chance.choice([0, 0.06]))

    def requests(self, _):
        with self.stub.connect() as connection:
            connection.sendall(post(b"a") + post(b"sleep 5 x") + post(b"stream 1000"))
            reader = Reader(connection)
            for _ in range(3):
                reader.response()

    def work(self, seed):
        chance = random.Random(seed)
        kinds = [self.half_a_head, self.half_a_frame, self.slow_calls, self.unread, self.requests]
        for _ in range(60):
            # Turned away, timed out or cut off: each is allowed.
            with contextlib.suppress(OSError, EOFError, AssertionError):
                chance.choice(kinds)(chance)

    def test_clients_that_misbehave_leave_nothing(self):
        workers = [threading.Thread(target=self.work, args=(seed,)) for seed in range(10)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

        def is_quiet():
            with (contextlib.suppress(OSError, EOFError, AssertionError),
                  contextlib.closing(WebSocket(self.stub)) as one):
                return self.ask(one, "open") == "1"
        eventually(is_quiet)


class Drain(unittest.TestCase):
    def test_idle_clients_get_a_goodbye(self):
        stub = Stub(grace_ms=600000)  # more than stop() waits
        one = WebSocket(stub)
        with stub.connect() as connection:
            connection.sendall(post(b"x"))
            reader = Reader(connection)
            self.assertEqual(200, reader.response()[0])
            stub.end_input()
            self.assertTrue(reader.at_end())
            first, payload = one.receive()
            self.assertEqual((0x80 | CLOSE, b"\x03\xe9"), (first, payload[:2]))
            one.close()
        _, (opened, closed) = stub.stop()
        self.assertEqual(opened, closed)

    def test_running_calls_get_the_grace_time(self):
        stub = Stub(grace_ms=60000)
        one, other = WebSocket(stub), WebSocket(stub)
        one.send_text("hold done", "not any more")
        wait_inside(stub, 1)
        stub.end_input()
        self.assertEqual(1001, other.receive_close())
        stub.release()
        self.assertEqual("done", one.receive_text())
        self.assertEqual("the peer is shutting down", one.receive_text())
        self.assertEqual(1001, one.receive_close())
        one.close()
        other.close()
        _, (opened, closed) = stub.stop()
        self.assertEqual(opened, closed)

    def test_calls_that_take_longer_get_an_error(self):
        stub = Stub(grace_ms=200)
        one = WebSocket(stub)
        one.send_text("sleep 600000 never")
        web = stub.connect()
        web.sendall(post(b"sleep 600000 never"))
        wait_inside(stub, 2)
        stub.end_input()
        self.assertEqual("the peer is shutting down", one.receive_text())
        self.assertEqual(1001, one.receive_close())
        reader = Reader(web)
        status, fields, body = reader.response()
        self.assertEqual((200, "close", b"the peer is shutting down"), (status, fields["connection"], body))
        self.assertTrue(reader.at_end())
        one.close()
        web.close()
        stub.stop()

    def test_a_thread_that_is_exiting_is_not_waited_for(self):
        stub = Stub(grace_ms=600000)
        one = WebSocket(stub)
        one.send_text("exit")
        wait_inside(stub, 1)
        stub.end_input()
        self.assertEqual("the peer is shutting down", one.receive_text())
        self.assertEqual(1001, one.receive_close())
        one.close()
        stub.stop()

    def test_zeromq_clients_get_the_same_errors_at_the_end(self):
        for command, grace_ms in [("exit", 600000), ("sleep 600000 never", 200)]:
            with self.subTest(command):
                stub = Stub(grace_ms=grace_ms)
                with zmq.Context() as context, context.socket(zmq.DEALER) as one:
                    one.connect(stub.zmq_url)
                    one.send_string("ping")
                    self.assertEqual("pong", one.recv_string())
                    one.send_string(command)
                    one.send_string("after it")
                    wait_inside(stub, 1)
                    stub.end_input()
                    for _ in range(2):
                        self.assertEqual("the peer is shutting down", one.recv_string())
                    one.linger = 0
                stub.stop()

    def test_a_server_that_drains_accepts_no_connections(self):
        stub = Stub(grace_ms=60000)
        one = WebSocket(stub)
        one.send_text("hold done")
        wait_inside(stub, 1)
        stub.end_input()

        def is_refused():
            try:
                stub.connect().close()
                return False
            except ConnectionError:
                return True
        eventually(is_refused)
        stub.release()
        self.assertEqual("done", one.receive_text())
        one.close()
        stub.stop()
