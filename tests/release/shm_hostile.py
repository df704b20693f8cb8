"""Hostile clients of shared memory, while honest clients are served and checked.

usage: shm_hostile.py [--seconds N] [--seed N]

The hostile clients connect again and again. Mostly they keep their positions valid, and change lengths and payloads
after they have published them. Sometimes they write random values anywhere in the pages. The honest clients call over
shared memory and over a WebSocket, and every answer is compared. At the end the peer must be without complaints, and
must serve a new client.

Prints how many connections ended, and how many messages were served torn: an answer to an honest client that belongs to
another request, or an answer to a hostile client that names two ids and so cannot be from one copy of the message.
"""

import argparse
import contextlib
import random
import re
import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import shm  # noqa: E402
from support.clients import ShmClient, WebSocketClient  # noqa: E402
from support.peer import Peer  # noqa: E402

RING = 65536
MESSAGE_MAX = 1 << 20
OPTIONS = ("--shm-ring", str(RING), "--shm-total", "64M", "--message-max", str(MESSAGE_MAX), "--log-level", "error")
HOSTILE_THREADS = 2
HEAD_BYTES = 8
FLIPS = 20000
PATIENCE_MS = 200  # of a client that has overwritten its answer
CONTROL_WORDS = (*range(0, 32, 8), *range(128, 160, 8), 256, *range(384, 416, 8), 512)
# Both the id and the error's text are read from the message: in one copy they agree.
FAILING = b'{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"no.such.Class","method":"m","args":[]}}'
ID_AT = FAILING.index(b"1,")
NAMED = re.compile(rb'"(?:id|request_id)":(\d+)')


class Counts:
    """Counts that all threads increase."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ended = self.abandoned = self.served = self.torn = self.honest = 0
        self.faults = []

    def add(self, **more):
        with self.lock:
            for name, number in more.items():
                setattr(self, name, getattr(self, name) + number)

    def fail(self, fault):
        with self.lock:
            self.faults.append(fault)


# ---- hostile clients ----

def frame_place(channel, offset=0):
    return channel.place(channel.written() + offset)


def change_id(channel, dice):
    """Changes the digit of the id all the time while the message is read."""
    at = frame_place(channel, HEAD_BYTES + ID_AT)
    channel.send(FAILING)
    channel.flip(at, ord("1"), ord("2"), dice.randrange(FLIPS))


def change_payload(channel, dice):
    at = frame_place(channel, HEAD_BYTES + dice.randrange(len(FAILING)))
    channel.send(FAILING)
    channel.flip(at, dice.randrange(256), dice.randrange(256), dice.randrange(FLIPS))


def change_length(channel, dice):
    """Puts the length of a frame before another frame, so that reading too much is noticed."""
    at = frame_place(channel, dice.choice((0, 0, 1, 2, 3)))
    channel.put(shm.KIND_JSON, FAILING)
    channel.send(FAILING)
    channel.flip(at, len(FAILING), dice.randrange(256), dice.randrange(FLIPS))


def change_kind(channel, dice):
    at = frame_place(channel, 4)
    channel.send(FAILING)
    channel.flip(at, shm.KIND_JSON, dice.randrange(6), dice.randrange(FLIPS))


def jump(channel, dice):
    """Publishes a position that is wrong, or a valid one in the peer's own word."""
    at = dice.choice((shm.OWN_WRITTEN, shm.OWN_TAKEN))
    jumps = (1, 7, 8, 64, RING - 8, RING, RING + 8, -1, -8, -RING, 1 << 31, 1 << 32, 1 << 63, dice.getrandbits(64))
    channel.store64(at, (channel.load64(at) + dice.choice(jumps)) & ((1 << 64) - 1))
    channel.notify()


def write_word(channel, dice):
    """Writes any word of the control page, including the peer's own words and the constants."""
    channel.store64(dice.choice(CONTROL_WORDS), dice.getrandbits(64) >> dice.randrange(64))
    channel.send(FAILING)


def write_anywhere(channel, dice):
    channel.write(dice.randrange(channel.region_size - 4096), dice.randbytes(dice.choice((1, 8, 100, 4096))))
    channel.send(FAILING)


def lie_in_head(channel, dice):
    """Writes a frame whose head is wrong from the beginning."""
    lengths = (0, 1, 7, 9, RING - 8, RING, RING + 1, MESSAGE_MAX, MESSAGE_MAX + 1, 1 << 31, (1 << 32) - 1)
    at = frame_place(channel)
    channel.put(dice.choice((0, 1, 2, 3, 4, 5, 1 << 31)), FAILING)
    channel.store32(at, dice.choice(lengths))
    channel.publish()


def skip_much(channel, _dice):
    for _ in range(RING // 8 // 2):
        channel.put(shm.KIND_SKIP, b"")
    channel.publish()
    channel.send(FAILING)


def notify_much(channel, dice):
    channel.socket.setblocking(False)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        while True:
            channel.socket.send(dice.randbytes(4096))
    channel.socket.settimeout(shm.SECONDS)


def leave_early(channel, dice):
    """Ends with an incomplete frame, or with an answer that nobody reads."""
    if dice.random() < 0.5:
        channel.store64(shm.OWN_WRITTEN, channel.written() + 8 * dice.randrange(4))
    else:
        channel.send(FAILING)
    if dice.random() < 0.5:
        channel.socket.shutdown(dice.choice((socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR)))
    raise shm.Ended("by itself")


MOSTLY = (change_id, change_id, change_payload, change_length, change_length, change_kind)
RARELY = (jump, write_word, write_anywhere, lie_in_head, skip_much, notify_much, leave_early)


def is_torn(answer):
    return len(set(NAMED.findall(answer))) > 1


def read_answers(channel, counts):
    """Reads the available answers without waiting, because only some requests have an answer."""
    while channel.load64(shm.PEER_WRITTEN) != channel.taken():
        answer = channel.receive()
        counts.add(served=1, torn=is_torn(answer))


def attack(path, dice, counts):
    """Attacks over one connection, until the connection ends or the client ends it."""
    with shm.Channel(path) as channel:
        channel.milliseconds = PATIENCE_MS
        for _ in range(dice.randrange(1, 40)):
            deed = dice.choice(MOSTLY if dice.random() < 0.9 else RARELY)
            deed(channel, dice)
            read_answers(channel, counts)


def be_hostile(path, seed, ends, counts):
    dice = random.Random(seed)
    while time.monotonic() < ends:
        try:
            attack(path, dice, counts)
        except (shm.Ended, ConnectionError):
            counts.add(ended=1)
        except (shm.TimedOut, shm.Broken):
            counts.add(abandoned=1)
        except Exception as error:  # also a refusal: other connections get the memory of ended ones
            counts.fail(f"a hostile client: {type(error).__name__}: {error}")
            return


# ---- honest clients ----

def be_honest(transport, peer, seed, ends, counts):
    dice = random.Random(seed)
    try:
        with transport(peer) as client:
            while time.monotonic() < ends:
                text = "".join(dice.choices("abc\u00e9\u6f22", k=dice.choice((1, 100, 3000))))
                check(client, text, counts)
    except Exception as error:  # otherwise the end of a thread would not be noticed
        counts.fail(f"{transport.name}: {type(error).__name__}: {error}")


def check(client, text, counts):
    given = client.call("fixtures.Arguments", "echoString", text)
    counts.add(honest=1, torn=given != text)


# ---- the run ----

def run(seconds, seed):
    """The counts, including the faults."""
    counts = Counts()
    with Peer(*OPTIONS, sockets=True) as peer:
        path = peer.socket_path("ws+unix")
        ends = time.monotonic() + seconds
        threads = [threading.Thread(target=be_hostile, args=(path, f"{seed}-{i}", ends, counts))
                   for i in range(HOSTILE_THREADS)]
        threads += [threading.Thread(target=be_honest, args=(transport, peer, seed, ends, counts))
                    for transport in (ShmClient, WebSocketClient)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with ShmClient(peer) as client:
            check(client, "afterwards", counts)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default=str(int(time.time())))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    counts = run(options.seconds, options.seed)
    print(f"hostile: {counts.ended:,} connections ended, {counts.abandoned:,} abandoned, "
          f"{counts.served:,} messages served\nothers: {counts.honest:,} messages served\ntorn messages served: {counts.torn:,}")
    for fault in counts.faults:
        print(f"FAIL {fault}")
    bad = len(counts.faults) + counts.torn + (counts.ended == 0) + (counts.honest == 0)
    print(f"{int(bad == 0)} passed, {int(bad > 0)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
