"""A peer that sends any given message: a WebSocket server without a JVM, for tests of client libraries.

    with HostilePeer(answer) as peer:
        java = jpeer.connect(peer.url)

`answer(request, connection)` is called with each message of a client, decoded, on the connection's own thread. Its result
is sent: a dict or list as JSON, str and bytes unchanged (str as a text message, bytes as a binary message). For None,
nothing is sent. `connection.send` sends further messages, for example calls of callbacks. `result(request, value)`
makes an answer; `usual(request)` makes a normal peer's answer to the first requests of a client.
"""

import base64
import hashlib
import json
import socket
import threading

from raw_websocket import BINARY, CLOSE, PING, PONG, TEXT, Reader, frame

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def result(request, value):
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": value}


def value_of(java_type, value, **more):
    """The result of a call, a field or a control request that is a value."""
    return {"void": False, "value": {"type": java_type, "null": value is None, "value": value, **more}}


def reference_to(java_type, number, **more):
    """A result that is a reference to an object."""
    return {"void": False, "value": {"type": java_type, "null": False, "ref": number, **more}}


# The answer to the first question about a class: no other loader has it.
LOADER_QUESTIONS = {"getClass", "getClassLoader", "getPlatformClassLoader", "getSystemClassLoader", "requireNonNull"}


def usual(request):
    """The usual answer to a control request or a question about class loaders; None for any other request."""
    params = request.get("params")
    if request.get("method") == "call" and isinstance(params, dict) and params.get("method") in LOADER_QUESTIONS:
        return result(request, value_of("java.lang.Object", None))
    if request.get("method") != "control":
        return None
    texts = {"share_session": "5c0b7b34-5a3c-4b9c-8f0e-0f1d2c3b4a59",
             "session": '{"epoch":"42fdda62c61b08da","client":1,"capabilities":["callbacks"]}'}
    text = texts.get((request.get("params") or {}).get("method"))
    return result(request, {"void": True} if text is None else value_of("java.lang.String", text))


def description(name, **changes):
    """The answer of jpeer.describe for a class without members."""
    return {"class": name, "modifiers": "public", "nested": [], "interfaces": [],
            "superclasses": [] if name == "java.lang.Object" else ["java.lang.Object"],
            "constructors": [], "methods": [], "fields": [], **changes}


class Connection(Reader):
    """The connection of one client."""

    def __init__(self, stream):
        super().__init__(stream)
        self._lock = threading.Lock()

    def send(self, message):
        if isinstance(message, (dict, list)):
            message = json.dumps(message)
        content = message if isinstance(message, bytes) else message.encode("utf-8", "surrogatepass")
        self._write(BINARY if isinstance(message, bytes) else TEXT, content)

    def _write(self, opcode, content):
        with self._lock:
            self.connection.sendall(frame(content, opcode, has_mask=False))

    def shake_hands(self):
        head = self.until(b"\r\n\r\n").decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        fields = {name.lower(): value for name, value in fields.items()}
        assert fields["upgrade"].lower() == "websocket"
        accept = base64.b64encode(hashlib.sha1((fields["sec-websocket-key"] + GUID).encode()).digest()).decode()
        self.connection.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                 f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())

    def messages(self):
        """Yields each message of the client, parsed; as bytes if the message is not JSON."""
        content = b""
        while True:
            first, part = self.frame(is_masked=True)
            opcode = first & 15
            if opcode == CLOSE:
                return
            if opcode == PING:
                self._write(PONG, part)
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
        self.faults = []  # exceptions of `answer`: mistakes of the test
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
