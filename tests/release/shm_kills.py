"""Kills one side of shared memory at any point (SIGKILL). The other side must keep the same number of descriptors and
maps, and its resident memory.

usage: shm_kills.py [--kills N] [--seed N] [--growth KIB]

Half of the kills are of clients that call a peer, alone or with others. The other half are of a peer whose client opens
the next connection as soon as there is a peer again. The peer in these tests is the bench's floor: the peer's
own transports without a JVM, because a JVM starts slowly.
"""

import argparse
import random
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench.load import Floor  # noqa: E402
from support.clients import ShmClient  # noqa: E402
from support.peer import BUILD, Peer, environment  # noqa: E402

CLIENT = BUILD / "bench/jpeer-bench-client"
SURVIVOR = BUILD / "tests/integration/client/client_scenarios"
RING = 65536
AT_ONCE = 4
CONNECTIONS_ROOM = AT_ONCE * 4  # of --shm-total: ended connections must have released their memory
OPTIONS = ("--shm-ring", str(RING), "--shm-total", str(CONNECTIONS_ROOM * (4096 + 2 * RING)), "--log-level", "error",
           "-J", "-Xmx64m", "-J", "-Xms64m", "-J", "-XX:+AlwaysPreTouch")
LIFE_SECONDS = 0.02
SETTLE_SECONDS = 60
GROWTH_KIB = 4096  # a ring that is not freed has 136 KiB
WARM_KILLS = 200
ROUNDS = 10  # of the surviving side, between two measurements


def state_of(pid):
    """The numbers of descriptors and of maps of shared memory, and the resident KiB."""
    folder = Path(f"/proc/{pid}")
    resident = int(re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text(encoding="ascii")).group(1))
    return (len(list((folder / "fd").iterdir())), (folder / "maps").read_text(encoding="utf-8").count("jpeer-shm"),
            resident)


def settled_state(pid, descriptors=None):
    """Waits until all maps are gone and `descriptors` descriptors remain, or their number is stable. Waits to
    the end only if there is a defect."""
    deadline = time.monotonic() + SETTLE_SECONDS
    before, state = None, state_of(pid)
    while time.monotonic() < deadline and (state[1] > 0 or state[0] != (descriptors or before)):
        time.sleep(0.2)
        before, state = state[0], state_of(pid)
    return state


# ---- clients are killed ----

def start_client(peer, dice):
    """Starts one of several kinds of programs: one call after the other, many in flight, long texts, threads."""
    shape = dice.choice((("--in-flight", "1"), ("--in-flight", "64"), ("--text", "100000"),
                         ("--text", "1000", "--in-flight", "16"), ("--connections", "3")))
    command = [CLIENT, "--to", f"shm:{peer.socket_path('ws+unix')}", "--watch", str(peer.pid), "--seconds", "600",
               *shape]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())


def kill_clients(peer, count, dice):
    """The output of clients that ended by themselves. No client should."""
    killed, faults, running = 0, [], []
    while killed < count or running:
        while len(running) < AT_ONCE and killed + len(running) < count:
            running.append((time.monotonic() + dice.uniform(0, LIFE_SECONDS), start_client(peer, dice)))
        ends, process = running.pop(0)
        time.sleep(max(0, ends - time.monotonic()))
        process.kill()
        said = process.communicate()[1].decode("utf-8", "replace")
        faults += [said] if process.returncode != -9 or said else []
        killed += 1
    return faults


def judge_clients(kills, growth_kib, dice):
    with Peer(*OPTIONS, sockets=True) as peer:
        faults = kill_clients(peer, min(kills, WARM_KILLS), dice)
        serve_one(peer)
        first = settled_state(peer.pid)
        faults += kill_clients(peer, kills, dice)
        last = settled_state(peer.pid, first[0])
        serve_one(peer)
    return faults + compare("the peer", f"{kills:,} clients killed", first, last, growth_kib)


def serve_one(peer):
    with ShmClient(peer) as client:
        assert client.call("com.example.Calculator", "add", 1, 7) == "8"


def compare(who, what, first, last, growth_kib):
    print(f"{what}: descriptors of {who} {first[0]}, then {last[0]}; maps {first[1]}, then {last[1]}; KiB {first[2]:,}, "
          f"then {last[2]:,}", flush=True)
    kept = last[0] != first[0] or first[1] != 0 or last[1] != 0 or last[2] > first[2] + growth_kib
    return [f"{who} has leaked something"] if kept else []


# ---- peers are killed ----

class Mortal(Floor):
    """Replaces the earlier peer, whose sockets still exist."""

    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen([BUILD / "bench" / self.PROGRAM, "echo", folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment())

    def await_ready(self):
        for _ in self.SCHEMES:
            assert self.process.stdout.readline(), "the floor has ended"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def judge_peers(kills, growth_kib, dice, folder):
    """Each connection of the client is a round. After some rounds the client waits until the peer was measured."""
    survivor = subprocess.Popen([SURVIVOR, f"shm:{folder}/json", "survives"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    killed, states = 0, []
    while survivor.poll() is None:
        peer = Mortal(folder)
        if dice.random() < 0.9:
            peer.await_ready()
        time.sleep(dice.uniform(0, LIFE_SECONDS))
        peer.kill()
        killed += 1
        if select.select([survivor.stdout], [], [], 0)[0] and survivor.stdout.readline():
            states.append(state_of(survivor.pid))
            survivor.stdin.write("go on\n" if len(states) * ROUNDS < kills + ROUNDS else "end\n")
            survivor.stdin.flush()
    errors = survivor.communicate()[1]
    if survivor.returncode != 0:
        return [f"the client ended with {survivor.returncode}: {errors}"]
    return compare("the client", f"{killed:,} peers killed", states[0], states[-1], growth_kib)


# ---- the run ----

def run(kills, seed, growth_kib):
    """The faults that were found."""
    dice = random.Random(seed)
    faults = judge_clients(kills - kills // 2, growth_kib, dice)
    with tempfile.TemporaryDirectory(prefix="jpeer-kills-") as folder:
        return faults + judge_peers(kills // 2, growth_kib, dice, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kills", type=int, default=10000)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--growth", type=int, default=GROWTH_KIB, metavar="KIB",
                        help="of either side's memory, which a sanitizer makes much larger")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    faults = run(options.kills, options.seed, options.growth)
    for fault in faults[:20]:
        print(f"FAIL {fault}")
    print(f"{int(not faults)} passed, {int(bool(faults))} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
