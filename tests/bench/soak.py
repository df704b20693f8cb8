"""Many calls over one connection, a run for each kind: the peer's memory stays flat.

The JVM's heap has a fixed size and is touched whole at the start. That is fair because what is asked is whether the
peer keeps something of each call: native memory, or entries in its object tables. Java's garbage lies in that heap
for as long as the collector likes, whatever we do, and a heap that grows would hide a leak of ours as well as
pretend one. A Java object that a session kept would not show here, since 100,000 small ones fit into that heap: that
none is kept is what the integration tests show, with PhantomReferences.
The collector is the serial one because the others keep tables outside the heap that grow with it.
With fewer than 2,000 large calls the first tenth ends while the JVM still compiles what they run, and what that takes
shows as growth.
"""

import argparse
import sys

from bench.load import run_load
from support.peer import Peer

LIMIT_KIB = 2 * 1024
IN_FLIGHT = 16
HEAP = "64m"
JVM = (f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")

# Workload, calls, in flight. new-delete is there for the object tables; the last three are the large ones.
RUNS = (
    ("add", 10000000, IN_FLIGHT),
    ("new-delete", 1000000, IN_FLIGHT),
    ("ints", 10000, 4),
    ("base64", 10000, 4),
    ("list", 10000, 4),
)
LEAST_CALLS = 100


def growths(scheme, divide):
    """What ran, and its resident memory in KiB: at a tenth of the calls, the most after that, at the end. A peer for
    each, so that no run warms the memory of another."""
    options = [word for option in JVM for word in ("-J", option)]
    for workload, calls, in_flight in RUNS:
        calls = max(calls // divide, LEAST_CALLS)
        with Peer("--log-level", "warn", *options) as peer:
            figures = run_load(peer.address(scheme), peer.pid, workload, in_flight=in_flight, calls=calls, warm_up=0)
        yield f"{calls:,} x {workload}", figures["resident_kib"]


def is_flat(memory):
    return memory["at_tenth"] > 0 and memory["most"] - memory["at_tenth"] <= LIMIT_KIB


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--transport", choices=("ws", "http", "tcp"), default="ws")
    parser.add_argument("--divide", type=int, default=5,
                        help="so many times fewer calls (default %(default)s; 1 takes minutes)")
    options = parser.parse_args()
    good = True
    for what, memory in growths(options.transport, options.divide):
        good = good and is_flat(memory)
        print(f"{options.transport:5} {what:24} {memory['at_tenth']} KiB at a tenth, {memory['at_end']} at the end, "
              f"grown by {memory['most'] - memory['at_tenth']} at most: {'flat' if is_flat(memory) else 'NOT FLAT'}",
              flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
