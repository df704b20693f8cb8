"""1,000,000 calls, and 100,000 times new and delete_object, each over one connection: the peer's memory stays flat.

The JVM's heap has a fixed size and is touched whole at the start. That is fair because what is asked is whether the
peer keeps something of each call: native memory, or entries in its object tables. Java's garbage lies in that heap
for as long as the collector likes, whatever we do, and a heap that grows would hide a leak of ours as well as
pretend one. A Java object that a session kept would not show here, since 100,000 small ones fit into that heap: that
none is kept is what the integration tests show, with PhantomReferences.
The collector is the serial one because the others keep tables outside the heap that grow with it.
"""

import argparse
import sys

from bench.load import run_load
from support.peer import Peer

LIMIT_KIB = 4 * 1024
IN_FLIGHT = 16
HEAP = "64m"
JVM = (f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")

# workload, calls
RUNS = (("add", 1000000), ("new-delete", 100000))


def soak(scheme, workload, calls):
    """True where memory was flat from the first tenth of the calls on. A peer of its own, so that no run warms
    the memory of another."""
    options = [word for option in JVM for word in ("-J", option)]
    with Peer("--log-level", "warn", *options) as peer:
        figures = run_load(peer.address(scheme), peer.pid, workload, in_flight=IN_FLIGHT, calls=calls, warm_up=0)
    memory = figures["resident_kib"]
    growth = memory["most"] - memory["at_tenth"]
    good = memory["at_tenth"] > 0 and growth <= LIMIT_KIB
    print(f"{scheme:5} {workload:10} {calls:>9} calls: {memory['at_tenth']} KiB at a tenth, {memory['at_end']} at the "
          f"end, grown by {growth} at most: {'flat' if good else 'NOT FLAT'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--transport", choices=("ws", "http", "tcp"), default="ws")
    parser.add_argument("--divide", type=int, default=1, help="so many times fewer calls")
    options = parser.parse_args()
    good = [soak(options.transport, workload, calls // options.divide) for workload, calls in RUNS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
