"""Measures the peer, and its transports with a canned answer as the floor, in the same run.

Each figure is the median of several runs; floor and peer take turns, so that what slows the machine slows both.
The server has one core and the generator another ("apart"), or both share one ("together"): where two cores are
idle enough to choose from, the scheduler's choice alone moves p50 several times over, so that a figure without a
placement says nothing.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
from pathlib import Path

from bench.load import TRANSPORTS, Floor, pinned, run_load
from support.peer import BUILD, Peer

# workload, connections, in flight
CASES = (
    ("add", 1, 1),
    ("add", 1, 64),
    ("add", 16, 16),
    ("ping", 1, 1),
    ("instance", 1, 1),
    ("new-delete", 1, 1),
)
FLOORS = ("add", "ping")

FIGURES = ("calls_per_second", "p50_us", "p99_us", "p999_us", "max_us", "server_us_per_call")


def placements():
    """Name, the server's core, the generator's core."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return [("together", cores[0], cores[0])]
    return [("apart", cores[0], cores[1]), ("together", cores[0], cores[0])]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = {line.split(":", 1)[1].strip() for line in file if line.startswith("model name")}
    return {"cores": os.cpu_count(), "processor": sorted(models), "kernel": platform.release(),
            "load_average": os.getloadavg()}


def median_of(runs):
    return {figure: statistics.median(run[figure] for run in runs) for figure in FIGURES}


def measure_case(servers, scheme, case, core, options):
    """The medians of floor (None where it has none) and peer."""
    workload, connections, in_flight = case
    runs = {name: [] for name in servers}
    for _ in range(options.runs):
        for name, server in servers.items():
            runs[name].append(run_load(server.address(scheme), server.pid, workload, connections, in_flight, core,
                                       seconds=options.seconds, warm_up=options.warm_up, canned=name == "floor"))
    return {name: median_of(of_server) for name, of_server in runs.items()}


def measure(placement, options):
    name, server_core, client_core = placement
    with contextlib.ExitStack() as stack:
        with pinned(server_core):
            peer = stack.enter_context(Peer("--log-level", "warn"))
        floors = {workload: stack.enter_context(Floor(workload, server_core)) for workload in FLOORS}
        for scheme, transport in TRANSPORTS.items():
            for case in CASES:
                workload, connections, in_flight = case
                servers = {"floor": floors[workload]} if workload in floors else {}
                servers["jpeer"] = peer
                yield {"placement": name, "transport": transport, "workload": workload, "connections": connections,
                       "in_flight": in_flight, **measure_case(servers, scheme, case, client_core, options)}


COLUMNS = ("placement", "transport", "workload", "shape", "calls/s", "p50 us", "p99 us", "p99.9 us", "max us",
           "server us", "floor calls/s", "floor p50", "calls/s over floor", "p50 over floor")


def cells(row):
    jpeer = row["jpeer"]
    made = [row["placement"], row["transport"], row["workload"], f"{row['connections']}x{row['in_flight']}",
            f"{jpeer['calls_per_second']:,.0f}", f"{jpeer['p50_us']:.1f}", f"{jpeer['p99_us']:.1f}",
            f"{jpeer['p999_us']:.1f}", f"{jpeer['max_us']:.0f}", f"{jpeer['server_us_per_call']:.2f}"]
    floor = row.get("floor")
    if floor is None:
        return made + ["-"] * 4
    return made + [f"{floor['calls_per_second']:,.0f}", f"{floor['p50_us']:.1f}",
                   f"{jpeer['calls_per_second'] / floor['calls_per_second']:.2f}",
                   f"{jpeer['p50_us'] / floor['p50_us']:.2f}"]


def print_row(made):
    print("| " + " | ".join(made) + " |", flush=True)


def bench(options):
    facts = {"machine": machine(), "seconds": options.seconds, "runs": options.runs, "rows": []}
    print_row(COLUMNS)
    print_row(["---"] * len(COLUMNS))
    for placement in placements():
        for row in measure(placement, options):
            facts["rows"].append(row)
            print_row(cells(row))
    options.out.mkdir(parents=True, exist_ok=True)
    target = options.out / "bench.json"
    target.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {target}")


def smoke():
    """Every workload on every transport, a few calls each."""
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(Peer("--log-level", "warn"))
        for workload in FLOORS:
            floor = stack.enter_context(Floor(workload))
            for scheme in TRANSPORTS:
                run_load(floor.address(scheme), floor.pid, workload, 2, 2, calls=100, warm_up=10, canned=True)
        for workload in dict.fromkeys(case[0] for case in CASES):
            for scheme in TRANSPORTS:
                figures = run_load(peer.address(scheme), peer.pid, workload, 2, 2, calls=100, warm_up=10)
                assert figures["calls"] == 100, figures


def main():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=1, help="for each run (default %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="for each figure (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=20000, help="calls before each run (default %(default)s)")
    parser.add_argument("--out", type=Path, default=BUILD / "bench", help="folder for bench.json")
    parser.add_argument("--smoke", action="store_true", help="a few calls of everything, no figures")
    options = parser.parse_args()
    if options.smoke:
        smoke()
    else:
        bench(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
