"""Answers the calls of a real peer wrongly, and sends it changed chains, over WebSocket and shared memory.

usage: mutate_callbacks.py [--seconds N] [--jvm HOME] [--seed N] [--clients N] [--check-jni]

Each client has Java call it: from the thread of its request, from other threads, from virtual threads, deep in the stack,
in events. Most calls are answered wrongly: with changed bytes, with another id, twice, late, in a batch, with
an error that names a throwable, or not at all. Some are answered after a request that is nested in this call,
in an ended call or in another client's call, or after the session was deleted. They also send chains
(chains.py) in which something was changed. Requirements: every message of the peer is a call, a release or an
answer; calls of other clients, and their chains with nested callbacks, always get right answers; after the
clients have left, no session, descriptor or thread of theirs remains; and the peer ends by its signal, at
once, clean, and with only warnings about callbacks in its log.

Java may wait for itself: a thread holds the monitor of fixtures.Calling and runs invokeAll there, and a request that is
nested in a worker's call asks for the monitor. No client can end this deadlock, and all other threads that
need the monitor wait as well. The fixture detects such a deadlock and ends it by an interrupt. Deadlocks are
counted, and the first is printed.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chains import Chain  # noqa: E402
from mutate_requests import GONE, PRESETS, Mutation, is_answer, mutate  # noqa: E402
from support import clients, shm  # noqa: E402
from support.callback_client import CallbackClient, ShmCallbackClient  # noqa: E402
from support.peer import Peer  # noqa: E402

CALLING = "fixtures.Calling"
SILENT_SECONDS = 2  # then a client with an unanswered call disconnects: the call's thread may hold a lock that others need
QUIET_SECONDS = 0.1  # then a client checks whether its requests have ended
PATIENCE_SECONDS = 30  # for expected messages
SETTLE_SECONDS = 60
SPARE_DESCRIPTORS = 64  # jars, and what the crew opens when it grows
SPARE_THREADS = 32  # of the JVM's pools, its compilers and the crew
DEPTH_MAX = 4
MESSAGES_MAX = 400
THROWABLES = ("java.io.IOException", "java.lang.Error", "java.lang.ThreadDeath", "fixtures.Calling$Asking", "no.such.Class",
              "java.lang.String", "int", "", "java.lang.OutOfMemoryError")
RESULTS = (7, -1, 2**40, 1.5, "text", "\ud800", True, None, [], [1, [2, None]], {"value": 7}, {"type": "int", "value": 7},
           {"type": "int", "value": "x"}, {"type": "java.util.ArrayList", "value": [1, 2]}, {"ref": 1}, {"ref": 10**9},
           {"ref": {"callback": 1}}, {"ref": {"callback": 1}, "type": "java.util.function.Supplier"}, {"type": "no.such.Class"},
           [[[[[[[[]]]]]]]], "x" * 70000)
FLAGS = ({}, {}, {"origin": True}, {"borrow": True}, {"oneway": True, "origin": True}, {"arity": 1}, {"arity": 9}, {"overrides": ["equals", "reversed"]},
         {"interfaces": ["java.util.Comparator"]}, {"interfaces": ["java.lang.Runnable", "java.util.concurrent.Callable"]},
         {"type": "java.util.function.Function"}, {"interfaces": []}, {"borrow": True, "oneway": True})
# (method, arguments after the callback, of a type that Java names)
CALLS = (("here", ()), ("here", ()), ("onThread", ()), ("onThreads", (3,)), ("holdingMonitor", ()), ("parallelSort", (300, 7)),
         ("invokeAll", (20,)), ("tell", (30,)), ("hereTold", ()), ("onVirtualThreads", (4,)), ("ask", ()))


class AnyWebSocket(clients.WebSocketClient):
    def send(self, text):
        super().send(text.encode("utf-8", "replace").decode("utf-8"))

    def receive_within(self, seconds):
        return self.loop.run_until_complete(asyncio.wait_for(self.socket.recv(), seconds))


class AnyShm(clients.ShmClient):
    def receive_within(self, seconds):
        self.channel.milliseconds = int(seconds * 1000)
        return self.receive()


TRANSPORTS = (AnyWebSocket, AnyShm)
CHAINS_OF_ONE_CLIENT = 100


class ChainClient:
    """Runs chains, some of them nested in its calls, and counts the faults in their answers."""

    def run_chain(self, run, rng, within=None):
        def nest(call):
            if rng.random() < 0.3:
                self.run_chain(run, rng, call.id)
        chain = Chain(rng, self.give, nest, within)
        self.send_json(chain.requests)
        faults = chain.check(self.await_answers())
        run.count("chains")
        if faults:
            run.fault(f"a chain: {faults[:3]}, after {json.dumps(chain.requests)[:4000]}")

    def await_answers(self):
        self.answers = None
        while self.answers is None:
            self.step()
        answers, self.answers = self.answers, None
        return answers

    def handle(self, message):
        if isinstance(message, list):
            self.answers = message
        else:
            super().handle(message)


class WebSocketChains(ChainClient, CallbackClient):
    pass


class ShmChains(ChainClient, ShmCallbackClient):
    pass


class Attack:
    """One connection, whose client handles its messages."""

    def __init__(self, run, client, rng):
        self.run, self.client, self.rng = run, client, rng
        self.depth = 0
        self.replies = 0
        self.sent = 0
        self.open_ids, self.late = [], []
        self.is_silent = False  # Java may wait for an answer that this client never gives
        self.leaves_at = float("inf")
        self.is_over = False
        self.has_fence = False  # the answer to its last request has arrived
        self.said = []  # its last messages

    def send(self, message):
        self.send_text(message if isinstance(message, str) else json.dumps(message))

    def send_text(self, text):
        self.said = [*self.said[-7:], text[:300]]
        self.client.send(text)

    def give(self):
        return {"ref": {"callback": self.rng.randint(1, 5)}, **self.rng.choice(FLAGS)}

    def request(self, **options):
        """A random request: a request that gives a callback, or a short request without a callback."""
        self.sent += 1
        kind = self.rng.randrange(8)
        if kind == 0:
            params = {"type": CALLING, "method": "echo", "args": [5]}
        elif kind == 1:
            params = {"type": CALLING, "method": "descend", "args": [self.rng.randint(1, 6), self.give()]}
        elif kind == 2:
            params = {"type": "java.util.TreeSet", "args": [self.give()]}
        elif kind == 3:
            params = {"type": "java.util.ArrayList", "method": "forEach", "args": [self.give()],
                      "instance": {"type": "java.util.ArrayList", "value": [1, "two", None]}}
        else:
            method, args = self.rng.choice(CALLS)
            params = {"type": CALLING, "method": method, "args": [self.give(), *args]}
        verb = "call" if "method" in params else "new"
        return {"jsonrpc": "2.0", "id": self.sent, "method": verb, "params": params, **({"options": options} if options else {})}

    def mutated(self, message):
        return mutate(json.dumps(message), self.rng, json.dumps(self.request()))

    def play(self):
        for _ in range(self.rng.randint(1, 4)):
            self.send_request()
        for _ in range(MESSAGES_MAX):
            if self.is_over or self.run.is_over() or time.monotonic() > self.leaves_at:
                return
            self.handle_next()
            if self.rng.random() < 0.3:
                self.send_request()
        self.end()

    def send_request(self):
        if self.rng.random() < 0.3:
            self.send(self.mutated(self.chain()))
        else:
            request = self.request()
            self.send(self.mutated(request) if self.rng.random() < 0.2 else request)

    def chain(self, within=None):
        chain = Chain(self.rng, lambda function: self.give(), within=within)
        self.sent += 1
        return [*chain.requests, self.request()]

    def handle_next(self):
        """If no message arrives, no request counts as in flight any more: some requests get no answer,
        because a change has removed their id or the request itself."""
        try:
            self.handle(self.client.receive_within(QUIET_SECONDS))
        except (TimeoutError, shm.TimedOut):
            self.end()

    def end(self):
        """Sends late answers; then all requests end, unless the client was silent."""
        self.is_over = True
        for each in self.late:
            self.answer_rightly(each)
        if self.is_silent or self.depth > 0:
            return
        self.send({"jsonrpc": "2.0", "id": "fence", "method": "control", "params": {"method": "ping"}})
        try:
            while not self.has_fence and not self.is_silent:
                self.handle(self.client.receive_within(PATIENCE_SECONDS))
        except (TimeoutError, shm.TimedOut):
            self.run.fault(f"no message arrived after {self.said}")

    # ---- received messages ----

    def handle(self, text):
        message = json.loads(text)
        method = message.get("method") if isinstance(message, dict) else None
        if method == "callback":
            self.run.count("calls")
            self.handle_call(message)
        elif method != "callback_released":
            self.replies += len(message) if isinstance(message, list) else 1
            self.run.count("answers")
            self.has_fence = self.has_fence or isinstance(message, dict) and message.get("id") == "fence"
            if not is_answer(text):
                self.run.fault(f"{text[:500]!r} came after {self.said}")

    def right(self, message):
        method = message["params"]["method"]
        result = {"compare": 0, "accept": None, "run": None}.get(method, 7)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def handle_call(self, message):
        if "id" not in message:
            return
        ways = (self.answer_rightly, self.answer_with_changes, self.answer_otherwise, self.answer_another, self.answer_twice,
                self.fail, self.ask_before, self.ask_in_batch, self.answer_late, self.answer_in_batch, self.send_junk,
                self.delete_session, self.leave, self.stay_silent)
        weights = (40, 12, 8, 3, 4, 10, 14, 5, 6, 4, 2, 0.5, 0.7, 0.7)
        self.depth += 1
        self.open_ids.append(message["id"])
        self.rng.choices(ways, weights)[0](message)
        self.depth -= 1

    def answer_rightly(self, message):
        self.send(self.right(message))

    def answer_with_changes(self, message):
        self.send_text(self.mutated(self.right(message)))
        if self.rng.random() < 0.95:
            self.answer_rightly(message)
        else:
            self.stay_silent(message)

    def answer_otherwise(self, message):
        self.send({**self.right(message), "result": self.rng.choice(RESULTS)})

    def answer_another(self, message):
        self.send({**self.right(message), "id": self.rng.choice(["cb-0", 1, None, "", "cb-999999", *self.open_ids])})
        self.answer_rightly(message)

    def answer_twice(self, message):
        self.answer_rightly(message)
        self.answer_rightly(message)

    def fail(self, message):
        data = self.rng.choice([None, {}, {"ref": self.rng.randint(0, 9)}, {"throwable_type": self.rng.choice(THROWABLES)},
                                {"throwable_type": 5, "message": []}, {"throwable_type": "java.io.IOException", "message": "é" * 99}])
        error = {"code": self.rng.choice([-5, 0, 2**40, "x"]), "message": self.rng.choice(["why", "", None, "\ud800"])}
        self.send({"jsonrpc": "2.0", "id": message["id"], "error": error if data is None else {**error, "data": data}})
        self.answer_rightly(message)

    def within(self, message):
        return self.rng.choice([message["id"]] * 6 + [self.rng.choice(self.open_ids), "cb-1", "cb-0", 5, None, ""])

    def ask_before(self, message):
        """Sends a nested request before the answer, and answers the calls that this request causes."""
        request = self.request(within=self.within(message))
        wanted = self.replies + 1
        self.send(self.mutated(request) if self.rng.random() < 0.2 else request)
        while self.depth < DEPTH_MAX and self.replies < wanted and not self.is_over and not self.run.is_over():
            self.handle_next()
        self.answer_rightly(message)

    def ask_in_batch(self, message):
        batch = [self.request(within=self.within(message)) if self.rng.random() < 0.7 else self.request()
                 for _ in range(self.rng.randint(1, 4))]
        if self.rng.random() < 0.3:
            batch = self.chain(self.within(message))
        self.send(self.mutated(batch) if self.rng.random() < 0.3 else batch)
        self.answer_rightly(message)

    def answer_late(self, message):
        self.late.append(message)
        if self.is_over or len(self.late) > 2 or self.rng.random() < 0.5:
            late, self.late = self.late, []
            for each in reversed(late):
                self.answer_rightly(each)

    def answer_in_batch(self, message):
        late, self.late = self.late, []
        self.send([self.right(each) for each in [message, *late, message]])

    def send_junk(self, message):
        self.send_text(self.rng.choice(["", " ", "null", "[]", "[[]]", '{"id":1}', '{"result":1}', "\ufffd" * 9, "[" * 300]))
        self.answer_rightly(message)

    def delete_session(self, message):
        self.send({"jsonrpc": "2.0", "id": 0, "method": "control", "params": {"method": "delete_session"},
                   "options": {"within": message["id"]}})
        self.sent += 1

    def leave(self, message):
        self.is_over = self.is_silent = True

    def stay_silent(self, message):
        self.is_silent = True
        self.leaves_at = min(self.leaves_at, time.monotonic() + SILENT_SECONDS)


class Run(Mutation):
    def __init__(self, peer, seconds, seed):
        super().__init__(peer, seconds, seed, ("connections", "calls", "answers", "abandoned", "checked", "chains",
                                              "deadlocks of Java's own"))
        self.is_deadlock_shown = False

    def fault(self, what):
        with self.lock:
            self.faults.append(what)

    def attack(self, transport, number):
        rng = random.Random(self.seed * 1000 + number)
        while not self.is_over():
            self.count("connections")
            attack = None
            try:
                with transport(self.peer) as client:
                    attack = Attack(self, client, rng)
                    attack.play()
            except (*GONE, shm.Ended, shm.TimedOut):
                self.count("abandoned")
            except Exception as error:  # any other exception is a fault
                said = attack.said if attack is not None else []
                self.fault(f"client {number}: {type(error).__name__}: {error}, after {said}")

    def watchers(self):
        return [self.watch, *(lambda client=client: self.watch_chains(client) for client in (WebSocketChains, ShmChains))]

    def watch_chains(self, transport):
        rng = random.Random(f"{self.seed} {transport.__name__}")
        while not self.is_over():
            try:
                with transport(self.peer) as client:
                    for _ in range(CHAINS_OF_ONE_CLIENT):
                        if not self.is_over():
                            client.run_chain(self, rng)
            except Exception as error:  # any exception is a fault
                self.fault(f"chains: {type(error).__name__}: {error}")

    def watch(self):
        """Checks calls and callbacks of another client while the attacks run."""
        while not self.is_over():
            try:
                with CallbackClient(self.peer) as client:
                    while not self.is_over():
                        self.check(client)
                        self.end_deadlock(client)
                        self.count("checked")
                        time.sleep(0.01)
            except Exception as error:  # any exception is a fault
                self.fault(f"another client's calls: {type(error).__name__}: {error}")

    def check(self, client):
        number = random.randrange(10**6)
        give = client.give(lambda call: client.call(CALLING, "echo", number), number=1)
        assert client.call(CALLING, "here", give) == str(number)
        compare = client.give(lambda call: int(call.args[0]) - int(call.args[1]), number=2)
        assert client.call(CALLING, "parallelSort", compare, 100, 5) == "true"

    def end_deadlock(self, client):
        deadlock = client.call(CALLING, "endDeadlock")
        if deadlock is None:
            return
        self.count("deadlocks of Java's own")
        if not self.is_deadlock_shown:
            self.is_deadlock_shown = True
            print(f"Java waits for itself: {deadlock}", flush=True)

    # ---- remains ----

    def settle(self, descriptors, threads):
        """Waits until the clients' sessions, descriptors and threads are gone."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            with clients.WebSocketClient(self.peer) as client:
                client.control("gc")
            sessions = sum(self.sessions(each) for each in TRANSPORTS)
            left = sessions, self.count_of("fd") - descriptors, self.count_of("task") - threads
            if left[0] == 0 and left[1] <= SPARE_DESCRIPTORS and left[2] <= SPARE_THREADS:
                return
            time.sleep(0.2)
        self.fault(f"{left[0]} sessions, {left[1]} more descriptors and {left[2]} more threads are left")

    def sessions(self, transport):
        with transport(self.peer) as client:
            return json.loads(client.value("control", {"method": "stats"})["value"])["sessions_of_this_address"]

    def count_of(self, folder):
        return len(os.listdir(f"/proc/{self.peer.pid}/{folder}"))

    def check_log(self):
        for line in self.peer.stderr().splitlines():
            if " error " in line or " warn " in line and "callback" not in line and "within" not in line:
                self.fault(f"in the log: {line[:500]}")



def options_of(arguments):
    # Refs begin at 1, so that refs in changed messages often name an object.
    options = ["--rpc-policy-preset", PRESETS, "--rpc-default-action", "ALLOW", "--log-level", "warn", "--first-ref", "1"]
    options += ["-J", "-Xcheck:jni"] if arguments.check_jni else []
    return options + (["--jvm", arguments.jvm] if arguments.jvm else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jvm")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--clients", type=int, default=3, help="of each transport")
    parser.add_argument("--check-jni", action="store_true")
    arguments = parser.parse_args()
    with Peer(*options_of(arguments), allow=False, sockets=True) as peer:
        run = Run(peer, arguments.seconds, arguments.seed)
        descriptors, threads = run.count_of("fd"), run.count_of("task")
        run.run(TRANSPORTS, arguments.clients, SETTLE_SECONDS)
        if peer.process.poll() is None:
            run.settle(descriptors, threads)
        counts = ", ".join(f"{number} {what}" for what, number in run.counts.items())
        print(f"seed {arguments.seed}: {counts}; {peer.resident_kib() // 1024 if peer.process.poll() is None else 0} MiB resident")
        status = peer.stop()
        if status != 0:
            run.fault(f"the peer ended with {status}: {peer.stderr()[-2000:]}")
        run.check_log()
    return run.report("calls")


if __name__ == "__main__":
    sys.exit(main())
