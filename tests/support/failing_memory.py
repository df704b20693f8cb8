"""A peer whose allocations fail when a test requests it (failing_memory.c)."""

import contextlib
import mmap
import struct
import tempfile
from pathlib import Path

from support.peer import BUILD, Peer, environment

LIBRARY = BUILD / "tests/support/libfailing_memory.so"
NAMES = ("first", "last", "count", "failed", "blocks", "no_threads", "refused")
FOREVER = (1 << 63) - 1


class FailingMemory:
    """The numbers of struct failing_memory as attributes."""

    def __init__(self, path):
        Path(path).write_bytes(bytes(8 * len(NAMES)))
        with open(path, "r+b") as file:
            self.__dict__["map"] = mmap.mmap(file.fileno(), 0)

    def __getattr__(self, name):
        return struct.unpack_from("=q", self.map, 8 * NAMES.index(name))[0]

    def __setattr__(self, name, value):
        struct.pack_into("=q", self.map, 8 * NAMES.index(name), value)

    def fail(self, first, last):
        """Lets the allocations with these numbers fail, counted from now on."""
        self.first, self.last = FOREVER, 0
        self.count = self.failed = 0
        self.last, self.first = last, first

    def restore(self):
        self.first, self.last = 0, -1


@contextlib.contextmanager
def failing_peer(*options, **more):
    """Yields the peer and its memory."""
    with tempfile.TemporaryDirectory(prefix="jpeer-memory-") as folder:
        memory = FailingMemory(Path(folder, "memory"))
        memory.restore()
        env = environment(LD_PRELOAD=str(LIBRARY), FAILING_MEMORY=str(Path(folder, "memory")))
        with Peer(*options, env=env, **more) as peer:
            yield peer, memory
