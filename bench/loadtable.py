"""The load table: every workload, shape, transport and placement, for jpeer and for its floors.

A shape is a number of connections and of calls in flight. A floor is a server that does less than any peer must do
(bench.py, LEGEND). jpeer and its floors are measured in turns, so that other load on the machine affects all servers.
The server has one core and the generator another ("apart"), or both share one ("together"). Without a fixed placement
p50 would depend mostly on the scheduler, which can multiply p50.

A row: placement, transport, workload, connections, in_flight, and `figures`: the figures of "jpeer", of
"floor", which is called floor (a) in the columns, and over ZeroMQ also the figures of "zmq-echo", which is
called floor (c).
"""

import contextlib
import os

from bench.load import FIGURES, OWN_FIGURES, TRANSPORTS, UNIX_TRANSPORTS, Floor, ZmqEcho, pinned, run_load
from bench.report import median_of, ratio
from support.peer import Peer

NAME = "load"
WHAT = "calls a second and latencies over every transport, beside the floors"

SHAPES = ((1, 1), (1, 64), (16, 1), (16, 16), (256, 1))
WORKLOADS = ("add", "add-anew", "ping", "instance", "echo", "get", "put", "new-delete", "list", "throw", "ints", "batch",
             "base64", "add-binary", "echo-binary", "ints-binary")
# The binary messages, which only ZeroMQ carries, with their JSON counterparts and the measured shapes.
BINARY = {"add-binary": ("add", ((1, 1), (1, 64), (16, 16))), "echo-binary": ("echo", ((1, 1),)),
          "ints-binary": ("ints", ((1, 1),))}
BINARY_TRANSPORTS = {"tcp": TRANSPORTS["tcp"]}
# Only this workload and these shapes are also measured over Unix sockets: a Unix socket changes only the connection.
UNIX_WORKLOAD = "add"
UNIX_SHAPES = ((1, 1), (1, 64), (16, 16))
# Workloads of which one call in flight already uses a whole core, and the divisor of their warm-up calls.
LARGE = {"ints": 10, "ints-binary": 10, "batch": 20, "base64": 100}
# Where workloads other than `add` are measured with calls in flight, unless --full selects all.
LOADED_TRANSPORT = "WebSocket"

FLOORS = {"floor": Floor, "zmq-echo": ZmqEcho}
WARM_SECONDS = 1


def placements(wanted=None):
    """Returns (name, the server's core, the generator's core) for each placement that is in `wanted`; None: all
    placements."""
    cores = sorted(os.sched_getaffinity(0))
    every = [("apart", cores[0], cores[1])] if len(cores) > 1 else []
    every.append(("together", cores[0], cores[0]))
    return [placement for placement in every if wanted is None or placement[0] in wanted]


def shape_name(connections, in_flight):
    return f"{connections}x{in_flight}"


def transports_of(workload):
    if workload in BINARY:
        return BINARY_TRANSPORTS
    return {**TRANSPORTS, **UNIX_TRANSPORTS} if workload == UNIX_WORKLOAD else TRANSPORTS


def shapes_of(workload, transport, full):
    if transport in UNIX_TRANSPORTS.values():
        return UNIX_SHAPES
    if workload == "add" or full:
        return SHAPES
    if workload in BINARY:
        return BINARY[workload][1]
    if transport != LOADED_TRANSPORT:
        return ((1, 1),)
    return ((1, 1), (16, 1)) if workload in LARGE else ((1, 1), (16, 16))


def cases(options, workload):
    """Yields (scheme, connections, in flight) for each selected case of a workload."""
    for scheme, transport in transports_of(workload).items():
        for shape in shapes_of(workload, transport, options.full):
            if transport in options.transports and shape_name(*shape) in options.shapes:
                yield scheme, *shape


def alternate(servers, scheme, case, core, options):
    """Measures the servers in turns (one run of each, then the next run of each), and returns the medians of each
    server.

    servers: a name, and an object with address(scheme) and pid: a peer, a floor, or a rival whose protocol the generator
    speaks.
    """
    workload, connections, in_flight = case
    warm_up = options.warm_up // LARGE.get(workload, 1)
    runs = {name: [] for name in servers}
    for _ in range(options.runs):
        for name, server in servers.items():
            made = run_load(server.address(scheme), server.pid, workload, connections, in_flight, core,
                            seconds=options.seconds, warm_up=warm_up, canned=isinstance(server, Floor))
            runs[name].append({figure: made[figure] for figure in FIGURES + OWN_FIGURES})
    return {name: median_of(of_server) for name, of_server in runs.items()}


def measure_workload(peer, workload, placement, options):
    name, server_core, client_core = placement
    chosen = list(cases(options, workload))
    if not chosen:
        return
    scheme = next(iter(transports_of(workload)))
    run_load(peer.address(scheme), peer.pid, workload, 1, 16, client_core, seconds=WARM_SECONDS, warm_up=0)
    with contextlib.ExitStack() as stack:
        floors = {floor: stack.enter_context(kind(workload, server_core)) for floor, kind in FLOORS.items()}
        for scheme, connections, in_flight in chosen:
            servers = {floor: server for floor, server in floors.items() if scheme in server.SCHEMES}
            figures = alternate({**servers, "jpeer": peer}, scheme, (workload, connections, in_flight), client_core,
                                 options)
            yield {"placement": name, "transport": transports_of(workload)[scheme], "workload": workload,
                   "connections": connections, "in_flight": in_flight, "figures": figures}


def measure_placement(placement, options):
    with contextlib.ExitStack() as stack:
        with pinned(placement[1]):
            peer = stack.enter_context(Peer("--log-level", "warn", sockets=True))
        for workload in options.workloads:
            yield from measure_workload(peer, workload, placement, options)


def measure(options):
    for placement in placements(options.placements):
        yield from measure_placement(placement, options)


COLUMNS = ("placement", "transport", "workload", "shape", "calls/s", "p50 us", "p99 us", "p99.9 us", "max us",
           "server us", "floor calls/s", "floor p50", "calls/s / (a)", "p50 / (a)", "calls/s / (c)",
           "p50 / (c)")


def cells(row):
    jpeer = row["figures"]["jpeer"]
    floor = row["figures"]["floor"]
    made = [row["placement"], row["transport"], row["workload"], shape_name(row["connections"], row["in_flight"]),
            f"{jpeer['calls_per_second']:,.0f}", f"{jpeer['p50_us']:.1f}", f"{jpeer['p99_us']:.1f}",
            f"{jpeer['p999_us']:.1f}", f"{jpeer['max_us']:.0f}", f"{jpeer['server_us_per_call']:.2f}",
            f"{floor['calls_per_second']:,.0f}", f"{floor['p50_us']:.1f}"]
    for base in (floor, row["figures"].get("zmq-echo", {})):
        made += [ratio(jpeer[figure], base.get(figure)) for figure in ("calls_per_second", "p50_us")]
    return made


def smoke():
    """Runs a few calls of every workload on every transport of the peer and of the floors."""
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(Peer("--log-level", "warn", sockets=True))
        for workload in WORKLOADS:
            servers = [(peer, Floor.SCHEMES)]
            servers += [(stack.enter_context(kind(workload)), kind.SCHEMES) for kind in FLOORS.values()]
            for server, schemes in servers:
                for scheme in transports_of(workload).keys() & set(schemes):
                    figures = run_load(server.address(scheme), server.pid, workload, 2, 2, calls=8, warm_up=2,
                                       canned=isinstance(server, Floor))
                    assert figures["calls"] == 8, figures
