"""A peer that sends whatever it is given: a WebSocket server without a JVM, for tests of client libraries.

    with HostilePeer(answer) as peer:
        java = jpeer.connect(peer.url)

`answer(request, connection)` is called with each message of a client, decoded, on the connection's own thread. What it
returns is sent: a dict or list as JSON, str and bytes as they are (str as a text message, bytes as a binary one), None
not at all. With `connection.send` it sends more, such as calls of callbacks. `result(request, value)` makes an answer,
`usual(request)` that of a peer in order to what a client asks at its beginning.
"""

import base64
import hashlib
import json
import socket
import struct
import threading

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def result(request, value):
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": value}


def value_of(java_type, value, **more):
    """A result that is a value: of a call, a field or control."""
    return {"void": False, "value": {"type": java_type, "null": value is None, "value": value, **more}}


def reference_to(java_type, number, **more):
    """A result that is an object."""
    return {"void": False, "value": {"type": java_type, "null": False, "ref": number, **more}}


def usual(request):
    """The answer to control; None to any other request."""
    if request.get("method") != "control":
        return None
    session = value_of("java.lang.String", "5c0b7b34-5a3c-4b9c-8f0e-0f1d2c3b4a59")
    what = (request.get("params") or {}).get("method")
    return result(request, session if what == "share_session" else {"void": True})


def description(name, **changes):
    """What jpeer.describe answers of a class without members."""
    return {"class": name, "modifiers": "public", "nested": [], "interfaces": [],
            "superclasses": [] if name == "java.lang.Object" else ["java.lang.Object"],
            "constructors": [], "methods": [], "fields": [], **changes}


class Connection:
    """One client's."""

    def __init__(self, stream):
        self._stream, self._rest, self._lock = stream, b"", threading.Lock()

    def send(self, message):
        if isinstance(message, (dict, list)):
            message = json.dumps(message)
        opcode, content = (2, message) if isinstance(message, bytes) else (1, message.encode("utf-8", "surrogatepass"))
        self._write(opcode, content)

    def _write(self, opcode, content):
        size = len(content)
        head = bytes([0x80 | opcode, size]) if size < 126 else \
            bytes([0x80 | opcode, 126]) + struct.pack(">H", size) if size < 65536 else \
            bytes([0x80 | opcode, 127]) + struct.pack(">Q", size)
        with self._lock:
            self._stream.sendall(head + content)

    def _read(self, count):
        while len(self._rest) < count:
            part = self._stream.recv(1 << 20)
            if not part:
                raise EOFError
            self._rest += part
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def shake_hands(self):
        while b"\r\n\r\n" not in self._rest:
            part = self._stream.recv(65536)
            if not part:
                raise EOFError
            self._rest += part
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
        key = next(line.split(": ", 1)[1] for line in head.decode().split("\r\n") if line.lower().startswith("sec-websocket-key"))
        assert "websocket" in fields["upgrade"]
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        self._stream.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())

    def messages(self):
        """Each message of the client, whole and decoded; those that are no JSON as bytes."""
        content = b""
        while True:
            first, second = self._read(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._read(8))[0]
            mask = self._read(4) if second & 128 else bytes(4)
            part = self._read(size)
            part = bytes(byte ^ mask[at & 3] for at, byte in enumerate(part))
            opcode = first & 15
            if opcode == 8:
                return
            if opcode == 9:
                self._write(10, part)
                continue
            content += part
            if first & 128:
                try:
                    yield json.loads(content)
                except ValueError:
                    yield content
                content = b""


class HostilePeer:
    def __init__(self, answer):
        self.answer = answer
        self.faults = []  # of answer itself: the test's own mistakes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}/rpc"
        self._streams = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            self._streams.append(stream)
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        connection = Connection(stream)
        try:
            connection.shake_hands()
            for message in connection.messages():
                reply = self.answer(message, connection)
                if reply is not None:
                    connection.send(reply)
        except (EOFError, OSError):
            pass
        except Exception as why:  # noqa: BLE001
            self.faults.append(why)
        finally:
            stream.close()

    def close(self):
        self._listener.close()
        for stream in self._streams:
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
