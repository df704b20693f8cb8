"""Uses the Python package against tests/release/hostile_peer.py, and continues after any message. Its status is 0 at
the end of the time if the package documents all exceptions that were raised.

usage: hostile_python.py FOLDER SECONDS SEED
"""

import collections
import faulthandler
import random
import sys
import time

import jpeer

TIMEOUT = 0.05
CONNECT_TIMEOUT = 0.3
# The exceptions for a wrong answer of a peer (docs/python.md, "Exceptions"), in addition to Java's.
EXPECTED = (jpeer.JavaException, jpeer.PeerError, ConnectionError, TimeoutError, OSError, AttributeError, TypeError, ValueError,
            IndexError, StopIteration, RuntimeError)


def use(thing, rng, depth=0):
    """Uses an object as programs do."""
    if depth > 3:
        return
    kind = rng.randrange(8)
    if kind == 0:
        str(thing), repr(thing), hash(thing)
    elif kind == 1:
        for _, each in zip(range(10), thing):
            use(each, rng, depth + 1)
    elif kind == 2:
        use(thing.f(5, [1, 2], {"a": None}), rng, depth + 1)
    elif kind == 3:
        use(thing.x, rng, depth + 1)
    elif kind == 4:
        len(thing)
    elif kind == 5:
        dir(thing)
    elif kind == 6:
        thing.sort(lambda a, b: 0)
    else:
        thing == 5


def play(java, rng):
    kind = rng.randrange(4)
    if kind == 0:
        use(java.type("java.util.ArrayList")([1, "b"]), rng)
    elif kind == 1:
        use(java.type(rng.choice(("a.B", "java.lang.Math", "java.lang.Integer"))), rng)
    elif kind == 2:
        use(java.java.lang.Math.max(3, 5), rng)
    else:
        use(java.java.util.List.of(1, 2), rng)


def is_expected(thrown):
    return isinstance(thrown, EXPECTED) and not isinstance(thrown, UnicodeError)


def main():
    folder, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    faulthandler.enable()
    rng, end = random.Random(seed), time.monotonic() + seconds
    operations, raised, wrong = 0, collections.Counter(), {}
    while time.monotonic() < end:
        scheme = rng.choice(("ws+unix", "ws+unix", "http+unix", "shm"))
        try:
            with jpeer.connect(f"{scheme}:{folder}/socket", timeout=TIMEOUT, connect_timeout=CONNECT_TIMEOUT) as java:
                for _ in range(rng.randrange(1, 30)):
                    operations += 1
                    try:
                        play(java, rng)
                    except Exception as thrown:
                        raised[type(thrown).__name__] += 1
                        if not is_expected(thrown):
                            wrong.setdefault(type(thrown).__name__, thrown)
                        if isinstance(thrown, ConnectionError):
                            break
        except Exception as thrown:
            raised[type(thrown).__name__] += 1
            if not is_expected(thrown):
                wrong.setdefault(type(thrown).__name__, thrown)
    print(f"{operations} operations, {raised.total()} exceptions: {dict(raised.most_common(12))}")
    for name, thrown in wrong.items():
        print(f"wrong: {name}: {str(thrown)[:300]!r}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
