"""Calls that outlast their clients: which connections are closed early, which clients are still answered, and the
log."""

import contextlib
import datetime
import os
import socket
import struct
import time

from stub import SECONDS, Reader, StubTest, WebSocket, frame, half_close, post
from support import shm
from support.peer import eventually
from support.raw_websocket import CLOSE, PONG

COUNT = 12


class LeftTest(StubTest):
    options = {"threads": 2, "threads_max": COUNT + 4}
    has_socket = True

    def setUp(self):
        super().setUp()
        self.steering = WebSocket(self.stub)
        self.addCleanup(self.steering.close)

    def stop(self):
        self.steering.close()
        super().stop()

    def ask(self, text):
        self.steering.send_text(text)
        return self.steering.receive_text()

    def await_inside(self, count):
        eventually(lambda: self.ask("inside") == str(count))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.stub.process.pid}/fd"))

    def connect(self, is_local):
        if not is_local:
            return self.stub.connect()
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(SECONDS)
        connection.connect(self.path)
        return connection

    def call_by_websocket(self, is_local, *texts):
        reader = WebSocket(self.stub, self.connect(is_local))
        reader.send_text(*texts)
        return reader

    def call_by_http(self, is_local, *texts):
        reader = Reader(self.connect(is_local))
        reader.connection.sendall(b"".join(post(text.encode()) for text in texts))
        return reader

    def call_by_shm(self):
        channel = shm.Channel(self.path)
        channel.send(b"hold x")
        return channel

    def all_closed(self):
        self.stub.release()
        eventually(lambda: self.ask("inside") == "0" and self.ask("open") == "1")


class Leaving(LeftTest):
    def check(self, call, leave):
        """Each of COUNT clients leaves while its call lasts: its descriptor is closed long before the call ends."""
        before = self.descriptors()
        clients = [call() for _ in range(COUNT)]
        self.await_inside(COUNT)
        self.assertGreaterEqual(self.descriptors(), before + COUNT)
        for client in clients:
            leave(client)
        started = time.monotonic()
        eventually(lambda: self.descriptors() <= before)
        took = time.monotonic() - started
        self.assertEqual(str(COUNT), self.ask("inside"))
        self.all_closed()
        return took

    @staticmethod
    def close(reader):
        reader.connection.close()

    @staticmethod
    def reset(reader):
        reader.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader.connection.close()

    def say_goodbye(self, reader):
        reader.connection.sendall(frame(CLOSE, struct.pack(">H", 1000) + b"bye"))
        self.close(reader)

    def test_a_websocket_client_that_leaves_is_closed_before_its_call_ends(self):
        for is_local in (False, True):
            for leave in (self.close, self.say_goodbye):
                self.check(lambda: self.call_by_websocket(is_local, "hold x"), leave)
        self.check(lambda: self.call_by_websocket(False, "hold x"), self.reset)

    def test_an_http_client_that_leaves_is_closed_before_its_call_ends(self):
        for is_local in (False, True):
            self.check(lambda: self.call_by_http(is_local, "hold x"), self.close)
        self.check(lambda: self.call_by_http(False, "hold x"), self.reset)

    def test_an_shm_client_that_leaves_is_closed_before_its_call_ends(self):
        self.check(self.call_by_shm, lambda channel: channel.close())

    def test_a_place_that_was_closed_early_serves_again(self):
        self.check(lambda: self.call_by_websocket(False, "hold x"), self.close)
        readers = [self.call_by_websocket(False, "here") for _ in range(COUNT)]
        for reader in readers:
            self.assertEqual((0x81, 4), tuple(reader.exactly(2)))
            self.assertEqual(b"here", reader.exactly(4))
            reader.connection.close()

    def test_the_server_ends_with_calls_of_clients_that_have_left(self):
        before = self.descriptors()
        clients = [self.call_by_websocket(False, "hold x") for _ in range(3)] + [self.call_by_shm() for _ in range(3)]
        self.await_inside(6)
        for client in clients:
            client.close() if isinstance(client, shm.Channel) else client.connection.close()
        eventually(lambda: self.descriptors() <= before)
        self.stub.end_input()
        self.stub.release()


class Staying(LeftTest):
    """A client that has only ended its own side is answered, and what a client has sent before it left is served."""

    def end_own_side(self, reader, sent):
        """Ends the sending side of the connection. sent: the bytes that the server sends after that, to find out
        whether the client is still connected."""
        self.await_inside(1)
        half_close(reader.connection)
        self.assertEqual(sent, reader.exactly(len(sent)))
        time.sleep(1.5)  # long enough for more than one further check of the connection
        self.stub.release()

    def test_a_client_that_still_reads_is_answered(self):
        for is_local, sent in ((False, bytes([0x80 | PONG, 0])), (True, b"")):
            reader = self.call_by_websocket(is_local, "hold x")
            self.end_own_side(reader, sent)
            self.assertEqual(b"\x81\x01x", reader.exactly(3))
            reader.connection.close()

    def test_a_client_of_http_that_still_reads_is_answered(self):
        for is_local, sent in ((False, b"HTTP/1.1 100 Continue\r\n\r\n"), (True, b"")):
            reader = self.call_by_http(is_local, "hold x")
            self.end_own_side(reader, sent)
            self.assertEqual((200, b"x"), reader.response()[::2])
            reader.connection.close()

    def test_a_client_of_http_1_0_receives_nothing_else(self):
        reader = Reader(self.stub.connect())
        reader.connection.sendall(post(b"hold x").replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.end_own_side(reader, b"")
        self.assertEqual(200, reader.response()[0])
        reader.connection.close()

    def test_what_was_sent_before_is_served(self):
        """The second request is served although the first gets no answer. A close frame after the requests changes
        nothing."""
        for is_local in (False, True):
            before = self.descriptors()
            reader = self.call_by_websocket(is_local, "quiet", "hold x")
            self.await_inside(1)
            reader.connection.sendall(frame(CLOSE, struct.pack(">H", 1000)))
            reader.connection.close()
            time.sleep(2)
            self.assertEqual(before + 1, self.descriptors())
            self.stub.release()
            self.await_inside(1)
            eventually(lambda: self.descriptors() == before)
            self.all_closed()


class Report(LeftTest):
    options = {"threads": 2, "threads_max": 4, "busy_timeout_ms": 50, "report_ms": 3000}

    def lines(self):
        """Returns the lines of the log. The server shares the file's position, so the position is not moved."""
        text = os.pread(self.stub.errors.fileno(), 1 << 20, 0).decode()
        return [line for line in text.splitlines() if "calls are in Java" in line]

    def test_a_refused_caller_brings_a_line_and_no_second_one_soon(self):
        clients = [self.call_by_websocket(False, "hold x") for _ in range(4)]
        for client in clients[:3]:
            client.connection.close()
        eventually(lambda: self.ask("inside") == "4")
        time.sleep(1.5)
        self.assertEqual([], self.lines())  # no client was refused, and no call is old
        for _ in range(5):
            self.assertIn("busy", self.ask("x"))
        eventually(self.lines)
        self.assertRegex(self.lines()[0],
                         r"warn +4 calls are in Java, as many as rpc-threads-max allows: other requests 4, oldest \d+ s; "
                         r"clients gone: 3; requests refused as busy: \d+$")
        self.assertIn("busy", self.ask("x"))
        eventually(lambda: len(self.lines()) == 2)
        first, second = (datetime.datetime.fromisoformat(line.split("Z")[0]) for line in self.lines())
        self.assertGreaterEqual((second - first).total_seconds(), 2.9)
        self.stub.release()
        with contextlib.suppress(OSError):
            clients[3].connection.close()

    def test_old_calls_bring_a_line_though_nobody_is_refused(self):
        clients = [self.call_by_websocket(False, "hold x") for _ in range(4)]
        self.await_inside(4)
        eventually(self.lines)
        self.assertRegex(self.lines()[0], r"other requests 4, oldest [34] s; clients gone: 0$")
        self.stub.release()
        for client in clients:
            self.assertEqual(b"\x81\x01x", client.exactly(3))
            client.connection.close()

    def test_a_peer_with_a_free_thread_says_nothing(self):
        clients = [self.call_by_websocket(False, "hold x") for _ in range(3)]
        self.await_inside(3)
        time.sleep(4)
        self.assertEqual([], self.lines())
        self.stub.release()
        for client in clients:
            client.connection.close()
