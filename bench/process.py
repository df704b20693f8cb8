"""The costs of the process, except its calls: start, memory, many objects, collections, idle and sleeping
clients.

A row has a `key`; the `measured` value and its `unit`; the `floor` from the same run, which is None for an absolute
limit; and the `figure` to compare with a target. A key may be in several rows (placements, collectors): the worst of
them counts. Everything runs through the real binary; the helper programs are in bench/process.
"""

import argparse
import base64
import contextlib
import dataclasses
import gzip
import http.client
import json
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from bench import soak
from bench.load import pinned, run_load
from bench.loadtable import placements
from bench.report import print_head, print_line
from support.peer import BINARY, BUILD, FIXTURES, Peer, environment

NAME = "process"
WHAT = "the process: start, memory, objects, collections, clients that do nothing, metadata"

PROGRAMS = BUILD / "bench/process"
CLASS_PATH = f"{PROGRAMS / 'process.jar'}:{FIXTURES}"
HELD_CLASS = "com.example.Calculator"
FEW_OBJECTS = 1000
SLEEPERS = 64
SPARE_DESCRIPTORS = 200

KIB_PER_MIB = 1024


@dataclasses.dataclass
class Sizes:
    """The numbers of repetitions, objects and clients for each measure."""

    starts: int = 15
    objects: int = 1000000
    garbage_mib: int = 2048
    idle: int = 10000
    settle_seconds: float = 0.5
    soak_divide: int = 5  # the target's number of calls is divided by this; with 1 the measure needs minutes


SMOKE = Sizes(starts=1, objects=2000, garbage_mib=256, idle=20, settle_seconds=0.05, soak_divide=5000)


def row(key, what, measured, unit, floor=None, figure=None):
    """Makes a row. The default figure is the ratio to the floor; without a floor, the measured value."""
    if figure is None:
        figure = measured if floor is None else measured / floor
    return {"key": key, "what": what, "measured": measured, "unit": unit, "floor": floor, "figure": figure}


def run(program, *arguments):
    done = subprocess.run([PROGRAMS / program, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program} {' '.join(map(str, arguments))}: exit status {done.returncode}")
    return done.stdout


@contextlib.contextmanager
def running(program, *arguments):
    """Runs a program during the block, which begins when the program has printed that it is ready."""
    process = subprocess.Popen([PROGRAMS / program, *map(str, arguments)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=environment())
    try:
        if process.stdout.readline() == "":
            raise SystemExit(f"{program} {' '.join(map(str, arguments))}: exit status {process.wait()}")
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def quiet_peer(*options, **more):
    return Peer("--log-level", "warn", *options, class_path=CLASS_PATH, **more)


def memory_kib(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{field}:\s+(\d+)", file.read()).group(1))


def request(method, /, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def ask(peer, text):
    """Sends a request over HTTP, and returns the bytes of the answer. Parsing the answer is not part of the
    measurement."""
    address = urlsplit(peer.address("http"))
    with contextlib.closing(http.client.HTTPConnection(address.hostname, address.port)) as connection:
        connection.request("POST", address.path, text, {"Content-Type": "application/json"})
        return connection.getresponse().read()


def call(peer, class_name, method, *arguments):
    args = [{"type": kind, "value": value} for kind, value in arguments]
    answer = json.loads(ask(peer, request("call", type=class_name, method=method, args=args)))
    return answer["result"].get("value", {}).get("value")


# ---- start ----

def start_rows(options, sizes):
    """Runs java and jpeer alternately, so that other load affects both."""
    java = ("java", "-cp", CLASS_PATH, "Hello")
    jpeer = (BINARY, "run", "--json-rpc", "auto", "--rpc-default-action", "ALLOW", "-cp", CLASS_PATH,
             "com.example.Main")
    elapsed = {"java": [], "jpeer": []}
    for _ in range(sizes.starts):
        elapsed["java"].append(float(run("jpeer-bench-start", *java)))
        elapsed["jpeer"].append(float(run("jpeer-bench-start", "--ping", *jpeer)))
    yield row("start-ratio", "from exec to the first answered ping; floor: java Hello",
              statistics.median(elapsed["jpeer"]) / 1e3, "ms", statistics.median(elapsed["java"]) / 1e3)


def libjvm_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return next(line.split()[-1] for line in file if line.rstrip().endswith("/libjvm.so"))


def ready_memory(sizes):
    """Returns the resident MiB of a ready peer, and of a process that has only a JVM with the same options."""
    with quiet_peer() as peer:
        time.sleep(sizes.settle_seconds)
        jpeer, libjvm = memory_kib(peer.pid), libjvm_of(peer.pid)
    with running("jpeer-bench-jvm", libjvm, f"-Djava.class.path={CLASS_PATH}") as bare:
        time.sleep(sizes.settle_seconds)
        return jpeer / KIB_PER_MIB, memory_kib(bare.pid) / KIB_PER_MIB


def ready_rows(options, sizes):
    jpeer, floor = map(statistics.median, zip(*(ready_memory(sizes) for _ in range(options.runs))))
    yield row("ready-rss-mib", "resident memory when ready; floor: a process with only a JVM", jpeer, "MiB", floor,
              jpeer - floor)


def growth_rows(options, sizes):
    """A run with fewer calls than the target demands gets another key, so that its row is not compared with the
    target."""
    key = "rss-growth-mib" if sizes.soak_divide == 1 else "rss-growth-of-fewer-mib"
    for what, memory in soak.growths("ws", sizes.soak_divide):
        at_tenth, at_end = (memory[name] / KIB_PER_MIB for name in ("at_tenth", "at_end"))
        yield row(key, f"resident memory in {what}; floor: after the first tenth", at_end, "MiB",
                  at_tenth, at_end - at_tenth)


# ---- objects ----

def object_rows(options, sizes):
    """Measures the server's processor time, because much of the elapsed time is the client's work."""
    few, many = [], []
    with quiet_peer() as peer:
        def cost(held):
            words = run("jpeer-bench-objects", peer.address("ws"), peer.pid, held, sizes.objects // 5)
            return float(words.split()[0])
        cost(FEW_OBJECTS)
        for _ in range(options.runs):
            few.append(cost(FEW_OBJECTS))
            many.append(cost(sizes.objects))
    yield row("objects-ratio", f"the server's time for a `new` beside {sizes.objects:,} objects; floor: beside {FEW_OBJECTS:,}",
              statistics.median(many), "us", statistics.median(few))


@contextlib.contextmanager
def session_of(peer, count):
    with running("jpeer-bench-objects", peer.address("ws"), peer.pid, count, 0):
        yield


class Pauses:
    """A peer with this collector, whose young collections are read from the JVM's log."""

    PAUSE = re.compile(r"Pause Young .* ([0-9.]+)ms")

    def __init__(self, collector, stack):
        self.log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "gc.log"
        jvm = (f"-XX:+Use{collector}GC", "-Xms512m", "-Xmx512m", "-Xmn64m", f"-Xlog:gc:file={self.log}")
        self.peer = stack.enter_context(quiet_peer(*(word for option in jvm for word in ("-J", option))))
        self.taken_us = []

    def collect(self, megabytes):
        before = self.log.stat().st_size
        call(self.peer, "Garbage", "make", ("int", megabytes))
        with self.log.open(encoding="utf-8") as file:
            file.seek(before)
            self.taken_us += [float(found) * 1e3 for found in self.PAUSE.findall(file.read())]


def collection_rows(options, sizes):
    """Runs the peers alternately. A figure is the median of all pauses, so that other load changes the figure
    little."""
    for collector in ("Serial", "G1"):
        with contextlib.ExitStack() as stack:
            session, array = Pauses(collector, stack), Pauses(collector, stack)
            stack.enter_context(session_of(session.peer, sizes.objects))
            call(array.peer, "Garbage", "hold", ("java.lang.String", HELD_CLASS), ("int", sizes.objects))
            for _ in range(4 * options.runs):
                session.collect(sizes.garbage_mib)
                array.collect(sizes.garbage_mib)
        yield row("collection-ratio", f"a young collection, {collector}, with {sizes.objects:,} objects of a session; "
                  "floor: in a plain array", statistics.median(session.taken_us), "us", statistics.median(array.taken_us))


# ---- clients ----

PING = request("control", method="ping")
SLEEP = request("call", type="java.lang.Thread", method="sleep", args=[{"type": "long", "value": 600000}])


@contextlib.contextmanager
def stopped(peer):
    """Stops the peer during the block, so that its regular work does not affect the figures of another peer."""
    peer.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        peer.send_signal(signal.SIGCONT)


def p99_of_two(first, second, core, options):
    """Measures the p99 of one connection to each peer, alternately. The peer that is not being measured is stopped."""
    elapsed = {first: [], second: []}
    for _ in range(options.runs):
        for peer, other in ((first, second), (second, first)):
            with stopped(other):
                figures = run_load(peer.address("ws"), peer.pid, "add", core=core, seconds=options.seconds,
                                   warm_up=options.warm_up)
            elapsed[peer].append(figures["p99_us"])
    return statistics.median(elapsed[first]), statistics.median(elapsed[second])


def p99_rows(options, key, what, crowd, *peer_options):
    """Compares a peer that has only a busy connection with a peer that also has a crowd of other clients. crowd(peer,
    stack) opens these clients, and yields rows of its own, if it has any."""
    for placement, server_core, client_core in placements():
        with contextlib.ExitStack() as stack:
            with pinned(server_core):
                alone = stack.enter_context(quiet_peer(*peer_options))
                crowded = stack.enter_context(quiet_peer(*peer_options))
            yield from crowd(crowded, stack)
            floor, figure = p99_of_two(alone, crowded, client_core, options)
        yield row(key, f"p99 of a WebSocket beside {what}; floor: alone ({placement})", figure, "us", floor)


def has_descriptors(count):
    """True if the hard limit allows `count` connections and some more. The programs raise their own soft limit to the
    hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return hard == resource.RLIM_INFINITY or hard >= count + SPARE_DESCRIPTORS


def idle_rows(options, sizes):
    if not has_descriptors(sizes.idle):
        print(f"idle connections are left out: {sizes.idle:,} need a higher hard limit of descriptors (ulimit -Hn)",
              file=sys.stderr)
        return

    def crowd(peer, stack):
        before = memory_kib(peer.pid)
        stack.enter_context(running("jpeer-bench-hold", peer.address("ws"), sizes.idle, PING, "--await"))
        time.sleep(sizes.settle_seconds)
        yield row("idle-kib", f"resident for each of {sizes.idle:,} idle WebSockets",
                  (memory_kib(peer.pid) - before) / sizes.idle, "KiB")

    yield from p99_rows(options, "idle-p99-ratio", f"{sizes.idle:,} idle", crowd, "--connections-max",
                        str(sizes.idle + 100))


def asleep_rows(options, sizes):
    """The peer's grace time is short, so that its end does not wait for the sleeping calls."""
    def crowd(peer, stack):
        stack.enter_context(running("jpeer-bench-hold", peer.address("ws"), SLEEPERS, SLEEP))
        time.sleep(sizes.settle_seconds)
        yield from ()

    yield from p99_rows(options, "asleep-p99-ratio", f"{SLEEPERS} calls asleep", crowd, "--grace", "10")


# ---- metadata ----

FETCH = request("meta", method="fetch_classes_info",
                args=[{"name": "compress_encode", "type": "boolean", "value": True}])


def timed_fetch(peer):
    begins = time.monotonic()
    body = ask(peer, FETCH)
    return (time.monotonic() - begins) * 1e3, body


def metadata_rows(options, sizes):
    first, again, grown = [], [], []
    for _ in range(options.runs):
        with quiet_peer() as peer:
            before = memory_kib(peer.pid)
            elapsed, body = timed_fetch(peer)
            first.append(elapsed)
            again.append(statistics.median(timed_fetch(peer)[0] for _ in range(5)))
            grown.append((memory_kib(peer.pid, "VmHWM") - before) / KIB_PER_MIB)
    answer = json.loads(body)["result"]["value"]["value"]
    classes = len(json.loads(gzip.decompress(base64.b64decode(answer))))
    yield row("metadata-first-ms", f"fetch_classes_info, {classes:,} classes: first", statistics.median(first), "ms")
    yield row("metadata-again-ms", "fetch_classes_info: again", statistics.median(again), "ms")
    yield row("metadata-peak-mib", "fetch_classes_info: growth of resident memory at its peak",
              statistics.median(grown), "MiB")


# ---- the part ----

MEASURES = {
    "start": start_rows,
    "ready": ready_rows,
    "growth": growth_rows,
    "objects": object_rows,
    "collections": collection_rows,
    "idle": idle_rows,
    "asleep": asleep_rows,
    "metadata": metadata_rows,
}

COLUMNS = ("what", "measured", "floor", "for the target")


def measure(options, sizes=None, names=tuple(MEASURES)):
    for name in names:
        yield from MEASURES[name](options, sizes or Sizes(soak_divide=options.soak_divide))


def cells(made):
    floor = made["floor"]
    return [made["what"], f"{made['measured']:.2f} {made['unit']}", "-" if floor is None else f"{floor:.2f}",
            f"{made['figure']:.2f}"]


def smoke():
    """Checks that every measure returns its rows. The figures do not matter."""
    options = argparse.Namespace(runs=1, seconds=0.05, warm_up=10)
    for name in MEASURES:
        made = list(measure(options, SMOKE, (name,)))
        assert made and all(each["measured"] >= 0 for each in made), (name, made)


def main():
    parser = argparse.ArgumentParser(prog="process", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", choices=[[], *MEASURES], metavar="MEASURE",
                        help=f"of {', '.join(MEASURES)}; default all")
    parser.add_argument("--runs", type=int, default=5, help="for each figure (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=1, help="for each run (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=20000, help="calls before each run (default %(default)s)")
    for field in dataclasses.fields(Sizes):
        parser.add_argument("--" + field.name.replace("_", "-"), type=field.type, default=field.default,
                            help="(default %(default)s)")
    options = parser.parse_args()
    sizes = Sizes(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Sizes)})
    print_head(COLUMNS)
    for made in measure(options, sizes, options.names or tuple(MEASURES)):
        print_line(cells(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
