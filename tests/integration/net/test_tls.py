"""What only TLS has: versions, half handshakes, records that arrive in parts, alerts, new files. The other suites run over
TLS, too (CMakeLists.txt)."""

import contextlib
import os
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stub import SECONDS, Reader, StubTest, WebSocket, frame, post, request
from support import certificates
from support.peer import eventually, kill_after
from support.raw_websocket import CLOSE, TEXT

MIB = 1 << 20


class TlsTest(StubTest):
    def setUp(self):
        self.enterContext(unittest.mock.patch.dict(os.environ, STUB_TLS="1"))
        super().setUp()

    def plainly(self):
        connection = self.stub.connect_plainly()
        self.addCleanup(connection.close)
        return connection

    def websocket(self, connection=None):
        one = WebSocket(self.stub, connection)
        self.addCleanup(one.close)
        return one

    def secure(self, **options):
        """A connection that reports an end of the stream without the final alert."""
        connection = self.stub.context.wrap_socket(self.plainly(), server_hostname="localhost",
                                                   suppress_ragged_eofs=False, **options)
        self.addCleanup(connection.close)
        return connection

    def await_log(self, text):
        eventually(lambda: text in self.stub.log(), lambda: f"{text!r} in {self.stub.log()!r}")

    def assert_serves(self):
        with contextlib.closing(WebSocket(self.stub)) as one:
            self.assertEqual("x", self.ask(one, "x"))

    @staticmethod
    def ask(connection, text):
        connection.send_text(text)
        return connection.receive_text()

    def s_client(self, *options, text=(), wait="Verify return code"):
        """What openssl s_client prints: it sends the parts of the text once it has printed `wait`."""
        done = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{self.stub.port}", "-CAfile",
                                 str(self.stub.tls.authority.certificate), *options], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with done, kill_after(done), contextlib.suppress(BrokenPipeError):
            printed = ""
            while (line := done.stdout.readline()) and wait not in line:
                printed += line
            printed += line
            for part in text:  # a command is at the beginning of what s_client reads
                done.stdin.write(part)
                done.stdin.flush()
                time.sleep(0.2)
            done.stdin.close()
            return printed + done.stdout.read()


class MemoryClient:
    """TLS whose bytes the test sends itself."""

    def __init__(self, stub, connection, context=None):
        self.connection = connection
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or stub.context).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def hello(self):
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()

    def run(self, action, send=None):
        """Runs an action of the TLS object, receives for it, and sends what it has to say."""
        while True:
            try:
                done = action()
            except ssl.SSLWantReadError:
                done = None
            if said := self.outgoing.read():
                (send or self.connection.sendall)(said)
            if done is not None:
                return done
            received = self.connection.recv(1 << 16)
            if not received:
                raise EOFError
            self.incoming.write(received)

    def shake_hands(self, send=None):
        self.run(lambda: self.tls.do_handshake() or True, send)

    def sendall(self, data, send=None):
        for at in range(0, len(data), 1 << 14):
            self.run(lambda at=at: self.tls.write(data[at:at + (1 << 14)]), send)

    def recv(self, size):
        return self.run(lambda: self.tls.read(size))

    def close(self):
        self.connection.close()


class Protocol(TlsTest):
    def test_only_safe_versions_and_ciphers_are_served(self):
        for options in (["-tls1_3"], ["-tls1_2"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
                        ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"]):
            with self.subTest(options):
                printed = self.s_client(*options)
                self.assertIn("Verify return code: 0 (ok)", printed)
                self.assertIn("Compression: NONE", printed)
        for options in (["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], ["-tls1", "-cipher", "DEFAULT@SECLEVEL=0"],
                        ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
                        ["-tls1_2", "-cipher", "AES128-GCM-SHA256"]):
            with self.subTest(options):
                self.assertRegex(self.s_client(*options), "alert (handshake failure|protocol version)")
        self.assert_serves()

    def test_renegotiation_is_refused(self):
        self.assertIn("no renegotiation", self.s_client("-tls1_2", text=["R\n"]))
        self.assert_serves()

    def test_a_session_resumes_and_has_no_early_data(self):
        with contextlib.closing(self.secure()) as first:
            first.sendall(post(b"x"))
            self.assertEqual(200, Reader(first).response()[0])
            session = first.session
        with contextlib.closing(self.secure(session=session)) as again:
            self.assertTrue(again.session_reused)
        self.assertIn("Max Early Data: 0", self.s_client("-tls1_3", text=["GET / HTTP/1.0\r\n\r\n"]))

    def test_new_keys_are_made_while_the_connection_is_used(self):
        for text in ("K\n", "k\n"):  # s_client's commands: update keys, with and without an answer
            printed = self.s_client("-tls1_3", text=[text] * 3 + ["GET /rpc HTTP/1.0\r\n\r\n"])
            self.assertIn("KEYUPDATE", printed)
            self.assertIn("HTTP/1.", printed)
        self.assert_serves()

    def test_a_protocol_of_another_server_is_refused(self):
        context = certificates.client_context(self.stub.tls.authority)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with context.wrap_socket(self.plainly(), server_hostname="localhost") as connection:
            self.assertEqual("http/1.1", connection.selected_alpn_protocol())
        context.set_alpn_protocols(["imap"])
        with self.assertRaisesRegex(ssl.SSLError, "no application protocol"):
            context.wrap_socket(self.plainly(), server_hostname="localhost")

    def test_a_client_without_tls_is_logged_and_closed(self):
        for sent, said in ((post(b"x"), "plain HTTP"), (b"\x05\x01\x00", "does not speak TLS"),
                           (b"\x16\x03\x01\x40\x00\x01\x01\xff\xff" + bytes(100), "too long"),
                           (b"\x16\x03\x01\x00\x02\x01\x00\x16\x03\x01\x00\x80", "does not begin a handshake")):
            with self.subTest(said):
                time.sleep(1)  # one line a second
                connection = self.plainly()
                connection.sendall(sent)
                self.assertEqual(b"", connection.recv(100))
                self.await_log(said)
        self.assertIn("a TLS handshake with 127.0.0.1 has failed", self.stub.log())
        self.assert_serves()

    def test_tls_to_a_port_without_it_is_logged_and_closed(self):
        with unittest.mock.patch.dict(os.environ, STUB_TLS="0"):
            self.restart()
        connection = self.plainly()
        tls = certificates.client_context(certificates.Authority(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-tls-"))))
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            tls.wrap_socket(connection, server_hostname="localhost")
        self.await_log("speaks TLS to an address without TLS")


class Ends(TlsTest):
    def test_the_server_says_that_it_ends(self):
        one = self.websocket(self.secure())
        one.send(frame(CLOSE, b"\x03\xe8"))
        self.assertEqual(1000, one.receive_close())
        connection = self.secure()
        connection.sendall(post(b"x", Connection="close"))
        reader = Reader(connection)
        self.assertEqual(200, reader.response()[0])
        self.assertTrue(reader.at_end())

    def test_clients_are_told_when_the_server_drains(self):
        idle = self.secure()
        idle.sendall(post(b"x"))
        self.assertEqual(200, Reader(idle).response()[0])
        one, held = self.websocket(self.secure()), self.websocket(self.secure())
        held.send_text("hold x")
        eventually(lambda: self.ask(one, "inside") == "1")
        self.stub.end_input()
        self.assertEqual(1001, one.receive_close())
        self.assertTrue(Reader(idle).at_end())
        self.stub.release()
        self.assertEqual("x", held.receive_text())
        self.assertEqual(1001, held.receive_close())

    def test_a_half_close_is_no_end_of_a_request(self):
        client = MemoryClient(self.stub, self.plainly())
        client.shake_hands()
        client.sendall(post(b"sleep 300 x"))
        with contextlib.suppress(ssl.SSLWantReadError):
            client.tls.unwrap()
        self.assertEqual(24, len(said := client.outgoing.read()))  # the alert alone
        client.connection.sendall(said)
        self.assertEqual(b" x", Reader(client).response()[2])

    def test_a_client_that_dies_in_a_record_ends_alone(self):
        other = self.websocket()
        for length in (1, 4, 5, 30, 60):
            client = MemoryClient(self.stub, self.plainly())
            client.shake_hands()
            client.sendall(request("GET /rpc", {"Host": "localhost"}))
            record = []
            client.sendall(post(b"x" * 100), record.append)
            client.connection.sendall(record[0][:length])
            client.close()
        eventually(lambda: self.ask(other, "open") == "1")

    def test_a_record_that_was_changed_ends_the_connection(self):
        client = MemoryClient(self.stub, self.plainly())
        client.shake_hands()
        record = []
        client.sendall(post(b"x"), record.append)
        client.connection.sendall(record[0][:-1] + bytes([record[0][-1] ^ 1]))
        with self.assertRaises((EOFError, OSError)):
            client.recv(100)
        self.assert_serves()


class Parts(TlsTest):
    options = {"message_max": 80 * MIB, "send_buffer_max": 160 * MIB, "input_max_total": 400 * MIB}

    def test_bytes_of_records_arrive_one_by_one(self):
        def slowly(data):
            for byte in data:
                client.connection.sendall(bytes([byte]))
        client = MemoryClient(self.stub, self.plainly())
        client.shake_hands(slowly)
        for body in (b"a", b"bc" * 100):
            client.sendall(post(body), slowly)
            self.assertEqual(body, Reader(client).response()[2])

    def test_a_message_with_a_record_for_each_byte_is_served(self):
        connection = self.secure()
        for byte in post(b"hello" * 500):
            connection.send(bytes([byte]))
        self.assertEqual(b"hello" * 500, Reader(connection).response()[2])

    def test_many_records_in_one_segment_are_all_served(self):
        client = MemoryClient(self.stub, self.plainly())
        client.shake_hands()
        one = WebSocket(self.stub, client)
        said = []
        texts = [f"{number} {'x' * (number % 700)}" for number in range(2000)]
        for text in texts:
            client.sendall(frame(TEXT, text.encode()), said.append)
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(client.connection.sendall, b"".join(said))
            self.assertEqual(texts, [one.receive_text() for _ in texts])
            sending.result(SECONDS)

    def test_large_messages_pass_both_ways(self):
        size = 64 * MIB
        text = bytes(range(32, 127)) * (size // 95)
        one = self.websocket()
        one.send(frame(TEXT, text))
        self.assertEqual(b"\x81\x7f" + len(text).to_bytes(8, "big"), one.exactly(10))
        self.assertTrue(self.receive(one, len(text)) == text)
        one.send_text(f"large {size}")
        self.assertEqual(b"\x81\x7f" + size.to_bytes(8, "big"), one.exactly(10))
        self.receive(one, size)
        self.assertEqual("end", self.ask(one, "end"))
        reader = Reader(self.secure())
        reader.connection.sendall(post(text))
        reader.until(b"\r\n\r\n")
        self.assertTrue(self.receive(reader, len(text)) == text)

    @staticmethod
    def receive(reader, size):
        """As reader.exactly, for sizes where that would copy too much."""
        received = bytearray(reader.bytes[:size])
        reader.bytes = reader.bytes[size:]
        while len(received) < size:
            received += reader.connection.recv(min(1 << 16, size - len(received))) or b"?" * size
        return received

    def test_a_slow_reader_gets_all_and_delays_nobody(self):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(SECONDS)
        connection.connect(("127.0.0.1", self.stub.port))
        slow = self.websocket(self.stub.context.wrap_socket(connection, server_hostname="localhost"))
        for _ in range(40):
            slow.send_text("large 300000")
        other = self.websocket()
        for number in range(40):
            self.ask(other, "x")  # before anything is read
            self.assertEqual(300000, len(slow.receive_text()))
        self.assertEqual("end", self.ask(slow, "end"))


class Handshakes(TlsTest):
    """Half handshakes end after `header_timeout_ms`: it is beyond all waits of the test, except where the end is tested."""

    options = {"threads": 2, "header_timeout_ms": 10 * SECONDS * 1000, "connections_max": 1100}

    def begin(self, count):
        hello = MemoryClient(self.stub, None).hello()
        beginnings = [b"", hello[:3], hello[:9], hello[:100], hello]
        halves = [self.plainly() for _ in range(count)]
        for number, connection in enumerate(halves):
            connection.sendall(beginnings[number % len(beginnings)])
        return halves

    def test_half_handshakes_delay_nobody_and_count_as_connections(self):
        good = self.websocket()
        halves = self.begin(1000)
        for _ in range(50):
            self.ask(good, "x")
        self.assert_serves()
        halves += self.begin(99)
        with self.assertRaises((ssl.SSLError, OSError)):
            self.stub.connect()
        for connection in halves:
            connection.close()
        eventually(lambda: self.ask(good, "open") == "1")
        self.assert_serves()

    def test_half_handshakes_end_in_time(self):
        self.restart(**{**self.options, "header_timeout_ms": 2000})
        for connection in self.begin(50):
            with contextlib.suppress(ConnectionError):
                while connection.recv(1 << 16):
                    pass
        self.assert_serves()


class Files(TlsTest):
    def serial(self):
        return ssl.get_server_certificate(("127.0.0.1", self.stub.port))

    def test_new_files_hold_for_new_connections(self):
        tls = self.stub.tls
        old = self.serial()
        one = self.websocket()
        is_over = threading.Event()

        def load():
            while not is_over.is_set():
                self.assert_serves()
        with ThreadPoolExecutor(3) as pool:
            loads = [pool.submit(load) for _ in range(3)]
            try:
                for number in range(3):
                    before = self.serial()
                    certificates.install(tls.authority.issue(f"server{number}"), tls.folder.name)
                    eventually(lambda: self.serial() != before)
            finally:
                is_over.set()
            for each in loads:
                each.result(SECONDS)
        self.assertNotEqual(old, self.serial())
        self.assertEqual("x", self.ask(one, "x"))

    def test_files_that_do_not_fit_are_refused_with_one_line(self):
        tls = self.stub.tls
        folder = Path(tls.folder.name)
        old = self.serial()
        cert, key = tls.authority.issue("good")
        self.addCleanup(certificates.install, (cert, key), folder)  # other tests use the folder, too
        garbage = folder / "garbage"
        garbage.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
        for bad in (tls.authority.issue("other")[1], garbage):
            before = self.stub.log().count("Failed to reload")
            certificates.put(bad, folder / "key.pem")
            eventually(lambda: self.stub.log().count("Failed to reload") > before)
            time.sleep(0.8)
            self.assertEqual(before + 1, self.stub.log().count("Failed to reload"), self.stub.log())
            self.assertEqual(old, self.serial())
            self.assert_serves()
        self.assertRegex(self.stub.log(), r"Failed to reload the TLS files, and the old ones stay: --tls-key: .*key\.pem is not the key")
        certificates.install((cert, key), folder)
        eventually(lambda: self.serial() != old)
        (folder / "key.pem").chmod(0o644)
        self.await_log("has the mode 0644")
        self.assert_serves()
