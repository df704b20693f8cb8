"""A client that Java calls. One thread: messages are processed in the order of their arrival, during a wait."""

import collections
import itertools
import json
import socket
import struct
import time


from support.clients import SECONDS, RpcError, ShmClient, UnixWebSocketClient, WebSocketClient, plain


class Call:
    """A call from Java. Java waits for the answer, unless `id` is None: in that case the call is an event,
    and gets no answer."""

    def __init__(self, client, message):
        params = message["params"]
        self.client = client
        self.id = message.get("id")
        self.callback = params["callback"]
        self.interface = params["interface"]
        self.method = params["method"]
        self.origin = params.get("origin")
        self.values = params["args"]
        self.args = [plain(value) for value in self.values]

    def answer(self, result=None):
        self.client.send_json({"jsonrpc": "2.0", "id": self.id, "result": result})

    def fail(self, message, **data):
        self.client.send_json({"jsonrpc": "2.0", "id": self.id,
                               "error": {"code": -5, "message": message, **({"data": data} if data else {})}})


class Callable:
    """
    A client that Java calls, over any transport.

    give(function) makes an argument of a Python function, which takes a Call and returns the answer's result. Requests
    that the function sends are nested in that call. Calls of objects without a function are kept in `held`.
    """

    def __init__(self, peer, headers=None):
        self.functions = {}
        self.numbers = itertools.count(1)
        self.sent = collections.Counter()      # how often each number was sent as an argument
        self.released = collections.Counter()  # how many of these the peer has accounted for
        self.held = []
        self.events = []
        self.replies = {}
        self.order = []  # the ids of replies, in the order of arrival
        self.within = None
        super().__init__(peer, headers)

    def give(self, function=None, number=None, **beside):
        number = next(self.numbers) if number is None else number
        self.functions[number] = function
        self.sent[number] += 1
        return {"ref": {"callback": number}, **beside}

    def send_json(self, message):
        self.send(json.dumps(message))

    # ---- requests ----

    def begin(self, verb, params, **envelope):
        """Sends a request; end(its id) waits for the answer."""
        number = next(self.ids)
        if self.within is not None:
            envelope = {"options": {"within": self.within}, **envelope}
        self.send_json({"jsonrpc": "2.0", "id": number, "method": verb, "params": params, **envelope})
        return number

    def begin_call(self, type_name, method, *args, on=None, within=None):
        params = {"type": type_name, "method": method, "args": list(args)}
        if on is not None:
            params["instance"] = on
        options = {} if within is None else {"options": {"within": within}}
        return self.begin("call", params, **options)

    def reply(self, number):
        while number not in self.replies:
            self.step()
        return self.replies.pop(number)

    def end(self, number):
        """Waits for the answer. Returns its plain value. Raises RpcError."""
        reply = self.reply(number)
        if "error" in reply:
            raise RpcError(reply["error"])
        return plain(reply["result"].get("value"))

    def checked(self, verb, params, **envelope):
        return self.end(self.begin(verb, params, **envelope))

    def request(self, method, params=None, **envelope):
        return self.reply(self.begin(method, params, **envelope))

    # ---- received messages ----

    def step(self):
        self.handle(json.loads(self.receive()))

    def handle(self, message):
        if message.get("method") == "callback":
            self.handle_call(Call(self, message))
        elif message.get("method") == "callback_released":
            for each in message["params"]["callbacks"]:
                self.released[each["callback"]] += each["given"]
        else:
            self.order.append(message["id"])
            self.replies[message["id"]] = message

    def handle_call(self, call):
        function = self.functions[call.callback]
        if call.id is None:
            self.events.append(call)
        elif function is None:
            self.held.append(call)
        else:
            self.run(function, call)

    def run(self, function, call):
        outer, self.within = self.within, call.id
        try:
            result = function(call)
        finally:
            self.within = outer
        call.answer(result)

    def await_calls(self, count=1):
        """Waits until at least `count` calls are held, and returns them."""
        while len(self.held) < count:
            self.step()
        held, self.held = self.held, []
        return held

    def await_call(self):
        [call] = self.await_calls()
        return call

    def await_released(self, number):
        """Collects garbage until all arguments with this number are accounted for."""
        deadline = time.monotonic() + SECONDS
        while self.released[number] < self.sent[number]:
            assert time.monotonic() < deadline, f"{self.released[number]} of {self.sent[number]} are released: {number}"
            self.control("gc")

    def stats(self):
        return json.loads(plain(self.value("control", {"method": "stats"})))


class ShmCallbackClient(Callable, ShmClient):
    pass


class CallbackClient(Callable, WebSocketClient):
    # ---- the end ----

    @property
    def raw_socket(self):
        return self.socket.transport.get_extra_info("socket")

    def end_stream(self):
        """Ends the sending side without a close frame; the client can still read."""
        self.raw_socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.transport.abort()
        self.close()


class UnixCallbackClient(CallbackClient, UnixWebSocketClient):
    pass
