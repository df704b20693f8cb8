"""Rows of Java as columns: `java.table(source)` gives a Table.

The columns have the layout of Apache Arrow, so that numpy and pyarrow use their bytes as they are. numpy, pandas and
pyarrow are optional.
"""

import datetime
import decimal
import functools
import json
import math
import struct
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ._native import Object, ProtocolError, check_offsets, return_free_memory
from .times import DateTime, Time, nanoseconds_of

if TYPE_CHECKING:
    from .connection import Java

PAGE = 16384  # rows
# struct's and numpy's letters of the types with a fixed width
LETTERS = {
    "byte": "b", "short": "h", "int": "i", "long": "q", "float": "f", "double": "d", "char": "H", "date": "i",
    "time": "q", "timestamp": "q", "instant": "q",
}  # fmt: skip
WIDTHS = {type: struct.calcsize(f"={letter}") for type, letter in LETTERS.items()}
TEXTS = ("string", "binary")
TYPES = {*LETTERS, *TEXTS, "boolean", "decimal", "object"}
NUMBERS = ("byte", "short", "int", "long", "float", "double")
MOMENTS = ("date", "timestamp", "instant")
DECIMAL_SIZE, DECIMAL_DIGITS = 16, 38
EXACT = decimal.Context(prec=40)  # a decimal128 has 38 digits
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_DAY = EPOCH.toordinal()
FINE = (datetime.datetime, datetime.time, datetime.timedelta)  # may have nanoseconds
PLAIN_KINDS = (
    bool, int, float, str, bytes, decimal.Decimal, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID,
)  # fmt: skip
TRIMMED = 1 << 20  # bytes of a column whose pages are worth being returned to the system
FRACTIONS = {"us": 10**6, "ns": 10**9}


class Chunk:
    """A column of a page. `data`, `offsets` and `valid` are bytearrays in the layout of Apache Arrow; `data` of the type
    object is a list of Python values."""

    __slots__ = ("type", "unit", "scale", "nullable", "rows", "data", "offsets", "valid", "is_unknown", "whole")

    def __init__(self, column: dict[str, Any], rows: int) -> None:
        self.type: Any = column.get("type")
        self.unit: Any = column.get("unit")
        self.scale: Any = column.get("scale")
        self.nullable = column.get("nullable")
        has_unit = self.unit in FRACTIONS if self.type in ("timestamp", "instant") else True
        has_scale = type(self.scale) is int and 0 <= self.scale <= DECIMAL_DIGITS or self.scale is None
        if self.type not in TYPES or not has_unit or not has_scale or "name" not in column:
            raise ProtocolError("the peer's answer is malformed: the type of a column")
        self.rows = rows
        self.whole: Any = None  # a Joined of which data is a part
        has_offsets = self.type in TEXTS or (self.type == "decimal" and self.scale is None)
        self.offsets = _checked(column, "offsets", 4 * (rows + 1)) if has_offsets else None
        self.valid = _checked(column, "valid", (rows + 7) // 8)
        if self.type == "object":
            self.data = column["data"]
            if type(self.data) is not list or len(self.data) != rows:
                raise ProtocolError("the peer's answer is malformed: a column of objects has not its rows")
        else:
            self.data = _checked(column, "data", self._size())
        # other libraries read texts and offsets without a check
        if self.offsets is not None and not check_offsets(self.offsets, self.data, self.type != "binary"):
            raise ProtocolError("the peer's answer is malformed: the offsets or texts of a column")
        # all values are null: a later page may name another type
        self.is_unknown = self.type == "object" and all(value is None for value in self.data)

    def _size(self) -> int | None:
        if self.offsets is not None:
            last = 0
            for offset, in struct.iter_unpack("<i", self.offsets[:4] + self.offsets[-4:]):
                if offset < last:
                    raise ProtocolError("the peer's answer is malformed: the offsets of a column")
                last = int(offset)
            return last
        if self.type == "boolean":
            return (self.rows + 7) // 8
        return self.rows * (DECIMAL_SIZE if self.type == "decimal" else WIDTHS[self.type])

    def is_null(self) -> Callable[[int], bool]:
        valid = self.valid
        return (lambda row: False) if valid is None else (lambda row: not valid[row >> 3] >> (row & 7) & 1)

    def part(self, begin: int, rows: int) -> "Chunk":
        """Returns a chunk of so many of the rows."""
        made = object.__new__(Chunk)
        made.type, made.unit, made.scale, made.nullable = self.type, self.unit, self.scale, self.nullable
        made.rows, made.is_unknown, made.whole = rows, self.is_unknown, None
        made.valid = None if self.valid is None else _bits(self.valid, begin, rows)
        made.offsets = None
        if self.offsets is not None:
            ends = struct.unpack_from(f"<{rows + 1}i", self.offsets, 4 * begin)
            made.offsets = bytearray(struct.pack(f"<{rows + 1}i", *(each - ends[0] for each in ends)))
            made.data = self.data[ends[0] : ends[-1]]
        elif self.type == "boolean":
            made.data = _bits(self.data, begin, rows)
        else:
            width = 1 if self.type == "object" else DECIMAL_SIZE if self.type == "decimal" else WIDTHS[self.type]
            made.data = self.data[begin * width : (begin + rows) * width]
        return made

    def values(self) -> list[Any]:
        """Returns the Python values."""
        if self.type == "object":
            return list(self.data)
        made = self._values()
        if self.valid is not None:
            is_null = self.is_null()
            made = [None if is_null(row) else value for row, value in enumerate(made)]
        return made

    def _values(self) -> list[Any]:
        data = self.data
        if self.offsets is not None:
            ends = struct.unpack(f"<{self.rows + 1}i", self.offsets)
            parts = [data[begin:end] for begin, end in zip(ends, ends[1:], strict=False)]
            if self.type == "binary":
                return [bytes(part) for part in parts]
            texts = [str(part, "utf-8") for part in parts]
            return [decimal.Decimal(text) if text else None for text in texts] if self.type == "decimal" else texts
        if self.type == "boolean":
            return [bool(data[row >> 3] >> (row & 7) & 1) for row in range(self.rows)]
        if self.type == "decimal":
            return [self._decimal(data[at : at + DECIMAL_SIZE]) for at in range(0, len(data), DECIMAL_SIZE)]
        numbers = struct.unpack(f"<{self.rows}{LETTERS[self.type]}", data)
        make = {"char": chr, "date": _date, "time": _time, "timestamp": self._timestamp, "instant": self._instant}.get(self.type)
        if make is None:
            return list(numbers)
        if self.valid is None:
            return [make(each) for each in numbers]
        is_null = self.is_null()  # whose number may be any, such as NaT's
        return [None if is_null(row) else make(each) for row, each in enumerate(numbers)]

    def _decimal(self, part: bytes) -> decimal.Decimal:
        return EXACT.scaleb(decimal.Decimal(int.from_bytes(part, "little", signed=True)), -self.scale)

    def _timestamp(self, number: int) -> datetime.datetime:
        return _moment(number, FRACTIONS[self.unit])

    def _instant(self, number: int) -> datetime.datetime:
        return _moment(number, FRACTIONS[self.unit]).replace(tzinfo=datetime.UTC)

    def array(self, numpy: Any) -> Any:
        """Returns a numpy array of the numbers; null is any number. None: the type is no number."""
        if self.type == "boolean":
            bits = numpy.frombuffer(self.data, numpy.uint8)
            return numpy.unpackbits(bits, count=self.rows, bitorder="little").view(bool)
        if self.type not in NUMBERS and self.type not in MOMENTS:
            return None
        numbers = numpy.frombuffer(self.data, f"<{LETTERS[self.type]}")
        if self.type == "date":
            return numbers.astype("datetime64[D]")
        return numbers if self.type in NUMBERS else numbers.view(f"datetime64[{self.unit}]")

    def null_mask(self, numpy: Any) -> Any:
        """Returns a numpy array that is true where the value is null, or None."""
        if self.valid is None:
            return None
        bits = numpy.unpackbits(numpy.frombuffer(self.valid, numpy.uint8), count=self.rows, bitorder="little")
        return ~bits.view(bool)

    def arrow(self, pyarrow: Any) -> Any:
        """Returns a pyarrow array over the same bytes."""
        if self.type == "object":
            return _object_array(pyarrow, self.data)
        if self.type == "char":
            return pyarrow.array(arrow_texts(self.values()), pyarrow.string())
        wanted = self.arrow_type(pyarrow)
        buffers = [None if self.valid is None else pyarrow.py_buffer(self.valid)]
        if self.offsets is not None:
            buffers.append(pyarrow.py_buffer(self.offsets))
        buffers.append(pyarrow.py_buffer(self.data))
        return pyarrow.Array.from_buffers(wanted, self.rows, buffers)

    def arrow_type(self, pyarrow: Any) -> Any:
        if self.type == "decimal":
            return pyarrow.string() if self.scale is None else pyarrow.decimal128(38, self.scale)
        if self.type in ("timestamp", "instant"):
            return pyarrow.timestamp(self.unit, "UTC" if self.type == "instant" else None)
        return {
            "byte": pyarrow.int8, "short": pyarrow.int16, "int": pyarrow.int32, "long": pyarrow.int64,
            "float": pyarrow.float32, "double": pyarrow.float64, "boolean": pyarrow.bool_, "date": pyarrow.date32,
            "time": lambda: pyarrow.time64("ns"), "string": pyarrow.string, "binary": pyarrow.binary,
        }[self.type]()  # fmt: skip


def arrow_texts(values: Sequence[Any]) -> list[Any]:
    """Returns the texts with U+FFFD in place of lone surrogates, which UTF-8 does not have."""
    return [value if value is None else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for value in values]


# ints beside these become such a value
INT_LIKE = ({int, float}, {int, decimal.Decimal})


def _object_array(pyarrow: Any, values: Sequence[Any]) -> Any:
    """Returns a pyarrow array of Python values. pyarrow itself would drop nanoseconds, the zone of a time, and what one of
    several types has more than the others."""
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) > 1 and not any(kinds <= each for each in INT_LIKE):
        names = sorted(kind if isinstance(kind, str) else kind.__name__ for kind in kinds)
        raise pyarrow.ArrowInvalid(f"they have several: {', '.join(names)}")
    if "time with a zone" in kinds:
        raise pyarrow.ArrowInvalid("a time with a zone")
    if not any(isinstance(value, FINE) and nanoseconds_of(value) for value in values):
        return pyarrow.array(values)
    from .rows import list_part  # which needs this module

    part = list_part(values)
    if part.type == "object":
        raise pyarrow.ArrowInvalid("nanoseconds of a duration or of a distant year")
    chunk = object.__new__(Chunk)
    chunk.type, chunk.unit, chunk.scale = part.type, part.unit, part.scale
    buffers = [None if part.valid is None else pyarrow.py_buffer(part.valid), pyarrow.py_buffer(part.data)]
    return pyarrow.Array.from_buffers(chunk.arrow_type(pyarrow), part.rows, buffers)


def _kind(value: Any) -> Any:
    """Returns the type of the value, without the types of Java's values, or a name for it."""
    kind = type(value)
    plain = next((each for each in PLAIN_KINDS if issubclass(kind, each)), kind)
    has_zone = plain in (datetime.datetime, datetime.time) and value.tzinfo is not None
    return f"{plain.__name__} with a zone" if has_zone else plain


def _checked(column: dict[str, Any], name: str, size: int | None) -> Any:
    data = column.get(name)
    if data is None and name == "valid":
        return None
    if type(data) is not bytearray or len(data) != size:
        raise ProtocolError(f"the peer's answer is malformed: the {name} of a column")
    return data


def _bits(data: bytearray, begin: int, count: int) -> bytearray:
    """Returns `count` bits of a bitmap as a bitmap of their own."""
    bits = int.from_bytes(data, "little") >> begin & (1 << count) - 1
    return bytearray(bits.to_bytes((count + 7) // 8, "little"))


def _date(days: int) -> datetime.date:
    return datetime.date.fromordinal(EPOCH_DAY + days)


def _time(nanoseconds: int) -> datetime.time:
    microseconds, nanosecond = divmod(nanoseconds, 1000)
    seconds, microsecond = divmod(microseconds, 10**6)
    fields = (seconds // 3600, seconds // 60 % 60, seconds % 60, microsecond)
    return Time(*fields, nanosecond=nanosecond) if nanosecond else datetime.time(*fields)


def _moment(number: int, fraction: int) -> datetime.datetime:
    seconds, rest = divmod(number, fraction)
    microsecond, nanosecond = divmod(rest, fraction // 10**6)
    made = EPOCH + datetime.timedelta(seconds=seconds, microseconds=microsecond)
    if not nanosecond:
        return made
    return DateTime(
        made.year, made.month, made.day, made.hour, made.minute, made.second, made.microsecond, nanosecond=nanosecond
    )


def _needed(name: str, purpose: str) -> Any:
    try:
        return __import__(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # it is installed, but lacks something itself
            raise
        raise ImportError(f"{purpose} needs {name}, which is not installed: pip install {name}", name=name) from None


class Table:
    """Rows of Java, by columns. len(table) is the number of rows, and an iteration gives tuples. table["name"] is a numpy
    array if numpy is installed and the column has only numbers, booleans, dates, timestamps or instants, and no null;
    otherwise it is a list."""

    def __init__(self, names: Sequence[str], pages: Sequence[tuple[int, Sequence[Chunk]]]) -> None:
        self.column_names = list(names)
        self._pages = pages
        self._frame: Any = None  # shares memory with this table

    def __len__(self) -> int:
        return sum(rows for rows, _ in self._pages)

    def __repr__(self) -> str:
        return f"<jpeer.Table of {len(self)} rows: {', '.join(self.column_names)}>"

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for rows, chunks in self._pages:
            yield from zip(*self._columns(chunks), strict=True) if chunks else [()] * rows

    def batches(self, rows: int = PAGE) -> "Iterator[Table]":
        """Yields Tables of at most so many rows. A page of 16,384 rows is not joined with the next one."""
        if rows < 1:
            raise ValueError(f"rows is {rows}")
        for count, chunks in self._pages:
            for begin in range(0, count, rows):
                part = min(rows, count - begin)
                yield Table(self.column_names, [(part, [c.part(begin, part) if part < count else c for c in chunks])])

    def _columns(self, chunks: Sequence[Chunk]) -> list[list[Any]]:
        return [self._values(name, chunk) for name, chunk in zip(self.column_names, chunks, strict=True)]

    @staticmethod
    def _values(name: str, chunk: Chunk) -> list[Any]:
        try:
            return chunk.values()
        except (ValueError, OverflowError) as error:
            raise OverflowError(f"column {name!r}: Python's datetime has no such year ({error})") from None

    def __getitem__(self, name: str) -> Any:
        index = self._index(name)
        numpy = sys.modules.get("numpy") or _optional("numpy")
        chunks = self._chunks(index)
        if numpy is not None and chunks and all(chunk.valid is None for chunk in chunks):
            made = _joined(numpy, chunks)
            if made is not None:
                made.flags.writeable = False  # it may be the bytes of this table
                return made
        return [value for chunk in chunks for value in self._values(name, chunk)]

    def _index(self, name: str) -> int:
        found = [index for index, each in enumerate(self.column_names) if each == name]
        if len(found) != 1:
            raise KeyError(f"{name!r} is {'several columns' if found else 'no column'} of {', '.join(self.column_names)}")
        return found[0]

    def _chunks(self, index: int) -> list[Chunk]:
        """Returns the chunks that have values, but at least one, so that the column has a type."""
        chunks = [columns[index] for _, columns in self._pages]
        filled = [chunk for chunk in chunks if not chunk.is_unknown]
        if len(filled) == len(chunks) or not filled:
            return chunks
        like = filled[0]
        return [_nulls_like(like, chunk.rows) if chunk.is_unknown else chunk for chunk in chunks]

    def to_numpy(self) -> dict[str, Any]:
        """Returns an array for each column; of objects where the column is not as table["name"] describes."""
        numpy = _needed("numpy", "to_numpy()")
        made = {}
        for name in self.column_names:
            column = self[name]
            if isinstance(column, list):
                array = numpy.empty(len(column), object)
                array[:] = column
                column = array
            made[name] = column
        return made

    def to_arrow(self) -> Any:
        """Returns a pyarrow.Table, which uses the bytes of this table. Decimals of more than 38 digits are strings."""
        pyarrow = _needed("pyarrow", "to_arrow()")
        columns = [self._arrow(pyarrow, index) for index in range(len(self.column_names))]
        return pyarrow.Table.from_arrays(columns, names=self.column_names)

    def _arrow(self, pyarrow: Any, index: int) -> Any:
        chunks = self._chunks(index)
        try:
            arrays = [chunk.arrow(pyarrow) for chunk in chunks]
            wanted = _common_type(pyarrow, [array.type for array in arrays])
            is_text = wanted is not None and pyarrow.types.is_string(wanted)
            if wanted is None or is_text and len({chunk.type for chunk in chunks if not chunk.is_unknown} & {"decimal", "string", "object", "char"}) > 1:
                return pyarrow.chunked_array([_object_array(pyarrow, [value for chunk in chunks for value in chunk.values()])])
            return pyarrow.chunked_array([array.cast(wanted) for array in arrays], wanted)
        except (pyarrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise TypeError(f"column {self.column_names[index]!r}: Arrow has no type for its values: {error}") from error

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns an ArrowArrayStream over the bytes of this table. Lists, and values of several types, need pyarrow."""
        from .arrow import NoArrowType, stream_of  # which needs this module

        try:
            return stream_of(self)
        except NoArrowType as error:
            if _optional("pyarrow") is None:
                raise TypeError(str(error)) from None
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame. Whole numbers and booleans with nulls have the types of pandas that can be null
        (Int64, boolean); other nulls are NaN, NaT or None."""
        pandas = _needed("pandas", "to_pandas()")
        numpy = _needed("numpy", "to_pandas()")
        if self._frame is None:
            index = pandas.RangeIndex(len(self))
            series = {number: self._series(pandas, numpy, number) for number in range(len(self.column_names))}
            made = pandas.DataFrame(series, index=index, copy=False)
            made.columns = self.column_names
            if not _copies_on_write(pandas):
                return made.copy()
            self._frame = made
        return self._frame.copy(deep=False)  # pandas copies a column of it before the first change

    def _series(self, pandas: Any, numpy: Any, index: int) -> Any:
        chunks = self._chunks(index)
        name = self.column_names[index]
        values = _joined(numpy, chunks, for_pandas=True) if chunks else None
        if values is None:
            is_text = bool(chunks) and all(chunk.type == "string" for chunk in chunks)
            is_decimal = bool(chunks) and all(chunk.type == "decimal" and chunk.scale is not None for chunk in chunks)
            pyarrow = _optional("pyarrow") if is_text or is_decimal else None
            if pyarrow is not None:
                return self._arrow(pyarrow, index).to_pandas()
            column = [value for chunk in chunks for value in self._values(name, chunk)]
            return pandas.Series(column, dtype="str" if is_text else object)
        joined = chunks[0].whole
        if joined is None or values is not joined.values:
            return self._number_series(pandas, numpy, chunks, values)
        if joined.series is None:
            joined.series = self._number_series(pandas, numpy, chunks, values)
        return joined.series

    @staticmethod
    def _number_series(pandas: Any, numpy: Any, chunks: Sequence[Chunk], values: Any) -> Any:
        """Returns a Series over the memory of the values."""
        masks = [chunk.null_mask(numpy) for chunk in chunks]
        if any(mask is not None for mask in masks):
            mask = numpy.concatenate(
                [numpy.zeros(chunk.rows, bool) if each is None else each for each, chunk in zip(masks, chunks, strict=True)]
            )
            if values.dtype.kind == "i":
                return pandas.Series(pandas.arrays.IntegerArray(values, mask), copy=False)
            if values.dtype.kind == "b":
                return pandas.Series(pandas.arrays.BooleanArray(values, mask), copy=False)
            # a null may have any value, so that the bytes of the page can have these
            values[mask] = numpy.datetime64("NaT") if values.dtype.kind == "M" else math.nan
        if chunks[0].type == "date":
            return pandas.Series(values.astype("datetime64[s]"))
        made = pandas.Series(values, copy=False)
        return made.dt.tz_localize("UTC") if chunks[0].type == "instant" else made


def exact_doubles(values: Sequence[Any]) -> None:
    """Raises OverflowError for a whole number that a double does not have exactly."""
    if any(isinstance(value, int) and abs(value) > 2**53 for value in values):
        raise OverflowError("a whole number of more than 53 bits beside numbers with a point")


def _copies_on_write(pandas: Any) -> bool:
    return int(pandas.__version__.partition(".")[0]) >= 3


def _optional(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        return None


def _nulls_like(like: Chunk, rows: int) -> Chunk:
    """Returns a chunk of nulls of the same type: the peer does not know the type of a column before its first value."""
    made = object.__new__(Chunk)
    made.type, made.unit, made.scale = like.type, like.unit, like.scale
    made.nullable, made.rows, made.is_unknown, made.whole = True, rows, False, None
    made.valid = bytes((rows + 7) // 8)
    made.offsets = None if like.offsets is None else bytes(4 * (rows + 1))
    made.data = b"" if made.offsets is not None else bytes(made._size() or 0)
    return made


def _joined(numpy: Any, chunks: Sequence[Chunk], for_pandas: bool = False) -> Any:
    """Returns one array of all numbers, over the bytes of the pages if it can; None if they are not all numbers of one
    kind, or would not remain exact. for_pandas: the array may be changed, but only by pandas, as Joined says."""
    kinds = {"number" if chunk.type in NUMBERS else chunk.type for chunk in chunks}
    arrays = [chunk.array(numpy) for chunk in chunks]
    if len(kinds) != 1 or any(array is None for array in arrays):
        return None
    if kinds == {"number"} and {array.dtype.kind for array in arrays} == {"i", "f"}:
        if any(array.dtype.kind == "i" and (numpy.abs(array) > 2**53).any() for array in arrays):
            return None
    if len({array.dtype for array in arrays}) > 1 and arrays[0].dtype.kind == "M":
        whole = numpy.concatenate([array.astype("datetime64[ns]") for array in arrays])
        exact = all((array.astype("datetime64[ns]").astype(array.dtype) == array).all() for array in arrays)
        return whole if exact else None
    if len(arrays) == 1 and not for_pandas:
        return arrays[0]
    dtype = arrays[0].dtype
    size = sum(len(chunk.data) for chunk in chunks)
    joined = chunks[0].whole
    if joined is None or joined.nbytes != size or any(chunk.whole is not joined for chunk in chunks):
        whole = numpy.concatenate(arrays)
        has_same_layout = chunks[0].type in (*NUMBERS, "timestamp", "instant")
        if not has_same_layout or any(array.dtype != dtype for array in arrays):
            return whole
        del arrays  # which have the memory of the pages
        joined = _share(numpy, whole, chunks)
    # by a memoryview, because numpy replaces a base that is an array by the base of that
    return joined.values if for_pandas else numpy.frombuffer(memoryview(joined), dtype)


@functools.cache
def _joined_type(numpy: Any) -> Any:
    """Returns the class Joined: the bytes of all pages of a column. Only the DataFrame uses the array `values` of this memory
    directly; all others keep the Joined alive. `series` has the same memory, so that pandas copies it before a change as long
    as there is any other user."""
    return type("Joined", (numpy.ndarray,), {"values": None, "series": None})


def _share(numpy: Any, whole: Any, chunks: Sequence[Chunk]) -> Any:
    """Makes the pages of a column views of the array that has all their values, so that these are in memory only once."""
    joined = whole.view("u1").view(_joined_type(numpy))
    joined.values = whole
    view = memoryview(joined)
    at = 0
    for chunk in chunks:
        end = at + len(chunk.data)
        chunk.data, chunk.whole = view[at:end], joined
        at = end
    if whole.nbytes >= TRIMMED:
        return_free_memory()  # that of the pages, which lay between those of other columns
    return joined


def _common_type(pyarrow: Any, types: Sequence[Any]) -> Any:
    """Returns a type that has the values of all, or None."""
    kinds = pyarrow.types
    if not types:
        return pyarrow.null()
    if all(each == types[0] for each in types):
        return types[0]
    if all(kinds.is_decimal(each) for each in types):
        return pyarrow.decimal128(38, max(each.scale for each in types))
    if all(kinds.is_integer(each) for each in types):
        return max(types, key=lambda each: each.bit_width)
    if all(kinds.is_integer(each) or kinds.is_floating(each) for each in types):
        return pyarrow.float64()
    if all(kinds.is_timestamp(each) and each.tz == types[0].tz for each in types):
        return pyarrow.timestamp("ns", types[0].tz)
    if all(kinds.is_decimal(each) or kinds.is_string(each) for each in types):
        return pyarrow.string()
    return None


def read_table(
    java: "Java", source: Any, columns: Sequence[str] | None, rows: int | None, progress: bool, any_thread: bool = False
) -> Table:
    """Reads the next `rows` rows, or all. A page is fetched while the one before is read. any_thread: also if threads are
    pinned, the source may be used on another thread of Java."""
    _check_source(source, columns, rows, 0)
    names = None if columns is None else json.dumps(list(columns))
    bar = _bar(rows) if progress else None
    pages: list[tuple[int, Sequence[Chunk]]] = []
    found: list[str] | None = None
    try:
        for count, page in _pages(java, source, names, rows, any_thread=any_thread):
            if page or found is None:
                found = [column["name"] for column in page]
            pages.append((count, [Chunk(column, count) for column in page]))
            if bar is not None:
                bar.update(count)
    finally:
        if bar is not None:
            bar.close()
    filled = [page for page in pages if page[0] > 0]
    return Table(found or [], filled or pages[-1:])


def read_batches(java: "Java", source: Any, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    """Yields Tables of at most so many rows. A page is fetched while the one before is used."""
    _check_source(source, columns, rows, 1)
    names = None if columns is None else json.dumps(list(columns))
    for count, page in _pages(java, source, names, None, rows):
        if count:
            yield Table([column["name"] for column in page], [(count, [Chunk(column, count) for column in page])])


def _check_source(source: Any, columns: Any, rows: int | None, least: int) -> None:
    if rows is not None and rows < least:
        raise ValueError(f"rows is {rows}")
    if not isinstance(source, Object):
        raise TypeError(f"java.table needs an object of Java with rows, not {type(source).__name__}")
    if isinstance(columns, str):
        raise TypeError("columns is a list of names, not one str")


def _bar(total: int | None) -> Any:
    tqdm = _optional("tqdm")
    return None if tqdm is None else __import__("tqdm.auto").auto.tqdm(total=total, unit=" rows")


def begin_request(pool: ThreadPoolExecutor, request: Callable[[], Any]) -> "Future[Any]":
    """Returns the Future of a request that is under way. Its thread could get the GIL only after 5 ms, if this thread went on
    with work."""
    has_begun = threading.Event()

    def run() -> Any:
        has_begun.set()
        return request()

    future = pool.submit(run)
    has_begun.wait()
    return future


def _pages(
    java: "Java", source: Object, names: str | None, rows: int | None, size: int = PAGE, any_thread: bool = False
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yields the rows and columns of each page, of at most `size` rows; sends the next request before it reads a page."""
    connection = java._connection
    left = rows

    def fetch(rest: Any) -> tuple[int, bool, Any, Any]:
        return connection.columns(rest, size if left is None else min(size, left), 0, names)

    if left == 0:
        return
    count, done, rest, page = fetch(source)
    # In a callback, only this thread runs where Java waits; with pinned threads, the rows may belong to a Java thread.
    alone = connection.calling() is not None or connection.pins and not any_thread
    pool = None if done or alone else ThreadPoolExecutor(1, "jpeer-table")
    try:
        while True:
            left = None if left is None else left - count
            is_last = done or left == 0
            future = None if is_last or pool is None else begin_request(pool, functools.partial(fetch, rest))
            columns = connection.read_columns(page)
            del page
            yield count, columns
            if is_last:
                return
            count, done, rest, page = fetch(rest) if future is None else future.result()
    finally:
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
