"""A client of a peer's shared memory, written from docs/shared-memory.md. This module has the handshake;
tests/support/raw_shm.c reads and writes the memory.
"""

import array
import ctypes
import os
import socket

from support.peer import BUILD

LIBRARY = BUILD / "tests/support/libraw_shm.so"
KIND_JSON, KIND_SKIP = 1, 2
SECONDS = 60
MEMFD_ROOM = 4  # descriptors; the peer must send exactly one, so the room for more shows an error
TIMED_OUT, CLOSED, BROKEN, ENDED, NO_MEMORY = -1, -2, -3, -4, -5
OWN_WRITTEN, OWN_TAKEN, PEER_WRITTEN = 128, 256, 384


class Ended(Exception):
    """The connection has ended. The text is the peer's reason, or says that the peer gave none."""


class TimedOut(AssertionError):
    """Neither a notification nor an end arrived: the awaited bytes were written without a notification, or
    never."""


class Broken(Exception):
    """The peer's bytes are not a frame; the client itself may have overwritten them."""


class Refused(Exception):
    """The peer answered the handshake with another status than 101."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


def load_library():
    library = ctypes.CDLL(str(LIBRARY))
    pointer, number, size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    for name, result, *arguments in (
            ("open", pointer, ctypes.c_int, ctypes.c_int, size), ("close", None),
            ("load64", size, size), ("store64", None, size, size), ("load32", number, size),
            ("store32", None, size, number), ("write", None, size, ctypes.c_char_p, size),
            ("read", None, size, ctypes.c_char_p, size),
            ("flip", None, size, ctypes.c_ubyte, ctypes.c_ubyte, size), ("place", size, size), ("written", size),
            ("taken", size),
            ("notify", None), ("publish", None), ("put", ctypes.c_int, number, ctypes.c_char_p, size, ctypes.c_int),
            ("send", ctypes.c_int, ctypes.c_char_p, size, ctypes.c_int),
            ("receive", ctypes.c_int, ctypes.POINTER(pointer), ctypes.POINTER(size), ctypes.c_int)):
        function = getattr(library, f"raw_shm_{name}")
        function.restype = result
        function.argtypes = arguments if name == "open" else [pointer, *arguments]
    return library


class Channel:
    """A connection with its pages. Words and bytes of the pages may be read and written at any place."""

    library = None

    def __init__(self, path, fields=(), after_head=b"", keeps_memfd=False):
        if Channel.library is None:
            Channel.library = load_library()
        self.handle = self.memfd = None
        self.milliseconds = SECONDS * 1000  # how long to wait for a notification
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.settimeout(SECONDS)
            self.socket.connect(path)
            self.memfd = self._shake_hands(fields, after_head)
            self.region_size = os.fstat(self.memfd).st_size
            self.handle = self.library.raw_shm_open(self.memfd, self.socket.fileno(), self.ring_size)
            assert self.handle, "the pages cannot be mapped"
            if not keeps_memfd:
                self._close_memfd()
        except BaseException:
            self.close()
            raise

    def _shake_hands(self, fields, after_head):
        """Returns the memfd. Keeps the fields of the answer's head, and the size of a ring."""
        lines = ["GET /rpc HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: jpeer-shm/1",
                 *(f"{name}: {value}" for name, value in dict(fields).items())]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode("ascii") + after_head)
        head, descriptors = self._receive_head()
        if not head.startswith(b"HTTP/1.1 101 "):
            for descriptor in descriptors:
                os.close(descriptor)
            answer, _, body = head.partition(b"\r\n\r\n")
            raise Refused(int(answer.split()[1]) if answer else 0, body.decode("utf-8", "replace"))
        assert len(descriptors) == 1, descriptors
        lines = head.decode("ascii").split("\r\n")[1:]
        self.fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.ring_size = int(self.fields["jpeer-shm-ring"])
        return descriptors[0]

    def _receive_head(self):
        """The head, with the descriptors of its first byte; a refusal is read to the end of its body."""
        content, descriptors = b"", array.array("i")
        while b"\r\n\r\n" not in content or not self._is_whole(content):
            data, extra, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(MEMFD_ROOM * descriptors.itemsize))
            for level, kind, bytes_of_them in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(bytes_of_them[:len(bytes_of_them) // 4 * 4])
            if data == b"":
                break
            content += data
        return content, list(descriptors)

    @staticmethod
    def _is_whole(content):
        head, _, body = content.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return not lengths or len(body) >= int(lengths[0])

    def __getattr__(self, name):
        """load64, store64, load32, store32, flip, place, written, taken, notify, publish."""
        function = getattr(self.library, f"raw_shm_{name}")
        return lambda *arguments: function(self.handle, *arguments)

    def write(self, offset, data):
        self.library.raw_shm_write(self.handle, offset, data, len(data))

    def read(self, offset, count):
        data = ctypes.create_string_buffer(count)
        self.library.raw_shm_read(self.handle, offset, data, count)
        return data.raw

    def put(self, kind, data):
        """Writes a frame, and publishes it only if the whole frame does not fit."""
        self._check(self.library.raw_shm_put(self.handle, kind, data, len(data), self.milliseconds))

    def send(self, data):
        self._check(self.library.raw_shm_send(self.handle, data, len(data), self.milliseconds))

    def receive(self):
        message, count = ctypes.c_void_p(), ctypes.c_uint64()
        status = self.library.raw_shm_receive(self.handle, message, count, self.milliseconds)
        if status == ENDED:
            raise Ended(ctypes.string_at(message, count.value).decode("utf-8"))
        self._check(status)
        return ctypes.string_at(message, count.value)

    @staticmethod
    def _check(status):
        if status == TIMED_OUT:
            raise TimedOut("neither a notification nor an end arrived")
        assert status != NO_MEMORY, "no memory for a message"
        if status == BROKEN:
            raise Broken
        if status == CLOSED:
            raise Ended("the socket is closed")

    def _close_memfd(self):
        memfd, self.memfd = self.memfd, None
        if memfd is not None:
            os.close(memfd)

    def close(self):
        handle, self.handle = self.handle, None
        if handle:
            self.library.raw_shm_close(handle)
        self._close_memfd()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
