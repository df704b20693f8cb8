"""WebSocket (RFC 6455): real clients, and malformed frames."""

import asyncio
import contextlib
import struct
import time

import websockets

from stub import HANDSHAKE, Reader, StubTest, WebSocket, frame, half_close, post, request
from support.raw_websocket import BINARY, CLOSE, PING, PONG, TEXT

ID = "11111111-2222-3333-4444-555555555555"


def code(number):
    return struct.pack(">H", number)


class Library(StubTest):
    """The client library that people use."""

    def run_client(self, client, **options):
        async def main():
            async with websockets.connect(self.stub.url, max_size=None, ssl=self.stub.context, **options) as connection:
                return await asyncio.wait_for(client(connection), 60)
        return asyncio.run(main())

    def test_text_comes_back(self):
        async def client(connection):
            for text in ["a", "", "ä€😀", "x" * 125, "x" * 126, "x" * 65535, "x" * 65536, "x" * 1000000]:
                await connection.send(text)
                self.assertEqual(text, await connection.recv())
        self.run_client(client)

    def test_answers_keep_their_order(self):
        async def client(connection):
            for i in range(2000):
                await connection.send(str(i))
            for i in range(2000):
                self.assertEqual(str(i), await connection.recv())
        self.run_client(client)

    def test_fragments(self):
        async def client(connection):
            await connection.send(["a" * 1000, "", "b" * 70000, "ä"])
            self.assertEqual("a" * 1000 + "b" * 70000 + "ä", await connection.recv())
        self.run_client(client)

    def test_ping_pong_close(self):
        async def client(connection):
            await asyncio.wait_for(await connection.ping(b"x" * 125), 60)
            await connection.close(1000, "bye")
            self.assertEqual(1000, connection.close_code)
        self.run_client(client)

    def test_streamed_answer(self):
        async def client(connection):
            await connection.send("stream 5000000")
            await connection.send("after")
            answer = await connection.recv()
            self.assertEqual(5000002, len(answer))
            self.assertEqual("[abc", answer[:4])
            self.assertEqual("]", answer[-1])
            self.assertEqual("after", await connection.recv())
        self.run_client(client)

    def test_a_stream_that_fails_is_no_answer(self):
        async def client(connection):
            await connection.send("broken 100000")
            with self.assertRaises(websockets.ConnectionClosedError) as raised:
                await connection.recv()
            self.assertEqual(1011, raised.exception.rcvd.code)
        self.run_client(client)

    def test_the_service_learns_who_asks(self):
        async def client(connection):
            await connection.send("who")
            return await connection.recv()
        self.assertEqual("websocket nobody", self.run_client(client))
        self.assertEqual("websocket " + ID, self.run_client(client, extra_headers={"peer-id": ID.upper()}))

    def test_notifications_have_no_answer(self):
        async def client(connection):
            await connection.send("note")
            await connection.send("next")
            self.assertEqual("next", await connection.recv())
        self.run_client(client)

    def test_a_page_of_another_origin_gets_no_connection(self):
        with self.assertRaises(websockets.InvalidStatusCode) as raised:
            self.run_client(None, origin="http://evil.test")
        self.assertEqual(403, raised.exception.status_code)


class Handshakes(StubTest):
    def test_426_names_the_version(self):
        with self.stub.connect() as connection:
            connection.sendall(request("GET /rpc", HANDSHAKE, Sec_WebSocket_Version="8"))
            status, fields, _ = Reader(connection).response()
        self.assertEqual(426, status)
        self.assertEqual(("13", "websocket", "Upgrade"),
                         tuple(fields[name] for name in ("sec-websocket-version", "upgrade", "connection")))

    def test_frames_may_come_with_the_handshake(self):
        with self.stub.connect() as connection:
            connection.sendall(request("GET /", HANDSHAKE) + frame(TEXT, "early"))
            reader = WebSocket.__new__(WebSocket)
            Reader.__init__(reader, connection)
            self.assertEqual(101, reader.response(has_body=False)[0])
            self.assertEqual("early", reader.receive_text())

    def test_a_connection_may_begin_with_http(self):
        with self.stub.connect() as connection:
            connection.sendall(post(b"one") + request("GET /", HANDSHAKE) + frame(TEXT, "two"))
            reader = WebSocket.__new__(WebSocket)
            Reader.__init__(reader, connection)
            self.assertEqual(b"one", reader.response()[2])
            self.assertEqual(101, reader.response(has_body=False)[0])
            self.assertEqual("two", reader.receive_text())


class Frames(StubTest):
    options = {"message_max": 100000}

    def setUp(self):
        super().setUp()
        self.socket = WebSocket(self.stub)
        self.addCleanup(self.socket.close)

    def test_byte_by_byte(self):
        for byte in frame(TEXT, "slow ä") + frame(PING, "p"):
            self.socket.send(bytes([byte]))
        self.assertEqual("slow ä", self.socket.receive_text())
        self.assertEqual((0x80 | PONG, b"p"), self.socket.receive())

    def test_invalid_frames_and_closes_end_the_connection(self):
        for name, number, *frames in (
                ("no mask", 1002, frame(TEXT, "a", has_mask=False)), ("binary", 1003, frame(BINARY, "a")),
                ("a message in a message", 1002, frame(TEXT, "a", fin=False), frame(TEXT, "b")),
                ("no UTF-8, before the message is whole", 1007, frame(TEXT, b"ab\xff", fin=False)),
                ("too big to be dropped", 1009, frame(TEXT, b"x", length=6400001)),
                ("so big in fragments", 1009, frame(TEXT, b"x", fin=False), frame(0, b"x", fin=False, length=6400000)),
                ("a close without a code", None, frame(CLOSE)), ("a close", 4999, frame(CLOSE, code(4999) + b"bye")),
                ("a close with a code that may not be sent", 1002, frame(CLOSE, code(1005)))):
            with self.subTest(name), contextlib.closing(WebSocket(self.stub)) as one:
                one.send(*frames)
                self.assertEqual(number, one.receive_close())

    def test_a_message_that_is_too_big_is_dropped(self):
        rejection = "-32600 The message passes the limit message-max of 100000 bytes"
        for frames in ((frame(TEXT, b"x" * 6400000),),
                       (frame(TEXT, b"x" * 60000, fin=False), frame(PING, "p"), frame(0, b"x" * 40001))):
            self.socket.send(frame(TEXT, "before"), *frames, frame(TEXT, "after"))
            received = [self.socket.receive() for _ in range(len(frames) + 2 - (len(frames) > 1))]
            texts = [payload.decode() for first, payload in received if first & 15 == TEXT]
            self.assertEqual(["before", rejection, "after"], texts)

    def test_a_message_of_the_largest_size_is_served(self):
        self.socket.send(frame(TEXT, b"x" * 100000))
        self.assertEqual(100000, len(self.socket.receive_text()))

    def test_what_came_before_a_close_is_answered(self):
        self.socket.send(frame(TEXT, "a"), frame(TEXT, "b"), frame(CLOSE, code(1000)), frame(TEXT, "c"))
        self.assertEqual("a", self.socket.receive_text())
        self.assertEqual("b", self.socket.receive_text())
        self.assertEqual(1000, self.socket.receive_close())

    def test_what_came_before_a_wrong_frame_is_answered(self):
        self.socket.send(frame(TEXT, "a"), frame(BINARY, "b"))
        self.assertEqual("a", self.socket.receive_text())
        self.assertEqual(1003, self.socket.receive_close())

    def test_a_client_that_leaves_in_a_frame_is_forgotten(self):
        whole = frame(TEXT, "x" * 1000)
        for cut in [1, 2, 5, 8, 500, len(whole) - 1]:
            one = WebSocket(self.stub)
            one.send(whole[:cut])
            one.close()
        self.socket.send_text("still here")
        self.assertEqual("still here", self.socket.receive_text())

    def answers_come_at_once(self):
        self.socket.send_text(*[str(i) for i in range(10)])
        answers = self.socket.connection.recv(65536)
        at_once = len(answers) == 30
        while len(answers) < 30:
            answers += self.socket.connection.recv(65536)
        return at_once

    def test_answers_of_one_turn_leave_together(self):
        # On a loaded machine a turn sends before its end: it is enough if one of several tries succeeds.
        self.assertTrue(any(self.answers_come_at_once() for _ in range(50)))

    def test_a_client_that_has_said_all_gets_its_answers(self):
        self.socket.send_text("a", "sleep 100 b")
        half_close(self.socket.connection)
        self.assertEqual("a", self.socket.receive_text())
        self.assertEqual(" b", self.socket.receive_text())
        self.assertTrue(self.socket.at_end())


class Deadlines(StubTest):
    options = {"body_timeout_ms": 1000}

    def setUp(self):
        super().setUp()
        self.socket = WebSocket(self.stub)
        self.addCleanup(self.socket.close)

    def test_a_ping_in_two_pieces_begins_no_message(self):
        ping = frame(PING, "p")
        self.socket.send(ping[:3])
        time.sleep(0.05)
        self.socket.send(ping[3:])
        self.assertEqual((0x80 | PONG, b"p"), self.socket.receive())
        time.sleep(1.5)
        self.socket.send_text("still here")
        self.assertEqual("still here", self.socket.receive_text())

    def test_a_message_that_comes_byte_by_byte_has_its_time(self):
        drip = frame(TEXT, "x" * 3000000)
        end = time.monotonic() + 60
        self.socket.send(frame(PING, "p"), drip[:1])
        with self.assertRaises(OSError):
            for byte in drip[1:]:
                self.socket.send(bytes([byte]))
                self.assertLess(time.monotonic(), end, "the client never learned that its time is over")
