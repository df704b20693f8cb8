"""Large values over WebSocket, from a client in C: the Strings of a list, read in every possible way, and doubles as
base64.

A row has a `key`, the `measured` time in ms, its `floor` from the same run (for the ways to fetch a list: the list by
value; for doubles: a text of the same length), and the `figure` to compare with a target.
"""

import json
import statistics
import subprocess

from bench import process
from support.peer import BUILD, Peer, environment

NAME = "values"
WHAT = "large values over WebSocket: Strings of a list, and doubles as base64"

PROGRAM = BUILD / "bench/jpeer-bench-values"
STRINGS = 100000
DOUBLES = 1000000
ROUNDS_A_RUN = 3

COLUMNS = process.COLUMNS
cells = process.cells


def run_values(strings, doubles, rounds):
    """Runs the program, and returns the median of each measure in ms."""
    with Peer("--log-level", "warn") as peer:
        command = [PROGRAM, peer.address("ws"), str(strings), str(doubles), str(rounds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return {name: statistics.median(samples) for name, samples in json.loads(done.stdout).items()}


def measure(options, strings=STRINGS, doubles=DOUBLES):
    samples = run_values(strings, doubles, options.runs * ROUNDS_A_RUN)
    by_value, fetched = samples["by_value"], samples["fetch"]
    yield process.row("list-ms", f"{strings:,} Strings of an ArrayList by value", by_value, "ms")
    yield process.row("fetch-ms", "the same by jpeer.fetch in steps of 1,000; floor: by value", fetched, "ms", by_value)
    yield process.row("gets-ms", "the same by get(i), one after the other; floor: jpeer.fetch", samples["one_by_one"], "ms",
                      fetched)
    yield process.row("gets-in-flight-ms", "the same by get(i), 64 in flight; floor: jpeer.fetch", samples["in_flight_64"],
                      "ms", fetched)
    yield process.row("doubles-ms", f"double[{doubles:,}] there and back as base64; floor: a text of that length",
                      samples["doubles"], "ms", samples["text"])


def smoke():
    """Runs every measure once; the program itself compares the results."""
    samples = run_values(2000, 1000, 1)
    assert len(samples) == 6 and all(figure > 0 for figure in samples.values()), samples
