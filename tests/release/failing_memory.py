"""Lets each allocation of the peer's own code fail, once alone and once with all later ones, during the life of a
client of each kind: the client connects, sends its requests and leaves.

usage: failing_memory.py [--kind NAME]... [--verbose]

Whichever allocation fails, a request gets its usual answer or an error, or its connection ends. The next client is
served, and no memory leaks. A kind ends with the first number that is larger than the number of allocations.
Allocations for a new class fail, too, because each life uses another class (COLD).
"""

import argparse
import contextlib
import http.client
import itertools
import json
import re
import socket
import sys
import time
from pathlib import Path

import zmq

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import colfer  # noqa: E402
from support.binary_client import BinaryClient, call_message, control_message, meta_message, new_message, obj  # noqa: E402
from support.clients import ShmClient, UnixHttpClient, ZmqClient, request  # noqa: E402
from support.failing_memory import FOREVER, failing_peer  # noqa: E402
from support.raw_websocket import RawWebSocket  # noqa: E402
from support.shm import Ended, Refused  # noqa: E402

ZMQ_MILLISECONDS = 1000
MOST_FAULTS = 5  # faults of a kind, after which the rest of the kind is skipped
SECONDS = 6  # for an answer or the end of a connection
PLAIN_LIVES = 20
SPARE_BLOCKS = 40  # blocks of caches, which grow when new classes and members are used
# Words in the errors after a failed allocation, and after a connection that ended because of it.
UNLUCKY = ("memory", "has left", "has ended", "could not be read", "callbackexception")
ENDS = (EOFError, OSError, AssertionError, Ended, Refused, http.client.HTTPException)
COLD = [f"java.util.{name}" for name in
        "ArrayList LinkedList HashMap TreeMap HashSet TreeSet LinkedHashMap LinkedHashSet ArrayDeque PriorityQueue Vector Stack "
        "Hashtable IdentityHashMap WeakHashMap Properties Random BitSet Date GregorianCalendar SplittableRandom".split()] + \
       [f"java.util.concurrent.{name}" for name in
        "ConcurrentHashMap ConcurrentLinkedQueue ConcurrentLinkedDeque ConcurrentSkipListMap ConcurrentSkipListSet Phaser "
        "CopyOnWriteArrayList CopyOnWriteArraySet LinkedBlockingQueue LinkedBlockingDeque LinkedTransferQueue Exchanger "
        "PriorityBlockingQueue SynchronousQueue DelayQueue ForkJoinPool CompletableFuture".split()] + \
       [f"java.util.concurrent.atomic.{name}" for name in
        "AtomicInteger AtomicLong AtomicBoolean AtomicReference LongAdder DoubleAdder".split()] + \
       [f"java.io.{name}" for name in "ByteArrayOutputStream CharArrayWriter StringWriter PipedReader PipedWriter".split()] + \
       [f"java.lang.{name}" for name in "StringBuilder StringBuffer Object Thread Throwable Error Exception String".split()]


def call(type_name, method, *args, on=None, **envelope):
    params = {"type": type_name, "method": method, "args": list(args)}
    return request(1, "call", params if on is None else {**params, "instance": on}, **envelope)


def of_type(type_name, value):
    return {"type": type_name, "value": value}


def meta(method, **args):
    return request(1, "meta", {"method": method, "args": [{"name": name, "value": value} for name, value in args.items()]})


LIST = "java.util.ArrayList"
ADD = call("fixtures.Calculator", "add", 1, 2)
OBJECT = {"ref": "$ref"}
NEW = request(1, "new", {"type": LIST, "args": []})
# Requests of a client, sent one after another. "$ref" is the last ref in an answer, "$cold" a class of COLD.
KINDS = {
    "call": [ADD],
    "text": [call("fixtures.Arguments", "echoString", "tête \U0001f600" * 3000)],
    "list": [call("fixtures.Arguments", "echoObject", of_type("List", [1, "two", [3.5, None], {"four": 5}])),
             call("java.util.ArrayList", "toString", on="$ref")],
    "array": [call("fixtures.Arguments", "echoInts", list(range(500))), call("fixtures.Arguments", "sum", list(range(500)))],
    "object": [NEW, call(LIST, "add", "one", on="$ref"), call(LIST, "add", OBJECT, on="$ref"), call(LIST, "size", on="$ref"),
               request(1, "control", {"method": "delete_object", "args": [{"ref": "$ref"}]})],
    "fields": [request(1, "new", {"type": "java.awt.Point", "args": [1, 2]}),
               request(1, "put", {"type": "java.awt.Point", "field": "x", "instance": "$ref", "value": 7}),
               request(1, "get", {"type": "java.awt.Point", "field": "x", "instance": "$ref"})],
    "cold": [request(1, "new", {"type": "$cold", "args": []}), call("$cold", "toString", on="$ref"),
             request(1, "$cold.hashCode", [OBJECT])],
    "exception": [call("fixtures.Throwables", "nested"), call("fixtures.Throwables", "plain", "x" * 5000)],
    "refused": [call("fixtures.Calculator", "subtract", "x"), call("no.such.Type", "x"), request(1, "nothing", {}),
                call("java.lang.Runtime", "getRuntime")],
    "own name": [request(1, "fixtures.Calculator.add", [1, 2]), request(1, "java.lang.Math.max", [2, 3])],
    "batch": [[ADD, NEW, call("fixtures.Arguments", "echoString", "x" * 300), {"jsonrpc": "2.0", "method": "control",
                                                                      "params": {"method": "ping"}}] * 3],
    "pieces": [request(1, "jpeer.assemble", {"type": "java.lang.String", "value": "abc" * 1000}),
               request(1, "jpeer.assemble", {"type": "java.lang.String", "value": "abc" * 1000, "ref": "$ref"}),
               call("java.lang.String", "length", on="$ref")],
    "elements of pieces": [request(1, "jpeer.assemble", {"type": "ArrayList", "value": [list(range(20000)), [1]]}),
                           call("fixtures.Typed", "longArrays", {"ref": "$ref"})],
    "control": [request(1, "control", {"method": method}) for method in ("ping", "stats", "session", "share_session",
                                                                           "delete_session")],
    "meta": [meta("fetch_classes_info", include_classes=["fixtures.Circle"], compress_encode=False),
             meta("fetch_classes_info", include_classes=["fixtures.Point"])],
    "discover": [request(1, "rpc.discover", {"classes": ["fixtures.Circle"], "openrpc": True})],
    "callback": [call("fixtures.Calling", "here", {"ref": {"callback": 1}}),
                 call("fixtures.Calling", "here", {"ref": {"callback": 2}})],
}


def fill(message, ref, cold):
    text = json.dumps(message)
    return text.replace('"$ref"', str(ref)).replace("$cold", cold)


def last_ref(reply, before):
    value = reply.get("result") if isinstance(reply, dict) else None
    if isinstance(value, dict):
        value = value.get("value", value)
    return value.get("ref", before) if isinstance(value, dict) else before


def over_websocket(client, message):
    client.send(message)
    while True:
        reply = json.loads(client.receive())
        if isinstance(reply, list) or reply.get("method") not in ("callback", "callback_released"):
            return reply
        if reply["method"] == "callback":
            client.send(json.dumps({"jsonrpc": "2.0", "id": reply["id"], "result": "called"}))


def over_any(client, message):
    return json.loads(client.exchange(message))


def json_life(make, exchange, messages):
    """A function that runs one life. It returns the replies; the last is missing if the connection has ended."""
    def live(peer, cold):
        replies, ref = [], 0
        with contextlib.suppress(*ENDS), contextlib.closing(make(peer)) as client:
            for message in messages:
                if ref == 0 and "$ref" in json.dumps(message):
                    break  # the earlier answer was a value or an error
                reply = exchange(client, fill(message, ref, cold))
                replies.append(reply)
                ref = last_ref(reply, ref)
        return replies
    return live


def websocket(peer):
    client = RawWebSocket(peer)
    client.socket.settimeout(SECONDS)
    return client


def zeromq(kind):
    """The client cannot see the end of a connection. A client without an answer asks again."""
    def make(peer):
        client = kind(peer)
        client.socket.setsockopt(zmq.RCVTIMEO, ZMQ_MILLISECONDS)
        return client
    return make


def binary_life(*messages):
    def live(peer, cold):
        with contextlib.suppress(zmq.Again), contextlib.closing(zeromq(BinaryClient)(peer)) as client:
            return [as_json(client.exchange_bytes(colfer.encode("Message", client.addressed(message))))
                    for message in messages]
        return []
    return live


def as_json(payload):
    """A binary reply as JSON, as far as replies are compared. An empty reply means that memory is short."""
    if not payload:
        return {"error": {"code": -32000, "data": {"message": "no memory for the answer"}}}
    reply = colfer.decode("Message", payload)
    raised = reply.get("execMessage", {}).get("raisedThrowable")
    if raised is not None:
        return {"error": {"code": -32000, "data": {"message": raised["throwable"].get("message")}}}
    refused = next((part for part in (reply.get("metaMessage"), reply.get("controlMessage")) if part), {})
    if refused.get("status", 1) != 1:
        return {"error": {"code": -32000, "data": {"message": refused.get("body")}}}
    return {"result": reply.get("execMessage", {}).get("returnValue", {}).get("object")}


def http_get(peer, cold):
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(peer.socket_path("http+unix"))
        client.sendall(b"GET /rpc/meta?method=fetch_classes_info&include_classes=fixtures.Circle&compress_encode=false "
                       b"HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 200") and not body.endswith(b"\r\n0\r\n\r\n"):
            return []  # the connection ended within the answer
        return [{"result": body.decode()} if head.startswith(b"HTTP/1.1 200") else
                {"error": {"code": -32000, "data": {"message": f"out of memory: {head!r}"}}}]
    return []


LIVES = {
    **{name: json_life(websocket, over_websocket, messages) for name, messages in KINDS.items()},
    "http": json_life(UnixHttpClient, over_any, [ADD, *KINDS["object"]]),
    "http get": http_get,
    "shm": json_life(ShmClient, over_any, [ADD, *KINDS["object"]]),
    "zeromq": json_life(zeromq(ZmqClient), over_any, [ADD, *KINDS["object"]]),
    "binary": binary_life(call_message("fixtures.Calculator", "add", 1, 2), new_message(LIST),
                          call_message("fixtures.Arguments", "echoString", "x" * 3000),
                          meta_message(obj(False), obj(False), obj([]), obj(["fixtures.Circle"])), control_message("delete_session")),
}


def normal(reply):
    """The reply without the parts that differ between lives."""
    return re.sub(r'"(ref|id|session|name|epoch|peer_id)": ("[^"]*"|\d+)', '"\\1": 0', json.dumps(reply))


def is_error(reply):
    return isinstance(reply, dict) and "error" in reply


def error_of(reply):
    """The reply's error, also that of a callback which Java has caught. None if the reply has no error."""
    if is_error(reply):
        return reply["error"]
    found = re.search(r'"value": "(CallbackException[^"]*)"', json.dumps(reply))
    return {"code": -32000, "data": {"message": found[1]}} if found else None


def is_ref_of(reply, expected):
    """Returns whether the reply is only a ref because its value did not fit in the answer."""
    value, whole = ((one.get("result") if isinstance(one, dict) else None) or {} for one in (reply, expected))
    if isinstance(value, dict) and isinstance(value.get("value"), dict) and isinstance(whole, dict):
        value, whole = value["value"], whole.get("value")
    return isinstance(value, dict) and isinstance(whole, dict) and "ref" in value and "value" in whole and "value" not in value


class Sweep:
    """The lives of one kind of client."""

    def __init__(self, name, peer, memory, say):
        self.name, self.peer, self.memory, self.say = name, peer, memory, say
        self.live = LIVES[name]
        self.colds = itertools.cycle(COLD)
        self.texts, self.faults = set(), []
        self.lives = 0

    def wrong(self, replies, failing):
        """Yields the faults in the replies of a life in which allocations failed."""
        for number, reply in enumerate(replies):
            expected = self.expected[number] if number < len(self.expected) else None
            for one, right in zip(reply, expected) if isinstance(reply, list) and isinstance(expected, list) else \
                    [(reply, expected)]:
                error = error_of(one)
                if error is not None:
                    self.texts.add((error["code"], str((error.get("data") or {}).get("message"))[:200]))
                    if is_error(right) and right["error"]["code"] == error["code"]:
                        continue  # the text may lack a hint
                    if not is_of_memory(error):
                        yield f"{failing}: an error that is not of memory: {json.dumps(one)[:300]}"
                    return  # later replies may depend on this reply
                elif is_ref_of(one, right):
                    pass
                elif self.name not in ("cold", "control") and normal(one) != normal(right):
                    yield f"{failing}: {json.dumps(one)[:300]} instead of {json.dumps(right)[:300]}"

    def run_mode(self, last):
        """Runs lives until no allocation fails. Returns the number of allocations of a life."""
        for number in itertools.count(1):
            self.lives += 1
            self.memory.fail(number, number if last is None else last)
            began = time.monotonic()
            replies = self.live(self.peer, next(self.colds))
            seconds = time.monotonic() - began
            failed = self.memory.failed
            self.memory.restore()
            failing = f"allocation {number} {'alone' if last is None else 'and all after it'}"
            self.faults += self.wrong(replies, failing)
            if seconds > SECONDS - 1:
                self.faults.append(f"{failing}: no answer and no end within {SECONDS} s")
            if self.peer.process.poll() is not None:
                self.faults.append(f"{failing}: the peer has ended with {self.peer.process.returncode}")
            if self.faults[MOST_FAULTS:] or self.peer.process.poll() is not None or failed == 0:
                return number - 1

    def run(self):
        for _ in range(3):  # the first lives fill caches
            self.expected = self.live(self.peer, COLD[0])
        first = self.run_mode(None)
        self.run_mode(FOREVER)
        if self.peer.process.poll() is None:
            drift = self.drift()
            before, lives = self.settled_blocks(), self.lives
            self.run_mode(None)
            self.run_mode(FOREVER)
            grown = self.settled_blocks() - before - round(drift * (self.lives - lives))
            if grown > SPARE_BLOCKS:
                self.faults.append(f"{grown} blocks stay")
            after = [self.live(self.peer, COLD[0]) for _ in range(2)][1]
            if len(after) != len(self.expected):
                self.faults.append(f"a later client is not served: {after} instead of {self.expected}")
        if self.say:
            for text in sorted(self.texts, key=str):
                print(f"    {text}")
        return first

    def drift(self):
        """By how much a life without failures raises the number of blocks: libraries free blocks of the peer."""
        before = self.settled_blocks()
        for _ in range(PLAIN_LIVES):
            self.live(self.peer, COLD[0])
        return max(0, self.settled_blocks() - before) / PLAIN_LIVES

    def settled_blocks(self):
        """The number of blocks after all connections of earlier lives have ended."""
        last = None
        with contextlib.closing(websocket(self.peer)) as client:
            over_websocket(client, json.dumps(request(1, "control", {"method": "gc"})))
        while last != (last := self.memory.blocks):
            time.sleep(1.5)  # longer than an unused session is kept
        return last


def is_of_memory(error):
    text = json.dumps(error).lower()
    return error["code"] in (-32000, -32603) and any(word in text for word in UNLUCKY)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", action="append", choices=LIVES)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    good = bad = 0
    for name in options.kind or LIVES:
        began = time.monotonic()
        try:
            with failing_peer("--log-level", "error", "--session-ttl", "1s", sockets=True) as (peer, memory):
                sweep = Sweep(name, peer, memory, options.verbose)
                allocations = sweep.run()
            faults = sweep.faults
        except AssertionError as error:
            faults, allocations = [*sweep.faults, f"{error}"[:2000]], 0
        print(f"{name}: {allocations} allocations, {len(faults)} faults, {time.monotonic() - began:.0f} s", flush=True)
        for fault in faults:
            print(f"  {fault}", flush=True)
        good, bad = good + (not faults), bad + bool(faults)
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
