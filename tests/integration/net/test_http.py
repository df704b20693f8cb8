"""HTTP/1.1: real clients, and malformed requests."""

import http.client
import subprocess

from stub import SECONDS, Reader, StubTest, WebSocket, frame, half_close, post, request

JSON = {"Content-Type": "application/json"}
ID = "11111111-2222-3333-4444-555555555555"


class Clients(StubTest):
    def setUp(self):
        super().setUp()
        if self.stub.tls:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.stub.port, timeout=60, context=self.stub.context)
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.stub.port, timeout=60)
        self.addCleanup(self.connection.close)

    def exchange(self, body, method="POST", path="/rpc", **headers):
        self.connection.request(method, path, body, {**JSON, **headers})
        response = self.connection.getresponse()
        return response, response.read()

    def test_one_connection_for_many(self):
        for body in [b"a", b"x" * 100000, b"", b"y" * 3000000]:
            response, answer = self.exchange(body)
            self.assertEqual((200, body), (response.status, answer))
            self.assertEqual("application/json", response.headers["Content-Type"])
            self.assertEqual("no-store", response.headers["Cache-Control"])
            self.assertIsNone(response.headers["Connection"])
            sock = self.connection.sock
            self.assertIsNotNone(sock)

    def test_chunked_body(self):
        self.connection.request("POST", "/", iter([b"ab", b"c" * 100000, b"d"]), JSON)
        response = self.connection.getresponse()
        self.assertEqual(b"ab" + b"c" * 100000 + b"d", response.read())

    def test_notification(self):
        response, answer = self.exchange(b"note")
        self.assertEqual((204, b"", None), (response.status, answer, response.headers["Content-Length"]))
        self.assertEqual(b"after", self.exchange(b"after")[1])

    def test_streamed_answer(self):
        response, answer = self.exchange(b"stream 3000000")
        self.assertEqual("chunked", response.headers["Transfer-Encoding"])
        self.assertEqual(3000002, len(answer))
        self.assertEqual(b"after", self.exchange(b"after")[1])

    def test_a_stream_that_fails_is_no_answer(self):
        with self.assertRaises(http.client.IncompleteRead):
            self.exchange(b"broken 100000")

    def test_sessions(self):
        self.assertIsNone(self.exchange(b"a")[0].headers["peer-id"])
        self.assertEqual("abababab-abab-abab-abab-abababababab", self.exchange(b"keep")[0].headers["peer-id"])
        self.assertEqual(b"http " + ID.encode(), self.exchange(b"who", peer_id="")[1].replace(b"nobody", ID.encode()))
        self.connection.request("POST", "/", b"who", {**JSON, "Peer-Id": ID})
        self.assertEqual(b"http " + ID.encode(), self.connection.getresponse().read())

    def test_each_http_method_has_its_status(self):
        for method, path, status, allow in (("GET", "/rpc", 405, "POST, OPTIONS"), ("OPTIONS", "/rpc", 204, "POST, OPTIONS"),
                                            ("HEAD", "/rpc", 405, "POST, OPTIONS"),
                                            ("PUT", "/help", 405, "GET, HEAD, OPTIONS")):
            response, answer = self.exchange(None, method, path)
            self.assertEqual((status, allow), (response.status, response.headers["Allow"]))
            self.assertIsNone(response.headers["Access-Control-Allow-Origin"])
            self.assertTrue(answer == b"" or method in ("GET", "PUT"))
        self.assertEqual(b"after", self.exchange(b"after")[1])

    def test_head_is_get_without_its_body(self):
        for path in ["/rpc/get?type=x", "/help", "/rpc/", "/rpc", "/no/where", "/openrpc.json"]:
            answers = [self.exchange(None, method, path) for method in ("GET", "HEAD")]
            (status, fields), of_head = [(response.status, response.getheaders()) for response, _ in answers]
            with self.subTest(path):
                self.assertEqual((status, fields), of_head)
                self.assertEqual(str(len(answers[0][1])), dict(fields)["Content-Length"])
                self.assertEqual(b"", answers[1][1])
        self.assertEqual(b"after", self.exchange(b"after")[1])

    def curl(self, *arguments, body=None):
        trust = ["--cacert", self.stub.tls.authority.certificate] if self.stub.tls else []
        done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", *trust, *arguments,
                               "--header", "Content-Type: application/json", self.stub.http_url],
                              input=body, capture_output=True, check=True, timeout=SECONDS)
        return done.stdout

    def test_curl(self):
        self.assertEqual(b"[1]", self.curl("--data", "[1]"))
        self.assertEqual(b"[1]", self.curl("--data", "[1]", "--http1.0"))
        self.assertEqual(b"[1]", self.curl("--data", "[1]", "--http2"))
        large = b"x" * 2000000
        self.assertEqual(large, self.curl("--data-binary", "@-", body=large))
        self.assertEqual(large, self.curl("--data-binary", "@-", "--header", "Transfer-Encoding: chunked", body=large))
        self.assertEqual(3002, len(self.curl("--data", "stream 3000", "--http1.0")))


class ByHand(StubTest):
    options = {"message_max": 1000, "header_max": 2000}

    def setUp(self):
        super().setUp()
        self.connection = self.stub.connect()
        self.addCleanup(self.connection.close)
        self.reader = Reader(self.connection)

    def send(self, data):
        self.connection.sendall(data)

    def test_byte_by_byte(self):
        for byte in post(b"slow"):
            self.send(bytes([byte]))
        self.assertEqual(b"slow", self.reader.response()[2])

    def test_pipelining(self):
        self.send(b"".join(post(str(i).encode()) for i in range(100)))
        for i in range(100):
            self.assertEqual(str(i).encode(), self.reader.response()[2])

    def test_pipelining_with_a_stream(self):
        self.send(post(b"stream 200000") + post(b"next"))
        self.assertEqual(200002, len(self.reader.response()[2]))
        self.assertEqual(b"next", self.reader.response()[2])

    def test_continue(self):
        head, body = post(b"body", Expect="100-continue").split(b"\r\n\r\n")
        self.send(head + b"\r\n\r\n")
        self.assertEqual(b"HTTP/1.1 100 Continue\r\n\r\n", self.reader.until(b"\r\n\r\n"))
        self.send(body)
        self.assertEqual((200, b"body"), self.reader.response()[::2])

    def test_no_100_continue_if_the_body_has_arrived(self):
        self.send(post(b"body", Expect="100-continue"))
        self.assertEqual((200, b"body"), self.reader.response()[::2])

    def test_no_100_continue_for_a_body_that_is_too_long(self):
        self.send(request("POST /", {**JSON, "Content-Length": "1001", "Expect": "100-continue"}))
        self.assertEqual(413, self.reader.response()[0])
        self.assertTrue(self.reader.at_end())

    def test_http_1_0(self):
        self.send(post(b"old").replace(b"HTTP/1.1", b"HTTP/1.0"))
        status, fields, body = self.reader.response()
        self.assertEqual((200, "close", b"old"), (status, fields["connection"], body))
        self.assertTrue(self.reader.at_end())

    def test_http_1_0_stream(self):
        self.send(post(b"stream 5000").replace(b"HTTP/1.1", b"HTTP/1.0"))
        _, fields, _ = self.reader.response()
        self.assertNotIn("transfer-encoding", fields)
        self.assertEqual(5002, len(self.reader.exactly(5002)))
        self.assertTrue(self.reader.at_end())

    def test_connection_close(self):
        self.send(post(b"last", Connection="close") + post(b"unread"))
        status, fields, body = self.reader.response()
        self.assertEqual((200, "close", b"last"), (status, fields["connection"], body))
        self.assertTrue(self.reader.at_end())

    def test_a_client_that_has_said_all_gets_its_answer(self):
        self.send(post(b"sleep 50 x"))
        half_close(self.connection)
        self.assertEqual(b" x", self.reader.response()[2])
        self.assertTrue(self.reader.at_end())

    def test_a_body_that_is_too_long_is_dropped(self):
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        chunks = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
        for data in (head + b"Content-Length: 64000\r\n\r\n" + b"x" * 64000,
                     head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 64 + b"0\r\n\r\n"):
            self.send(post(b"before") + data + post(b"after"))
            self.assertEqual(b"before", self.reader.response()[2])
            status, fields, body = self.reader.response()
            self.assertEqual((413, "application/json"), (status, fields["content-type"].split(";")[0]))
            self.assertIn(b"-32600 The message passes the limit message-max of 1000 bytes", body)
            self.assertEqual(b"after", self.reader.response()[2])

    def test_errors_after_which_the_connection_must_close(self):
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        cases = [
            ("two lengths", 400, head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            ("a wrong chunk", 400, head + b"Transfer-Encoding: chunked\r\n\r\nx\r\n"),
            ("no length", 411, head + b"Connection: close\r\n\r\n"),
            ("too long to be dropped", 413, head + b"Content-Length: 64001\r\n\r\n" + b"x" * 100),
            ("so long in chunks", 413, head + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nfa00\r\n"),
            ("another type", 415, head.replace(b"json", b"xml") + b"Content-Length: 1\r\n\r\nx"),
            ("a head that is too long", 431, head + b"X: " + b"x" * 2000 + b"\r\n\r\n"),
            ("an unknown method", 501, b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            ("a page of another origin", 403, head + b"Origin: http://evil.test\r\nContent-Length: 1\r\n\r\nx"),
        ]
        for name, status, data in cases:
            with self.subTest(name), self.stub.connect() as connection:
                connection.sendall(data)
                reader = Reader(connection)
                answer, fields, _ = reader.response()
                self.assertEqual((status, "close"), (answer, fields["connection"]))
                self.assertTrue(reader.at_end())

    def test_an_error_in_a_head_has_no_body_for_head(self):
        self.send(b"HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        self.assertEqual((400, b""), self.reader.response(has_body=False)[::2])
        self.assertTrue(self.reader.at_end())

    def test_nothing_after_an_error_is_served(self):
        self.send(b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + post(b"smuggled"))
        self.assertEqual(400, self.reader.response()[0])
        self.assertTrue(self.reader.at_end())

    def test_an_error_without_a_body_keeps_the_connection(self):
        self.send(request("GET /no/where") + post(b"next"))
        self.assertEqual(404, self.reader.response()[0])
        self.assertEqual(b"next", self.reader.response()[2])


class Deadlines(StubTest):
    options = {"header_timeout_ms": 1500, "body_timeout_ms": 2000, "idle_timeout_ms": 1800}

    def setUp(self):
        super().setUp()
        self.connection = self.stub.connect()
        self.addCleanup(self.connection.close)
        self.reader = Reader(self.connection)

    def drip(self, data):
        """Sends a byte every 20 ms until the server closes."""
        self.connection.settimeout(0.02)
        for byte in data:
            try:
                self.connection.sendall(bytes([byte]))
                if self.reader.more():
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.connection.settimeout(60)

    def test_a_head_that_drips_is_not_waited_for(self):
        self.drip(b"POST / HTTP/1.1\r\nX: " + b"x" * 1000)
        self.assertEqual(408, self.reader.response()[0])
        self.assertTrue(self.reader.at_end())

    def test_a_body_that_drips_is_not_waited_for(self):
        self.connection.sendall(post(b"x" * 1000)[:-1000])
        self.drip(b"x" * 1000)
        self.assertEqual(408, self.reader.response()[0])
        self.assertTrue(self.reader.at_end())

    def test_a_silent_connection_is_closed(self):
        self.assertTrue(self.reader.at_end())

    def test_a_connection_that_is_silent_after_an_answer_is_closed(self):
        self.connection.sendall(post(b"one"))
        self.assertEqual(b"one", self.reader.response()[2])
        self.assertTrue(self.reader.at_end())

    def test_a_slow_call_is_no_slow_client(self):
        self.connection.sendall(post(b"sleep 4000 done"))
        self.assertEqual(b" done", self.reader.response()[2])

    def test_half_a_frame_is_waited_for_only_until_the_deadline(self):
        socket = WebSocket(self.stub)
        socket.send(frame(1, "abc")[:4])
        self.assertEqual(1008, socket.receive_close())
        socket.close()

    def test_a_message_that_drips_is_not_waited_for(self):
        socket = WebSocket(self.stub)
        self.connection.close()
        self.connection, self.reader = socket.connection, socket
        self.drip(b"".join(frame(0 if i else 1, "x", fin=False) for i in range(1000)))
        self.assertEqual(1008, socket.receive_close())
        socket.close()

    def test_a_silent_websocket_stays(self):
        socket = WebSocket(self.stub)
        self.assertTrue(self.reader.at_end())  # the idle HTTP connection has ended before it
        socket.send_text("here")
        self.assertEqual("here", socket.receive_text())
        socket.close()
