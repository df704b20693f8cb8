"""Sends mutated conformance requests to a real peer over every transport, under -Xcheck:jni, and reports which promises
held.

usage: mutate_requests.py [--seconds N] [--jvm HOME] [--seed N] [--clients N]

Each client replays the steps of a case, and changes most of them on the way: bytes of the text, or a value, a name or a
member of the JSON; requests that still have a binary form are sent as binary messages, too, in which bytes are changed.
Requirements: every answer is JSON with a result or an error (a batch: a list of these); a call on a
connection of its own is always answered rightly; the peer ends with its signal, and neither the JVM nor a
sanitizer complained. If a mutation waits in Java, its connection is abandoned and counted.
"""

import argparse
import copy
import http.client
import json
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import websockets  # noqa: E402
import zmq  # noqa: E402

from conformance.binary_form import NotExpressible, Request  # noqa: E402
from conformance.run import expand, fill_raw, read_cases  # noqa: E402
from support import clients, colfer  # noqa: E402
from support.binary_client import BinaryClient  # noqa: E402
from support.peer import Peer  # noqa: E402

PRESETS = "deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting"
PATIENCE_SECONDS = 5
GONE = (OSError, EOFError, TimeoutError, http.client.HTTPException, websockets.WebSocketException, zmq.ZMQError)
# Values that replace others.
VALUES = (0, 1, -1, 2**31, -2**31 - 1, 2**63, 10**30, 1e400, 5.5, "", "a", "\0", "\ud800", "é" * 300, True, None, [], {},
          [[]] * 40, {"ref": 1}, {"ref": 2**32}, {"type": "int"}, {"type": "int[]", "value": [1, 2]}, "java.lang.String",
          {"type": "java.util.ArrayList", "value": [1, None, {"ref": 1}]}, {"type": "java.lang.Object", "value": None},
          "int[][][]", "[Ljava.lang.String;", "fixtures.Arguments", "java.util.HashMap", "<init>", "length")
NAMES = ("type", "value", "ref", "args", "method", "field", "instance", "params", "id", "jsonrpc", "version", "encoding")
BYTES = (b"\0", b"\x7f", b"\x80", b"\xff", b"\xff" * 9, b"\0\1\2\3", b"\7" * 99, b"\x7f" * 9, b"\xed\xa0\x80", b"null")
TEXTS = (b"[", b"]", b"{", b"}", b'"', b",", b":", b"null", b"1e9999", b"\\u0000", b"\xff", b"5l", b"\\ud800", b" " * 99)


def mutate_bytes(data, rng, pieces):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at:at] = rng.choice(pieces)
        elif kind == 1:
            del data[at:at + rng.randint(1, 12)]
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        else:
            data[at:at] = data[at:at + rng.randint(1, 40)]
    return bytes(data[:rng.randint(0, len(data))]) if rng.random() < 0.1 else bytes(data)


def places(node, found):
    """Every container in the tree with each of its keys."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        found.append((node, key))
        places(node[key], found)
    return found


def mutate_tree(tree, rng, donor):
    for _ in range(rng.randint(1, 3)):
        found = places(tree, [])
        if not found:
            break
        node, key = rng.choice(found)
        kind = rng.randrange(5)
        if kind == 0:
            node[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 1 and isinstance(node, dict):
            node[rng.choice(NAMES)] = node.pop(key)
        elif kind == 2:
            del node[key]
        elif kind == 3:
            node[key] = [node[key]] * rng.randint(1, 30)
        else:
            others = places(donor, [])
            around, other = rng.choice(others) if others else (VALUES, 0)
            node[key] = copy.deepcopy(around[other])
    return [tree] * rng.randint(1, 3) if rng.random() < 0.1 else tree


def mutate(text, rng, donor):
    try:
        tree, other = json.loads(text), json.loads(donor)
    except ValueError:
        tree = None
    if tree is None or rng.random() < 0.4:
        # Bytes that are not UTF-8 become lone surrogates, whose bytes are not UTF-8 either.
        return mutate_bytes(text.encode("utf-8", "surrogatepass"), rng, TEXTS).decode("utf-8", "surrogateescape")
    return json.dumps(mutate_tree(tree, rng, other))


def is_answer(reply):
    """A single answer, or a list of answers."""
    answer = json.loads(reply)
    return all(isinstance(one, dict) and ("result" in one or "error" in one)
               for one in (answer if isinstance(answer, list) else [answer]))


class AnyWebSocket(clients.WebSocketClient):
    def send(self, text):
        super().send(text.encode("utf-8", "replace").decode("utf-8"))


class AnyHttp(clients.HttpClient):
    """Accepts any status of an answer."""

    def exchange_or_nothing(self, text):
        response, body = self.post(text)
        return None if response.status == 204 else body.decode("utf-8")


class AnyZmq(clients.ZmqClient):
    """Sends messages that are JSON by their first byte."""

    def exchange_or_nothing(self, text):
        return super().exchange_or_nothing(text) if text and text[0] not in "\0\1\2\3\4\5\6\7\10\x7f" else None


class AnyBinary(BinaryClient):
    """Answers for a binary message as JSON does; a fault of its reply is raised."""

    def __init__(self, peer):
        super().__init__(peer, seconds=PATIENCE_SECONDS)

    def exchange_or_nothing(self, text):
        try:
            payload = colfer.encode("Message", Request(text).message(False))
        except (NotExpressible, ValueError):
            return None
        rng = random.Random(payload)
        if rng.random() < 0.6:
            payload = mutate_bytes(payload, rng, BYTES)
        reply = self.exchange_bytes(payload)
        if reply.startswith(b"{"):
            return reply.decode()
        self.check(colfer.decode("Message", reply))
        return '{"result":null}'


TRANSPORTS = (AnyWebSocket, AnyHttp, AnyZmq, AnyBinary)


class Mutation:
    """The duration of the attack, and its results."""

    def __init__(self, peer, seconds, seed, counted):
        self.peer = peer
        self.seed = seed
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(counted, 0)
        self.faults = []

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def is_over(self):
        return time.monotonic() > self.end or self.peer.process.poll() is not None or len(self.faults) > 10

    def run(self, transports, clients_each, patience):
        """attack and watch, which wait no longer than `patience` after the end."""
        work = [threading.Thread(target=self.attack, args=(transport, i * len(transports) + j), daemon=True)
                for i in range(clients_each) for j, transport in enumerate(transports)]
        work += [threading.Thread(target=watch, daemon=True) for watch in self.watchers()]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join(max(0, self.end - time.monotonic()) + patience)

    def watchers(self):
        """Runs while the attacks run."""
        return [self.watch]

    def report(self, passed):
        """The exit status."""
        for fault in self.faults:
            print(f"FAIL {fault}")
        print(f"mutated: {self.counts[passed]} passed, {len(self.faults)} failed")
        return 1 if self.faults or not self.counts[passed] or not self.counts["checked"] else 0


class Run(Mutation):
    def __init__(self, peer, seconds, seed):
        super().__init__(peer, seconds, seed, ("sent", "answered", "abandoned", "checked"))
        self.steps = [step for case in read_cases(None) for step in case["steps"] if case.get("only") is None]

    def send_one(self, client, rng, refs):
        def text_of(step):
            return fill_raw(self.expand(step, refs), refs)
        text = text_of(rng.choice(self.steps))
        if rng.random() < 0.85:
            text = mutate(text, rng, text_of(rng.choice(self.steps)))
        self.count("sent")
        reply = client.exchange_or_nothing(text)
        if reply is None:
            return
        self.count("answered")
        try:
            good = is_answer(reply)
        except ValueError:
            good = False
        if not good:
            self.faults.append(f"{text[:500]!r} was answered by {reply[:500]!r}")

    @staticmethod
    def expand(step, refs):
        step = expand(step, refs)
        return step["raw"] if "raw" in step else json.dumps(step["request"])

    def attack(self, transport, number):
        rng = random.Random(self.seed * 1000 + number)
        while not self.is_over():
            try:
                with transport(self.peer) as client:
                    for _ in range(rng.randint(20, 400)):
                        if self.is_over():
                            return
                        self.send_one(client, rng, Refs(rng))
            except GONE:
                self.count("abandoned")
            except Exception as error:  # any other exception is a fault
                self.faults.append(f"client {number}: {type(error).__name__}: {error}")

    def watch(self):
        """Calls of another client during that time."""
        while not self.is_over():
            try:
                with clients.WebSocketClient(self.peer) as client:
                    while not self.is_over():
                        assert client.call("java.lang.Math", "max", 3, 5) == "5"
                        self.count("checked")
                        time.sleep(0.02)
            except Exception as error:  # any exception is a fault
                self.faults.append(f"another client's call: {type(error).__name__}: {error}")


class Refs(dict):
    """A ref for each name that a case has kept: some number that may be one."""

    def __init__(self, rng):
        super().__init__({name: rng.randint(1, 60) for name in "abcdefghijklmnopqrstuvwxyz"})
        self.rng = rng

    def __missing__(self, name):
        return self.rng.randint(1, 60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jvm")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--clients", type=int, default=2, help="of each transport")
    arguments = parser.parse_args()
    clients.SECONDS = PATIENCE_SECONDS
    # Refs begin at 1, so that the numbers of Refs often name an object.
    options = ["--rpc-policy-preset", PRESETS, "--rpc-default-action", "ALLOW", "-J", "-Xcheck:jni", "--log-level", "warn",
               "--first-ref", "1"]
    options += ["--jvm", arguments.jvm] if arguments.jvm else []
    with Peer(*options, allow=False) as peer:
        run = Run(peer, arguments.seconds, arguments.seed)
        run.run(TRANSPORTS, arguments.clients, 4 * PATIENCE_SECONDS)
        counts = ", ".join(f"{number} {what}" for what, number in run.counts.items())
        print(f"seed {arguments.seed}: {counts}; {peer.resident_kib() // 1024} MiB resident")
        if peer.process.poll() is not None:
            run.faults.append(f"the peer ended with {peer.process.returncode}: {peer.stderr()[-2000:]}")
    return run.report("answered")


if __name__ == "__main__":
    sys.exit(main())
