"""A WebSocket over a Unix socket whose frames a test writes by hand: nothing is sent or read by itself."""

import socket
import struct

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
SECONDS = 60


def frame(payload, opcode=TEXT, length=None):
    """A client's; `length` is the number of bytes that it says it has."""
    payload = payload.encode() if isinstance(payload, str) else payload
    size = len(payload) if length is None else length
    head = bytes([0x80 | opcode])
    head += bytes([0x80 | size]) if size < 126 else \
        struct.pack(">BH", 0xfe, size) if size < 65536 else struct.pack(">BQ", 0xff, size)
    return head + bytes(4) + payload


class RawWebSocket:
    name = "raw websocket"

    def __init__(self, peer):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(peer.socket_path("ws+unix")))
        self.socket.sendall(b"GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self._more()
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head

    def _more(self):
        data = self.socket.recv(1 << 16)
        if data == b"":
            raise EOFError
        self.bytes += data

    def _exactly(self, count):
        while len(self.bytes) < count:
            self._more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def send(self, payload, opcode=TEXT):
        self.socket.sendall(frame(payload, opcode))

    def receive_frame(self):
        first, size = self._exactly(2)
        if size == 126:
            size, = struct.unpack(">H", self._exactly(2))
        elif size == 127:
            size, = struct.unpack(">Q", self._exactly(8))
        return first & 15, self._exactly(size)

    def receive(self):
        opcode, payload = self.receive_frame()
        assert opcode == TEXT, (opcode, payload)
        return payload.decode()

    def await_close(self):
        """The code of the peer's close frame."""
        opcode, payload = self.receive_frame()
        while opcode != CLOSE:
            opcode, payload = self.receive_frame()
        return struct.unpack(">H", payload[:2])[0]

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
