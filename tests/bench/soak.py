"""Many calls over one connection, with an eye on the peer's memory.

usage: soak.py [DIVISOR]   (a divisor makes it shorter; the limit stays)
"""

import subprocess
import sys

from support.peer import BUILD, Peer

LOAD = BUILD / "tests/bench/load"
LIMIT_KIB = 4 * 1024
# A heap that is touched whole at the start, so that what grows is not Java's.
JVM = ("-J", "-Xms64m", "-J", "-Xmx64m", "-J", "-XX:+AlwaysPreTouch", "-J", "-XX:+UseSerialGC")


def soak(peer, name, workload, total):
    """Runs the load and measures at every hundredth of it. True where memory stayed flat."""
    process = subprocess.Popen([LOAD, peer.address("ws"), "1", "1", str(total), workload, str(max(total // 100, 1))],
                               stdout=subprocess.PIPE, text=True)
    sizes = []
    for line in process.stdout:
        if line.strip().isdigit():
            sizes.append(peer.resident_kib())
        else:
            print(f"{name}: {line.strip()}")
    settled = sizes[len(sizes) // 10:]
    growth = max(settled) - settled[0]
    good = process.wait() == 0 and growth <= LIMIT_KIB
    print(f"{name}: {sizes[0]} KiB at the start, {settled[0]} after a tenth, {sizes[-1]} at the end, "
          f"grown by at most {growth}: {'flat' if good else 'NOT FLAT'}", flush=True)
    return good


def main():
    divisor = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with Peer("--log-level", "warn", *JVM) as peer:
        good = [soak(peer, "calls", "add", 1000000 // divisor),
                soak(peer, "new and delete_object", "churn", 200000 // divisor)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
