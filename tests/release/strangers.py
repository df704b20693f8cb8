"""A good client beside clients that nobody knows: a thousand that stop in the middle of the TLS handshake, and some that try
wrong tokens, ten and fifty a second, from the good client's own address. The good client must not be delayed, half handshakes
must end at --header-timeout, and of the wrong tokens more than ten a second must be answered a second later.

usage: strangers.py [--seconds N]

--seconds is how long ten wrong tokens a second are tried (60). The tables are for people; what fails is named.
"""

import argparse
import contextlib
import hashlib
import http.client
import json
import multiprocessing
import resource
import selectors
import socket
import ssl
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import certificates  # noqa: E402
from support.peer import Peer  # noqa: E402

TOKEN = "jp_" + "a" * 43
HALVES, HEADER_TIMEOUT_MS = 1000, 10000
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"type": "java.lang.Math", "method": "max", "args": [3, 5]}})
SLOWEST = 0.9  # seconds: the delay of wrong evidence is one second
MOST = 3       # the p50 beside others, divided by the p50 alone before and after


class GoodClient:
    def __init__(self, port, context):
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        self.fields = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}

    def call(self):
        begin = time.monotonic()
        self.connection.request("POST", "/rpc", CALL, self.fields)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200 and json.loads(body)["result"]["value"]["value"] == "5", (response.status, body)
        return time.monotonic() - begin

    def measure(self, is_over):
        """The times of calls, one each 2 ms, sorted."""
        times = []
        while not is_over():
            times.append(self.call())
            time.sleep(0.002)
        return sorted(times)


def for_seconds(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def shown(times):
    return f"{len(times)} calls, p50 {times[len(times) // 2] * 1000:.2f} ms, p99 {times[len(times) * 99 // 100] * 1000:.2f} ms, longest {times[-1] * 1000:.1f} ms"


def hold_halves(port, context, results):
    """In a process of its own: the seconds until each half handshake ends."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    hello = outgoing.read()
    begun, ends = {}, []
    with selectors.DefaultSelector() as waiting:
        for number in range(HALVES):
            client = socket.create_connection(("127.0.0.1", port), timeout=60)
            client.sendall((b"", hello[:3], hello[:9], hello[:100], hello)[number % 5])
            begun[client] = time.monotonic()
            waiting.register(client, selectors.EVENT_READ)
        results.put(HALVES)
        while begun:
            for key, _ in waiting.select(60):
                try:
                    is_over = not key.fileobj.recv(1 << 16)
                except ConnectionError:
                    is_over = True
                if is_over:
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()
                    ends.append(time.monotonic() - begun.pop(key.fileobj))
    results.put(ends)


def guess(port, context, number):
    """The status, and the seconds that a wrong token takes."""
    begin = time.monotonic()
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
    with contextlib.closing(connection):
        connection.request("POST", "/rpc", CALL, {"Content-Type": "application/json", "Authorization": f"Bearer jp_{number}"})
        return connection.getresponse().status, time.monotonic() - begin


def guess_often(port, context, rate, seconds, results):
    """In a process of its own."""
    results.put(rate)
    begin = time.monotonic()
    with ThreadPoolExecutor(4 * rate) as pool:
        guesses = []
        for number in range(int(rate * seconds)):
            time.sleep(max(0, begin + number / rate - time.monotonic()))
            guesses.append(pool.submit(guess, port, context, number))
        results.put([each.result() for each in guesses])


class Beside:
    """The good client, alone and beside a process of others."""

    def __init__(self, peer, ca):
        self.port = urlsplit(peer.address("https")).port
        self.ca = ca
        self.good = GoodClient(self.port, certificates.client_context(ca))
        self.failures = []
        self.good.measure(for_seconds(3))  # until Java is warm

    def check(self, holds, text):
        if not holds:
            self.failures.append(text)

    def run(self, what, function, *arguments):
        """What the process has found."""
        before = self.good.measure(for_seconds(5))
        results = multiprocessing.Queue()
        others = multiprocessing.Process(target=function, args=(self.port, certificates.client_context(self.ca), *arguments, results))
        others.start()
        results.get(timeout=120)
        times = self.good.measure(lambda: not results.empty())
        found = results.get(timeout=120)
        others.join(60)
        after = self.good.measure(for_seconds(5))
        print(f"{what}\n  alone before: {shown(before)}\n  beside it:    {shown(times)}\n  alone after:  {shown(after)}", flush=True)
        alone = max(each[len(each) // 2] for each in (before, after))
        self.check(times[-1] < SLOWEST, f"{what}: a call took {times[-1]:.2f} s")
        self.check(times[len(times) // 2] < MOST * alone, f"{what}: the p50 has grown beyond {MOST} times")
        return found

    def run_halves(self):
        ends = sorted(self.run(f"{HALVES} half handshakes", hold_halves))
        print(f"  they end after {ends[0]:.1f} to {ends[-1]:.1f} s of {HEADER_TIMEOUT_MS / 1000} s", flush=True)
        self.check(len(ends) == HALVES and ends[0] > HEADER_TIMEOUT_MS / 1000 - 1 and ends[-1] < HEADER_TIMEOUT_MS / 1000 + 5,
                   f"half handshakes end after {ends[0]:.1f} to {ends[-1]:.1f} s")

    def run_guesses(self, rate, seconds):
        found = self.run(f"{rate} wrong tokens a second for {seconds} s", guess_often, rate, seconds)
        delayed = sum(taken > SLOWEST for _, taken in found)
        print(f"  {len(found)} were refused, {delayed} of them after a second", flush=True)
        self.check({status for status, _ in found} == {401}, f"a wrong token was not refused: {found}")
        self.check(rate <= 10 or delayed > len(found) / 2, f"only {delayed} of {len(found)} refusals were delayed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard == resource.RLIM_INFINITY else min(hard, 8192), hard))
    with tempfile.TemporaryDirectory(prefix="jpeer-strangers-") as folder:
        ca = certificates.Authority(folder)
        certificates.install(ca.issue("server"), folder)
        people = Path(folder, "people.yaml")
        people.touch(0o600)
        people.write_text('principals: [{name: good, tokens: ["sha256:%s"]}]\n' % hashlib.sha256(TOKEN.encode()).hexdigest(),
                          encoding="utf-8")
        with Peer("--json-rpc", "auto", "--tls-cert", Path(folder, "cert.pem"), "--tls-key", Path(folder, "key.pem"),
                  "--principals", people, "--header-timeout", HEADER_TIMEOUT_MS, "--connections-max", "2000", "--rpc-threads", "2",
                  addresses=False) as peer:
            beside = Beside(peer, ca)
            beside.run_halves()
            beside.run_guesses(10, options.seconds)
            beside.run_guesses(50, 10)
    for failure in beside.failures:
        print(f"failed: {failure}")
    print(f"{max(0, 3 - len(beside.failures))} passed, {len(beside.failures)} failed")
    return 1 if beside.failures else 0


if __name__ == "__main__":
    sys.exit(main())
