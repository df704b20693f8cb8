"""Calls per second and latencies of `add`, on each transport.

usage: figures.py [SECONDS_PER_FIGURE]
"""

import subprocess
import sys

from support.peer import BUILD, Peer

LOAD = BUILD / "tests/bench/load"
SHAPES = ((1, 1), (16, 16))
WARM_UP = 20000


def run_load(address, connections, in_flight, total):
    done = subprocess.run([LOAD, address, str(connections), str(in_flight), str(total)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def calls_per_second(line):
    return float(line.split(": ")[1].split(" ")[0])


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    with Peer("--log-level", "warn") as peer:
        for scheme in ("ws", "http", "tcp"):
            for connections, in_flight in SHAPES:
                address = peer.address(scheme)
                rate = calls_per_second(run_load(address, connections, in_flight, WARM_UP))
                print(run_load(address, connections, in_flight, max(WARM_UP, int(rate * seconds))), flush=True)


if __name__ == "__main__":
    main()
