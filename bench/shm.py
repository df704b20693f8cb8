"""Shared memory compared with the unix socket and with a plain ring echo; each client is a separate process.

Two clients call the peer over `shm:` and over `ws+unix:` in turns. One client is the bench's own generator (transport
"shm"): one thread, whose requests are templates and whose answers are compared byte by byte. The other is
libjpeer-client with a thread for each connection (transport "shm-library"). The echo (bench/ring_echo.c) shares no code
with the peer or the clients. It is measured twice: "echo" answers at once; "echo-whole" first computes for as long as
the peer needs to serve a call, without the transport (the row "whole" of the part `stages`). All measurements
alternate, and only figures of the same turn are compared, because a host may move a virtual machine's processors at any
time to cores without a common cache.

Rows of calls: placement, transport, workload, connections, in_flight, and `figures`: "jpeer" over shared memory,
"unix", and for the workload `add` also "echo" and "echo-whole". Rows with a single figure have a `key` and a `figure`,
like the rows of `process`.
"""

import argparse
import contextlib
import json
import re
import statistics
import subprocess
import time
from functools import partial
from operator import sub, truediv
from pathlib import Path

from bench import soak
from bench.clients import PROGRAM, run_client
from bench.load import FIGURES, OWN_FIGURES, Floor, pinned, run_load
from bench.loadtable import placements, shape_name
from bench.process import has_descriptors, memory_kib, quiet_peer, row, running
from bench.report import median_of, ratio
from bench.stages import run_stages
from support.peer import BUILD, environment

NAME = "shm"
WHAT = "shared memory beside the unix socket and a bare ring echo"

ECHO = BUILD / "bench/jpeer-bench-ring-echo"
GENERATOR, LIBRARY = "shm", "shm-library"
SCHEMES = {"jpeer": "shm", "unix": "ws+unix"}
ADD = "add"
TEXT = "text"  # sends 1 MiB and gets it back
CANNED_TEXT = "text-canned"
SHAPES = ((1, 1), (1, 64), (16, 1))
TEXT_BYTES = 1 << 20
WHOLE_ROUNDS = 31
TEXT_WARM_UP = 20
WARM_CALLS = 20000
WARM_SECONDS = 0.5
PINNED_SCHEMES = ("shm", "ws+unix", "ws")
CROWDS = (1, 4, 64)
CROWD_TURNS = {64: 4}  # turns in a run: 64 clients use a whole processor, so that a single p99 varies by milliseconds
CROWD_EVERY_US = 1000
IDLE = 1000
IDLE_CALLS = 100000
COUNTED_SECONDS = 5
TIMED = ("calls_per_second", "p50_us", "p99_us", "p999_us", "max_us")


def address(server, scheme):
    """The address for a scheme. Clients ask for shared memory on the Unix socket of the JSON-RPC listener."""
    return f"{scheme}:{server.address('ws+unix').partition(':')[2]}"


def whole_ns():
    """Nanoseconds of a call of `add` in the process, from the request's bytes to the answer's."""
    workload, = run_stages(only=(ADD,), rounds=WHOLE_ROUNDS)["workloads"]
    return workload["stages"]["whole"]["median_ns"]


def run_echo(shape, placement, burn_ns, options):
    _, server_core, client_core = placement
    command = [ECHO, *shape, round(burn_ns), options.warm_up, options.seconds, server_core, client_core]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment(),
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    made = json.loads(done.stdout)
    return {figure: made[figure] for figure in TIMED}


def run_echo_whole(shape, placement, options):
    burn_ns = whole_ns()
    return {**run_echo(shape, placement, burn_ns, options), "whole_ns": burn_ns}


def run_generator(server, scheme, workload, shape, core, options, canned):
    warm_up = TEXT_WARM_UP if workload == TEXT else options.warm_up
    return run_load(address(server, scheme), server.pid, workload, *shape, core, seconds=options.seconds,
                    warm_up=warm_up, canned=canned)


def run_library(server, scheme, workload, shape, core, options, canned):
    connections, in_flight = shape
    more = {"text": TEXT_BYTES} if workload == TEXT else {}
    warm_up = TEXT_WARM_UP if workload == TEXT else max(options.warm_up // connections, in_flight)
    return run_client(address(server, scheme), server.pid, in_flight, core, options.seconds, warm_up,
                      connections=connections, canned=canned, **more)


CLIENTS = {GENERATOR: run_generator, LIBRARY: run_library}


# ---- calls ----

def run_clients(server, placement, workload, shape, options, canned=False, floors=None):
    """The runs of each client, by its transport: a list for "jpeer" and a list for "unix". `floors` has names and
    functions. Each function is called once in each run, in turns with the clients, and its figures become the list of
    that name."""
    floors = floors or {}
    made = {transport: {name: [] for name in (*SCHEMES, *floors)} for transport in CLIENTS}
    for _ in range(options.runs):
        for name, run_floor in floors.items():
            figures = run_floor()
            for of_transport in made.values():
                of_transport[name].append(figures)
        for transport, run_one in CLIENTS.items():
            for name, scheme in SCHEMES.items():
                one = run_one(server, scheme, workload, shape, placement[2], options, canned)
                made[transport][name].append({figure: one[figure] for figure in (*FIGURES, *OWN_FIGURES)})
    return made


def rows_of(placement, workload, shape, runs):
    for transport, made in runs.items():
        figures = {name: median_of(of_server) for name, of_server in made.items()}
        yield {"placement": placement[0], "transport": transport, "workload": workload, "connections": shape[0],
               "in_flight": shape[1], "figures": figures}


def add_rows(peer, placement, options):
    for shape in SHAPES:
        floors = {"echo": partial(run_echo, shape, placement, 0, options),
                  "echo-whole": partial(run_echo_whole, shape, placement, options)}
        runs = run_clients(peer, placement, ADD, shape, options, floors=floors)
        yield from rows_of(placement, ADD, shape, runs)
        if shape in OVER_ECHO and placement[0] == "apart":
            for transport, made in runs.items():
                yield OVER_ECHO[shape](transport, made)


def middle(pairs, figure):
    """Computes a figure from each pair, and returns the pair with the median figure."""
    return sorted(pairs, key=lambda pair: figure(*pair))[len(pairs) // 2]


def latency_over_echo(transport, runs):
    """Compares the time of a call with its floor: the echo's round trip plus the call in the process."""
    pairs = [(jpeer["p50_us"], echo["p50_us"] + burning["whole_ns"] / 1e3)
             for jpeer, echo, burning in zip(runs["jpeer"], runs["echo"], runs["echo-whole"])]
    measured, floor = middle(pairs, sub)
    what = f"{transport}, add, 1x1, apart: p50; floor: the echo's p50 and the call in the process"
    return row(f"{transport}-over-echo-us", what, measured, "us", floor, measured - floor)


def rate_over_echo(transport, runs):
    pairs = [(jpeer["calls_per_second"], burning["calls_per_second"])
             for jpeer, burning in zip(runs["jpeer"], runs["echo-whole"])]
    measured, floor = middle(pairs, truediv)
    what = f"{transport}, add, 1x64, apart: calls; floor: calls of echo-whole"
    return row(f"{transport}-over-echo-rate", what, measured, "/s", floor)


OVER_ECHO = {(1, 1): latency_over_echo, (1, 64): rate_over_echo}


def call_rows(placement, options):
    with pinned(placement[1]):
        peer = quiet_peer(sockets=True)
    with peer:
        for scheme in SCHEMES.values():
            run_client(address(peer, scheme), peer.pid, 16, placement[2], WARM_SECONDS, WARM_CALLS)
        yield from add_rows(peer, placement, options)
        yield from rows_of(placement, TEXT, (1, 1), run_clients(peer, placement, TEXT, (1, 1), options))
    with Floor(TEXT, placement[1]) as floor:
        yield from rows_of(placement, CANNED_TEXT, (1, 1), run_clients(floor, placement, TEXT, (1, 1), options, True))


# ---- with other clients ----

@contextlib.contextmanager
def calling(peer, scheme, count, core, seconds):
    """Runs `count` clients that call each millisecond, on threads of one process."""
    command = [PROGRAM, "--to", address(peer, scheme), "--watch", peer.pid, "--connections", count, "--every",
               CROWD_EVERY_US, "--warm-up", 10, "--seconds", seconds]
    with pinned(core):
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, env=environment())
    try:
        time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def crowd_rows(placement, options):
    """Measures the p99 of a WebSocket over TCP during the load of the crowd, which alternately uses one
    transport and the other."""
    with pinned(placement[1]):
        peer = quiet_peer(sockets=True)
    with peer:
        for count in CROWDS:
            samples = {name: [] for name in SCHEMES}
            for _ in range(options.runs * CROWD_TURNS.get(count, 1)):
                for name, scheme in SCHEMES.items():
                    with calling(peer, scheme, count, placement[2], options.seconds + 10):
                        made = run_load(peer.address("ws"), peer.pid, ADD, core=placement[2], seconds=options.seconds,
                                        warm_up=options.warm_up)
                    samples[name].append(made["p99_us"])
            measured, floor = (statistics.median(samples[name]) for name in SCHEMES)
            what = (f"p99 of a WebSocket beside {count} shm clients that call each ms; floor: beside as many "
                    f"clients on Unix sockets ({placement[0]})")
            yield row("crowd-p99-ratio", what, measured, "us", floor)


def pinned_rows(placement, options):
    """Compares 16 connections that have a thread of their own with 16 other connections, in turns."""
    with pinned(placement[1]):
        peer = quiet_peer(sockets=True)
    with peer:
        for scheme in PINNED_SCHEMES:
            to = address(peer, scheme) if scheme != "ws" else peer.address("ws")
            samples = {True: [], False: []}
            for _ in range(options.runs):
                for pin, rates in samples.items():
                    made = run_client(to, peer.pid, 1, placement[2], options.seconds, options.warm_up, connections=16, pin=pin)
                    rates.append(made["calls_per_second"])
            measured, floor = (statistics.median(samples[pin]) for pin in (True, False))
            what = f"16 connections over {scheme} with a thread of their own; floor: without ({placement[0]})"
            yield row(f"pinned-ratio-{scheme}", what, measured, "calls/s", floor)


# ---- idle ----

def switches_of(pid):
    """How often each thread of the process has slept or been interrupted."""
    counts = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found = re.findall(r"ctxt_switches:\s+(\d+)", status.read_text(encoding="ascii"))
            counts[status.parent.name] = sum(map(int, found))
    return counts


def switches_a_second(pid, seconds):
    before = switches_of(pid)
    time.sleep(seconds)
    return sum(count - before.get(thread, 0) for thread, count in switches_of(pid).items()) / seconds


def idle_rows(count, calls, seconds):
    if not has_descriptors(2 * count):
        return
    heap = [word for option in soak.JVM for word in ("-J", option)]  # so that Java's garbage does not count
    with quiet_peer("--connections-max", str(count + 100), "--shm-total", "4G", *heap, sockets=True) as peer:
        run_client(address(peer, "shm"), peer.pid, 16, None, WARM_SECONDS, WARM_CALLS)
        time.sleep(seconds)
        before, floor = memory_kib(peer.pid), switches_a_second(peer.pid, seconds)
        with running("jpeer-bench-hold-clients", address(peer, "shm"), count, calls) as clients:
            time.sleep(seconds)
            measured = switches_a_second(peer.pid, seconds)
            own = switches_a_second(clients.pid, seconds)
            grown = memory_kib(peer.pid) - before
    what = f"{count:,} idle shm connections after {calls:,} adds each"
    yield row("idle-kib", f"the peer's resident memory for each of {what}", grown / count, "KiB")
    yield row("idle-switches", f"the peer's context switches a second with {what}; floor: without", measured, "/s", floor)
    yield row("idle-client-switches", f"the clients' context switches a second, with {what}", own, "/s")


# ---- the part ----

def measure(options):
    for placement in placements(options.placements):
        yield from call_rows(placement, options)
        yield from crowd_rows(placement, options)
        yield from pinned_rows(placement, options)
    yield from idle_rows(IDLE, IDLE_CALLS, COUNTED_SECONDS)


COLUMNS = ("what", "calls/s or measured", "p50 us", "p99 us", "server us", "calls/s / unix", "p50 / unix",
           "calls/s / echo", "p50 / echo", "calls/s / echo-whole", "floor", "for the target")


def cells(made):
    if "key" in made:
        floor = "-" if made["floor"] is None else f"{made['floor']:.2f}"
        return [made["what"], f"{made['measured']:.2f} {made['unit']}", *["-"] * 8, floor, f"{made['figure']:.2f}"]
    jpeer = made["figures"]["jpeer"]
    bases = (("unix", "calls_per_second"), ("unix", "p50_us"), ("echo", "calls_per_second"), ("echo", "p50_us"),
             ("echo-whole", "calls_per_second"))
    shape = shape_name(made["connections"], made["in_flight"])
    return [f"{made['transport']}, {made['workload']}, {shape}, {made['placement']}",
            f"{jpeer['calls_per_second']:,.0f}/s", f"{jpeer['p50_us']:.2f}", f"{jpeer['p99_us']:.2f}",
            f"{jpeer['server_us_per_call']:.2f}",
            *(ratio(jpeer[figure], made["figures"].get(base, {}).get(figure)) for base, figure in bases), "-", "-"]


def smoke():
    """Makes each kind of row; the figures mean nothing."""
    options = argparse.Namespace(runs=1, seconds=0.05, warm_up=20)
    for placement in placements():
        rows = list(call_rows(placement, options))
        assert len(rows) >= (len(SHAPES) + 2) * len(CLIENTS), rows
        assert all(map(cells, rows))
    rows = [*crowd_rows(placements()[-1], options), *pinned_rows(placements()[-1], options), *idle_rows(3, 1000, 0.05)]
    assert len(rows) == len(CROWDS) + len(PINNED_SCHEMES) + 3, rows
    assert all(map(cells, rows))
