"""A peer with wrong answers, for the client library and for the Python package. It reports whether each of
these behaved as required.

usage: hostile_peer.py [--seconds N] [--seed N] [--clients N] c|python

The peer serves WebSocket and HTTP on a Unix socket, and ZeroMQ on another Unix socket. Handshakes, frames,
responses and answers are valid, changed, cut off, repeated, in batches, for other requests, or missing.
Answers have values of every type, refs, huge numbers, epochs, throwables and elements. The peer also sends
unexpected calls, releases and requests. Programs that use the library (client_hostile, built under the
preset's sanitizers, or hostile_python.py) connect, and use everything that they receive until the time is up.
The requirements: the programs end by themselves, in time and without leaks, and each failure is documented by
the library.
"""

import argparse
import base64
import copy
import hashlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import zmq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "fuzz"))

from mutate_requests import TEXTS, mutate, mutate_bytes  # noqa: E402
from support.clients import WebSocketClient  # noqa: E402
from support.peer import BUILD, Peer, complaints_in, environment  # noqa: E402
from support.raw_websocket import BINARY, CLOSE, Reader  # noqa: E402

GRACE_SECONDS = 60  # for requests in flight
MESSAGES_MAX = 200  # of a connection
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
HUGE = ["9" * 400, "-" + "9" * 30, "1e999", "-1e-999", "0." + "1" * 500, "9223372036854775808", "4294967297", "2147483648", "NaN",
        "1" + "0" * 20000]
TYPES = ("int", "long", "byte", "short", "char", "boolean", "float", "double", "void", "java.lang.String", "java.lang.Integer",
         "int[]", "byte[]", "double[]", "boolean[]", "char[]", "java.lang.String[]", "java.lang.Object[]", "java.util.ArrayList",
         "java.util.HashMap", "java.math.BigInteger", "java.math.BigDecimal", "java.time.LocalDate", "java.lang.Class", "", "x" * 300,
         "java.util.Iterator", "[I", "__del__", "\u0000", "\ud800")
TEXT_VALUES = ("5", "-1", "true", "x", "", "[1,2,3]", "[]", "[true]", "[[1]]", "AQIDBA==", "AQI", "2024-02-29", "NaN", "\u0000", "\ud800",
               '[{"ref":3},{"ref":4}]', '["a",null]', "9" * 3000, "[" * 2000, *HUGE)


def value(rng):
    made = {"type": rng.choice(TYPES), "null": rng.random() < 0.1}
    if rng.random() < 0.8:
        made["value"] = rng.choice(TEXT_VALUES) if rng.random() < 0.7 else rng.choice((5, True, None, [1], {"a": 1}, 1.5))
    if rng.random() < 0.5:
        made["ref"] = rng.choice((1, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 0, -1, 1.5, "1", None))
    if rng.random() < 0.1:
        made["function"] = rng.choice(({"name": "f", "arity": 2}, "f", {"name": 5}, []))
    return made


def throwable(rng, depth=0):
    made = {"throwable_type": rng.choice(("java.lang.ArithmeticException", "no.such", None, 5)), "message": rng.choice(("m", None, 5, "x" * 5000)),
            "stack_trace": rng.choice(([], ["a.B.c(D.java:1)"] * 50, [5, None], "x")), "suggestions": rng.choice((["a", "b"], "a", [5], [])),
            "loaders": rng.choice(([{"ref": 9}], None, [5])), "ref": rng.choice((None, 5, 2**40)), "request_id": 1}
    made["cause"] = throwable(rng, depth + 1) if depth < rng.randrange(40) else None
    return made


def plain(rng, depth=0):
    if depth > 3 or rng.random() < 0.5:
        return rng.choice((1, -1.5, True, None, "text", "\ud800", {"ref": rng.randrange(1, 5)}, {"ref": 1, "type": "a.B"}, {"ref": "x"}, 2**70,
                           {"value": "5", "type": "java.math.BigInteger"}, {"value": rng.choice(TEXT_VALUES), "type": rng.choice(TYPES)}))
    if rng.random() < 0.5:
        return [plain(rng, depth + 1) for _ in range(rng.randrange(6))]
    return {rng.choice(("a", "elements", "done", "ref", "type", "value", "members", "")): plain(rng, depth + 1) for _ in range(rng.randrange(5))}


def answer(rng, identity):
    made = {"jsonrpc": "2.0", "id": identity}
    kind = rng.random()
    if kind < 0.35:
        made["result"] = {"void": False, "value": value(rng)}
    elif kind < 0.4:
        made["result"] = {"void": True}
    elif kind < 0.5:
        made["result"] = {"elements": [plain(rng) for _ in range(rng.randrange(5))], "done": rng.random() < 0.5, "ref": rng.randrange(1, 9)}
    elif kind < 0.65:
        made["result"] = plain(rng)
    elif kind < 0.75:
        made["result"] = describe(rng)
    else:
        made["error"] = {"code": rng.choice((-32000, -32601, -32602, -32001, 5, 2**40, 1.5, "x")), "message": rng.choice(("Server error", None, "")),
                         "data": rng.choice((throwable(rng), None, [], "x"))}
    if rng.random() < 0.2:
        made["epoch"] = rng.choice((1, "1", None, 2**64, "6d4ad9f6-4c5a-4a38-9a0c-1f6cf9f4e1b2", []))
    return made


def describe(rng):
    member = {"name": rng.choice(("f", "__del__", "__len__", "", "x" * 100, "\ud800")), "kind": rng.choice(("method", "field", "constructor")),
              "parameters": rng.choice(([], [{"type": "int"}], [5], None)), "static": rng.random() < 0.5, "type": rng.choice(TYPES)}
    return {"class": rng.choice(TYPES), "type": rng.choice(TYPES), "members": [member] * rng.randrange(4), "methods": [member], "fields": [member],
            "superclasses": ["java.lang.Object"], "interfaces": rng.choice((["java.util.List"], 5)), "ref": 3}


def unasked(rng):
    """A call from Java, a release, or another message with a method."""
    params = {"callback": rng.choice((1, 1, 2, 3, 2**40, "1", None)), "interface": rng.choice(("java.util.Comparator", "", 5)),
              "method": rng.choice(("compare", "run", "__del__", 5)), "parameters": rng.choice((["java.lang.Object"], [], [5], None)),
              "args": rng.choice(([], [value(rng), value(rng)], [5], value(rng))), "origin": rng.choice((None, 1, "x"))}
    made = {"jsonrpc": "2.0", "method": rng.choice(("callback", "callback", "callback", "callback_released", "control")), "params": params}
    if made["method"] == "callback_released":
        made["params"] = {"callbacks": [{"callback": rng.choice((1, 2, "x", 2**40)), "given": rng.choice((1, 0, -1, 2**40, None))}]}
    if rng.random() < 0.7:
        made["id"] = rng.choice(("c1", "c2", 1, None, 1.5, [], "x" * 300))
    return made


# Results of a real peer, by method, and for a description by class. Without them a client learns nothing about classes,
# and makes no further requests.
RECORDED = {}
ASKED = [{"method": "jpeer.describe", "params": {"type": name}} for name in
         ("java.util.ArrayList", "java.lang.Math", "java.lang.Integer", "java.util.List", "java.lang.String")]


def key_of(request):
    params = request.get("params") or {}
    if request.get("method") == "jpeer.describe" and isinstance(params, dict):
        return params.get("type", "java.util.ArrayList")
    return params.get("method") if request.get("method") == "control" else request.get("method")


def record():
    with Peer() as peer, WebSocketClient(peer) as client:
        for number, asked in enumerate(ASKED):
            client.send(json.dumps({"jsonrpc": "2.0", "id": number, **asked}))
            RECORDED[key_of(asked)] = json.loads(client.receive())["result"]
    text = {"type": "java.lang.String", "null": False, "value": "6d4ad9f6-4c5a-4a38-9a0c-1f6cf9f4e1b2"}
    RECORDED["share_session"] = {"void": False, "value": text}
    RECORDED["new"] = {"void": False, "value": {"type": "java.util.ArrayList", "null": False, "ref": 3}}
    RECORDED["jpeer.fetch"] = {"elements": [1, {"ref": 4, "type": "java.util.ArrayList"}], "done": True, "ref": 3}


def recorded(request):
    """A real peer's answer to each request in the message, by the request's id."""
    try:
        asked = json.loads(request)
    except ValueError:
        return {}
    return {one.get("id"): RECORDED.get(key_of(one)) for one in (asked if isinstance(asked, list) else [asked])
            if isinstance(one, dict) and isinstance(one.get("id"), int)}


def reply(rng, request, earlier):
    """The bytes of the messages that answer a request."""
    right = recorded(request)
    ids = [int(digits) for digits in re.findall(rb'"id": ?(\d+)', request)][:20]
    text = request.decode("utf-8", "replace")
    made = []
    for identity in ids:
        result = right.get(identity)
        if result is not None and rng.random() < 0.8:
            made.append({"jsonrpc": "2.0", "id": identity, "result": result})
            continue
        if rng.random() < 0.1:
            identity = rng.choice((identity + 1, identity - 1, 0, -1, str(identity), None, 2**64, 1.0 * identity))
        made.append(answer(rng, identity))
    if rng.random() < 0.15:
        made.insert(rng.randint(0, len(made)), unasked(rng))
    if made and rng.random() < 0.05:
        made.append(copy.deepcopy(rng.choice(made)))
    if rng.random() < 0.1:
        rng.shuffle(made)
    together = text.lstrip().startswith("[") != (rng.random() < 0.05)
    texts = [json.dumps(made)] if together else [json.dumps(one) for one in made]
    is_opening = b"share_session" in request
    for each in texts:
        if rng.random() < (0.05 if is_opening else 0.3):
            each = mutate(each, rng, rng.choice(earlier or [each]))
        if rng.random() < 0.1:
            each = re.sub(r"\d+", lambda digits: rng.choice(HUGE) if rng.random() < 0.2 else digits[0], each)
        earlier.append(each)
        del earlier[:-20]
        sent = each.encode("utf-8", "surrogateescape" if rng.random() < 0.5 else "replace")
        yield mutate_bytes(sent, rng, TEXTS) if rng.random() < 0.03 else sent


# ---- WebSocket and HTTP ----


def frame(rng, payload, opcode=1):
    head = bytes([(0 if rng.random() < 0.02 else 0x80) | opcode | (0x40 if rng.random() < 0.01 else 0)])
    mask = 0x80 if rng.random() < 0.01 else 0
    if rng.random() < 0.01:
        return head + bytes([mask | 127]) + rng.choice((b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\0\0\0\1\0\0\0\0", b"\0" * 8)) + payload
    if len(payload) < 126 and rng.random() < 0.99:
        return head + bytes([mask | len(payload)]) + payload
    if len(payload) < 65536:
        return head + bytes([mask | 126]) + len(payload).to_bytes(2, "big") + payload
    return head + bytes([mask | 127]) + len(payload).to_bytes(8, "big") + payload


def frames(rng, payload):
    """The message, possibly in fragments with control frames between them."""
    if rng.random() < 0.1:
        yield frame(rng, rng.randbytes(rng.randrange(130)), rng.choice((8, 9, 10, 9, 10, 3, 11, 2, 0)))
    if rng.random() < 0.1 and len(payload) > 2:
        cut = rng.randrange(1, len(payload))
        yield bytes([0x01]) + frame(rng, payload[:cut])[1:]
        yield bytes([0x80]) + frame(rng, payload[cut:])[1:]
    else:
        yield frame(rng, payload, 1 if rng.random() < 0.98 else 2)


class Served(Reader):
    """A connection of the listener."""

    def __init__(self, connection, seed):
        super().__init__(connection)
        self.rng = random.Random(seed)
        self.earlier = []

    def run(self):
        try:
            with self.connection:
                self.connection.settimeout(30)
                self.serve()
        except (OSError, ValueError, EOFError):
            pass  # the client has left, or sent a message that this reader does not know

    def send(self, data):
        """Sends the bytes at once, in two parts, or only a first part."""
        if self.rng.random() < 0.1 and len(data) > 1:
            cut = self.rng.randrange(1, len(data))
            self.connection.sendall(data[:cut])
            if self.rng.random() < 0.1:
                raise EOFError
            data = data[cut:]
        self.connection.sendall(data)

    def serve(self):
        for _ in range(MESSAGES_MAX):
            head = self.until(b"\r\n\r\n")
            key = re.search(rb"(?i)sec-websocket-key: (\S+)", head)
            if head.startswith(b"GET") and b"jpeer-shm" in head:
                self.send(self.response(400, b"none") if self.rng.random() < 0.5 else
                          b"HTTP/1.1 101 x\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n\r\n" + self.rng.randbytes(64))
            elif key is not None:
                self.shake_hands(key[1])
                self.serve_frames()
                return
            else:
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = self.exactly(int(length[1]) if length else 0)
                for message in list(reply(self.rng, body, self.earlier))[:1] or [b""]:
                    self.send(self.response(200 if message else 204, message))

    def response(self, status, body):
        rng = self.rng
        fields = b"Content-Type: application/json\r\npeer-id: 6d4ad9f6-4c5a-4a38-9a0c-1f6cf9f4e1b2\r\njpeer-epoch: " + \
            rng.choice((b"1", b"x", b"9" * 400)) + b"\r\n"
        if rng.random() < 0.1:
            status = rng.choice((100, 101, 204, 301, 400, 403, 413, 500, 999, 0))
        if rng.random() < 0.2:
            cut = rng.randint(0, len(body))
            chunks = [chunk for chunk in (body[:cut], body[cut:]) if chunk]
            content = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
            fields += b"Transfer-Encoding: chunked\r\n"
        else:
            length = len(body) if rng.random() < 0.95 else rng.choice((0, len(body) + 5, 2**63, 2**70))
            content = body
            fields += b"Content-Length: %d\r\n" % length
        whole = b"HTTP/1.1 %d x\r\n%s\r\n%s" % (status, fields, content)
        return mutate_bytes(whole, rng, TEXTS) if rng.random() < 0.05 else whole

    def shake_hands(self, key):
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        response = b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        if self.rng.random() < 0.05:
            response = mutate_bytes(response, self.rng, TEXTS)
        if self.rng.random() < 0.02:
            response = b"HTTP/1.1 101 x\r\n" + b"A: b\r\n" * 20000 + b"\r\n"
        self.send(response)

    def serve_frames(self):
        for _ in range(MESSAGES_MAX):
            first, payload = self.frame(is_masked=True)
            if first & 15 == CLOSE:
                return
            if first & 15 > BINARY:
                continue
            for message in reply(self.rng, payload, self.earlier):
                for sent in frames(self.rng, message):
                    self.send(mutate_bytes(sent, self.rng, TEXTS) if self.rng.random() < 0.01 else sent)


def listen(path, seeds):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)

    def accept():
        while True:
            served = Served(listener.accept()[0], seeds.getrandbits(64))
            threading.Thread(target=served.run, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def listen_zeromq(path, seed):
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.bind(f"ipc://{path}")

    def serve():
        rng, earlier = random.Random(seed), []
        while True:
            sender, *parts = router.recv_multipart()
            request = parts[-1]
            if request[:1] in b"[{":
                sent = list(reply(rng, request, earlier))
            else:  # a binary message; its reply has the same form
                sent = [mutate_bytes(request, rng, TEXTS) for _ in range(rng.randrange(3))]
            for message in sent:
                more = [b""] if rng.random() < 0.9 else rng.choice(([], [b"", b"x"], [b"x"]))
                router.send_multipart([sender, *(more if len(parts) > 1 else []), message])

    threading.Thread(target=serve, daemon=True).start()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("what", choices=("c", "python"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    seeds = random.Random(options.seed)
    record()
    with tempfile.TemporaryDirectory(prefix="jpeer-hostile-") as folder:
        listen(Path(folder, "socket"), seeds)
        listen_zeromq(Path(folder, "zeromq"), seeds.getrandbits(64))
        program = [BUILD / "tests/integration/client/client_hostile"] if options.what == "c" else \
            ["/usr/bin/python3", "-X", "faulthandler", HERE / "hostile_python.py"]
        variables = environment(leaks=True)
        if options.what == "python":
            variables["PYTHONPATH"] = str(BUILD / "python")
        running = [subprocess.Popen([*program, folder, str(options.seconds), str(seeds.getrandbits(31))], env=variables,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    errors="backslashreplace")
                   for _ in range(options.clients)]
        deadline = time.monotonic() + options.seconds + GRACE_SECONDS
        failed = 0
        for process in running:
            try:
                output, _ = process.communicate(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(6)  # the trace of faulthandler, or a core file, shows where the program hangs
                output = f"did not end: {process.communicate()[0]}"
            complaints = complaints_in(output)
            if process.returncode != 0 or complaints:
                failed += 1
                print(f"FAILED with {process.returncode}: {output[-6000:]}")
            else:
                print(output.strip())
    print(f"{options.clients - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
