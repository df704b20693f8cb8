"""WebSockets whose frames a test writes by hand: frames are sent and read only when the test does so."""

import socket
import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
SECONDS = 60
MASK = b"\x01\x02\x03\x04"


def masked(payload, mask=MASK):
    """A frame can also be unmasked."""
    whole = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(len(payload), "big")


def frame(payload=b"", opcode=TEXT, length=None, fin=True, has_mask=True, reserved=0):
    """A client's frame; `length` is the number of bytes that the frame claims to have."""
    payload = payload.encode() if isinstance(payload, str) else payload
    size = len(payload) if length is None else length
    bit = 0x80 if has_mask else 0
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    head += bytes([bit | size]) if size < 126 else \
        struct.pack(">BH", bit | 126, size) if size < 65536 else struct.pack(">BQ", bit | 127, size)
    return head + (MASK + masked(payload) if has_mask else payload)


class Reader:
    """Reads messages from a socket for a test."""

    def __init__(self, connection):
        self.connection = connection
        self.bytes = b""

    def more(self):
        data = self.connection.recv(1 << 16)
        self.bytes += data
        return bool(data)

    def exactly(self, count):
        while len(self.bytes) < count:
            if not self.more():
                raise EOFError(f"the connection ended after {self.bytes[:1000]!r}")
        bytes_read, self.bytes = self.bytes[:count], self.bytes[count:]
        return bytes_read

    def until(self, end):
        while end not in self.bytes:
            if not self.more():
                raise EOFError(f"the connection ended after {self.bytes[:1000]!r}")
        return self.exactly(self.bytes.index(end) + len(end))

    def frame(self, is_masked):
        """Opcode with FIN, payload. Clients mask, a server masks nothing."""
        first, second = self.exactly(2)
        assert (second & 0x80 != 0) == is_masked
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self.exactly(2 if size == 126 else 8), "big")
        mask = self.exactly(4) if is_masked else None
        payload = self.exactly(size)
        return first, masked(payload, mask) if is_masked else payload


class RawWebSocket(Reader):
    """A WebSocket over a Unix socket, whose bytes a test writes itself."""

    name = "raw websocket"

    def __init__(self, peer):
        self.socket = socket.socket(socket.AF_UNIX)
        super().__init__(self.socket)
        try:
            self._shake_hands(str(peer.socket_path("ws+unix")))
        except BaseException:
            self.socket.close()
            raise

    def _shake_hands(self, path):
        self.socket.settimeout(SECONDS)
        self.socket.connect(path)
        self.socket.sendall(b"GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        head = self.until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head

    def send(self, payload, opcode=TEXT):
        self.socket.sendall(frame(payload, opcode))

    def receive_frame(self):
        first, payload = self.frame(is_masked=False)
        return first & 15, payload

    def receive(self):
        first, payload = self.frame(is_masked=False)
        assert first & 15 == TEXT, (first & 15, payload)
        while not first & 0x80:
            first, part = self.frame(is_masked=False)
            assert first & 15 == CONTINUATION, (first & 15, part)
            payload += part
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
