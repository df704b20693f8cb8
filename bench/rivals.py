"""The rivals: other ways to call Java, each fetched through Maven, and measured in the same run as jpeer.

A rival's server runs like the peer: on the server's core, in a JVM with default options. Its client runs on the
generator's core. The client is the generator where the generator speaks the rival's protocol. Otherwise it is a program in
Java, one process for all runs, so that its code is compiled. Measuring begins when server and client do not become
faster any more. A rival that cannot be fetched is left out, with a message.

The generator speaks the protocols of Py4J's gateway and of Jolokia's agent (over HTTP) itself. With Java RMI each call
in flight has a thread and a connection of its own. With gRPC-java a connection is a channel with asynchronous calls,
and a message is only an int. gRPC's server runs calls on its pool or, "direct", on the threads that read. Jolokia is
compared with jpeer over HTTP, the others over WebSocket.

A row: placement, rival, transport (jpeer's), workload, connections, in_flight, and `figures` of "jpeer" and the rival.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from bench.load import FIGURES, pinned, run_load
from bench.loadtable import LARGE, placements, shape_name, shapes_of
from bench.report import median_of, ratio
from support.peer import BUILD, FIXTURES, ROOT, Peer, environment

NAME = "rivals"
WHAT = "jpeer beside its rivals"

SOURCES = ROOT / "bench/rivals"
CLASSES = BUILD / "bench/rivals"

# Warming ends after WARM_WITHOUT_GAIN consecutive runs that are not 5 % faster than the best run before them.
WARM_SECONDS = 2
WARM_WITHOUT_GAIN = 3
WARM_RUNS_MAX = 12
STOP_SECONDS = 20

GRPC = "1.77.0"
GRPC_LIBRARIES = tuple(f"io.grpc:grpc-{part}:{GRPC}" for part in ("netty-shaded", "api", "core", "stub", "util",
                                                                 "context")) + (
    "com.google.guava:guava:33.4.8-jre", "com.google.guava:failureaccess:1.0.3", "io.perfmark:perfmark-api:0.27.0")


@dataclasses.dataclass(frozen=True)
class Rival:
    name: str
    server: str  # the class with the server's main
    beside: tuple = ()  # classes that the server needs, except Serving
    client: str = ""  # the class with the client's main; empty: the generator is the client
    libraries: tuple = ()
    agent: str = ""  # a library that the server's JVM starts with
    agent_options: str = ""
    options: tuple = ()  # of the server's JVM
    arguments: tuple = ()  # of the server
    scheme: str = "ws"  # the transport of jpeer to compare with
    workloads: dict = dataclasses.field(default_factory=lambda: {"add": "add"})  # and the client's names for them


RIVALS = (
    Rival("Py4J", "Py4jServer", libraries=("net.sf.py4j:py4j:0.10.9.9",),
          workloads={workload: f"py4j-{workload}"
                     for workload in ("add", "instance", "echo", "get", "new-delete", "base64")}),
    Rival("Java RMI", "RmiServer", ("RmiCalculator",), "RmiClient",
          options=("-Djava.rmi.server.hostname=127.0.0.1",)),
    Rival("gRPC-java", "GrpcServer", ("GrpcCalculator",), "GrpcClient", GRPC_LIBRARIES),
    Rival("gRPC-java direct", "GrpcServer", ("GrpcCalculator",), "GrpcClient", GRPC_LIBRARIES,
          arguments=("direct",)),
    Rival("Jolokia", "JolokiaServer", agent="org.jolokia:jolokia-agent-jvm:2.5.1:javaagent",
          agent_options="port=0,host=127.0.0.1",
          # Without the first option each answer needs 40 ms. Without the second the server closes all connections
          # except 200.
          options=("-Dsun.net.httpserver.nodelay=true", "-Dsun.net.httpserver.maxIdleConnections=1000"),
          scheme="http", workloads={"add": "jolokia-add"}),
)
NAMES = tuple(rival.name for rival in RIVALS)
TRANSPORTS = {"ws": "WebSocket", "http": "HTTP"}


class LeftOut(Exception):
    """Raised if a library cannot be fetched, or if the rival fails."""


def fetched(coordinates):
    done = subprocess.run([ROOT / "tools/fetch-jar", coordinates], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LeftOut((done.stderr.strip().splitlines() or [coordinates])[-1])
    return done.stdout.strip()


class Program:
    """A program that ends when its standard input ends."""

    def __init__(self, core, *words, env=None):
        self.core = core
        with pinned(core):
            self.process = subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True, env=env or environment())

    @property
    def pid(self):
        return self.process.pid

    def move(self, core):
        if core != self.core:
            for thread in Path(f"/proc/{self.pid}/task").iterdir():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(thread.name), {core})
            self.core = core

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def await_line(self, begins):
        """Returns the next line that begins with this text; other lines are ignored."""
        for line in self.process.stdout:
            if line.startswith(begins):
                return line.strip()
        raise SystemExit(f"{self.process.args}: ended with {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.stdout.close()
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status != 0 and kind is None:
            raise SystemExit(f"{self.process.args}: ended with {status}")


class Running:
    """A rival's server, and its own client, if it has one."""

    def __init__(self, rival, stack, server_core, client_core):
        self.rival = rival
        self.client_core = client_core
        libraries = [fetched(library) for library in rival.libraries]
        options = list(rival.options)
        if rival.agent:
            options.append(f"-javaagent:{fetched(rival.agent)}={rival.agent_options}")
        class_path = ["-cp", ":".join([str(self._compiled(libraries)), str(FIXTURES), *libraries])]
        self.server = stack.enter_context(
            Program(server_core, "java", *options, *class_path, rival.server, *rival.arguments))
        self.address = self.server.await_line(("py4j://", "rmi://", "grpc://", "http://"))
        self.client = rival.client and stack.enter_context(
            Program(client_core, "java", *class_path, rival.client, self.address, self.server.pid))

    def _compiled(self, libraries):
        rival = self.rival
        target = CLASSES / rival.server
        sources = [SOURCES / f"{name}.java" for name in ("Serving", rival.server, *rival.beside)]
        if rival.client:
            sources += [SOURCES / f"{name}.java" for name in ("Histogram", "Load", rival.client)]
        subprocess.run(["javac", "--release", "17", "-Xlint:all,-classfile,-processing", "-Werror", "-proc:none", "-cp",
                        ":".join([str(FIXTURES), *libraries]), "-d", target, *sources], check=True)
        return target

    def move(self, client_core):
        self.client_core = client_core
        if self.client:
            self.client.move(client_core)

    def run(self, workload, connections, in_flight, warm_up, seconds):
        """Returns figures with the generator's names. If the rival fails, raises LeftOut, because a long run must go
        on."""
        try:
            if not self.client:
                return run_load(self.address, self.server.pid, self.rival.workloads[workload], connections, in_flight,
                                self.client_core, warm_up=warm_up, seconds=seconds)
            self.client.ask(f"{connections} {in_flight} {warm_up} {seconds}")
            return json.loads(self.client.await_line("{"))
        except (OSError, SystemExit) as failure:
            raise LeftOut(f"{workload} {shape_name(connections, in_flight)}: {failure}") from failure


class RunningPeer:
    """The peer, with the interface of Running."""

    def __init__(self, peer, scheme, client_core):
        self.peer = peer
        self.scheme = scheme
        self.client_core = client_core

    def move(self, client_core):
        self.client_core = client_core

    def run(self, workload, connections, in_flight, warm_up, seconds):
        return run_load(self.peer.address(self.scheme), self.peer.pid, workload, connections, in_flight,
                        self.client_core, warm_up=warm_up, seconds=seconds)


def alternate(sides, case, options):
    """Measures both sides alternately, and returns the medians of each side. sides: {name: side}."""
    warm_up = options.warm_up // LARGE.get(case[0], 1)
    runs = {name: [] for name in sides}
    for _ in range(options.runs):
        for name, side in sides.items():
            made = side.run(*case, warm_up, options.seconds)
            runs[name].append({figure: made[figure] for figure in FIGURES})
    return {name: median_of(of_side) for name, of_side in runs.items()}


def warm(side, workloads):
    """Runs `add` until it does not become faster any more, and then each of the workloads once."""
    best = 0
    without_gain = 0
    for _ in range(WARM_RUNS_MAX):
        rate = side.run("add", 16, 16, 1, WARM_SECONDS)["calls_per_second"]
        without_gain = 0 if rate > best * 1.05 else without_gain + 1
        best = max(best, rate)
        if without_gain == WARM_WITHOUT_GAIN:
            break
    for workload in workloads:
        side.run(workload, 1, 1, 1, WARM_SECONDS)


def workloads_of(rival, options):
    return [workload for workload in rival.workloads if workload in options.workloads]


def cases(rival, options):
    for workload in workloads_of(rival, options):
        for shape in shapes_of(workload, TRANSPORTS[rival.scheme], options.full):
            if shape_name(*shape) in options.shapes:
                yield workload, *shape


def measure_rival(rival, peer, places, options):
    _, server_core, client_core = places[0]
    with contextlib.ExitStack() as stack:
        sides = {"jpeer": RunningPeer(peer, rival.scheme, client_core),
                 rival.name: Running(rival, stack, server_core, client_core)}
        warm(sides[rival.name], workloads_of(rival, options))
        for name, _, core in places:
            for side in sides.values():
                side.move(core)
            for workload, connections, in_flight in cases(rival, options):
                yield {"placement": name, "rival": rival.name, "transport": TRANSPORTS[rival.scheme],
                       "workload": workload, "connections": connections, "in_flight": in_flight,
                       "figures": alternate(sides, (workload, connections, in_flight), options)}


def measure(options):
    places = placements(options.placements)  # the server's core is the same in all placements
    with pinned(places[0][1]):
        peer = Peer("--log-level", "warn")
    with peer:
        warm(RunningPeer(peer, "ws", places[0][2]), ("add",))
        for rival in RIVALS:
            if rival.name in options.rivals:
                try:
                    yield from measure_rival(rival, peer, places, options)
                except LeftOut as why:
                    print(f"{rival.name} is left out: {why}", file=sys.stderr)


def smoke():
    """Measures, for a short time, the rival that needs no library."""
    core = min(os.sched_getaffinity(0))
    rival = next(rival for rival in RIVALS if not rival.libraries and not rival.agent)
    with contextlib.ExitStack() as stack:
        figures = Running(rival, stack, core, core).run("add", 2, 2, 10, 0.1)
    assert figures["calls"] > 0, figures


COLUMNS = ("placement", "rival", "jpeer over", "workload", "shape", "jpeer calls/s", "p50 us", "p99 us",
           "server us", "rival calls/s", "p50 us", "p99 us", "server us", "calls/s / rival", "p50 / rival")


def side_cells(figures):
    return [f"{figures['calls_per_second']:,.0f}", f"{figures['p50_us']:.1f}", f"{figures['p99_us']:.1f}",
            f"{figures['server_us_per_call']:.2f}"]


def cells(row):
    jpeer = row["figures"]["jpeer"]
    rival = row["figures"][row["rival"]]
    return [row["placement"], row["rival"], row["transport"], row["workload"],
            shape_name(row["connections"], row["in_flight"]), *side_cells(jpeer), *side_cells(rival),
            ratio(jpeer["calls_per_second"], rival["calls_per_second"]), ratio(jpeer["p50_us"], rival["p50_us"])]
