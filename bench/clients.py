"""The client library (bench/client.c) compared with the bench's own generator: alternately, both call `add`
of one peer.

With one call in flight the program uses jp_client_call; with 64 it sends the next call when a call completes. A row:
placement, transport, workload, connections, in_flight, and `figures`: "jpeer" (through the library) and "generator".
Its `key` names the shape, and its `figure` is the number of the library's memory allocations per call.
"""

import json
import subprocess

from bench.load import FIGURES, OWN_FIGURES, TRANSPORTS, UNIX_TRANSPORTS, pinned, run_load
from bench.loadtable import placements, shape_name
from bench.report import median_of, ratio
from support.peer import BUILD, Peer, environment

NAME = "clients"
WHAT = "the client library beside the bench's own generator"

PROGRAM = BUILD / "bench/jpeer-bench-client"
TIMED = (*FIGURES, *OWN_FIGURES)
WORKLOAD = "add"
SCHEMES = {scheme: name for scheme, name in {**TRANSPORTS, **UNIX_TRANSPORTS}.items() if scheme in ("ws", "ws+unix")}
IN_FLIGHT = (1, 64)
WARM_SECONDS = 1


def run_client(address, pid, in_flight, core, seconds, warm_up, **options):
    """Returns the figures that bench/client.c prints. options: further options of that program, for example
    connections=16 or canned=True."""
    command = [PROGRAM, "--to", address, "--watch", str(pid), "--in-flight", str(in_flight), "--warm-up", str(warm_up),
               "--seconds", str(seconds)]
    for name, value in options.items():
        if value is not False:
            command += ["--" + name] + ([] if value is True else [str(value)])
    with pinned(core):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


def alternate(peer, scheme, in_flight, core, options):
    """The medians of the generator and of the library, and the library's allocations per call in its worst run."""
    address = peer.address(scheme)
    runs = {"generator": [], "jpeer": []}
    allocations = []
    for _ in range(options.runs):
        made = run_load(address, peer.pid, WORKLOAD, 1, in_flight, core, seconds=options.seconds,
                        warm_up=options.warm_up)
        runs["generator"].append({figure: made[figure] for figure in TIMED})
        made = run_client(address, peer.pid, in_flight, core, options.seconds, options.warm_up)
        runs["jpeer"].append({figure: made[figure] for figure in TIMED})
        allocations.append(made["allocations_per_call"])
    return {name: median_of(of_client) for name, of_client in runs.items()}, max(allocations)


def measure_placement(placement, options):
    name, server_core, client_core = placement
    with pinned(server_core):
        peer = Peer("--log-level", "warn", sockets=True)
    with peer:
        for scheme, transport in SCHEMES.items():
            run_load(peer.address(scheme), peer.pid, WORKLOAD, 1, 16, client_core, seconds=WARM_SECONDS, warm_up=0)
            for in_flight in IN_FLIGHT:
                figures, allocations = alternate(peer, scheme, in_flight, client_core, options)
                yield {"placement": name, "transport": transport, "workload": WORKLOAD, "connections": 1,
                       "in_flight": in_flight, "figures": figures, "key": f"allocations-{in_flight}",
                       "figure": allocations}


def measure(options):
    for placement in placements(options.placements):
        yield from measure_placement(placement, options)


COLUMNS = ("placement", "transport", "shape", "calls/s", "p50 us", "p99 us", "client us", "generator calls/s",
           "generator p50", "generator us", "calls/s ratio", "p50 ratio", "allocations")


def cells(row):
    jpeer, generator = row["figures"]["jpeer"], row["figures"]["generator"]
    return [row["placement"], row["transport"], shape_name(row["connections"], row["in_flight"]),
            f"{jpeer['calls_per_second']:,.0f}", f"{jpeer['p50_us']:.1f}", f"{jpeer['p99_us']:.1f}",
            f"{jpeer['client_us_per_call']:.2f}", f"{generator['calls_per_second']:,.0f}",
            f"{generator['p50_us']:.1f}", f"{generator['client_us_per_call']:.2f}",
            ratio(jpeer["calls_per_second"], generator["calls_per_second"]), ratio(jpeer["p50_us"], generator["p50_us"]),
            f"{row['figure']:.2f}"]


def smoke():
    """Runs both shapes on both transports for a moment; the program compares every answer."""
    with Peer("--log-level", "warn", sockets=True) as peer:
        for scheme in SCHEMES:
            for in_flight in IN_FLIGHT:
                made = run_client(peer.address(scheme), peer.pid, in_flight, None, 0.05, 100)
                assert made["calls"] > 0 and made["calls_per_second"] > 0, made
                # A buffer or two may grow when more answers than ever before arrive together.
                assert made["allocations_per_call"] is None or made["allocations_per_call"] < 0.01, made
