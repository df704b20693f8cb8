"""Calls from Java to a client in C: a call with one callback, a sort with a comparator, events, and threads that wait.

The client is bench/callbacks.c, on libjpeer-client. Py4J has callbacks only in Python: it sorts through its package
from PyPI, with a comparator that is written as its users write one. The rows have the form of the part `process`.
"""

import contextlib
import json
import statistics
import subprocess

from bench import process, rivals
from bench.load import pinned, run_load
from bench.loadtable import placements
from bench.process import row
from bench.shm import address
from support.peer import BUILD, ROOT, Peer, environment

NAME = "callbacks"
WHAT = "calls from Java to a client in C"

PROGRAM = BUILD / "bench/jpeer-bench-callbacks"
PY4J_SORT = ROOT / "bench/rivals/py4j_sort.py"
PY4J = "py4j==0.10.9.9"
PY4J_JAR = "net.sf.py4j:py4j:0.10.9.9"
SCHEMES = ("ws+unix", "shm")
CALLS = 20000
SORTED = 100000
PY4J_SORTED = 2000
EVENTS = 1000000
WAITING = 256

COLUMNS = process.COLUMNS
cells = process.cells


def run_program(to, measure, count, core, *more):
    with pinned(core):
        done = subprocess.run([PROGRAM, to, measure, str(count), *map(str, more)], stdout=subprocess.PIPE, text=True,
                              env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{PROGRAM} {to} {measure} {count}: exit status {done.returncode}")
    return json.loads(done.stdout)


def medians(runs):
    return {name: statistics.median(one[name] for one in runs) for name in runs[0]}


def quiet_peer(core):
    with pinned(core):
        return Peer("--log-level", "warn", "--callbacks-max", "2000", sockets=True)


# ---- the measures ----

def call_rows(peer, scheme, where, core, runs):
    measured = medians([run_program(address(peer, scheme), "calls", CALLS, core) for _ in range(runs)])
    yield row("one-callback", f"p50 of a call with one callback; floor: without a callback ({scheme}, {where})",
              measured["callback_us"], "us", measured["plain_us"])


def event_rows(peer, scheme, where, cores, runs):
    server_core, core = cores
    writer_core = -1 if server_core is None else server_core
    measured = medians([run_program(address(peer, scheme), "events", EVENTS, core, writer_core) for _ in range(runs)])
    what = f"oneway events a second; floor: messages of the same length written to a socket without a peer ({scheme}, {where})"
    yield row("events", what, measured["events"], "/s", measured["bare"])


def py4j_us(server_core, client_core):
    """The microseconds of a comparison through Py4J in that placement; None if Py4J's package cannot be fetched."""
    package = subprocess.run([ROOT / "tools/fetch-python", PY4J], stdout=subprocess.PIPE, text=True, check=False)
    if package.returncode != 0:
        return None
    try:
        jar = rivals.fetched(PY4J_JAR)
    except rivals.LeftOut:
        return None
    command = ["/usr/bin/python3", PY4J_SORT, jar, *map(str, (PY4J_SORTED, server_core, client_core))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True,
                          env={**environment(), "PYTHONPATH": package.stdout.strip()})
    return json.loads(done.stdout)["us"]


def sort_rows(peer, scheme, where, core, count):
    measured = run_program(address(peer, scheme), "sort", count, core)
    each_us = measured["ms"] * 1000 / measured["comparisons"]
    yield row("sort-ms", f"ArrayList.sort of {count:,} with a comparator in C; floor: in Java ({scheme}, {where})",
              measured["ms"], "ms", measured["java_ms"])
    yield row("comparison-us", f"each of its {measured['comparisons']:,.0f} comparisons ({scheme}, {where})", each_us, "us")


@contextlib.contextmanager
def waiting_threads(peer, count, core):
    with pinned(core):
        process_ = subprocess.Popen([PROGRAM, address(peer, "ws+unix"), "hold", str(count)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, env=environment())
    if process_.stdout.readline() != b"\n":
        raise SystemExit("the threads do not wait")
    try:
        yield
    finally:
        process_.stdin.close()
        process_.stdout.close()
        process_.wait()


def waiting_rows(peer, where, core, options):
    def p99():
        made = run_load(peer.address("ws"), peer.pid, "add", core=core, seconds=options.seconds,
                        warm_up=options.warm_up)
        return made["p99_us"]

    alone, beside = [], []
    for _ in range(options.runs):
        alone.append(p99())
        with waiting_threads(peer, WAITING, core):
            beside.append(p99())
    what = f"p99 of a client while {WAITING} Java threads wait in callbacks; floor: without ({where})"
    yield row("waiting-p99", what, statistics.median(beside), "us", statistics.median(alone))


def measure(options):
    for where, server_core, client_core in placements(options.placements):
        rival = py4j_us(server_core, client_core)
        with quiet_peer(server_core) as peer:
            for scheme in SCHEMES:
                yield from call_rows(peer, scheme, where, client_core, options.runs)
                yield from event_rows(peer, scheme, where, (server_core, client_core), options.runs)
                for made in sort_rows(peer, scheme, where, client_core, SORTED):
                    yield made
                    if made["key"] == "comparison-us" and rival is not None:
                        what = f"a comparison in Python through Py4J; floor: through jpeer ({scheme}, {where})"
                        yield row("py4j-comparison", what, rival, "us", made["measured"])
            yield from waiting_rows(peer, where, client_core, options)


def smoke():
    """Runs every measure once, as a test. The figures have no meaning."""
    where, server_core, client_core = placements()[-1]
    with quiet_peer(server_core) as peer:
        for scheme in SCHEMES:
            assert run_program(address(peer, scheme), "calls", 20, client_core)["callback_us"] > 0
            assert run_program(address(peer, scheme), "events", 200, client_core)["events"] > 0
            assert len(list(sort_rows(peer, scheme, where, client_core, 200))) == 2
        with waiting_threads(peer, 3, client_core):
            pass
