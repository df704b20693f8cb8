"""The Python package compared with Py4J and JPype, with a plain Python socket as the floor of a call over
TCP.

Each workload through each library is a separate program (bench/python/client.py), which is warm before it is measured;
the programs of one workload alternate. The package calls one peer, over shared memory and over WebSocket; the peer,
Py4J's JVM and the other end of the bare socket have the server's core. The program with JPype contains its JVM, and
runs whole on the client's core. JVMs whose start is measured run on the client's core, too. A workload that takes
seconds runs once. Py4J and JPype come from PyPI. A library that cannot be fetched is left out, and its cells say so.

A row: placement, workload, unit, and `figures`: the medians by the names below, None for figures that are not
measured.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys

from bench import rivals
from bench.loadtable import placements
from bench.load import pinned
from bench.report import ratio
from bench.shm import address
from support.peer import BUILD, ROOT, Peer, environment

NAME = "python"
WHAT = "Java from Python: jpeer beside Py4J, JPype and a bare socket"

PACKAGE = BUILD / "python"
PROGRAMS = ROOT / "bench/python"
PYTHON = "/usr/bin/python3"
PACKAGES = ("py4j==0.10.9.9", "JPype1==1.7.1")
PY4J_JAR = "net.sf.py4j:py4j:0.10.9.9"
SHM, WEBSOCKET, SOCKET, PY4J, JPYPE = "shm", "ws", "socket", "Py4J", "JPype"
LIBRARIES = (SHM, WEBSOCKET, PY4J, JPYPE, SOCKET)
DOUBLES = 1000000
ADD, AS_BYTES = "add", "doubles-as-bytes"
# For each workload: the unit of its figures, and its text in the table.
WORKLOADS = {
    ADD: ("us", "one call, add: p50"),
    "doubles": ("ms", "1,000,000 doubles there and back; by Py4J, where each is a call, 1,000 of them times 1,000"),
    AS_BYTES: ("ms", "the same; by Py4J's bytes and two java.nio.ByteBuffer"),
    "exception": ("us", "a call that throws, caught by its class, p50"),
    "new": ("us", "a new java.lang.Object and its end, p50"),
    "iterate": ("ms", "10,000 elements of an ArrayList, in a loop"),
    "entries": ("ms", "a dict of the 5,000 entries of a HashMap"),
    "sort": ("ms", "ArrayList.sort of 10,000 with a comparator in Python"),
    "import": ("ms", "import in a new Python"),
    "start": ("ms", "start of a JVM to the end of the first call"),
    "close": ("ms", "end of that JVM"),
}
STEPS = ("import", "start", "close")  # workloads that do not depend on the transport
WARM_SECONDS = {ADD: 1.5, "exception": 1.5, "new": 1.5}
WARM_SECONDS_ELSE = 0.5
# These workloads take seconds and run once, because a figure of so many round trips varies little.
ONCE = (("iterate", PY4J), ("entries", PY4J), ("sort", PY4J), ("sort", WEBSOCKET))


class Rivals:
    """The folder of each rival's package; None if the package is not available."""

    def __init__(self):
        self.py4j, self.jpype = map(fetched, PACKAGES)
        try:
            self.jar = rivals.fetched(PY4J_JAR)
        except rivals.LeftOut as why:
            print(f"{PY4J} is left out: {why}", file=sys.stderr)
            self.py4j = None


def fetched(*packages):
    """Fetches packages, and returns the folder to import them from; None if they cannot be fetched."""
    done = subprocess.run([ROOT / "tools/fetch-python", *packages], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(packages)} is left out: {(done.stderr.strip().splitlines() or ['not fetched'])[-1]}", file=sys.stderr)
        return None
    return done.stdout.strip()


class Client(rivals.Program):
    """A running program of bench/python. It is warm when the constructor returns."""

    def __init__(self, core, module, workload, warm_seconds, *arguments, path):
        super().__init__(core, PYTHON, PROGRAMS / "client.py", module, workload, warm_seconds, *arguments,
                         env=environment(PYTHONPATH=str(path), **preloaded(path)))
        self.await_line("ready")

    def run(self, seconds):
        self.ask(str(seconds))
        return json.loads(self.await_line("{"))


def preloaded(path):
    """Environment variables that load the sanitizer's runtime into the interpreter, if the build needs the runtime."""
    if path != PACKAGE:
        return {}
    output = subprocess.run(["ldd", PACKAGE / "jpeer/_native.abi3.so"], capture_output=True, text=True, check=True).stdout
    runtimes = [line.split()[2] for line in output.splitlines() if line.strip().startswith(("libasan.", "libtsan."))]
    return {"LD_PRELOAD": runtimes[0]} if runtimes else {}


# ---- a workload in a placement ----

def bare_socket(start, stack, server_core, lengths):
    """Starts the other end of a bare socket, and returns a client that sends and awaits as many bytes as a call of
    jpeer."""
    other_end = stack.enter_context(rivals.Program(server_core, PYTHON, PROGRAMS / "socket_library.py", *lengths))
    return start("socket_library", other_end.await_line(""), *lengths, path=PROGRAMS)


def open_clients(stack, peer, workload, cores, found):
    """Starts the programs for a workload. The keys are (name of the row, name of the library). found: the rivals; None:
    no rivals."""
    server_core, client_core = cores
    warm_seconds = 0 if found is None else WARM_SECONDS.get(workload, WARM_SECONDS_ELSE)

    def start(module, *arguments, path, made=workload):
        return stack.enter_context(Client(client_core, module, made, warm_seconds, *arguments, path=path))

    clients = {(workload, SHM): start("jpeer_library", address(peer, "shm"), path=PACKAGE)}
    if workload not in STEPS:
        clients[workload, WEBSOCKET] = start("jpeer_library", peer.address("ws"), path=PACKAGE)
    if found is not None and found.py4j is not None:
        for made in (workload, AS_BYTES) if workload == "doubles" else (workload,):
            clients[made, PY4J] = start("py4j_library", found.jar, server_core, client_core, path=found.py4j, made=made)
    if found is not None and found.jpype is not None:
        clients[workload, JPYPE] = start("jpype_library", path=found.jpype)
    if workload == ADD:
        facts = clients[workload, WEBSOCKET].run(0)
        clients[workload, SOCKET] = bare_socket(start, stack, server_core, (facts["sent"], facts["received"]))
    return clients


def workload_rows(peer, workload, placement, found, options):
    """Yields one row, or two if Py4J has two ways to do the workload."""
    where, *cores = placement
    samples = {}
    with contextlib.ExitStack() as stack:
        clients = open_clients(stack, peer, workload, cores, found)
        for turn in range(options.runs):
            for key, client in clients.items():
                if turn == 0 or key not in ONCE:
                    made = client.run(options.seconds)
                    samples.setdefault(key, []).append(made["figure"] * DOUBLES / made.get("count", DOUBLES))
    medians = {key: statistics.median(of_client) for key, of_client in samples.items()}
    for row in dict.fromkeys(row for row, _ in medians):
        figures = {name: medians.get((row, name), medians.get((workload, name))) for name in LIBRARIES}
        yield {"placement": where, "workload": row, "unit": WORKLOADS[row][0], "figures": figures}


def quiet_peer(core):
    with pinned(core):
        return Peer("--log-level", "warn", sockets=True)


def is_built():
    if not PACKAGE.exists():
        print("Python is left out: its package is not built", file=sys.stderr)
    return PACKAGE.exists()


def measure(options):
    if not is_built():
        return
    found = Rivals()
    for placement in placements(options.placements):
        with quiet_peer(placement[1]) as peer:
            for workload in WORKLOADS:
                if workload != AS_BYTES:
                    yield from workload_rows(peer, workload, placement, found, options)


COLUMNS = ("placement", "what", "jpeer, shared memory", "jpeer, WebSocket", "Py4J", "JPype", "bare socket",
           "shared memory / JPype", "Py4J / shared memory", "Py4J / WebSocket", "WebSocket / bare socket")


def figure_cell(row, name):
    figure = row["figures"][name]
    if figure is not None:
        return f"{figure:,.2f} {row['unit']}"
    return "not fetched" if name in (PY4J, JPYPE) else "-"


def cells(row):
    figures = row["figures"]
    ratios = ((SHM, JPYPE), (PY4J, SHM), (PY4J, WEBSOCKET), (WEBSOCKET, SOCKET))
    return [row["placement"], WORKLOADS[row["workload"]][1], *(figure_cell(row, name) for name in LIBRARIES),
            *("-" if None in (figures[over], figures[base]) else ratio(figures[over], figures[base])
              for over, base in ratios)]


def smoke():
    """Runs every workload once over both transports, without the rivals; the programs check the results."""
    if not is_built():
        return
    options = argparse.Namespace(runs=1, seconds=0)
    placement = placements()[-1]
    with quiet_peer(placement[1]) as peer:
        for workload in WORKLOADS:
            if workload != AS_BYTES:
                rows = list(workload_rows(peer, workload, placement, None, options))
                figures = rows[0]["figures"]
                assert len(rows) == 1 and figures[SHM] > 0 and (workload in STEPS or figures[WEBSOCKET] > 0), rows
                assert cells(rows[0])
