"""The load table: workloads, shapes, transports and placements, jpeer beside its floors.

jpeer and its floors take turns, so that what slows the machine slows all of them. The server has one core and the
generator another ("apart"), or both share one ("together"): where two cores are idle enough to choose from, the
scheduler's choice alone moves p50 several times over, so that a figure without a placement says nothing.

A row: placement, transport, workload, connections, in_flight, and `figures`: those of "jpeer" and of each floor.
"""

import contextlib
import os

from bench.load import FIGURES, TRANSPORTS, Floor, pinned, run_load
from bench.report import median_of, ratio
from support.peer import Peer

NAME = "load"
WHAT = "calls a second and latencies over every transport, beside the floors"

# workload, (connections, in flight), ...
CASES = {
    "add": ((1, 1), (1, 64), (16, 16)),
    "ping": ((1, 1),),
    "instance": ((1, 1),),
    "new-delete": ((1, 1),),
}
FLOORS = ("add", "ping")
SHAPES = tuple(dict.fromkeys(shape for shapes in CASES.values() for shape in shapes))


def placements(wanted=None):
    """Name, the server's core, the generator's core; those that are wanted, None for all."""
    cores = sorted(os.sched_getaffinity(0))
    every = [("apart", cores[0], cores[1])] if len(cores) > 1 else []
    every.append(("together", cores[0], cores[0]))
    return [placement for placement in every if wanted is None or placement[0] in wanted]


def shape_name(connections, in_flight):
    return f"{connections}x{in_flight}"


def cases(options):
    """Workload, connections, in flight: what the options leave of CASES."""
    for workload, shapes in CASES.items():
        for shape in shapes:
            if workload in options.workloads and shape_name(*shape) in options.shapes:
                yield workload, *shape


def take_turns(servers, scheme, case, core, options):
    """The medians of each server (name: anything with address(scheme) and pid), run by run in turns.

    A rival that the generator itself can drive is measured with this, beside a peer.
    """
    workload, connections, in_flight = case
    runs = {name: [] for name in servers}
    for _ in range(options.runs):
        for name, server in servers.items():
            made = run_load(server.address(scheme), server.pid, workload, connections, in_flight, core,
                            seconds=options.seconds, warm_up=options.warm_up, canned=isinstance(server, Floor))
            runs[name].append({figure: made[figure] for figure in FIGURES})
    return {name: median_of(of_server) for name, of_server in runs.items()}


def measure_placement(placement, options):
    name, server_core, client_core = placement
    with contextlib.ExitStack() as stack:
        with pinned(server_core):
            peer = stack.enter_context(Peer("--log-level", "warn"))
        floors = {workload: stack.enter_context(Floor(workload, server_core)) for workload in FLOORS}
        for scheme, transport in TRANSPORTS.items():
            for case in cases(options) if transport in options.transports else ():
                workload, connections, in_flight = case
                servers = {"floor": floors[workload]} if workload in floors else {}
                servers["jpeer"] = peer
                yield {"placement": name, "transport": transport, "workload": workload, "connections": connections,
                       "in_flight": in_flight, "figures": take_turns(servers, scheme, case, client_core, options)}


def measure(options):
    for placement in placements(options.placements):
        yield from measure_placement(placement, options)


COLUMNS = ("placement", "transport", "workload", "shape", "calls/s", "p50 us", "p99 us", "p99.9 us", "max us",
           "server us", "floor calls/s", "floor p50", "calls/s over floor", "p50 over floor")


def cells(row):
    jpeer = row["figures"]["jpeer"]
    made = [row["placement"], row["transport"], row["workload"], shape_name(row["connections"], row["in_flight"]),
            f"{jpeer['calls_per_second']:,.0f}", f"{jpeer['p50_us']:.1f}", f"{jpeer['p99_us']:.1f}",
            f"{jpeer['p999_us']:.1f}", f"{jpeer['max_us']:.0f}", f"{jpeer['server_us_per_call']:.2f}"]
    floor = row["figures"].get("floor")
    if floor is None:
        return made + ["-"] * 4
    return made + [f"{floor['calls_per_second']:,.0f}", f"{floor['p50_us']:.1f}",
                   ratio(jpeer["calls_per_second"], floor["calls_per_second"]),
                   ratio(jpeer["p50_us"], floor["p50_us"])]


def smoke():
    """Every workload on every transport, a few calls each."""
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(Peer("--log-level", "warn"))
        for workload in FLOORS:
            floor = stack.enter_context(Floor(workload))
            for scheme in TRANSPORTS:
                run_load(floor.address(scheme), floor.pid, workload, 2, 2, calls=100, warm_up=10, canned=True)
        for workload in CASES:
            for scheme in TRANSPORTS:
                figures = run_load(peer.address(scheme), peer.pid, workload, 2, 2, calls=100, warm_up=10)
                assert figures["calls"] == 100, figures
