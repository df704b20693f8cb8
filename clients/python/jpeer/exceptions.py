"""Errors of the peer and Java throwables as Python exceptions.

A Java throwable is raised as a `JavaException` of the throwable's own class, so that `except java.java.io.IOException`
works. An error of the peer itself (no such class, wrong arguments, a denial, a limit) is a `PeerError`, and also the
closest Python exception: AttributeError, TypeError, OverflowError, PermissionError, ReferenceError or RuntimeError.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, TracebackType
from typing import Any

from .answers import shown, superclasses_in

INVALID_PARAMS = -32602
NOT_FOUND = -32601
SERVER_ERROR = -32000
DENIED = -32001
SHUTTING_DOWN = "the peer is shutting down"

FRAMES_MAX = 100  # in a traceback; `java_frames` has all of them

Throwable = tuple[Any, ...]
"""(class or None, message or None, frames, cause or None), then the handle of the throwable if the peer has kept it."""


class JavaException(Exception):
    """A Java throwable: `str(e)` is its message, `java_frames` its stack trace, `__cause__` its cause."""

    java_class: str = "java.lang.Throwable"
    java_frames: Sequence[str] = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle {self.java_class}: its class exists only in the process of its connection")


class PeerError(Exception):
    """The peer refused a request. `code` is the JSON-RPC error code, `data` the error's data."""

    code: int = 0
    data: dict[str, Any] = {}


class NotFound(PeerError, AttributeError):
    """The class, method or field does not exist. `suggestions` has similar names."""

    suggestions: Sequence[str] = ()


class BadArgument(PeerError, TypeError):
    """An argument cannot be converted to the type of its parameter or field, or no overload accepts the arguments."""


class OutOfRange(PeerError, OverflowError):
    """A number is out of the range of its Java type."""


class TooLarge(OutOfRange, BadArgument):
    """No overload accepts an integer of more than 64 bits."""


class TooOld(PeerError, NotImplementedError):
    """The peer has not what this package needs: the message names it and the peer's version."""


class Denied(PeerError, PermissionError):
    """The peer's policy does not allow the request."""


class StaleObject(PeerError, ReferenceError):
    """The session no longer holds the object, or the object belongs to a peer that has ended."""


class ShuttingDown(PeerError, ConnectionError):
    """The peer is ending, for example after System.exit, and accepts no more requests."""


class Refused(PeerError, RuntimeError):
    """A limit was reached, or the peer could not run the request for another reason."""


UNDECLARED = "java.lang.reflect.UndeclaredThrowableException"

# Java exceptions whose Python class also derives from the equivalent Python exception.
PYTHON_BASES: dict[str, type[Exception]] = {
    "java.io.FileNotFoundException": FileNotFoundError,
    "java.io.IOException": OSError,
    "java.io.UncheckedIOException": OSError,
    "java.lang.ArithmeticException": ArithmeticError,
    "java.lang.ClassCastException": TypeError,
    "java.lang.IllegalArgumentException": ValueError,
    "java.lang.IndexOutOfBoundsException": IndexError,
    "java.lang.OutOfMemoryError": MemoryError,
    "java.lang.UnsupportedOperationException": NotImplementedError,
    "java.nio.file.NoSuchFileException": FileNotFoundError,
    "java.util.NoSuchElementException": LookupError,
    "java.util.concurrent.TimeoutException": TimeoutError,
}


class ErrorMaker:
    """Makes the exceptions of one connection. `class_of` returns the Python class of a throwable; its arguments are the
    name of the throwable's class, the names of its superclasses, and its handle or None."""

    def __init__(
        self,
        class_of: Callable[[str, Sequence[str], Any], type[JavaException]],
        find_original: Callable[[str | None, str | None, Any, int], tuple[BaseException, Sequence[str]] | None],
        should_retry: Callable[[int, str], bool],
    ) -> None:
        self._class_of = class_of
        # (class, message, outermost handle, depth) -> the Python exception that a callback raised, and its frames
        self._find_original = find_original
        # (code, message) -> whether the request should be sent again with its callbacks converted anew
        self._should_retry = should_retry

    def __call__(
        self, connection: Any, code: int, message: str, throwable: Throwable | None, data: dict[str, Any] | None
    ) -> Any:
        """Returns the exception, or NotImplemented if the request should be sent again with its arguments converted
        anew."""
        if self._should_retry(code, message):
            return NotImplemented
        if code == SERVER_ERROR and throwable is not None and not _is_stale(message, data or {}):
            handle = throwable[4] if len(throwable) > 4 else None
            return self._of_throwable(throwable, data or {}, handle, 0)
        return _peer_error(code, message, data or {})

    def _of_throwable(self, throwable: Throwable, data: Any, outermost: Any, depth: int) -> BaseException:
        """Returns the exception for a throwable: the cause at that depth below the outermost throwable.
        `outermost` is the handle of the outermost throwable. At depth 0 the throwable is the outermost throwable
        itself."""
        name, message, frames, cause = throwable[:4]
        original = self._find_original(name, message, outermost, depth)
        if name == UNDECLARED and cause is not None:  # wraps a checked exception that the method lacks
            original = self._find_original(cause[0], cause[1], outermost, depth + 1)
        if original is not None:
            exception, own = original
            count = next((i for i, text in enumerate(own) if frames[i : i + 1] != [text]), len(own))
            return _extend_traceback(exception, frames[count:])  # only the frames that the exception does not have yet
        name = name or "java.lang.Throwable"
        handle = None if depth else outermost
        made = make_throwable(self._class_of(name, superclasses_in(data, name), handle), message, handle)
        made.__dict__["_outermost"] = outermost, depth
        made.java_class = name
        made.java_frames = tuple(frames)
        if cause is not None:
            made.__cause__ = self._of_throwable(cause, data.get("cause") or {}, outermost, depth + 1)
        return made.with_traceback(java_traceback(frames))


def make_throwable(cls: type[JavaException], message: str | None, handle: Any) -> JavaException:
    """Makes an instance of the class without a request. Calling the class would create a throwable in Java."""
    made = cls.__new__(cls, message or "")
    made.args = (message or "",)
    made.__dict__["_handle"] = handle
    return made


_TOO_LARGE = re.compile(": out of range for |more digits than the limit of ")
_BIG_INTEGER = re.compile(r"^[^;]*\bjava\.math\.BigInteger\b[^;]*;")  # among the arguments, not the candidates
_AMBIGUOUS = re.compile(": ambiguous for ")
_FUNCTION = re.compile(r"^[^;]*[(, ]callback[,)]|: a callback is seen as an interface, and ")  # among the arguments
_WRONG_ARGUMENTS = re.compile("; candidates: | found: ambiguous for |^No matching constructor")


def handle_of(error: JavaException) -> Any:
    """Returns the throwable's handle, or None if the peer has not kept the throwable."""
    handle = error.__dict__.get("_handle")
    if handle is None:
        handle, depth = error.__dict__.get("_outermost", (None, 0))
        error.__dict__["_handle"] = handle = cause_of_handle(handle, depth)
    return handle


def cause_of_handle(handle: Any, depth: int) -> Any:
    """Returns the handle of the cause at that depth below a throwable, or None if the throwable has no cause
    at that depth."""
    for _ in range(depth):
        if handle is None:
            break
        cause = handle._connection.call("java.lang.Throwable", "getCause", handle)
        handle = cause.__dict__.get("_handle") if isinstance(cause, JavaException) else None
    return handle


def _hint_of(message: str) -> str:
    if _AMBIGUOUS.search(message):
        return "; jpeer.cast(TYPE, VALUE) as an argument chooses one"
    if _FUNCTION.search(message):
        return "; jpeer.cast(INTERFACE, FUNCTION) as an argument says what the function is to Java"
    return ""


def _peer_error(code: int, message: str, data: dict[str, Any]) -> PeerError:
    suggestions = data.get("suggestions") or ()
    error: PeerError
    if data.get("reason") == "lack":
        error = TooOld(message)
    elif code == NOT_FOUND and _WRONG_ARGUMENTS.search(message):
        error = TooLarge(message) if _BIG_INTEGER.search(message) else BadArgument(message + _hint_of(message))
    elif code == NOT_FOUND:
        error = NotFound(_with_suggestions(message, suggestions))
        error.suggestions = tuple(suggestions)
    elif code == INVALID_PARAMS:
        error = OutOfRange(message) if _TOO_LARGE.search(message) else BadArgument(message + _hint_of(message))
    elif code == DENIED:
        error = Denied(message)
    elif _is_stale(message, data):
        error = StaleObject(message)
    elif message == SHUTTING_DOWN:
        error = ShuttingDown(message)
    else:
        error = Refused(message)
    error.code = code
    error.data = data
    return error


def _is_stale(message: str, data: dict[str, Any]) -> bool:
    return data.get("reason") == "stale" or message.startswith("No object found with objRef")


def _with_suggestions(message: str, suggestions: Sequence[str]) -> str:
    if "." in message and " " not in message:
        message = f"no Java class {message}"
    return f"{message}. Did you mean {' or '.join(suggestions)}?" if suggestions else message


# ---- Java's frames in Python's tracebacks ----

_PLACE = re.compile(r"(?P<name>[^(]*)\((?P<file>[^:)]*)(?::(?P<line>\d+))?\)$")
_PREFIX = re.compile(r"^(?:[\w.@+-]*/){1,2}(?=[\w$]+\.)")


def _frame() -> Iterator[None]:
    """Makes a frame that has no caller. The frame of a caller would refer to the exception, which would be a cycle that
    only the garbage collector frees."""
    yield


def java_traceback(frames: Sequence[str]) -> TracebackType | None:
    """Returns a traceback with the peer's frames, the innermost first."""
    traceback = None
    for text in frames[:FRAMES_MAX]:
        name, file, line = parse_frame(text)
        code = _frame.__code__.replace(co_filename=file, co_name=name, co_qualname=name, co_firstlineno=line)
        frame = FunctionType(code, {"__name__": name.rpartition(".")[0]})().gi_frame
        traceback = TracebackType(traceback, frame, 0, line)
    return traceback


def parse_frame(text: str) -> tuple[str, str, int]:
    """Parses "java.base/java.util.ArrayList.get(ArrayList.java:427)" into name, file and line."""
    text = shown(text)
    match = _PLACE.match(_PREFIX.sub("", text))
    if match is None:
        return text, "<java>", 1
    file = match["file"]
    return match["name"], file if file.endswith(".java") else f"<{file.lower() or 'java'}>", int(match["line"] or 1)


def _extend_traceback(exception: BaseException, frames: Sequence[str]) -> BaseException:
    """Adds the Java frames that called a callback above the Python frames of the callback."""
    inner = exception.__traceback__
    for frame in java_traceback_frames(frames):
        inner = TracebackType(inner, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return exception.with_traceback(inner)


def java_traceback_frames(frames: Sequence[str]) -> list[TracebackType]:
    """Returns the entries of java_traceback, the innermost first."""
    entries = []
    entry = java_traceback(frames)
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    entries.reverse()
    return entries
