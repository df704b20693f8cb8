"""Makes many calls of each kind, and checks that the peer's memory does not grow.

The JVM's heap has a fixed size and is touched whole at the start. The question is whether the peer keeps native memory,
or entries in its object tables, for each call. The collector decides how long Java's garbage remains in the heap, and a
growing heap would hide a leak of the peer or look like one. A Java object that a session kept would not show here,
because 100,000 small objects fit into that heap. The integration tests check with PhantomReferences that no object is
kept. The collector is the serial one, because the other collectors have tables outside the heap, which grow with the
heap. With fewer than 2,000 large calls the first tenth would end while the JVM still compiles their code, and the
memory of the compiler would look like growth.

Before these calls, a peer is killed and started again every minute while clients of the Python package use it
(restarts.py). With --mixed only mixed.py runs: clients of all kinds at once.
"""

import argparse
import sys
import time

from bench.load import run_load
from support.peer import Peer

LIMIT_KIB = 2 * 1024
HEAP = "64m"
JVM = (f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")

# Workload, calls, connections, in flight. new-delete tests the object tables. The last three workloads are
# large, and use several connections, so that every thread of the crew serves some in the first tenth: the C
# library keeps up to 2.8 MiB for each thread that has served a large call, and a later thread would show as
# growth.
RUNS = (
    ("add", 10000000, 1, 16),
    ("new-delete", 1000000, 1, 16),
    ("ints", 10000, 4, 1),
    ("base64", 10000, 4, 1),
    ("list", 10000, 4, 1),
)
LEAST_CALLS = 100
SETTLE_SECONDS = 0.5
RESTART_SECONDS = 60


def growths(scheme, divide):
    """Yields for each workload its text, and the resident memory in KiB after a tenth of the calls and after all calls.
    No call is in flight when memory is read. Each workload has a peer of its own, so that no run uses memory that
    another run has allocated."""
    options = [word for option in JVM for word in ("-J", option)]
    for workload, calls, connections, in_flight in RUNS:
        calls = max(calls // divide, LEAST_CALLS)
        with Peer("--log-level", "warn", *options) as peer:
            memory = {}
            for when, part in (("at_tenth", calls // 10), ("at_end", calls - calls // 10)):
                run_load(peer.address(scheme), peer.pid, workload, connections, in_flight, calls=part, warm_up=0)
                time.sleep(SETTLE_SECONDS)
                memory[when] = peer.resident_kib()
        yield f"{calls:,} x {workload}", memory


def is_flat(memory):
    return memory["at_end"] - memory["at_tenth"] <= LIMIT_KIB


def survives_restarts(minutes, seed):
    """Returns false if an answer named a wrong object, or if no object was stale, because then nothing was tested."""
    from bench.restarts import run_restarts  # here, because the benchmarks have no use for the Python package

    lives, crowds = run_restarts(minutes * 60, RESTART_SECONDS, seed)
    good = True
    for scheme, (counts, faults) in crowds.items():
        is_right = counts["wrong"] == 0 and counts["read"] > 0 and (lives == 0 or counts["stale"] > 0)
        good = good and is_right
        print(f"{scheme:9} {lives} restarts, " + ", ".join(f"{count:,} {what}" for what, count in counts.items())
              + f": {'right' if is_right else 'WRONG'}", flush=True)
        for fault in faults:
            print(f"  {fault}")
    return good


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--transport", choices=("ws", "http", "tcp"), default="ws")
    parser.add_argument("--divide", type=int, default=5,
                        help="the divisor of calls (default %(default)s; 1 lasts minutes)")
    parser.add_argument("--only", choices=("memory", "restarts"), help="one of the two parts alone")
    parser.add_argument("--minutes", type=float, default=5, help="of restarts, one a minute (default %(default)s)")
    parser.add_argument("--mixed", type=float, metavar="MINUTES",
                        help="only good, slow, hostile and vanishing clients at once, for so long")
    parser.add_argument("--seed", type=int, default=1, help="of what the clients do (default %(default)s)")
    options = parser.parse_args()
    if options.mixed is not None:
        from bench.mixed import run_mixed  # here, because the module needs the clients of the tests

        return 0 if run_mixed(options.mixed, options.seed, [word for option in JVM for word in ("-J", option)]) else 1
    good = options.only == "memory" or survives_restarts(options.minutes, options.seed)
    if options.only == "restarts":
        return 0 if good else 1
    for what, memory in growths(options.transport, options.divide):
        good = good and is_flat(memory)
        print(f"{options.transport:5} {what:24} {memory['at_tenth']} KiB at a tenth, {memory['at_end']} at the end, "
              f"grown by {memory['at_end'] - memory['at_tenth']}: {'flat' if is_flat(memory) else 'NOT FLAT'}",
              flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
