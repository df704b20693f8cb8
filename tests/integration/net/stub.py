"""Runs stub_server (see stub_server.c) for a test, and speaks to it byte by byte."""

import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from support import certificates, raw_websocket
from support.peer import kill_after
from support.raw_websocket import CLOSE, TEXT

SECONDS = 60  # far more than any step needs: a test that waits this long has failed
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade",
             "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13"}
COMPLAINTS = re.compile(r"Sanitizer|runtime error:")


class Tls:
    """The files of a server with TLS, and the client's side."""

    _made = None

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-tls-")
        self.authority = certificates.Authority(self.folder.name, "root")
        certificates.install(self.authority.issue("server"), self.folder.name)
        self.context = certificates.client_context(self.authority)

    @classmethod
    def shared(cls):
        cls._made = cls._made or cls()
        return cls._made


class Stub:
    """A running stub_server. The keywords are its options. With STUB_TLS=1 in the environment it speaks TLS."""

    def __init__(self, **options):
        self.tls = Tls.shared() if os.environ.get("STUB_TLS") == "1" else None
        self.context = self.tls and self.tls.context
        environment = {name: value for name, value in os.environ.items() if name != "STUB_TLS"}
        if self.tls:
            environment["STUB_TLS"] = self.tls.folder.name
        self.errors = tempfile.TemporaryFile(mode="w+")
        command = [os.environ["STUB_SERVER"], *(f"{name}={value}" for name, value in options.items())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=environment)
        self.addresses = []
        with kill_after(self.process):
            while (line := self.process.stdout.readline().strip()) != "ready":
                if not line:
                    raise RuntimeError("the stub server did not start")
                self.addresses.append(line)
        self.url, self.http_url, self.zmq_url = (
            next(address for address in self.addresses if address.startswith(scheme)) for scheme in (("wss:", "https:", "tcp:") if self.tls else ("ws:", "http:", "tcp:")))
        self.port = int(self.url.split(":")[2].split("/")[0])

    def log(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def end_input(self):
        """Makes the server drain; does not wait."""
        self.process.stdin.close()

    def release(self):
        """Ends the calls of the command "hold"."""
        self.process.send_signal(signal.SIGUSR1)

    def stop(self):
        """Waits for the end of the server. Returns the seconds that the drain took, and (clients opened, clients
        closed)."""
        started = time.monotonic()
        if not self.process.stdin.closed:
            self.end_input()
        with kill_after(self.process):
            last = self.process.stdout.read()
        status = self.process.wait(SECONDS)
        self.process.stdout.close()
        self.errors.seek(0)
        errors = self.errors.read()
        self.errors.close()
        if status != 0 or COMPLAINTS.search(errors):
            raise AssertionError(f"the stub server ended with {status}: {errors}")
        opened, closed = re.search(r"opened (\d+) closed (\d+)", last).groups()
        return time.monotonic() - started, (int(opened), int(closed))

    def connect(self):
        connection = self.connect_plainly()
        return self.context.wrap_socket(connection, server_hostname="localhost") if self.tls else connection

    def connect_plainly(self):
        connection = socket.create_connection(("127.0.0.1", self.port), SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


class StubTest(unittest.TestCase):
    """A server for each test; when the test ends, every opened client must have been closed, once."""

    options = {}
    has_socket = False  # listens at a Unix socket at self.path, too

    def setUp(self):
        if self.has_socket:
            self.path = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-stub-")) + "/socket"
            self.enterContext(unittest.mock.patch.dict(os.environ, STUB_SOCKET=self.path))
        self.stub = Stub(**self.options)
        self.addCleanup(self.stop)

    def stop(self):
        _, (opened, closed) = self.stub.stop()
        self.assertEqual(opened, closed)

    def restart(self, **options):
        self.stop()
        self.stub = Stub(**options)


def half_close(connection):
    """Ends the client's side of a TCP connection; over TLS without the alert that says so."""
    socket.socket.shutdown(connection, socket.SHUT_WR)


# --- HTTP, by hand ---


def request(line, fields=None, body=b"", **more):
    """The bytes of a request. The keywords are fields of the head, with _ in place of -."""
    named = {name.replace("_", "-"): value for name, value in more.items()}
    fields = {"Host": "localhost", **(fields or {}), **named}
    head = f"{line} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return head.encode() + b"\r\n" + body


def post(body, **fields):
    return request("POST /rpc", {"Content-Type": "application/json", "Content-Length": len(body)}, body, **fields)


class Reader(raw_websocket.Reader):
    def response(self, has_body=True):
        """Reads a response. Returns (status, fields with names in lower case, body)."""
        head = self.until(b"\r\n\r\n").decode()
        lines = head.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        status = int(lines[0].split()[1])
        body = b""
        if has_body and "content-length" in fields:
            body = self.exactly(int(fields["content-length"]))
        elif has_body and fields.get("transfer-encoding") == "chunked":
            while size := int(self.until(b"\r\n"), 16):
                body += self.exactly(size)
                assert self.exactly(2) == b"\r\n"
            assert self.exactly(2) == b"\r\n"
        return status, fields, body

    def at_end(self):
        """True if the server has closed and no bytes are left."""
        try:
            return not self.bytes and not self.more()
        except ConnectionResetError:
            return True


# --- WebSocket, by hand ---


def frame(opcode, payload=b"", **more):
    return raw_websocket.frame(payload, opcode, **more)


class WebSocket(Reader):
    """A connection after its handshake; `connection`: used instead of a new connection to the port."""

    def __init__(self, stub, connection=None, **fields):
        super().__init__(connection or stub.connect())
        try:
            self.connection.sendall(request("GET /rpc", HANDSHAKE, **fields))
            status, fields, _ = self.response(has_body=False)
            assert status == 101, (status, fields)
            assert fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", fields
        except BaseException:
            self.connection.close()
            raise

    def send(self, *frames):
        self.connection.sendall(b"".join(frames))

    def send_text(self, *texts):
        self.send(*(frame(TEXT, text) for text in texts))

    def receive(self):
        """Receives a frame. Returns (opcode with the bit FIN, payload)."""
        return self.frame(is_masked=False)

    def receive_text(self):
        first, payload = self.receive()
        assert first == 0x80 | TEXT, (first, payload)
        return payload.decode()

    def receive_close(self):
        """Receives a close frame, which must be the server's last frame. Returns its code."""
        first, payload = self.receive()
        assert first == 0x80 | CLOSE, (first, payload)
        code = struct.unpack(">H", payload[:2])[0] if payload else None
        assert self.at_end()
        return code

    def close(self):
        self.connection.close()
