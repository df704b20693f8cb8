"""Python exceptions that pass through Java.

An exception that leaves a callback becomes a new Java throwable. A WeakHashMap in the peer maps the throwable to a
number. If the throwable returns to Python, itself or as a cause, its number is found by its identity. When Java has
collected the throwable, its number leaves the map, and Python drops the exception. If the policy denies the map, or the
Java thread cannot be asked, the number is put into the message.
"""

import contextlib
import itertools
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from ._native import Result, Typed
from .exceptions import JavaException, PeerError, StaleObject, cause_of_handle, handle_of

if TYPE_CHECKING:
    from .connection import Java

KEPT_MAX = 1024  # if there are more exceptions, the oldest are forgotten
CHECK_MIN = 16  # from this number of exceptions on, the exceptions whose throwables Java has collected are removed
MAP = "java.util.Map"
RUNTIME_EXCEPTION = "java.lang.RuntimeException"
FAILURES = (JavaException, PeerError, OSError, RuntimeError)

Frame = tuple[str, str, str | None, int]  # module, function, file, line
Key = tuple[str | None, str]  # the throwable's class, if known, and its message

Original = tuple[BaseException, list[str]]  # the exception and its frames

_numbers = itertools.count(1)
_MARK = re.compile(r" \(Python exception (\d+)\)$")


class ThrownExceptions:
    """The exceptions of one connection. Any thread may call it."""

    def __init__(self, java: "Java") -> None:
        self._java = java
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[Key, Original]] = {}  # the oldest first
        self._keys: Counter[Key] = Counter()  # the keys of `_kept`: a throwable without a key needs no request
        self._check_at = CHECK_MIN
        self._map: Any = None
        self._is_denied = False  # the policy denies the map
        self._denied: set[str] = set()  # classes that the policy does not let Python create

    def throwable_of(self, error: BaseException, java_class: str, message: str, frames: list[Frame]) -> Any:
        """Returns a new throwable for the exception: of that class, or a RuntimeException if the policy denies the
        class. Returns None if no throwable can be created."""
        made = self._make(error, java_class, message, frames)
        if made is None and java_class in self._denied:
            made = self._make(error, RUNTIME_EXCEPTION, message, frames)
        return made

    def _make(self, error: BaseException, java_class: str, message: str, frames: list[Frame]) -> Any:
        if self._is_denied or java_class in self._denied:
            return None
        number = next(_numbers)
        text = Typed("java.lang.String", message)
        put = Result(0), Typed("java.lang.Long", number)
        try:
            for may_be_stale in (True, False):
                if self._map is None and not self._make_map():
                    return None
                try:
                    made, _ = self._java._connection.batch(
                        [("new", java_class, (text,)), ("call", MAP, "put", self._map, put)]
                    )
                    break
                except StaleObject:  # the map belongs to a peer that has ended
                    self._map = None
                    if not may_be_stale:
                        raise
        except (PermissionError, AttributeError):
            self._denied.add(java_class)
            return None
        except FAILURES:
            return None
        self._keep(number, (java_class, message), (error, _texts_of(frames)))
        return handle_of(made)

    def mark(self, error: BaseException, message: str, frames: list[Frame]) -> str:
        """Returns the message with a number by which the throwable is recognized."""
        number = next(_numbers)
        marked = f"{message} (Python exception {number})"
        self._keep(number, (None, marked), (error, _texts_of(frames)))
        return marked

    def recover(self, java_class: str | None, message: str | None, outermost: Any, depth: int) -> Original | None:
        """Removes and returns the exception of a throwable, with the exception's own frames in Java's notation.
        `outermost` is the handle of the outermost throwable, and the throwable is the cause at this depth below it."""
        mark = _MARK.search(message) if message is not None and (None, message) in self._keys else None
        if mark is not None:
            return self._forget(int(mark[1]))
        if outermost is None or (java_class, message) not in self._keys:
            return None
        with contextlib.suppress(*FAILURES):
            handle = cause_of_handle(outermost, depth)
            number = None if handle is None else handle._connection.call(MAP, "get", self._map, (handle,))
            if number is not None:
                return self._forget(number)
        return None

    def forget_collected(self) -> None:
        """Forgets the exceptions whose throwables Java has collected."""
        with self._lock:
            known = list(self._kept)
        if not known or self._map is None:
            return
        with contextlib.suppress(*FAILURES):
            connection = self._java._connection
            values = connection.call(MAP, "values", self._map)
            held = {*connection.call("java.util.Collection", "toArray", values)}
            for number in known:
                if number not in held:
                    self._forget(number)

    def _make_map(self) -> bool:
        connection = self._java._connection
        try:
            weak = connection.new("java.util.WeakHashMap")
            made = connection.call("java.util.Collections", "synchronizedMap", None, (weak,))
        except (PermissionError, AttributeError):
            self._is_denied = True
            return False
        with self._lock:  # if two threads make a map at the same time, the first map is kept
            self._map = made if self._map is None else self._map
        return True

    def _keep(self, number: int, key: Key, original: Original) -> None:
        with self._lock:
            self._kept[number] = key, original
            self._keys[key] += 1
            if len(self._kept) < self._check_at:
                return
            self._check_at = KEPT_MAX * 2  # no other thread checks at the same time
        self.forget_collected()
        with self._lock:
            oldest = [*self._kept][: max(0, len(self._kept) - KEPT_MAX // 2)] if len(self._kept) >= KEPT_MAX else []
            self._check_at = min(max(CHECK_MIN, 2 * (len(self._kept) - len(oldest))), KEPT_MAX)
        for each in oldest:
            self._forget(each)

    def _forget(self, number: int) -> Original | None:
        with self._lock:
            key, original = self._kept.pop(number, (None, None))
            if key is not None:
                self._keys[key] -= 1
                if self._keys[key] == 0:
                    del self._keys[key]
        return original


def _texts_of(frames: list[Frame]) -> list[str]:
    """Returns the frames in the notation of StackTraceElement.toString."""
    return [f"{each[0]}.{each[1]}({each[2]}:{each[3]})" for each in frames]
