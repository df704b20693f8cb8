"""The audit's price: the same peer with --audit and without, in turns.

Rows: placement, transport "ws", workload "add", connections, in_flight, and `figures` of "jpeer" (with the audit) and
"no-audit". Of each peer the best of the runs counts: other work on the machine only makes a run slower.
"""

import contextlib
import tempfile

from bench.load import pinned, run_load
from bench.loadtable import placements, shape_name
from bench.process import quiet_peer
from bench.report import ratio

NAME = "audit"
WHAT = "The audit beside none"

SHAPES = ((1, 1), (16, 1), (16, 16))
TURNS = 5  # in a run
COLUMNS = ("placement", "shape", "calls/s", "no audit", "ratio", "p50 us", "no audit")


def cells(row):
    ours, none = row["figures"]["jpeer"], row["figures"]["no-audit"]
    return (row["placement"], shape_name(row["connections"], row["in_flight"]), f"{ours['calls_per_second']:,.0f}",
            f"{none['calls_per_second']:,.0f}", ratio(ours["calls_per_second"], none["calls_per_second"]),
            f"{ours['p50_us']:.1f}", f"{none['p50_us']:.1f}")


def best_of(runs):
    return {"p50_us": min(run["p50_us"] for run in runs), "calls_per_second": max(run["calls_per_second"] for run in runs)}


@contextlib.contextmanager
def peers(core):
    """The peer with an audit, and the peer without; they are measured in turns."""
    with tempfile.TemporaryDirectory(prefix="jpeer-bench-") as folder, pinned(core), \
            quiet_peer("--audit", f"{folder}/audit.json") as audited, quiet_peer() as plain:
        yield {"jpeer": audited, "no-audit": plain}


def measure(options):
    for placement in placements(options.placements):
        _, server_core, client_core = placement
        with peers(server_core) as servers:
            for connections, in_flight in SHAPES:
                made = {name: [] for name in servers}
                for _ in range(TURNS * options.runs):
                    for name, peer in servers.items():
                        made[name].append(run_load(peer.address("ws"), peer.pid, "add", connections, in_flight,
                                                   client_core, seconds=options.seconds / TURNS, warm_up=options.warm_up))
                yield {"placement": placement[0], "transport": "ws", "workload": "add",
                       "connections": connections, "in_flight": in_flight,
                       "figures": {name: best_of(runs) for name, runs in made.items()}}


def smoke():
    """Runs every shape once; the figures mean nothing."""
    _, server_core, client_core = placements()[-1]
    with peers(server_core) as servers:
        for connections, in_flight in SHAPES:
            for peer in servers.values():
                run_load(peer.address("ws"), peer.pid, "add", connections, in_flight, client_core, calls=50,
                         warm_up=10)
