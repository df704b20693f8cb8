"""Rows of Python as columns for Java: `java.rows(source)`, and batches of a PreparedStatement.

A page of rows is one request, in the layout of Apache Arrow (docs/tables.md). The loop over the rows is in Java.
"""

import datetime
import decimal
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import accumulate, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ._native import Object
from .pieces import LONG
from .tables import EPOCH, EPOCH_DAY, PAGE, WIDTHS, Chunk, Table, begin_request
from .times import nanoseconds_of

if TYPE_CHECKING:
    from .connection import Java

ROOM = 12 << 20  # bytes of a page in its message: a longer one would only need more memory on both sides
FRAME, COLUMN_FRAME = 4096, 256  # bytes of a message and of a column in addition to their names and buffers
OBJECT = 64  # bytes of an object, at least
FIRST_ROWS, GROWTH = 512, 8  # the first page of an iterable, and by how much a page may have more rows than the one before
FEW = 4096  # values: so few are sent by the thread that has encoded them
LISTS = {name: "java.util.ArrayList" for name in ("java.util.List", "java.util.Collection", "java.lang.Iterable")}
INT_MIN, INT_MAX, LONG_MIN, LONG_MAX = -(2**31), 2**31 - 1, -(2**63), 2**63 - 1
EXACT_MAX = 2**53  # a double has all whole numbers up to here
UTC_EPOCH = EPOCH.replace(tzinfo=datetime.UTC)
TYPES = (bool, int, float, str, bytes, decimal.Decimal, datetime.datetime, datetime.date, datetime.time)


class Part:
    """A column of a page for Java. `data`, `offsets` and `valid` are buffers in the layout of Apache Arrow; `data` of the
    type object is a list of Python values. The first of the offsets is that of the first byte in `data`."""

    __slots__ = ("type", "unit", "scale", "rows", "data", "offsets", "valid")

    def __init__(
        self, type: str, rows: int, data: Any, offsets: Any = None, valid: Any = None, unit: str | None = None,
        scale: int | None = None,
    ) -> None:  # fmt: skip
        self.type, self.unit, self.scale, self.rows = type, unit, scale, rows
        self.data = data if type == "object" else memoryview(data).cast("B")
        self.offsets = None if offsets is None else memoryview(offsets).cast("B").cast("i")
        self.valid = None if valid is None else memoryview(valid).cast("B")

    def slice(self, begin: int, end: int) -> "Part":
        rows = end - begin
        if self.type == "object":
            return Part("object", rows, self.data[begin:end])
        valid = None if self.valid is None else _bits(self.valid, begin, end)
        if self.offsets is not None:
            offsets = self.offsets[begin : end + 1]
            first = self.offsets[0]
            return Part(self.type, rows, self.data[offsets[0] - first : offsets[-1] - first], offsets, valid)
        if self.type == "boolean":
            return Part(self.type, rows, _bits(self.data, begin, end), None, valid)
        width = 16 if self.type == "decimal" else WIDTHS[self.type]
        return Part(self.type, rows, self.data[begin * width : end * width], None, valid, self.unit, self.scale)

    def size(self) -> int:
        """Returns about the bytes in a message."""
        if self.type == "object":
            return COLUMN_FRAME + sum(map(_object_size, self.data))
        buffers = (self.data, self.offsets, self.valid)
        return COLUMN_FRAME + sum(buffer.nbytes for buffer in buffers if buffer is not None) * 4 // 3

    def members(self, name: str | None) -> dict[str, Any]:
        """Returns the members of the column in the request."""
        given = {
            "name": name, "type": self.type, "unit": self.unit, "scale": self.scale, "data": self.data,
            "offsets": None if self.offsets is None else self.offsets.cast("B"), "valid": self.valid,
        }  # fmt: skip
        return {key: value for key, value in given.items() if value is not None}


def _object_size(value: Any) -> int:
    if isinstance(value, str):
        return OBJECT + 6 * len(value)  # a character has at most 6 bytes in JSON
    return OBJECT + 4 * len(value) if isinstance(value, (bytes, bytearray, list, tuple, dict)) else OBJECT


def _bits(bits: memoryview, begin: int, end: int) -> Any:
    part = bits[begin // 8 : (end + 7) // 8]
    if begin % 8 == 0:
        return part
    shifted = int.from_bytes(part, "little") >> begin % 8
    size = (end - begin + 7) // 8
    return (shifted & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def packed(flags: Iterable[bool], rows: int) -> bytes:
    """Returns a bit for each of the flags, the first one the least significant."""
    digits = bytes(map(48 .__add__, flags))[::-1]  # "0" and "1"
    return int(digits or b"0", 2).to_bytes((rows + 7) // 8, "little")


# ---- lists of Python values ----


def list_part(values: Sequence[Any]) -> Part:
    """Returns a column of the type that the values have in Java; of objects if they have several types."""
    kinds = set(map(type, values))
    if any(kind.__module__.startswith(("pandas", "numpy")) for kind in kinds):
        values = [None if is_missing(value) else value for value in values]
        kinds = set(map(type, values))
    valid = None
    rows = len(values)
    given: Sequence[Any] = values
    if type(None) in kinds:
        kinds.discard(type(None))
        if not kinds:
            return Part("object", rows, list(values))
        valid = packed((value is not None for value in values), rows)
    types = {_base(kind) for kind in kinds}
    make = MAKERS.get(next(iter(types))) if len(types) == 1 else _floats if types == {int, float} else None
    if make is None:
        return Part("object", rows, list(values))
    if valid is not None:
        fill = next(value for value in values if value is not None)
        given = [fill if value is None else value for value in values]
    made = make(given)
    if made is None:
        return Part("object", rows, list(values))
    made.valid = None if valid is None else memoryview(valid)
    return made


def is_missing(value: Any) -> bool:
    """Returns whether the value is None, or NA or NaT of pandas or numpy."""
    if value is None:
        return True
    kind = type(value)
    if kind.__module__.partition(".")[0] == "pandas":
        return kind.__name__ in ("NAType", "NaTType")
    return kind.__module__ == "numpy" and kind.__name__ in ("datetime64", "timedelta64") and bool(value != value)


def _base(kind: type) -> type | None:
    if kind in TYPES:
        return kind
    return next((base for base in TYPES if issubclass(kind, base)), None)


def _integers(values: Sequence[int]) -> Part | None:
    least, most = min(values), max(values)
    if least >= INT_MIN and most <= INT_MAX:
        return Part("int", len(values), array("i", values))
    return Part("long", len(values), array("q", values)) if least >= LONG_MIN and most <= LONG_MAX else None


def _floats(values: Sequence[float]) -> Part | None:
    if any(isinstance(value, int) and abs(value) > EXACT_MAX for value in values):
        return None
    return Part("double", len(values), array("d", values))


def _strings(values: Sequence[str]) -> Part | None:
    joined = "".join(values)
    try:
        data = joined.encode()
        is_ascii = len(data) == len(joined)
        lengths: Iterable[int] = map(len, values) if is_ascii else (len(value.encode()) for value in values)
    except UnicodeEncodeError:  # a lone surrogate: JSON can have it
        return None
    return Part("string", len(values), data, array("i", accumulate(lengths, initial=0)))


def _bytes(values: Sequence[bytes]) -> Part | None:
    return Part("binary", len(values), b"".join(values), array("i", accumulate(map(len, values), initial=0)))


def _decimals(values: Sequence[decimal.Decimal]) -> Part | None:
    made = _strings(list(map(str, values)))
    assert made is not None
    return Part("decimal", len(values), made.data, made.offsets)


def _booleans(values: Sequence[bool]) -> Part | None:
    return Part("boolean", len(values), packed(values, len(values)))


def _dates(values: Sequence[datetime.date]) -> Part | None:
    return Part("date", len(values), array("i", (value.toordinal() - EPOCH_DAY for value in values)))


def _moments(values: Sequence[datetime.datetime]) -> Part | None:
    zones = {value.tzinfo is None for value in values}
    if len(zones) > 1:
        return None
    is_fine = set(map(type, values)) != {datetime.datetime} and any(map(nanoseconds_of, values))
    epoch, kind = (EPOCH, "timestamp") if True in zones else (UTC_EPOCH, "instant")
    if not is_fine:
        parts = (value - epoch for value in values)
        whole = array("q", ((each.days * 86400 + each.seconds) * 1000000 + each.microseconds for each in parts))
        return Part(kind, len(values), whole, unit="us")
    try:
        return Part(kind, len(values), array("q", (nanoseconds(value, epoch) for value in values)), unit="ns")
    except OverflowError:  # beyond the years from 1678 to 2262
        return None


def nanoseconds(value: datetime.datetime, epoch: datetime.datetime) -> int:
    since = value - epoch
    return ((since.days * 86400 + since.seconds) * 1000000 + since.microseconds) * 1000 + nanoseconds_of(value)


def _times(values: Sequence[datetime.time]) -> Part | None:
    if any(value.tzinfo is not None for value in values):
        return None
    whole = array(
        "q",
        (((v.hour * 60 + v.minute) * 60 + v.second) * 10**9 + v.microsecond * 1000 + nanoseconds_of(v) for v in values),
    )
    return Part("time", len(values), whole)


MAKERS: dict[Any, Callable[[Any], Part | None]] = {
    bool: _booleans, int: _integers, float: _floats, str: _strings, bytes: _bytes, decimal.Decimal: _decimals,
    datetime.date: _dates, datetime.datetime: _moments, datetime.time: _times,
}  # fmt: skip

# ---- sources of rows ----

Page = tuple[Sequence[str | None], int, list[Part]]  # the names of the columns, the rows, the columns


def pages_of(source: Any, page_rows: Callable[[], int]) -> Iterator[Page]:
    """Yields the rows of a Table, of what arrow.py knows, or of an iterable of tuples or lists, in pages. page_rows: the rows that the next page
    takes from an iterable."""
    if isinstance(source, Table):
        for rows, chunks in source._pages:
            yield source.column_names, rows, [_chunk_part(chunk) for chunk in chunks]
        return
    from .arrow import frame_pages  # which needs this module

    frame = frame_pages(source, page_rows)
    if frame is not None:
        yield from frame
        return
    rows_of = iter(source)
    first = 0
    width: int | None = None
    while page := list(islice(rows_of, page_rows())):
        if width is None:
            width = _width(page[0], 0)
        names = getattr(page[0], "_fields", [None] * width)
        try:
            columns = columns_of(page)
        except (TypeError, ValueError):
            columns = []
        if len(columns) != width or width == 0 or not set(map(type, page)) <= {tuple, list}:
            _check_widths(page, first, width)
        yield names, len(page), [list_part(column) for column in columns]
        first += len(page)


def columns_of(page: Sequence[Any]) -> list[Sequence[Any]]:
    """Returns the columns of the rows. ValueError: the rows have several lengths."""
    if not set(map(type, page)) <= {tuple, list} or len(set(map(len, page))) != 1:
        return list(zip(*page, strict=True))
    # zip makes an iterator for each row, and the garbage collector visits them: twice the time
    return [list(map(itemgetter(index), page)) for index in range(len(page[0]))]


def _width(row: Any, number: int) -> int:
    if isinstance(row, (str, bytes, bytearray, Mapping, set, frozenset)) or not hasattr(row, "__len__"):
        raise TypeError(f"row {number} is no tuple or list of values, but {type(row).__name__}")
    return len(row)


def _check_widths(page: Sequence[Any], first: int, width: int) -> None:
    for number, row in enumerate(page, first):
        if (found := _width(row, number)) != width:
            raise ValueError(f"row {number} has {found} values, and the first has {width}")


def _chunk_part(chunk: Chunk) -> Part:
    return Part(chunk.type, chunk.rows, chunk.data, chunk.offsets, chunk.valid, chunk.unit, chunk.scale)


# ---- sending ----


# The rows, whether they are so few that another thread would not help, and the request.
Job = tuple[int, bool, Callable[[], Any]]


class RowSender:
    """Sends pages of rows to an object of Java: a Collection, which gets them as elements, or a PreparedStatement, which
    executes each page as a batch. any_thread: although threads are pinned, each Java thread may use the object."""

    def __init__(self, java: "Java", target: Any, element: str | None = None, any_thread: bool = False) -> None:
        if not isinstance(target, Object):
            raise TypeError(f"rows are for an object of Java, not {type(target).__name__}")
        self._java, self._target, self._element, self._any_thread = java, target, element, any_thread
        self.sent = 0  # rows of the requests that have succeeded
        self.running: Future[Any] | None = None  # the request that another thread has sent
        if java._pieces.message_max == 0:
            java._pieces.learn()
        self._room = min(java._pieces.message_max or ROOM, ROOM) - FRAME
        self._values = java._pieces.values_max or 1_000_000
        self._page_rows = FIRST_ROWS

    def page_rows(self) -> int:
        """Returns the rows of the next page of an iterable: the size of its rows is not known before."""
        return self._page_rows

    def send(self, pages: Iterable[Page], first: int = 0) -> Iterator[Any]:
        """Yields the update counts of each request as a bytearray of int32, or None if the target is a Collection. first:
        the number of the first row in errors."""
        return self.run(self.jobs(pages, first))

    def jobs(self, pages: Iterable[Page], first: int = 0) -> "Iterator[Job]":
        """Yields the requests for the pages."""
        for page in self._fitting(pages):
            rows = page[1]
            yield rows, rows * len(page[2]) < FEW, partial(self._request, page, first)
            first += rows

    def run(self, jobs: "Iterator[Job]") -> Iterator[Any]:
        """Yields the result of each job. The next job is made while one runs; it is dropped if that one fails."""
        connection = self._java._connection
        # In a callback, only this thread runs where Java waits; with pinned threads, the target belongs to a Java thread.
        alone = connection.calling() is not None or connection.pins and not self._any_thread
        pool: ThreadPoolExecutor | None = None
        rows = 0
        try:
            while True:
                failure, job = None, None
                try:
                    job = next(jobs, None)
                except Exception as error:
                    failure = error
                if self.running is not None:  # whose rows are before those of the failure
                    future, self.running = self.running, None
                    yield self._end(rows, future.result)
                if failure is not None:
                    raise failure
                if job is None:
                    return
                rows, is_short, run = job
                if alone or is_short:
                    yield self._end(rows, run)
                else:
                    pool = pool or ThreadPoolExecutor(1, "jpeer-rows")
                    self.running = begin_request(pool, run)
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)

    def _end(self, rows: int, result: Callable[[], Any]) -> Any:
        try:
            counts = result()
        except Exception as error:
            if self.sent:
                error.add_note(f"the first {self.sent} rows were sent before")
            raise
        self.sent += rows
        return counts

    def _request(self, page: Page, first: int) -> Any:
        names, rows, parts = page
        columns = tuple(part.members(name) for name, part in zip(names, parts, strict=True))
        return self._java._connection.rows(self._target, rows, first, columns, self._element)

    def _fitting(self, pages: Iterable[Page]) -> Iterator[Page]:
        """Cuts pages that are too long for a message."""
        for names, rows, parts in pages:
            size = sum(part.size() for part in parts)
            values = rows * max(len(parts), 1)
            shares = max(-(-size // self._room), -(-values // self._values))
            self._page_rows = max(1, min(PAGE, int(rows * GROWTH / max(shares, 1))))
            if shares <= 1 and size <= self._room:
                yield names, rows, parts
            elif rows <= 1:
                yield names, rows, [self._assembled(part) if part.size() > LONG else part for part in parts]
            else:
                step = max(1, rows // shares) if rows // max(shares, 1) < 8 else rows // shares // 8 * 8
                halves = (
                    (names, min(step, rows - at), [part.slice(at, min(at + step, rows)) for part in parts])
                    for at in range(0, rows, step)
                )
                yield from self._fitting(halves)

    def _assembled(self, part: Part) -> Part:
        """Returns the one value of the column, which is too long for a message, as an object that was sent in pieces."""
        value: Any = part.data[0] if part.type == "object" else bytes(part.data)
        if part.type == "string":
            value = value.decode()
        if part.type == "decimal":
            return part
        return Part("object", 1, [self._java._pieces(value, None) or value])


def send_rows(java: "Java", target: Any, source: Any, element: str | None = None) -> list[int]:
    """Sends all rows. Returns the update counts of a PreparedStatement; of a Collection, an empty list."""
    sender = RowSender(java, target, element)
    counts: list[int] = []
    for each in sender.send(pages_of(source, sender.page_rows)):
        counts.extend(() if each is None else memoryview(each).cast("i"))
    return counts


def new_rows(java: "Java", source: Any, target: Any, of: str | None) -> Any:
    """Sends all rows to a new Collection of the class of this name, or to the object. Returns the object."""
    if not isinstance(target, Object):
        target = java.type(LISTS.get(target, target))()
    send_rows(java, target, source, of)
    return target
