"""Clients of a peer, one for each transport, all with the same interface: text in, text out."""

import asyncio
import base64
import contextlib
import gzip
import http.client
import itertools
import json
import socket
import time
from urllib.parse import urlsplit

import websockets
import zmq
from zmq.utils.monitor import recv_monitor_message

from support import shm
from support.peer import eventually

SECONDS = 60


class RpcError(Exception):
    """An error object that was returned."""

    def __init__(self, error):
        super().__init__(json.dumps(error)[:500])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data") or {}

    @property
    def detail(self):
        return self.data.get("message")

    @property
    def throwable(self):
        return self.data.get("throwable_type")


def request(number, method, params, **envelope):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params, **envelope}


def call_request(number, type_name, method, *args, on=None, **envelope):
    params = {"type": type_name, "method": method, "args": list(args)}
    return request(number, "call", params if on is None else {**params, "instance": on}, **envelope)


WHOAMI = request(1, "control", {"method": "whoami"})


class Client:
    """The common base of the clients of all transports. A subclass has exchange(text), which returns the
    reply's text, or None if no reply is sent."""

    def __init__(self):
        self.ids = itertools.count(1)

    def exchange(self, text):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def request(self, method, params=None, **envelope):
        """Sends a request, and returns the reply as parsed JSON."""
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, **envelope}
        if params is not None:
            message["params"] = params
        reply = json.loads(self.exchange(json.dumps(message)))
        assert reply["id"] == message["id"], reply
        return reply

    def value(self, method, params):
        """Sends a request. Returns the value object of the result; None for void. Raises RpcError."""
        reply = self.request(method, params)
        if "error" in reply:
            raise RpcError(reply["error"])
        return reply["result"].get("value")

    def new(self, type_name, *args):
        """Makes an object, and returns its ref."""
        return self.value("new", {"type": type_name, "args": list(args)})["ref"]

    def call(self, type_name, method, *args, on=None):
        """Calls a method. Returns the plain value, the ref, or None."""
        params = {"type": type_name, "method": method, "args": list(args)}
        if on is not None:
            params["instance"] = on
        return plain(self.value("call", params))

    def get(self, type_name, field, on=None):
        params = {"type": type_name, "field": field}
        if on is not None:
            params["instance"] = on
        return plain(self.value("get", params))

    def put(self, type_name, field, value, on=None):
        params = {"type": type_name, "field": field, "value": value}
        if on is not None:
            params["instance"] = on
        return self.value("put", params)

    def control(self, method, *args):
        params = {"method": method}
        if args:
            params["args"] = list(args)
        return self.value("control", params)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def plain(value):
    if value is None or value["null"]:
        return None
    return value["ref"] if "ref" in value else value["value"]


def await_running(client, count):
    """Waits until `count` calls are inside fixtures.Blockers."""
    eventually(lambda: client.call("fixtures.Blockers", "running") == str(count), f"{count} calls run")


def own_name(client, method, *params):
    """Calls a member by its own name, and returns the result. Raises RpcError."""
    reply = client.request(method, list(params))
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]


def ref(number):
    return {"ref": number}


def typed(type_name, value):
    return {"type": type_name, "value": value}


def whoami(client):
    """What the peer knows of the client, as parsed JSON."""
    return json.loads(client.control("whoami")["value"])


def fetch(client, *include, compress=True, **switches):
    """The result of fetch_classes_info, as parsed JSON."""
    args = [{"name": "compress_encode", "type": "boolean", "value": compress}]
    if include:
        args.append({"name": "include_classes", "type": "java.lang.String[]", "value": list(include)})
    for name, value in switches.items():
        kind = "boolean" if isinstance(value, bool) else "java.lang.String[]"
        args.append({"name": name, "type": kind, "value": value})
    result = client.value("meta", {"method": "fetch_classes_info", "args": args})
    assert result["status"] == "OK" and result["type"] == "java.lang.String", result.keys()
    body = result["value"]
    return json.loads(gzip.decompress(base64.b64decode(body)) if compress else body)


class WebSocketClient(Client):
    name = "websocket"

    def __init__(self, peer, headers=None):
        super().__init__()
        self.socket = None
        self.loop = asyncio.new_event_loop()
        peer.clients.append(self)
        self.socket = self._run(self._connect(peer, extra_headers=headers or {}, max_size=None, compression=None,
                                              ping_interval=None))

    async def _connect(self, peer, **options):
        return await websockets.connect(peer.address("ws"), ssl=getattr(peer, "tls", None), **options)

    def _run(self, awaitable):
        async def within_time():
            return await asyncio.wait_for(awaitable, SECONDS)
        return self.loop.run_until_complete(within_time())

    def send(self, text):
        self._run(self.socket.send(text))

    def receive(self):
        return self._run(self.socket.recv())

    def exchange(self, text):
        self.send(text)
        return self.receive()

    def exchange_or_nothing(self, text):
        """Sends a message and then a ping. Returns the answer to the message; None if the ping's answer arrives
        first."""
        self.send(text)
        self.send('{"jsonrpc":"2.0","id":"fence","method":"control","params":{"method":"ping"}}')
        reply = self.receive()
        if json.loads(reply).__class__ is dict and json.loads(reply).get("id") == "fence":
            return None
        self.receive()
        return reply

    def close(self):
        if self.loop.is_closed():
            return
        if self.socket is not None:
            with contextlib.suppress(websockets.ConnectionClosed):  # if the peer ends the connection at the same time
                self._run(self.socket.close())
        self.loop.close()


class UnixWebSocketClient(WebSocketClient):
    name = "websocket-unix"

    async def _connect(self, peer, **options):
        return await websockets.unix_connect(peer.socket_path("ws+unix"), **options)


class ShmClient(Client):
    """A client over shared memory, which it asks for on the Unix socket of the JSON-RPC listener."""

    name = "shm"

    def __init__(self, peer, headers=None):
        super().__init__()
        self.channel = shm.Channel(peer.socket_path("ws+unix"), headers or {})

    def send(self, text):
        self.channel.send(text.encode("utf-8", "surrogatepass"))

    def receive(self):
        return self.channel.receive().decode("utf-8")

    exchange = WebSocketClient.exchange
    exchange_or_nothing = WebSocketClient.exchange_or_nothing

    def close(self):
        self.channel.close()


class HttpClient(Client):
    """A client over HTTP. It sends the peer-id that the peer has named, so that all its requests use one session."""

    name = "http"

    def __init__(self, peer, peer_id=None):
        super().__init__()
        self.connection, self.path = self._connection(peer)
        self.peer_id = peer_id

    @staticmethod
    def _connection(peer):
        address = urlsplit(peer.address("http"))
        if tls := getattr(peer, "tls", None):
            return (http.client.HTTPSConnection(address.hostname, address.port, timeout=SECONDS, context=tls),
                    address.path)
        return http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS), address.path

    def post(self, body, headers=None):
        """Sends a request, and returns the response and its body."""
        fields = {"Content-Type": "application/json", **(headers or {})}
        if self.peer_id is not None:
            fields["peer-id"] = self.peer_id
        self.connection.request("POST", self.path, body.encode("utf-8", "surrogatepass"), fields)
        response = self.connection.getresponse()
        self.peer_id = response.getheader("peer-id") or self.peer_id
        return response, response.read()

    def exchange(self, text):
        response, body = self.post(text)
        if response.status == 204:
            return None
        assert response.status == self.status_of(body), (response.status, body)
        assert response.getheader("Content-Type").startswith("application/json"), response.getheaders()
        return body.decode("utf-8")

    @staticmethod
    def status_of(body):
        """The status that an answer must have. The status shows that a call has failed only in JSON-RPC 1.1
        (7.1)."""
        answer = json.loads(body)
        return 500 if isinstance(answer, dict) and "version" in answer and "error" in answer else 200

    exchange_or_nothing = exchange

    def close(self):
        self.connection.close()


class UnixHttpClient(HttpClient):
    name = "http-unix"

    class Connection(http.client.HTTPConnection):
        def __init__(self, path):
            super().__init__("localhost", timeout=SECONDS)
            self.socket_path = path

        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self.socket_path)

    @classmethod
    def _connection(cls, peer):
        return cls.Connection(peer.socket_path("http+unix")), "/rpc"


class ZmqClient(Client):
    """A client with a DEALER socket, which sends each message as one frame, without an envelope."""

    name = "zeromq"
    kind = zmq.DEALER
    scheme = "tcp"

    def __init__(self, peer, identity=None, connects=True):
        super().__init__()
        self.socket = zmq.Context.instance().socket(self.kind)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RCVTIMEO, SECONDS * 1000)
        if identity is not None:
            self.socket.setsockopt(zmq.IDENTITY, identity)
        if connects:
            self.socket.connect(peer.address(self.scheme))

    def send(self, text):
        self.socket.send(text.encode("utf-8", "surrogatepass"))

    def receive(self):
        return self.socket.recv().decode("utf-8")

    exchange = WebSocketClient.exchange
    exchange_or_nothing = WebSocketClient.exchange_or_nothing

    def close(self):
        self.socket.close()


class UnixZmqClient(ZmqClient):
    name = "zeromq-ipc"
    scheme = "ipc"


class CurveClient(ZmqClient):
    """keys: the client's pair; None: without CURVE. The monitor begins before the connection."""

    def __init__(self, peer, keys, server_key=None, identity=None):
        super().__init__(peer, identity, connects=False)
        self.socket.sndtimeo = SECONDS * 1000
        if keys is not None:
            self.socket.curve_publickey, self.socket.curve_secretkey = keys
            self.socket.curve_serverkey = server_key
        self.monitor = self.socket.get_monitor_socket()
        self.monitor.rcvtimeo = SECONDS * 1000
        self.socket.connect(peer.address("tcp"))

    def close(self):
        self.socket.disable_monitor()
        self.monitor.close()
        super().close()

    def await_event(self, event):
        """Returns the value of the first event of the kind."""
        deadline = time.monotonic() + SECONDS
        while True:
            assert time.monotonic() < deadline, f"no event {event!r}"
            told = recv_monitor_message(self.monitor)
            if told["event"] == event:
                return told["value"]

    def has_answer(self, milliseconds=500):
        return self.socket.poll(milliseconds) != 0


class ZmqReqClient(ZmqClient):
    name = "zeromq-req"
    kind = zmq.REQ

    def exchange_or_nothing(self, text):
        return self.exchange(text) or None


TRANSPORTS = (WebSocketClient, HttpClient, ZmqClient)
# The same protocols over Unix sockets, for a Peer(sockets=True).
UNIX_TRANSPORTS = (UnixWebSocketClient, UnixHttpClient, UnixZmqClient)


def leave(client):
    """Closes the connection without the closing handshake, for which a client inside a call would wait."""
    if isinstance(client, WebSocketClient):
        client.socket.transport.abort()
        client.loop.run_until_complete(asyncio.sleep(0))
    else:
        client.close()
