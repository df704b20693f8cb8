"""Sends requests of N, 2N and 4N for each list, name, number and depth that a client can make long. The peer's time and
memory must not grow faster than the length of the request.

usage: complexity.py [--case TEXT]...

The time is the processor time of the peer's own threads, without the JVM's compiler and collector. The least
of several runs counts. Each request ends with a part that is served, so that the peer reads all of it. A
refused request is a case of its own, because errors contain text from the request. All requests of a case are
served, or all are refused: a limit that only the longer requests exceed would hide how their cost grows.
"""

import argparse
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import colfer  # noqa: E402
from support.binary_client import (BinaryClient, call_message, control_message, meta_message, named, obj,  # noqa: E402
                                   obj_ref, obj_text)
from support.clients import request  # noqa: E402
from support.peer import BINARY, Peer, environment  # noqa: E402
from support.raw_websocket import CONTINUATION, PING, TEXT, RawWebSocket, frame  # noqa: E402

OPTIONS = ("--log-level", "error", "--batch-max", "1000000", "--message-max", "64M", "--depth-max", "256",
           *(word for option in ("-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC") for word in ("-J", option)))
OWN = re.compile(r"rpc-|ZMQ|meta-")
RUNS = 4
# The largest ratio of the times for 4N and N: linear is 4, quadratic 16. A constant part of the time makes it smaller.
MOST = 7
LEAST_NS = 2_000_000  # for 4N; shorter times are not compared
# The most memory for 4N: this many bytes for each byte of the request, and an amount that every request may
# need.
BYTES_MOST = 200  # the worst are lists in lists, with 160
SPARE_KIB = 8192
# glibc returns freed memory at once. Otherwise a case would reuse memory that an earlier case has freed, and
# its own use would not be measured.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
COLLECTIONS = "java.util.Collections"
OBJECTS = "java.util.Objects"


def text(message):
    return json.dumps(message)


def is_null(*args, **envelope):
    return text(request(1, "call", {"type": OBJECTS, "method": "isNull", "args": list(args)}, **envelope))


def call(type_name, method, *args, **more):
    return request(1, "call", {"type": type_name, "method": method, "args": list(args), **more})


def members(count):
    return {f"member{number}": number for number in range(count)}


def with_params(**more):
    return text(request(1, "call", {"type": OBJECTS, "method": "isNull", "args": [1], **more}))


def ref_list(client, count):
    made = client.ask(text(request(1, "new", {"type": "java.lang.Object", "args": []})))
    return [{"ref": json.loads(made)["result"]["value"]["ref"]}] * count


def many_refs(client, count):
    answer = client.ask(text([request(number, "new", {"type": "java.lang.Object", "args": []}) for number in range(count)]))
    return [{"ref": one["result"]["value"]["ref"]} for one in json.loads(answer)]


class Counted:
    """A socket that counts the bytes that it sends."""

    def __init__(self, connection):
        self.connection = connection
        self.recv = connection.recv
        self.close = connection.close
        self.sent = 0

    def sendall(self, data):
        self.sent += len(data)
        self.connection.sendall(data)


class Client(RawWebSocket):
    def __init__(self, peer):
        super().__init__(peer)
        self.connection = self.socket = Counted(self.socket)

    def ask(self, message):
        """Returns the answer. The peer's notifications of released callbacks come before or after it."""
        self.send(message)
        while '"method":"callback_released"' in (reply := self.receive())[:100]:
            pass
        return reply

    def ask_all(self, messages):
        self.socket.sendall(b"".join(frame(one) for one in messages))
        for _ in messages:
            self.receive()

    def fragments(self, payload, size):
        parts = [payload[at:at + size] for at in range(0, len(payload), size)]
        self.socket.sendall(b"".join(frame(part, CONTINUATION if at else TEXT, fin=at == len(parts) - 1)
                                     for at, part in enumerate(parts)))
        return self.receive()


# By name: N, and the request or a function. A text is one message. A function gets the client and N, and returns the
# measured figures.
MESSAGES = {
    "elements of a list": (100000, lambda n: is_null([1] * n)),
    "texts of a list": (60000, lambda n: is_null(["abc"] * n)),
    "typed elements of a list": (30000, lambda n: is_null([{"type": "int", "value": 1}] * n)),
    "lists in a list": (50000, lambda n: is_null([[1]] * n)),
    "empty lists in a list": (50000, lambda n: is_null("@").replace('"@"', "[" + ",".join(["[]"] * n) + "]")),
    "members of a map": (50000, lambda n: is_null({f"key{i}": i for i in range(n)})),
    "one member of a map again and again": (50000, lambda n: is_null("@").replace('"@"', "{" + ",".join(['"k":1'] * n) + "}")),
    "elements of an int[]": (200000, lambda n: is_null({"type": "int[]", "value": [1] * n})),
    "elements of a String[]": (50000, lambda n: is_null({"type": "String[]", "value": ["a"] * n})),
    "a text": (2000000, lambda n: is_null("x" * n)),
    "a text of escapes": (300000, lambda n: is_null("@").replace("@", "\\u00e9" * n)),
    "a text of pairs": (200000, lambda n: is_null("@").replace("@", "\\ud83d\\ude00" * n)),
    "base64": (1500000, lambda n: is_null({"type": "byte[]", "value": "AAAA" * (n // 4), "encoding": "base64"})),
    "arguments": (8000, lambda n: text(call("fixtures.Overloads", "objects", *[1] * n))),
    "arguments of overloads that do not fit": (8000, lambda n: text(call("fixtures.Overloads", "pick", *["x"] * n))),
    "arguments that are refused": (8000, lambda n: text(call(OBJECTS, "isNull", *[1] * n))),
    "digits": (1200, lambda n: is_null({"type": "java.math.BigInteger", "value": "7" * n})),
    "digits that are too many": (1000000, lambda n: is_null("@").replace('"@"', "7" * n)),
    "digits of a fraction": (1000000, lambda n: is_null("@").replace('"@"', "0." + "7" * n)),
    "digits of an exponent": (1000000, lambda n: is_null("@").replace('"@"', "1e" + "7" * n)),
    "a number's suffix": (1000000, lambda n: is_null("1" * n + "L")),
    "a name of a type": (15000, lambda n: text(call("a." * (n // 2) + "B", "x"))),
    "a name of a type beyond the limit": (1000000, lambda n: text(call("a." * (n // 2) + "B", "x"))),
    "nested classes of a name": (15000, lambda n: text(call("a" + "$B" * (n // 2), "x"))),
    "dimensions of a type": (1000000, lambda n: text(call("[" * n + "I", "x"))),
    "brackets of a type": (500000, lambda n: text(call("int" + "[]" * n, "x"))),
    "a name of a method": (15000, lambda n: text(call(OBJECTS, "m" * n))),
    "a name of a field": (15000, lambda n: text(request(1, "get", {"type": OBJECTS, "field": "f" * n}))),
    "the name of a typed argument": (500000, lambda n: is_null({"type": "a." * (n // 2) + "B", "value": 1})),
    "a request's own name": (1000000, lambda n: text(request(1, "a." * (n // 2) + "b", []))),
    "an id": (1000000, lambda n: text({**call(OBJECTS, "isNull", 1), "id": "i" * n})),
    "an id of digits": (1000000, lambda n: is_null(1).replace('"id": 1', '"id": ' + "1" * n)),
    "unknown params": (30000, lambda n: with_params(**members(n))),
    "one param again and again": (50000, lambda n: is_null(1).replace('"args"', '"type": "x", ' * n + '"args"')),
    "unknown options": (50000, lambda n: is_null(1, options=members(n))),
    "a long option": (1000000, lambda n: is_null(1, options={"threadAffinity": "x" * n})),
    "a long within": (1000000, lambda n: is_null(1, options={"within": "x" * n})),
    "unknown members of a request": (50000, lambda n: is_null(1, **members(n))),
    "a member's long name": (1000000, lambda n: is_null(1, **{"m" * n: 1})),
    "space": (2000000, lambda n: is_null(1).replace('"params"', " " * n + '"params"')),
    "nesting that is too deep": (1000000, lambda n: is_null("@").replace('"@"', "[" * n + "]" * n)),
    "nesting in many lists": (2000, lambda n: is_null("@").replace('"@"', "[" + ",".join(["[" * 60 + "]" * 60] * n) + "]")),
    "text that is no JSON": (2000000, lambda n: is_null("x" * n)[:-1] + "?"),
    "a number that is none": (1000000, lambda n: is_null("@").replace('"@"', "1" * n + "x")),
    "a batch": (1500, lambda n: text([call(OBJECTS, "isNull", i) for i in range(n)])),
    "a batch of errors": (2000, lambda n: text([call(OBJECTS, "nothing", i) for i in range(n)])),
    "a batch of one id": (1500, lambda n: text([call(OBJECTS, "isNull", 1)] * n)),
    "a batch of what is none": (50000, lambda n: text([1] * n)),
    "results of one request of a batch": (1500, lambda n: text(
        [request("r", "new", {"type": "java.lang.Object", "args": []}),
         *({**call(OBJECTS, "isNull", {"ref": {"result": "r"}}), "id": i} for i in range(n))])),
    "results of the request before": (1500, lambda n: text(
        [request(0, "call", {"type": "java.lang.Math", "method": "abs", "args": [1]}),
         *({**call("java.lang.Math", "abs", {"ref": {"result": i}}), "id": i + 1} for i in range(n))])),
    "failures of the request before": (1500, lambda n: text(
        [request(0, "call", {"type": "java.lang.Math", "method": "none", "args": []}),
         *({**call("java.lang.Math", "abs", {"ref": {"result": i}}), "id": i + 1} for i in range(n))])),
    "results in a list": (20000, lambda n: text(
        [request("r", "new", {"type": "java.lang.Object", "args": []}),
         call(OBJECTS, "isNull", [{"ref": {"result": "r"}}] * n)])),
    "ids that no result has": (1500, lambda n: text(
        [{**call(OBJECTS, "isNull", {"ref": {"result": f"none{i}"}}), "id": i} for i in range(n)])),
    "pieces of a List": (50000, lambda n: text(request(1, "jpeer.assemble", {"type": "java.util.List", "value": ["a"] * n}))),
    "classes of metadata": (15000, lambda n: text(request(1, "meta", {"method": "fetch_classes_info", "args": [
        {"name": "include_classes", "value": [f"no.such.Class{i}" for i in range(n)]}]}))),
    "one class of metadata again and again": (30000, lambda n: text(request(1, "meta", {"method": "fetch_classes_info", "args": [
        {"name": "include_classes", "value": ["fixtures.Circle"] * n}]}))),
    "prefixes of metadata": (4000, lambda n: text(request(1, "meta", {"method": "fetch_classes_info", "args": [
        {"name": "exclude_prefixes", "value": [f"no.such{i}" for i in range(n)]},
        {"name": "include_classes", "value": ["fixtures.Circle", "fixtures.Point"]}]}))),
    "patterns of a document": (240, lambda n: text(request(1, "rpc.discover", {"classes": [
        f"fixtures.Circ{i}" for i in range(n)] + ["fixtures.Circle"]}))),
    "stars of a pattern": (250, lambda n: text(request(1, "rpc.discover", {"classes": ["fix*" + "*a" * (n // 2)]}))),
    "refs that a delete names": (50000, lambda n: text(request(1, "control", {"method": "delete_object", "args": [
        {"ref": 2000000000}] * n}))),
    "releases": (50000, lambda n: text(request(1, "control", {"method": "ping"}, released=[{"ref": 7, "sent": 1}] * n))),
    "interfaces of a callback": (20000, lambda n: is_null({"ref": {"callback": 1}, "interfaces": ["java.lang.Runnable"] * n})),
    "unknown interfaces of a callback": (15000, lambda n: is_null(
        {"ref": {"callback": 1}, "interfaces": [f"a.B{i}" for i in range(n)]})),
    "callbacks in a list": (8000, lambda n: is_null([{"type": "java.lang.Runnable", "ref": {"callback": 1}}] * n)),
    "different callbacks in a list": (3000, lambda n: is_null(
        [{"type": "java.lang.Runnable", "ref": {"callback": i + 1}} for i in range(n)])),
}


def measured(client, message):
    """A function that sends the message, and returns whether it is refused."""
    return lambda: '"error":{"code"' in client.ask(message)[:100]


ACTIONS = {
    "one ref in a list": (20000, lambda client, n: measured(client, is_null(ref_list(client, n)))),
    "refs in a list": (10000, lambda client, n: measured(client, is_null(many_refs(client, n)))),
    "refs as arguments": (10000, lambda client, n: measured(client, text(call(
        "fixtures.Overloads", "objects", *many_refs(client, n))))),
    "refs that a delete ends": (5000, lambda client, n: lambda: measured(client, text(request(1, "control", {
        "method": "delete_object", "args": many_refs(client, n)})))()),
    "objects of a session": (5000, lambda client, n: lambda: (many_refs(client, n), client.ask(text(
        request(1, "control", {"method": "delete_session"}))))),
    "messages": (1000, lambda client, n: lambda: client.ask_all([is_null(1)] * n)),
    "fragments": (20000, lambda client, n: lambda: client.fragments(is_null("x" * n).encode(), 1)),
    "pings": (5000, lambda client, n: lambda: (client.socket.sendall(frame(b"x", PING) * n),
                                               [client.receive_frame() for _ in range(n)])),
    "pieces": (500, lambda client, n: lambda: assemble(client, n)),
    "cancels of what waits": (50, lambda client, n: lambda: cancel_all(client, n)),
}


def assemble(client, count):
    ref = json.loads(client.ask(text(request(1, "jpeer.assemble", {"type": "java.lang.String", "value": "abc"}))))["result"]["ref"]
    client.ask_all([text(request(1, "jpeer.assemble", {"type": "java.lang.String", "value": "abc", "ref": ref}))] * count)
    client.ask(text(request(1, "call", {"type": "java.lang.String", "method": "length", "instance": ref, "args": []})))


def cancel_all(client, count):
    """Sends a call that waits, calls after it, and cancels of all of them, beginning with the last."""
    waiting = [{**call("java.lang.Thread", "sleep", 60000), "id": 0}, *({**call(OBJECTS, "isNull", 1), "id": i} for i in range(1, count))]
    client.socket.sendall(b"".join(frame(text(one)) for one in waiting))
    time.sleep(0.1)
    client.socket.sendall(b"".join(frame(text(request(f"c{i}", "control", {
        "method": "cancel", "args": [{"name": "id", "value": i}]}))) for i in reversed(range(count))))
    for _ in range(2 * count):
        client.receive()


class Http:
    """A client with one connection for each exchange."""

    def __init__(self, peer):
        self.path = peer.socket_path("http+unix")
        self.sent = 0

    def exchange(self, data):
        """Returns whether the request is refused."""
        self.sent += len(data)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(self.path)
            client.sendall(data)
            first = client.recv(1 << 20)
            while client.recv(1 << 20):
                pass
        return not first.startswith(b"HTTP/1.1 200")


def post(body=b"", head=b"", chunk=0):
    line = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" + head
    if not chunk:
        return line + b"Content-Length: %d\r\n\r\n" % len(body) + body
    return line + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for part in (body[at:at + chunk] for at in range(0, len(body), chunk))) + b"0\r\n\r\n"


REQUEST = is_null(1).encode()
HTTP = {
    "a header": (7000, lambda n: post(REQUEST, b"X: " + b"x" * n + b"\r\n")),
    "headers": (1200, lambda n: post(REQUEST, b"X: y\r\n" * n)),
    "a head that is too long": (1000000, lambda n: b"GET /" + b"a" * n),
    "a body": (2000000, lambda n: post(is_null("x" * n).encode())),
    "chunks": (20000, lambda n: post(is_null("x" * n).encode(), chunk=1)),
    "requests of a connection": (500, lambda n: post(REQUEST).replace(b"Connection: close\r\n", b"") * n + post(REQUEST)),
    "a query's parameters": (240, lambda n: b"GET /rpc/meta?method=fetch_classes_info"
                             + b"&include_classes=fixtures.Circle" * n + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    "a query's text": (7000, lambda n: b"GET /rpc/meta?method=" + b"%41" * (n // 3)
                       + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
}
BINARY_MESSAGES = {
    "binary: elements of a list": (100000, lambda n: call_message(OBJECTS, "isNull", obj_text(text([1] * n)))),
    "binary: arguments": (8000, lambda n: call_message("fixtures.Overloads", "objects", *[obj(1)] * n)),
    "binary: a text": (2000000, lambda n: call_message(OBJECTS, "isNull", obj("x" * n))),
    "binary: a name": (1000000, lambda n: call_message("a." * (n // 2) + "B", "x")),
    "binary: refs that a delete names": (15000, lambda n: control_message("delete_object", *[2000000000] * n)),
    "binary: classes of metadata": (15000, lambda n: meta_message(obj(False), obj(False), obj([]), obj(
        [f"no.such.Class{i}" for i in range(n)]))),
    "binary: nesting that is too deep": (500000, lambda n: call_message(OBJECTS, "isNull", obj_text("[" * n + "]" * n))),
}


def own_nanoseconds(pid):
    """The processor time of each thread of the peer."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if OWN.match((task / "comm").read_text()):
                found[task.name] = int((task / "schedstat").read_text().split()[0])
    return found


class Measurer:
    def __init__(self, peer):
        self.peer = peer

    def measure(self, act):
        """The nanoseconds of the fastest run, the KiB above the earlier resident memory, and whether the last request was
        refused: False if `act` does not return it."""
        times, is_refused = [], False
        Path(f"/proc/{self.peer.pid}/clear_refs").write_text("5")
        resident = self.peer.resident_kib()
        for _ in range(RUNS):
            before = own_nanoseconds(self.peer.pid)
            is_refused = act() is True
            times.append(sum(now - before.get(task, 0) for task, now in own_nanoseconds(self.peer.pid).items()))
        return min(times), self.peer.peak_kib() - resident, is_refused

    def over_websocket(self, make, size):
        with Client(self.peer) as client:
            act = make(client, size)
            before = client.socket.sent
            return *self.measure(act), (client.socket.sent - before) // RUNS

    def over_http(self, make, size):
        client, data = Http(self.peer), make(size)
        return *self.measure(lambda: client.exchange(data)), len(data)

    def over_binary(self, make, size):
        with BinaryClient(self.peer) as client:
            data = colfer.encode("Message", client.addressed(make(size)))
            return *self.measure(lambda: client.exchange_bytes(data)), len(data)


def find_fault(found, find, size):
    """Returns the fault, or "". A single jump of the time, when a cache is exceeded or a buffer is mapped, is
    not a fault: in this case the figures for 8N decide. If 8N is refused because of a limit, any steep growth
    is wrong."""
    (time_1, _, is_refused, _), _, (time_4, memory_4, is_refused_4, sent_4) = found
    if is_refused != is_refused_4:
        return "only the shorter requests are refused" if is_refused else "only the longer requests are refused"
    if memory_4 > BYTES_MOST * sent_4 / 1024 + SPARE_KIB:
        return "the memory grows too fast"
    if time_4 <= MOST * max(time_1, LEAST_NS / MOST):
        return ""
    time_8, _, is_refused_8, _ = find(8 * size)
    is_step = is_refused_8 == is_refused and time_8 <= MOST / 2 * find(4 * size)[0]
    return "" if is_step else "the time grows too fast"


def rule(pattern):
    return f"  - {{class: '{pattern}', action: DENY}}\n"


# The rules of a policy, and the member's name, which a client chooses.
POLICIES = {
    "policy: rules": (1200, lambda n: ("".join(rule(f"a.b{i}.*") for i in range(n)), "some.Other.member")),
    "policy: rules that a name passes": (1200, lambda n: (rule("**.x*y*z") * n, "some.xx.yy.zzz.Other.member")),
    "policy: stars of a pattern": (100, lambda n: (rule("*a" * n + "b"), "a" * 5000 + ".member")),
    "policy: a name": (15000, lambda n: (rule("*a*a*a*a*a*a*b") * 50, "a" * n + ".member")),
    "policy: parts of a name": (15000, lambda n: (rule("**.a.**.a.**.b") * 50, "a." * (n // 2) + "member")),
}


def measure_policy(rules, name):
    """`jpeer policy explain` reads the rules and judges one member. Its memory is not measured: the system
    would include the memory of the process before exec, when it is a copy of this process."""
    times = []
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("version: 1\nrules:\n" + rules)
        file.flush()
        for _ in range(RUNS):
            process = subprocess.Popen([BINARY, "policy", "explain", file.name, name], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, (process.returncode, rules[:200], name[:200])
            times.append(int((usage.ru_utime + usage.ru_stime) * 1e9))
    return min(times), 0, False, 0


def cases(measurer):
    """Yields for each case its name, N, and a function of the size."""
    for name, (size, make) in MESSAGES.items():
        yield name, size, lambda n, make=make: measurer.over_websocket(lambda client, m: measured(client, make(m)), n)
    for name, (size, make) in ACTIONS.items():
        yield name, size, lambda n, make=make: measurer.over_websocket(make, n)
    for name, (size, make) in HTTP.items():
        yield f"http: {name}", size, lambda n, make=make: measurer.over_http(make, n)
    for name, (size, make) in BINARY_MESSAGES.items():
        yield name, size, lambda n, make=make: measurer.over_binary(make, n)
    for name, (size, make) in POLICIES.items():
        yield name, size, lambda n, make=make: measure_policy(*make(n))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", action="append", metavar="TEXT")
    options = parser.parse_args()
    good = bad = 0
    with Peer(*OPTIONS, env=environment(**MALLOC), sockets=True) as peer:
        for name, size, find in cases(Measurer(peer)):
            if options.case and not any(part in name for part in options.case):
                continue
            find(size)
            found = [find(size * factor) for factor in (1, 2, 4)]
            fault = find_fault(found, find, size)
            print(f"{name:45} {size:8} " + " ".join(f"{time / 1e6:8.1f} ms" for time, *_ in found) + "  "
                  + " ".join(f"{memory:7}" for _, memory, *_ in found) + f" KiB {fault and 'WRONG: ' + fault}", flush=True)
            good, bad = good + (not fault), bad + bool(fault)
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
