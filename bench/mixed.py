"""Good, slow, hostile and vanishing clients of one peer at once, over all transports, while its policy changes.

Each answer to a client that behaves well is checked. After the first tenth of the time, all clients leave, and the
peer's descriptors, threads and memory are noted. When all clients have left at the end, the peer may have only a few
more descriptors and threads (THREADS_MOST), and little more memory. Its JVM has the fixed heap of soak.py.
"""

import collections
import contextlib
import json
import os
import random
import signal
import socket
import struct
import tempfile
import threading
import time
from pathlib import Path

from support.binary_client import BinaryClient
from support.callback_client import CallbackClient, ShmCallbackClient, UnixCallbackClient
from support.clients import (HttpClient, RpcError, ShmClient, UnixHttpClient, UnixWebSocketClient, UnixZmqClient,
                             WebSocketClient, ZmqClient, ref)
from support.peer import Peer, descriptors
from support.peer_case import CALLING, DENIED, allow, deny, put_policy
from support.raw_websocket import RawWebSocket, frame

LIST = "java.util.ArrayList"
TOGGLED = "java.util.BitSet"  # a class that the policy alternately denies and allows
OPTIONS = ("--log-level", "error", "--session-ttl", "15s", "--header-timeout", "10s", "--body-timeout", "10s",
           "--rpc-policy-watch-interval", "200")
# longer than --session-ttl. The TTL is longer than a client may be delayed on a loaded machine
SESSION_SECONDS = 16
TRIM_SECONDS = 4     # an idle peer returns its free memory within a second, but only 10 s after it has last done so
FAULTS_MAX = 20      # faults that are shown; all faults are counted
MEMORY_MOST_KIB = 40 * 1024  # the memory that glibc keeps for the stacks of threads that have ended
THREADS_MOST = 8     # more threads or descriptors than at the start: the crew keeps some threads for a while


class Mix:
    def __init__(self, peer, policy, seed):
        self.peer, self.policy, self.seed = peer, policy, seed
        self.counts = collections.Counter()
        self.faults = []
        self.lock = threading.Lock()
        self.is_over = False
        self.rounds = 0

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def note_fault(self, text):
        with self.lock:
            self.counts["faults"] += 1
            if len(self.faults) < FAULTS_MAX:
                self.faults.append(text[:500])

    def check(self, name, found, expected):
        self.count("calls")
        if found != expected:
            self.note_fault(f"{name}: {found!r} instead of {expected!r}")

    # ---- clients that behave well ----

    def behave(self, kind, chance):
        """Connects a client, makes up to some hundred calls, and closes the client."""
        with kind(self.peer) as client:
            held = []
            for number in range(chance.randrange(20, 300)):
                if self.is_over:
                    break
                self.call_once(client, chance, held, number)

    def call_once(self, client, chance, held, number):
        a, b = chance.randrange(1 << 20), chance.randrange(1 << 20)
        which = chance.random()
        is_binary = isinstance(client, BinaryClient)
        if which < 0.4:
            self.check(client.name, int(client.call("fixtures.Calculator", "add", a, b)), a + b)
        elif which < 0.6:
            text = f"{client.name} {number} \U0001f600" * chance.choice((1, 1, 1, 2000))
            self.check(client.name, client.call("fixtures.Arguments", "echoString", text), text)
        elif which < 0.7:
            words = [f"{a}-{part}" for part in range(3)]
            held.append((client.new(LIST, words), words))
            self.count("calls")
        elif which < 0.8 and held:
            object_ref, words = held.pop(chance.randrange(len(held)))
            self.check(client.name, client.call(LIST, "toString", on=object_ref), f"[{', '.join(words)}]")
            client.control("delete_object", object_ref if is_binary else ref(object_ref))
        elif which < 0.85 and not is_binary:
            reply = client.request("call", {"type": "fixtures.Blockers", "method": "sleep", "args": [60000]},
                                   options={"timeout": 20})
            self.check(client.name, reply.get("error", {}).get("data", {}).get("reason"), "timeout")
        elif which < 0.9 and not is_binary:
            try:
                client.new(TOGGLED)
                self.count("allowed")
            except RpcError as error:
                self.check(client.name, error.code, DENIED)
                self.count("denied")
        elif not is_binary:
            batch = [{"jsonrpc": "2.0", "id": i, "method": "call", "params": {
                "type": "fixtures.Calculator", "method": "add", "args": [a, i]}} for i in range(20)]
            answers = json.loads(client.exchange(json.dumps(batch)))
            self.check(client.name, [int(one["result"]["value"]["value"]) for one in answers], [a + i for i in range(20)])

    def call_back(self, kind, chance):
        """Lets Java call the client, which calls Java before it answers."""
        with kind(self.peer) as client:
            for number in range(chance.randrange(5, 50)):
                if self.is_over:
                    break

                def answer(call, number=number):
                    return int(client.call("fixtures.Calculator", "add", number, 1))
                self.check(f"callback {client.name}", client.call(CALLING, "here", client.give(answer)), str(number + 1))

    def be_slow(self, chance):
        """Sends a request byte by byte, and reads a long answer in small pieces."""
        with RawWebSocket(self.peer) as client:
            number = chance.randrange(1000)
            text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
                "type": "fixtures.Calculator", "method": "add", "args": [number, 1]}})
            for at in frame(text):
                client.socket.sendall(bytes([at]))
                time.sleep(0.005)
            self.check("slow", int(json.loads(client.receive())["result"]["value"]["value"]), number + 1)
            long = "x" * 300000
            client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
                "type": "fixtures.Arguments", "method": "echoString", "args": [long]}}))
            received = bytearray()
            while not received.endswith(b'"}}}'):
                received += client.connection.recv(20000)
                time.sleep(0.002)
            self.check("slow", long.encode() in received, True)

    # ---- clients that do not behave well ----

    def be_hostile(self, chance):
        """Sends malformed bytes of all kinds. The answers are not checked, because only the other clients must be
        served."""
        with contextlib.suppress(OSError, EOFError, AssertionError, struct.error):
            way = chance.randrange(7)
            with socket.socket(socket.AF_UNIX) as plain:
                plain.settimeout(10)
                plain.connect(self.peer.socket_path("ws+unix"))
                if way == 0:
                    plain.sendall(chance.randbytes(chance.randrange(5000)))
                elif way == 1:
                    plain.sendall(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"[" * chance.randrange(100000))
                elif way == 2:
                    plain.sendall(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 6000)
                if way < 3:
                    plain.recv(1000)
            with RawWebSocket(self.peer) as client:
                if way == 3:
                    client.send("[" * chance.randrange(100000))
                elif way == 4:
                    client.socket.sendall(frame(b"x" * 1000, length=chance.randrange(1001, 1 << 40)))
                elif way == 5:
                    client.socket.sendall(chance.randbytes(3000))
                else:
                    client.send(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
                        "type": LIST, "method": chance.choice(("x", "add")), "args": [chance.random()] * 100}}] * 500))
                client.receive_frame()
        self.count("hostile")

    def vanish(self, chance):
        """Closes the connection in the middle of a frame, a body, a call or a callback."""
        way = chance.randrange(4)
        if way == 0:
            with RawWebSocket(self.peer) as client:
                client.socket.sendall(frame("[" * 1000)[:chance.randrange(1000)])
        elif way == 1:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.peer.socket_path("http+unix"))
                client.sendall(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n[1,")
        elif way == 2:
            with RawWebSocket(self.peer) as client:
                for text in ({"method": "new", "params": {"type": LIST, "args": []}},
                             {"method": "call", "params": {"type": "fixtures.Blockers", "method": "sleep", "args": [60000]}}):
                    client.send(json.dumps({"jsonrpc": "2.0", "id": 1, **text}))
                time.sleep(chance.random() * 0.02)
        else:
            client = CallbackClient(self.peer)
            client.begin_call(CALLING, "here", client.give())
            client.await_call()
            client.reset()
        self.count("vanished")

    def change_policy(self, chance):
        rules = chance.choice((deny(TOGGLED) + allow("**"), allow("**")))
        which = chance.random()
        if which < 0.2:
            self.policy.write_text("version: [rubbish\n", encoding="utf-8")
        elif which < 0.3:
            self.policy.unlink(missing_ok=True)
        else:
            put_policy(self.policy, rules)
        self.peer.send_signal(signal.SIGHUP)
        self.count("reloads")
        time.sleep(0.3)

    # ---- all of them ----

    def repeat(self, act, *arguments):
        chance = random.Random(f"{self.seed} {self.rounds} {act.__name__} {arguments}")
        while not self.is_over:
            try:
                act(*arguments, chance)
            except Exception as error:  # any exception is a fault, so that the soak fails
                self.note_fault(f"{act.__name__} {arguments}: {error!r}")
                time.sleep(0.1)

    def run(self, seconds):
        self.is_over = False
        self.rounds += 1
        behaving = (WebSocketClient, UnixWebSocketClient, ShmClient, HttpClient, UnixHttpClient, ZmqClient, UnixZmqClient,
                    BinaryClient)
        works = [*((self.behave, kind) for kind in behaving),
                 *((self.call_back, kind) for kind in (CallbackClient, UnixCallbackClient, ShmCallbackClient)),
                 (self.be_slow,), (self.be_hostile,), (self.vanish,), (self.change_policy,)]
        threads = [threading.Thread(target=self.repeat, args=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.is_over = True
        for thread in threads:
            thread.join(120)
            if thread.is_alive():
                self.note_fault(f"a client gets no answer: {thread}")
        self.peer.clients.clear()

    def state(self):
        """Returns what the peer uses when all clients have left."""
        time.sleep(SESSION_SECONDS + 2)
        with UnixWebSocketClient(self.peer) as unix, WebSocketClient(self.peer) as tcp:
            for client in (unix, tcp):
                with contextlib.suppress(RpcError):
                    client.control("gc")
            stats = [json.loads(client.value("control", {"method": "stats"})["value"]) for client in (unix, tcp)]
        time.sleep(TRIM_SECONDS)
        self.peer.clients.clear()
        return {"RSS in KiB": self.peer.resident_kib(), "threads": len(os.listdir(f"/proc/{self.peer.pid}/task")),
                "descriptors": descriptors(self.peer.pid),
                "sessions with refs": sum(one["sessions_of_this_address"] for one in stats)}


def run_mixed(minutes, seed, jvm_options):
    """Runs the mix, and prints its figures and faults. True: there were no faults, and nothing has grown too much."""
    with tempfile.TemporaryDirectory(prefix="jpeer-soak-") as folder:
        policy = Path(folder, "policy.yaml")
        put_policy(policy, allow("**"))
        with Peer(*OPTIONS, "--rpc-policy", policy, *jvm_options, allow=False, sockets=True) as peer:
            mix = Mix(peer, policy, seed)
            mix.run(minutes * 60 / 10)
            start = mix.state()
            mix.run(minutes * 60 * 9 / 10)
            end = mix.state()
    good = (mix.counts["faults"] == 0 and mix.counts["calls"] > 0 and mix.counts["denied"] > 0 and mix.counts["allowed"] > 0
            and end["RSS in KiB"] - start["RSS in KiB"] <= MEMORY_MOST_KIB
            and end["threads"] - start["threads"] <= THREADS_MOST
            and end["descriptors"] <= start["descriptors"] + THREADS_MOST and end["sessions with refs"] == 0)
    print(f"mixed     {minutes:g} minutes, " + ", ".join(f"{mix.counts[what]:,} {what}" for what in (
        "calls", "faults", "allowed", "denied", "reloads", "hostile", "vanished")), flush=True)
    for what in start:
        print(f"mixed     {what}: {start[what]:,} after a tenth, {end[what]:,} at the end")
    print(f"mixed     {'right' if good else 'WRONG'}", flush=True)
    for fault in mix.faults:
        print(f"  {fault}")
    return good
