"""Tables for other libraries by the Arrow C data interface, and the rows of their tables for Java; without pyarrow.

polars, duckdb and pandas read a Table by `__arrow_c_stream__`: py_arrow.c gives them its bytes. What has
`__arrow_c_stream__` or `__arrow_c_array__` can be sent to Java (`java.rows`). numpy and pandas are used if the program
has them.
"""

import datetime
import decimal
import struct
import sys
import uuid
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ._native import arrow_open, arrow_read, arrow_stream
from .rows import Page, Part, list_part, nanoseconds, packed
from .tables import DECIMAL_SIZE, EPOCH, EXACT, Chunk, Table, arrow_texts, exact_doubles
from .times import Duration

FORMATS = {
    "byte": "c", "short": "s", "int": "i", "long": "l", "float": "f", "double": "g", "boolean": "b", "date": "tdD",
    "time": "ttn", "string": "u", "binary": "z", "null": "n",
}  # fmt: skip
WHOLE = ("c", "s", "i", "l")
NUMBERS = (*WHOLE, "f", "g")
UTC_EPOCH = EPOCH.replace(tzinfo=datetime.UTC)


class NoArrowType(Exception):
    """A column has values that need pyarrow, or that Arrow has no type for."""


# ---- a Table as a stream ----


def stream_of(table: Table) -> Any:
    """Returns the PyCapsule of an ArrowArrayStream over the bytes of the Table."""
    fields = []
    columns: list[list[tuple[int, tuple[Any, ...]]]] = []
    for index, name in enumerate(table.column_names):
        chunks = table._chunks(index)
        format, parts = _unified(name, [_part(name, chunk) for chunk in chunks], chunks)
        fields.append((name.replace("\0", "\ufffd"), format, any(chunk.nullable is not False for chunk in chunks)))
        columns.append([_buffers(part) for part in parts])
    rows = [rows for rows, _ in table._pages]
    return arrow_stream(fields, [(count, [column[page] for column in columns]) for page, count in enumerate(rows)])


def _part(name: str, chunk: Chunk) -> Part:
    if chunk.type == "char":
        return list_part(arrow_texts(chunk.values()))
    if chunk.type != "object":
        return Part(chunk.type, chunk.rows, chunk.data, chunk.offsets, chunk.valid, chunk.unit, chunk.scale)
    made = list_part(chunk.values())
    if made.type == "object" and all(value is None for value in made.data):
        return Part("null", chunk.rows, b"")
    if made.type == "object":
        kinds = sorted({type(value).__name__ for value in made.data if value is not None})
        raise NoArrowType(f"column {name!r}: Arrow has no type for its values: {', '.join(kinds)}")
    return made


def _format(part: Part) -> str:
    if part.type == "decimal":
        return "u" if part.scale is None else f"d:38,{part.scale}"
    if part.type in ("timestamp", "instant"):
        return f"ts{'u' if part.unit == 'us' else 'n'}:{'UTC' if part.type == 'instant' else ''}"
    return FORMATS[part.type]


def _buffers(part: Part) -> tuple[int, tuple[Any, ...]]:
    if part.type == "null":
        return part.rows, ()
    offsets = () if part.offsets is None else (part.offsets,)
    return (0 if part.valid is None else -1), (part.valid, *offsets, part.data)


def _unified(name: str, parts: list[Part], chunks: Sequence[Chunk]) -> tuple[str, list[Part]]:
    """Returns one format for all pages of a column, and the pages in that format."""
    formats = list(dict.fromkeys(_format(part) for part in parts if part.type != "null"))
    if len(formats) <= 1 and not any(part.type == "null" for part in parts):
        return (formats or ["n"])[0], parts
    if not formats:
        return "n", parts
    wanted = _common(formats)
    types = {part.type for part in parts} - {"null"}
    if wanted is None or wanted == "u" and len(types) > 1:  # a decimal is no text, though Arrow has some as texts
        raise NoArrowType(f"column {name!r}: Arrow has no type for its values: its pages have several")
    try:
        return wanted, [
            part if _format(part) == wanted else _encoded(part if part.type == "null" else chunk.values(), wanted, part.rows)
            for part, chunk in zip(parts, chunks, strict=True)
        ]
    except (OverflowError, decimal.InvalidOperation) as error:
        raise NoArrowType(f"column {name!r}: Arrow has no type for its values: {error}") from None


def _common(formats: Sequence[str]) -> str | None:
    if len(formats) == 1:
        return formats[0]
    if all(each in WHOLE for each in formats):
        return max(formats, key=WHOLE.index)
    if all(each in NUMBERS for each in formats):
        return "g"
    if all(each.startswith("d:") for each in formats):
        return f"d:38,{max(int(each.split(',')[1]) for each in formats)}"
    if all(each.startswith("d:") or each == "u" for each in formats):
        return "u"
    zones = {each[4:] for each in formats if each.startswith("ts")}
    return f"tsn:{zones.pop()}" if len(zones) == 1 and all(each.startswith("ts") for each in formats) else None


def _encoded(values: Any, format: str, rows: int) -> Part:
    """Returns a column of that format with these values, which other pages have in another format."""
    if isinstance(values, Part):
        values = [None] * rows
    valid = packed((value is not None for value in values), rows) if None in values else None
    type, _, zone = format.partition(":")
    if format == "g":
        exact_doubles(values)
    make = ENCODERS[type if type in ("d", "tsn") else "u" if format in ("u", "z") else format]
    data, offsets = make(values, zone)
    names = {short: name for name, short in FORMATS.items()}
    if type == "d":
        return Part("decimal", rows, data, None, valid, scale=int(format.split(",")[1]))
    if type.startswith("ts"):
        return Part("instant" if zone else "timestamp", rows, data, None, valid, "ns" if type == "tsn" else "us")
    return Part(names[format], rows, data, offsets, valid)


def _wide(letter: str) -> Callable[[Sequence[Any], str], tuple[Any, Any]]:
    return lambda values, _: (array(letter, (0 if value is None else value for value in values)), None)


def _texts(values: Sequence[Any], _: str) -> tuple[Any, Any]:
    made = list_part([b"" if v is None else v if isinstance(v, bytes) else str(v).encode() for v in values])
    return made.data, made.offsets


def _decimals(values: Sequence[Any], zone: str) -> tuple[Any, Any]:
    scale = int(zone.split(",")[1])
    whole = [0 if value is None else int(EXACT.scaleb(value, scale)) for value in values]
    if any(abs(each) >= 10**38 for each in whole):
        raise OverflowError("a decimal of more than 38 digits")
    return b"".join(each.to_bytes(DECIMAL_SIZE, "little", signed=True) for each in whole), None


def _fine(values: Sequence[Any], zone: str) -> tuple[Any, Any]:
    epoch = UTC_EPOCH if zone else EPOCH
    return array("q", (0 if value is None else nanoseconds(value, epoch) for value in values)), None


def _empty(size: int) -> Callable[[Sequence[Any], str], tuple[Any, Any]]:
    """Only for pages of nulls."""
    return lambda values, _: (bytes(size * len(values)), None)


ENCODERS: dict[str, Callable[[Sequence[Any], str], tuple[Any, Any]]] = {
    "c": _wide("b"), "s": _wide("h"), "i": _wide("i"), "l": _wide("q"), "f": _wide("f"), "g": _wide("d"), "u": _texts,
    "d": _decimals, "tsn": _fine, "tsu": _empty(8), "tdD": _empty(4), "ttn": _empty(8),
    "b": lambda values, _: (bytes((len(values) + 7) // 8), None),
}  # fmt: skip

# ---- rows of other libraries for Java ----


def frame_pages(source: Any, page_rows: Callable[[], int]) -> Iterator[Page] | None:
    """Returns the pages of a DataFrame, a numpy array, or what has the Arrow interface; None: it is none of them."""
    pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _pandas_pages(source, page_rows)
    if numpy is not None and isinstance(source, numpy.ndarray) and source.ndim == 2:
        return _numpy_pages(numpy, source, page_rows)
    if hasattr(source, "__arrow_c_stream__"):
        return _arrow_pages(page_rows, source.__arrow_c_stream__())
    return _arrow_pages(page_rows, *source.__arrow_c_array__()) if hasattr(source, "__arrow_c_array__") else None


def _arrow_pages(page_rows: Callable[[], int], *capsules: Any) -> Iterator[Page]:
    reader, names = arrow_open(*capsules)
    while (page := arrow_read(reader, page_rows())) is not None:
        rows, columns = page
        if rows:
            yield names, rows, [_arrow_part(rows, *column) for column in columns]


def _arrow_part(rows: int, type: str, unit: str | None, scale: int | None, data: Any, offsets: Any, valid: Any) -> Part:
    if type == "object":
        return Part("object", rows, [None] * rows)
    if type == "uuid":
        return Part("object", rows, _uuids(data, struct.unpack(f"={rows + 1}i", offsets)))
    return Part(type, rows, data, offsets, valid, unit, scale)


def _uuids(data: bytes, ends: Sequence[int]) -> list[uuid.UUID | None]:
    """Returns the UUIDs; a null has no bytes."""
    return [uuid.UUID(bytes=data[begin:end]) if end > begin else None for begin, end in zip(ends, ends[1:], strict=False)]


def _numpy_pages(numpy: Any, source: Any, page_rows: Callable[[], int]) -> Iterator[Page]:
    at = 0
    names = [None] * source.shape[1]
    while at < len(source):
        page = source[at : at + page_rows()]
        plain, mask = numpy.ma.getdata(page), numpy.ma.getmask(page)
        masks = mask.T if mask is not numpy.ma.nomask else [None] * len(names)
        yield names, len(page), [_numpy_part(numpy, plain[:, index], masks[index]) for index in range(len(names))]
        at += len(page)


def _pandas_pages(frame: Any, page_rows: Callable[[], int]) -> Iterator[Page]:
    at = 0
    names = [str(name) for name in frame.columns]
    while at < len(frame):
        page = frame.iloc[at : at + page_rows()]
        yield names, len(page), [_series_part(page.iloc[:, index]) for index in range(len(names))]
        at += len(page)


def _series_part(series: Any) -> Part:
    numpy = sys.modules["numpy"]  # which pandas has imported
    kind = getattr(series.dtype, "kind", "O")
    nulls = series.isna().to_numpy()
    mask = nulls if nulls.any() else None
    if isinstance(series.dtype, numpy.dtype) and kind != "O":
        return _numpy_part(numpy, series.to_numpy(), mask)
    if getattr(series.dtype, "tz", None) is not None:  # numpy has no zones: the values are UTC
        part = _numpy_part(numpy, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), mask)
        part.type = "instant"
        return part
    numbers = getattr(series.dtype, "numpy_dtype", None)
    if numbers is not None and numbers.kind in "iufb" and kind in "iufb":
        return _numpy_part(numpy, series.to_numpy(dtype=numbers, na_value=0), mask)
    if (arrow := _pyarrow_part(series)) is not None:
        return arrow
    values = series.astype(object)
    return list_part(values.where(values.notna(), None).tolist())


def _pyarrow_part(series: Any) -> Part | None:
    """Returns the column that pyarrow makes of texts, categories and others without a loop in Python."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or series.dtype == object:
        return None
    try:
        made = pyarrow.array(series, from_pandas=True)
        if isinstance(made, pyarrow.ChunkedArray):
            made = made.combine_chunks()
            made = made.chunk(0) if isinstance(made, pyarrow.ChunkedArray) else made
        values = made.type.value_type if pyarrow.types.is_dictionary(made.type) else made.type
        if pyarrow.types.is_struct(values.storage_type if isinstance(values, pyarrow.BaseExtensionType) else values):
            return None  # it would be a table
        reader, _ = arrow_open(*made.__arrow_c_array__())
        page = arrow_read(reader, len(series))
    except (pyarrow.ArrowException, TypeError, ValueError):
        return None
    return None if page is None or page[0] != len(series) else _arrow_part(page[0], *page[1][0])


def _numpy_part(numpy: Any, values: Any, mask: Any) -> Part:
    kind, rows = values.dtype.kind, len(values)
    if kind in "Mm":
        nulls = numpy.isnat(values)
        mask = nulls if mask is None else nulls | mask
        mask = mask if mask.any() else None
    valid = None if mask is None else numpy.packbits(~mask, bitorder="little").data
    if kind == "b":
        return Part("boolean", rows, numpy.packbits(values, bitorder="little").data, None, valid)
    if kind == "M":
        return _numpy_moments(numpy, values, valid)
    if kind == "u" and values.dtype.itemsize == 8 and rows and values.max() > 2**63 - 1:
        return list_part(_unmasked(map(decimal.Decimal, values.tolist()), mask))
    if kind == "m":
        return list_part(_unmasked(_durations(numpy, values), mask))
    types = {"i1": "byte", "i2": "short", "i4": "int", "i8": "long", "u1": "short", "u2": "int", "u4": "long", "u8": "long",
             "f2": "float", "f4": "float", "f8": "double"}  # fmt: skip
    type = types.get(values.dtype.str[1:])
    if type is None:
        return list_part(_unmasked(values.tolist(), mask))
    letters = {"byte": "i1", "short": "<i2", "int": "<i4", "long": "<i8", "float": "<f4", "double": "<f8"}
    return Part(type, rows, numpy.ascontiguousarray(values.astype(letters[type], copy=False)).data, None, valid)


def _unmasked(values: Iterable[Any], mask: Any) -> list[Any]:
    return list(values) if mask is None else [None if null else each for null, each in zip(mask, values, strict=True)]


def _durations(numpy: Any, values: Any) -> Iterator[datetime.timedelta]:
    unit, _ = numpy.datetime_data(values.dtype)
    if unit in ("Y", "M", "generic"):
        raise TypeError(f"{values.dtype} has no form in Java")
    is_fine = unit in ("ns", "ps", "fs", "as")
    whole = values.astype(f"timedelta64[{'ns' if is_fine else 'us'}]")
    if not numpy.array_equal(whole.astype(values.dtype), values, equal_nan=True):
        raise OverflowError(f"a value of {values.dtype} is no whole number of {'ns' if is_fine else 'us'}")
    for number in whole.view("<i8").tolist():
        microseconds, rest = divmod(number, 1000) if is_fine else (number, 0)
        yield Duration(microseconds=microseconds, nanoseconds=rest)


def _numpy_moments(numpy: Any, values: Any, valid: Any) -> Part:
    unit, step = numpy.datetime_data(values.dtype)
    rows = len(values)
    wanted = "D" if (unit, step) == ("D", 1) else "ns" if unit in ("ns", "ps", "fs", "as") else "us"
    whole = values.astype(f"datetime64[{wanted}]")
    if not numpy.array_equal(whole.astype(values.dtype), values, equal_nan=True):
        raise OverflowError(f"a value of {values.dtype} is no whole number of {wanted}")
    numbers = whole.view("<i8")
    if valid is not None:
        numbers = numpy.where(numpy.isnat(values), 0, numbers)
    if wanted != "D":
        return Part("timestamp", rows, numpy.ascontiguousarray(numbers).data, None, valid, wanted)
    days = numbers.astype("<i4")
    if (days != numbers).any():
        raise OverflowError("a date is out of range")
    return Part("date", rows, numpy.ascontiguousarray(days).data, None, valid)
