"""TLS of the peer compared with OpenSSL alone. One client calls `add` of the peer, and an echo server that only sends
each request back.

The client and the echo server are in bench/tls_echo.c. The servers are measured in turns. The best run of each server
counts, because other work on the machine only makes a run slower. Rows: placement, transport "wss", workload "add",
connections, in_flight, and `figures` of "jpeer" and "tls-echo".
"""

import json
import subprocess

from bench.load import pinned
from bench.loadtable import placements, shape_name
from bench.process import quiet_peer
from bench.report import ratio
from support.peer import BUILD, environment, tls_files

NAME = "tls"
WHAT = "TLS beside OpenSSL alone"

PROGRAM = BUILD / "bench/jpeer-bench-tls-echo"
SHAPES = ((1, 1), (16, 1), (16, 16))
TURNS = 5  # in a run
SPARE_SECONDS = 120  # for the connections and the warm-up; the program has a deadline of its own before that
COLUMNS = ("placement", "shape", "p50 us", "echo", "ratio", "calls/s", "echo", "ratio")


def cells(row):
    ours, echo = row["figures"]["jpeer"], row["figures"]["tls-echo"]
    return (row["placement"], shape_name(row["connections"], row["in_flight"]), f"{ours['p50_us']:.1f}",
            f"{echo['p50_us']:.1f}", ratio(ours["p50_us"], echo["p50_us"]), f"{ours['calls_per_second']:,.0f}",
            f"{echo['calls_per_second']:,.0f}", ratio(ours["calls_per_second"], echo["calls_per_second"]))


def run_client(shape, placement, warm_up, seconds, port=None):
    """Measures the peer at this port; without a port, the echo server."""
    _, server_core, client_core = placement
    command = [PROGRAM, *shape, warm_up, seconds, server_core, client_core, *([port] if port else [])]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment(),
                          check=False, timeout=seconds + SPARE_SECONDS)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


def best_of(runs):
    return {"p50_us": min(run["p50_us"] for run in runs), "calls_per_second": max(run["calls_per_second"] for run in runs)}


def start_peer(core):
    folder, _ = tls_files()
    with pinned(core):
        return quiet_peer("--tls-cert", f"{folder.name}/cert.pem", "--tls-key", f"{folder.name}/key.pem")


def port_of(peer):
    return int(peer.address("wss").rsplit(":", 1)[1].split("/")[0])


def measure(options):
    for placement in placements(options.placements):
        with start_peer(placement[1]) as peer:
            for connections, in_flight in SHAPES:
                made = {"jpeer": [], "tls-echo": []}
                for _ in range(TURNS * options.runs):
                    for name, port in (("tls-echo", None), ("jpeer", port_of(peer))):
                        made[name].append(run_client((connections, in_flight), placement, options.warm_up,
                                                     options.seconds / TURNS, port))
                yield {"placement": placement[0], "transport": "wss", "workload": "add", "connections": connections,
                       "in_flight": in_flight, "figures": {name: best_of(runs) for name, runs in made.items()}}


def smoke():
    """Runs every shape once; the figures mean nothing."""
    placement = placements()[-1]
    with start_peer(placement[1]) as peer:
        for shape in SHAPES:
            for port in (None, port_of(peer)):
                assert run_client(shape, placement, 10, 0.01, port)["calls"] > 0
