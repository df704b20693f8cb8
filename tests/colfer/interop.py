"""Valid, invalid and changed samples of the binary form, and the required relations between three codecs' verdicts on them:
the peer's, and those that Colfer's compiler generates in Java and in C. support/colfer.py, a fourth codec,
writes the samples.
"""

import random
import subprocess
import threading
from itertools import islice

from support import colfer
from support.peer import environment

BATCH = 480
CUT_MAX = 1000  # longer structs are not cut at every byte
DEPTH_MAX = 30
EDGE_BYTES = b"\x00\x01\x7e\x7f\x80\x81\xff"
# A count or a length that is greater than any message: 2^32-1, and more digits than any number has.
BOMB, ENDLESS = b"\xff\xff\xff\xff\x0f", b"\xff" * 12

# ---- samples: the name of a struct, and bytes ----

NUMBERS = (1, 0x7f, 0x80, 2**14 - 1, 2**14, 2**21 - 1, 2**21, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**42 - 1, 2**49 - 1, 2**49,
           2**63 - 1, 2**63, 2**64 - 1)
LENGTHS = (0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21)
COUNTS = (0, 1, 127, 128, 300, colfer.LIST_MAX)
TEXTS = ("\0", "\x7f\x80", "\u07ff\u0800", "\ud7ff\ue000\uffff", "\U00010000\U0010ffff")


def sample(struct, **fields):
    return struct, colfer.encode(struct, fields)


def objects(count):
    return [{"clazz": {"name": "int"}, "value": str(i)} if i % 2 else {} for i in range(count)]


def causes(depth):
    throwable = {"type": "innermost"}
    for _ in range(1, depth):
        throwable = {"cause": throwable}
    return sample("Throwable", **throwable)


def right_edges():
    yield from (sample(name) for name in colfer.STRUCTS)
    for number in NUMBERS:
        low = number % 2**32
        yield sample("ExecMessage", currentTime=number, dispatchSeq=low, entryPoint=True)
        yield sample("Obj", ref=low, isNull=number == 2**64 - 1)
        yield sample("Message", messageType=number % 256)
    for length in LENGTHS:
        text = "x" * length
        yield sample("ExecMessage", peerUuid=bytes(length), messageId=text, threadAffinity=text)
        yield sample("Throwable", stackTraceElements=[text, "", text])
    for count in COUNTS:
        yield sample("Throwable", stackTraceElements=[""] * count)
        yield sample("ClassMethodCall", args=objects(count))
    yield from (sample("Class", name=text) for text in TEXTS)
    yield sample("Message", controlMessage={"params": objects(2)})
    yield causes(60)


def of_hex(rows):
    for row in rows.strip().splitlines():
        name, _, digits = row.partition("#")[0].strip().partition(" ")
        yield name, bytes.fromhex(digits)


WRONG = """
Message
Message 7f 7f                  # bytes after the end
Message 09 7f                  # no such field
Message 80 03 7f               # no second form
Message 00 03 00 03 7f         # twice
Message 02 7f 01 7f 7f         # out of order
Message 01 7f                  # one end for two structs
Class 00 05 61 62 7f           # more than remains
Class 00 ff ff ff ff 07 7f
Class 00 ff ff ff ff ff ff ff ff ff 7f
Obj 82 00 20 7f                # three of four fixed bytes
Obj 83 7f                      # a bool has no second form
ExecMessage 83 00 00 00 00 00 00 01 7f
ExecMessage 13 03 01 61 7f     # two of three elements
ClassMethodCall 03 ff ff 03 7f 7f
ClassMethodCall 03 ff ff ff ff 0f 7f 7f   # a count of 2^32-1
"""


def wrong():
    yield from of_hex(WRONG)
    yield sample("Throwable", stackTraceElements=[""] * (colfer.LIST_MAX + 1))


WRONG_TO_PEER = """
Class 00 01 80 7f
Class 00 02 c0 80 7f           # an overlong form
Class 00 03 ed a0 80 7f        # a lone surrogate
Class 00 04 f4 90 80 80 7f     # beyond U+10FFFF
"""


def wrong_to_peer():
    yield from of_hex(WRONG_TO_PEER)
    yield causes(65)
    yield "Throwable", b"\x03" * 9999 + b"\x7f" * 10000
    yield "Throwable", b"\x03" * 10000


class RandomStructs:
    """Makes structs with random fields, often at the limits of the encoding."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def samples(self, count):
        names = list(colfer.STRUCTS)
        for i in range(count):
            yield sample(names[i % len(names)], **self.struct(names[i % len(names)], 0))

    def struct(self, name, depth):
        return {field: self.value(kind, depth) for field, kind in colfer.STRUCTS[name] if self.rng.random() < 0.5}

    def length(self):
        rare = self.rng.random()
        return self.rng.choice((16383, 16384, 70000) if rare < 0.0005 else (1, 2, 126, 127, 128, 129, 300)
                               if rare < 0.25 else range(20))

    def value(self, kind, depth):
        rng = self.rng
        if kind == "bool":
            return True
        if kind == "uint8":
            return rng.randrange(256)
        if kind in colfer.NUMBERS:
            bits = 8 * colfer.NUMBERS[kind][0]
            return rng.choice(NUMBERS) % 2**bits if rng.random() < 0.5 else rng.getrandbits(bits) >> rng.randrange(bits)
        if kind == "binary":
            return rng.randbytes(self.length())
        if kind == "text":
            last = rng.choice((0x7f, 0x7ff, 0xffff, 0x10ffff))
            points = (rng.randint(0, last) for _ in range(self.length()))
            return "".join(chr(point) for point in points if not 0xd800 <= point <= 0xdfff)
        if depth >= DEPTH_MAX:
            return None
        if kind.startswith("[]"):
            count = rng.choice((127, 128, 300) if rng.random() < 0.002 else (1, 1, 1, 2, 2, 3, 4))
            return [self.value(kind[2:], depth + 1) or ("" if kind == "[]text" else {}) for _ in range(count)]
        return self.struct(kind, depth + 1)


def cut(samples):
    """Yields every proper beginning of every sample."""
    for name, data in samples:
        for length in range(min(CUT_MAX, len(data) - 1), -1, -1):
            yield name, data[:length]


def change(data, rng):
    at = rng.randrange(len(data))
    after = at + rng.randint(1, 8)
    edge = bytes([rng.choice(EDGE_BYTES)])
    flipped = bytes([data[at] ^ 1 << rng.randrange(8)])
    put, end = rng.choice(((edge, at + 1), (edge, at), (b"", after), (data[at:after], at), (BOMB, at + 1),
                           (ENDLESS, at), (flipped, at + 1), (flipped, at + 1)))
    return data[:at] + put + data[end:]


def changed(samples, rng):
    """Yields each sample with random changes: most results are not a struct any more, and some are another
    struct."""
    for name, data in samples:
        data = change(data, rng)
        while data and rng.random() < 1 / 3:
            data = change(data, rng)
        yield name, data


# ---- required relations between a sample's bytes and each codec's output; None: the codec refused the bytes
# ----

def is_same(data, peer, java, c):
    return peer == java == c == data


def is_refused(_, peer, java, c):
    return peer is java is c is None


def is_refused_by_peer(_, peer, _java, _c):
    return peer is None


def is_agreed(data, peer, java, c):
    """If a generated codec refuses the bytes, the peer's codec refuses them, too. If the peer's codec accepts
    them, all codecs read the same values. It must accept bytes in the form that a generated codec writes."""
    return java != data if peer is None else peer == java == c


# ---- the codecs ----

class Codec:
    """A program that reads samples and writes its verdicts (frames.h has their form)."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(leaks=True))

    def begin(self, samples):
        threading.Thread(target=self._send, args=(samples,), daemon=True).start()

    def _send(self, samples):
        for name, data in samples:
            self.process.stdin.write(bytes([len(name)]) + name.encode() + len(data).to_bytes(4, "big") + data)
        self.process.stdin.flush()

    def verdict(self):
        head = self.process.stdout.read(5)
        assert len(head) == 5, f"{self.process.args[0]} has ended"
        data = self.process.stdout.read(int.from_bytes(head[1:], "big"))
        return data if head[0] else None

    def close(self):
        """Fails if the program ended with an error, such as a sanitizer's complaint."""
        self.process.stdin.close()
        status = self.process.wait()
        assert status == 0, f"{self.process.args[0]} ended with {status}"


def check(what, holds, samples, codecs):
    """True if the relation `holds` is true for all samples."""
    count = accepted = 0
    samples = iter(samples)
    while batch := list(islice(samples, BATCH)):
        for codec in codecs:
            codec.begin(batch)
        for name, data in batch:
            verdicts = [codec.verdict() for codec in codecs]
            if not holds(data, *verdicts):
                written = [None if verdict is None else verdict.hex() for verdict in verdicts]
                print(f"failed: {what}: {name} {data.hex()[:2000]}, which the peer's codec, Java and C write again as {written}")
                return False
            accepted += verdicts[0] is not None
        count += len(batch)
    print(f"passed: {what}: {count}, of which the peer's codec reads {accepted}", flush=True)
    return True


def run(commands, seed, count):
    """Passed and failed; commands: the programs of the peer's codec, of Java's and of C's."""
    codecs = [Codec(command) for command in commands]
    one = len(colfer.STRUCTS)
    kinds = (("edges of the encoding", is_same, right_edges()),
             ("edges that no codec reads", is_refused, wrong()),
             ("edges that the peer does not read", is_refused_by_peer, wrong_to_peer()),
             ("truncated structs", is_refused, cut(RandomStructs(seed).samples(one))),
             ("random structs", is_same, RandomStructs(seed + 1).samples(count)),
             ("changed structs", is_agreed, changed(RandomStructs(seed + 2).samples(count), random.Random(seed))))
    passed = 0
    for what, holds, samples in kinds:
        if not check(what, holds, samples, codecs):  # other verdicts have not arrived yet
            return passed, 1
        passed += 1
    for codec in codecs:
        codec.close()
    return passed, 0
