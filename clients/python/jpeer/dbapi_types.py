"""Values of jpeer.dbapi: types of columns, Python's values as parameters of JDBC, and Java's objects as Python's values.

Where databases differ, there is a `Product`: the database's own way to take a value or to give it.
"""

import datetime
import decimal
import enum
import io
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from typing import Any

from ._native import Array, Connection, Object, Typed
from .dbapi_errors import DataError, InterfaceError, ProgrammingError
from .rows import Part, RowSender, is_missing, list_part
from .sequences import to_python
from .tables import Chunk
from .times import UUID, BigDecimal, DateTime, Duration, nanoseconds_of
from .values import _iso_text, _numpy_value, text_as

RESULT_SET, ARRAY, CONNECTION = "java.sql.ResultSet", "java.sql.Array", "java.sql.Connection"
PIECE = 1 << 20  # bytes or units that a stream reads at once
ARRAY_PAGE = 32768
# Python's type of the elements of an array of PostgreSQL that the driver reads as another number
ELEMENTS: dict[str, Callable[[Any], Any]] = {"_oid": int, "_numeric": decimal.Decimal}
TIMES_OF_DAY = ("time", "timetz", "_time", "_timetz")  # of PostgreSQL


class Types(enum.IntEnum):
    """The constants of java.sql.Types."""

    BIT = -7
    TINYINT = -6
    SMALLINT = 5
    INTEGER = 4
    BIGINT = -5
    FLOAT = 6
    REAL = 7
    DOUBLE = 8
    NUMERIC = 2
    DECIMAL = 3
    CHAR = 1
    VARCHAR = 12
    LONGVARCHAR = -1
    DATE = 91
    TIME = 92
    TIMESTAMP = 93
    BINARY = -2
    VARBINARY = -3
    LONGVARBINARY = -4
    NULL = 0
    OTHER = 1111
    JAVA_OBJECT = 2000
    DISTINCT = 2001
    STRUCT = 2002
    ARRAY = 2003
    BLOB = 2004
    CLOB = 2005
    REF = 2006
    DATALINK = 70
    BOOLEAN = 16
    ROWID = -8
    NCHAR = -15
    NVARCHAR = -9
    LONGNVARCHAR = -16
    NCLOB = 2011
    SQLXML = 2009
    REF_CURSOR = 2012
    TIME_WITH_TIMEZONE = 2013
    TIMESTAMP_WITH_TIMEZONE = 2014


def type_of(number: int) -> int:
    """Returns the member of Types, or the number itself if a driver has a type of its own."""
    try:
        return Types(number)
    except ValueError:
        return number


class TypeObject(frozenset[int]):
    """One of STRING, BINARY, NUMBER, DATETIME and ROWID. It equals the type_code of a column of these types."""

    name: str
    parameter: Types  # the type of a parameter that setinputsizes names so

    def __new__(cls, name: str, parameter: Types, *others: Types) -> "TypeObject":
        made = super().__new__(cls, (parameter, *others))
        made.name, made.parameter = name, parameter
        return made

    def __eq__(self, other: object) -> bool:
        return other in self if isinstance(other, int) else self is other

    __hash__ = frozenset.__hash__

    def __repr__(self) -> str:
        return f"<jpeer.dbapi.{self.name}>"


STRING = TypeObject(
    "STRING", Types.VARCHAR, Types.CHAR, Types.LONGVARCHAR, Types.CLOB, Types.NCHAR, Types.NVARCHAR,
    Types.LONGNVARCHAR, Types.NCLOB, Types.SQLXML,
)  # fmt: skip
BINARY = TypeObject("BINARY", Types.VARBINARY, Types.BINARY, Types.LONGVARBINARY, Types.BLOB)
NUMBER = TypeObject(
    "NUMBER", Types.NUMERIC, Types.BIT, Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT, Types.FLOAT,
    Types.REAL, Types.DOUBLE, Types.DECIMAL, Types.BOOLEAN,
)  # fmt: skip
DATETIME = TypeObject(
    "DATETIME", Types.TIMESTAMP, Types.DATE, Types.TIME, Types.TIME_WITH_TIMEZONE, Types.TIMESTAMP_WITH_TIMEZONE,
)  # fmt: skip
ROWID = TypeObject("ROWID", Types.ROWID)

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """Returns the local date of a number of seconds since 1970."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """Returns the local time of a number of seconds since 1970."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """Returns the local date and time of a number of seconds since 1970."""
    return datetime.datetime(*time.localtime(ticks)[:6])


class Out:
    """A parameter of callproc that the procedure sets. With a value it is a parameter that the procedure also reads."""

    def __init__(self, type: int, *value: Any) -> None:
        self.type, self.value = type, value


# ---- Python's values as parameters ----

Setter = tuple[str, tuple[Any, ...]]
"""A setter of java.sql.PreparedStatement, and its arguments after the index."""

INT_MAX, LONG_MAX = 2**31, 2**63


def _integer(value: int) -> Setter:
    if -INT_MAX <= value < INT_MAX:
        return "setInt", (int(value),)
    if -LONG_MAX <= value < LONG_MAX:
        return "setLong", (int(value),)
    return "setBigDecimal", (Typed("java.math.BigDecimal", str(int(value))),)


def _float(value: float) -> Setter:
    return "setDouble", (float(value),)


def _decimal(value: decimal.Decimal) -> Setter:
    if value.is_finite():
        return "setBigDecimal", (Typed("java.math.BigDecimal", str(value)),)
    if value.is_snan():
        raise DataError("a signaling NaN has no form in SQL")
    return _float(float(value))


def checked_text(value: str) -> str:
    """Returns the text. Databases would replace a lone surrogate by another character."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"a text with the lone surrogate {value[error.start]!a} has no form in SQL") from None
    return str.__str__(value)  # str(value) is another text for an enum's member


def _text(value: str) -> Setter:
    return "setString", (checked_text(value),)


def _bytes(value: Any) -> Setter:
    return "setBytes", (value if type(value) is bytes else bytes(value),)


def _object(value: Any) -> Setter:
    return "setObject", (value,)


def _null(_: Any) -> Setter:
    return "setNull", (int(Types.NULL),)


# A column of values of one of these types is sent as it is. Others are converted value by value.
PLAIN = {bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.datetime, datetime.time}


class _Special:
    """A parameter that needs a setter of its own."""


class Product:
    """A database, by the name that its driver gives. This class is for all databases that need no way of their own."""

    gives_keys = True  # whether an INSERT asks for the keys that it generates
    keys_change = False  # whether another INSERT of the connection changes them
    after_changes: str | None = None  # a statement to execute after a change of the schema
    plain = PLAIN
    lacks: tuple[str, ...] = ()  # types of columns that need a conversion
    checks_count = False  # whether the driver takes null for a parameter that is missing

    def __init__(self, name: str, connection: Connection, jdbc: Any) -> None:
        self.name, self._connection, self._jdbc = name, connection, jdbc
        self.sender: RowSender | None = None  # of the last executemany

    def settle(self) -> None:
        """Waits for a batch that another thread executes, so that one call of JDBC runs at a time. Its result is for
        executemany."""
        if self.sender is not None and self.sender.running is not None:
            wait([self.sender.running])

    def counts(self, word: str) -> bool:
        """Returns whether the count of a statement that begins with this word is its own."""
        return True

    def column_values(self, type_name: str, values: list[Any]) -> list[Any]:
        """Returns the Python values of a column, which the driver gives as these. ValueError: Python has no such value."""
        return values

    def setter(self, value: Any) -> Setter:
        """Returns the setter for a parameter. Raises an Error."""
        for kind in type(value).__mro__:
            make = self._setters.get(kind)
            if make is not None:
                return make(self, value)
        return self._other(value)

    def part(self, values: Sequence[Any]) -> Part | None:
        """Returns a column of parameters for jpeer.rows; None: the values need their setters."""
        kinds = set(map(type, values)) - {type(None)}
        if len(kinds) > 1 or not kinds <= self.plain:
            values = [None if value is None else self._plain_parameter(value) for value in values]
            kinds = set(map(type, values)) - {type(None)}
        if _Special in kinds or len(kinds) > 1 and not kinds <= {int, bool, str}:
            return None
        if decimal.Decimal in kinds and not all(each is None or each.is_finite() for each in values):
            return None
        if len(kinds) > 1 or not kinds <= PLAIN:
            return Part("object", len(values), list(values))
        made = list_part(values)
        has_zone = datetime.time in kinds and any(each is not None and each.tzinfo is not None for each in values)
        return made if made.type != "object" or not kinds or has_zone else None

    def _plain_parameter(self, value: Any) -> Any:
        """Returns the parameter that the setter for the value gets, if the setter follows from the parameter's type."""
        name, arguments = self.setter(value)
        if name == "setNull":
            return None
        if name == "setBigDecimal":
            return decimal.Decimal(arguments[0].value)
        return _Special() if len(arguments) > 1 else arguments[0]

    def _moment(self, value: datetime.datetime) -> Setter:
        return _object(value if value.tzinfo is None else Typed("java.time.OffsetDateTime", text_as("java.time.OffsetDateTime", value)))

    def _day(self, value: datetime.date) -> Setter:
        return _object(value)

    def _clock(self, value: datetime.time) -> Setter:
        return _object(value)

    def _duration(self, value: datetime.timedelta) -> Setter:
        return _object(value)

    def _uuid(self, value: uuid.UUID) -> Setter:
        return _object(value)

    def _list(self, value: Sequence[Any]) -> Setter:
        return _object(Typed("java.lang.Object[]", [self._element(each) for each in value]))

    def _element(self, value: Any) -> Any:
        if is_missing(value):
            return None
        if isinstance(value, (list, tuple)):
            return Typed("java.lang.Object[]", [self._element(each) for each in value])
        _, (made, *_) = self.setter(value)
        return made

    def _other(self, value: Any) -> Setter:
        if is_missing(value):
            return _null(value)
        if isinstance(value, (Object, Typed)):
            return _object(value)
        if hasattr(value, "dtype") and hasattr(value, "ndim"):
            plain = _nanoseconds(value) if value.ndim == 0 and value.dtype.str[1:] == "M8[ns]" else _numpy_value(value)
            return self.setter(plain.tolist() if hasattr(plain, "tolist") else plain)
        try:
            return _bytes(memoryview(value))
        except TypeError:
            pass
        if hasattr(value, "read"):
            return self.setter(value.read())
        kind = type(value)
        raise ProgrammingError(f"{kind.__module__}.{kind.__qualname__} has no form in SQL")

    _setters: dict[type, Callable[["Product", Any], Setter]] = {
        bool: lambda self, value: ("setBoolean", (value,)),
        int: lambda self, value: _integer(value),
        float: lambda self, value: _float(value),
        decimal.Decimal: lambda self, value: _decimal(value),
        str: lambda self, value: _text(value),
        bytes: lambda self, value: _bytes(value),
        bytearray: lambda self, value: _bytes(value),
        type(None): lambda self, value: _null(value),
        datetime.datetime: lambda self, value: _null(value) if is_missing(value) else self._moment(value),
        datetime.date: lambda self, value: self._day(value),
        datetime.time: lambda self, value: self._clock(value),
        datetime.timedelta: lambda self, value: _null(value) if is_missing(value) else self._duration(value),
        uuid.UUID: lambda self, value: self._uuid(value),
        list: lambda self, value: self._list(value),
        tuple: lambda self, value: self._list(value),
    }


class SQLite(Product):
    """SQLite has neither times nor decimals. They are texts, times as Python's sqlite3 writes them."""

    keys_change = True
    plain = PLAIN - {datetime.date, datetime.datetime, datetime.time}
    lacks = ("date", "time", "timestamp", "instant")
    checks_count = True

    def counts(self, word: str) -> bool:
        return word in ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")  # others have the count of the last change

    def setter(self, value: Any) -> Setter:
        made = super().setter(value)
        if made[0] == "setBigDecimal" and not isinstance(value, decimal.Decimal):
            raise DataError("SQLite has no integers of more than 64 bits")
        return made

    def _moment(self, value: datetime.datetime) -> Setter:
        return _text(_iso_text(value).replace("T", " "))

    def _day(self, value: datetime.date) -> Setter:
        return _text(value.isoformat())

    def _clock(self, value: datetime.time) -> Setter:
        return _text(_iso_text(value))

    def _uuid(self, value: uuid.UUID) -> Setter:
        return _text(str(value))

    def _duration(self, value: datetime.timedelta) -> Setter:
        raise ProgrammingError("datetime.timedelta has no form in SQLite")

    def _list(self, value: Sequence[Any]) -> Setter:
        raise ProgrammingError(f"{type(value).__name__} has no form in SQLite")


class H2(Product):
    """H2's driver gives JSON as its bytes."""

    def column_values(self, type_name: str, values: list[Any]) -> list[Any]:
        return _decoded(values) if type_name == "JSON" or type_name.startswith("JSON ARRAY") else values


def _decoded(values: list[Any]) -> list[Any]:
    return [_decoded(each) if isinstance(each, list) else each.decode() if isinstance(each, bytes) else each for each in values]


class PostgreSQL(Product):
    """PostgreSQL's driver has no interval for a Duration, and needs the type of an array's elements."""

    # Statements that the server has prepared fail if a table has other columns now; the driver then prepares them again.
    after_changes = "DEALLOCATE ALL"
    gives_keys = False  # RETURNING * needs the right to read the table, and reads all columns

    def column_values(self, type_name: str, values: list[Any]) -> list[Any]:
        # The server has no nanoseconds; the driver gives 24:00 as a nanosecond less.
        if type_name in TIMES_OF_DAY and any(nanoseconds_of(each) == 999 for each in _flat(values)):
            raise ValueError("24:00 is no time of a day")
        return values

    def _duration(self, value: datetime.timedelta) -> Setter:
        fraction = value.microseconds * 1000 + nanoseconds_of(value)  # the server rounds
        return "setObject", (f"{value.days} days {value.seconds}.{fraction:09} seconds", int(Types.OTHER))

    def _list(self, value: Sequence[Any]) -> Setter:
        kind = _element_type(value)
        if kind is None:  # all are null, or there are none
            return "setObject", (_null_array(value), int(Types.OTHER))
        elements = [self._element(each) for each in value]
        of_bytes = kind == "bytea" and not any(isinstance(each, (list, tuple)) for each in value)
        array = (kind, Typed("byte[][]" if of_bytes else "java.lang.Object[]", elements))
        self.settle()
        return "setArray", (self._connection.call(CONNECTION, "createArrayOf", self._jdbc, array),)


class MariaDB(Product):
    """MariaDB and MySQL. MariaDB's driver is wrong about a negative Duration with a fraction."""

    def _duration(self, value: datetime.timedelta) -> Setter:
        seconds, microsecond = divmod(abs(value) // datetime.timedelta(microseconds=1), 10**6)
        sign = "-" if value < datetime.timedelta(0) else ""
        return _text(f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{microsecond:06}")


ELEMENT_TYPES: list[tuple[type, str]] = [
    (bool, "bool"), (int, "int8"), (float, "float8"), (decimal.Decimal, "numeric"), (str, "text"), (bytes, "bytea"),
    (bytearray, "bytea"), (datetime.datetime, "timestamp"), (datetime.date, "date"), (datetime.time, "time"), (uuid.UUID, "uuid"),
]  # fmt: skip


def _nanoseconds(value: Any) -> datetime.datetime:
    """Returns the DateTime for a datetime64 in nanoseconds."""
    microseconds, nanosecond = divmod(int(value.astype("int64")), 1000)
    plain = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=microseconds)
    return DateTime(*plain.timetuple()[:6], plain.microsecond, nanosecond=nanosecond)


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from _flat(each)
        elif not is_missing(each):
            yield _numpy_value(each) if hasattr(each, "dtype") else each


def _element_type(values: Sequence[Any]) -> str | None:
    """Returns PostgreSQL's type of the elements; None: there is no element that is not null."""
    found = set()
    for each in _flat(values):
        name = next((name for kind, name in ELEMENT_TYPES if isinstance(each, kind)), None)
        if name is None:
            raise ProgrammingError(f"{type(each).__name__} in a list has no form in SQL")
        has_zone = isinstance(each, (datetime.datetime, datetime.time)) and each.tzinfo is not None
        is_huge = name == "int8" and not -LONG_MAX <= each < LONG_MAX
        found.add("numeric" if is_huge else f"{name}tz" if has_zone else name)
    for wider in ("float8", "numeric"):
        if wider in found and found <= {"int8", "numeric", wider}:
            return "numeric" if "numeric" in found and wider != "float8" else wider
    if len(found) > 1:
        raise ProgrammingError(f"a list has elements of the types {', '.join(sorted(found))}")
    return found.pop() if found else None


def _null_array(values: Sequence[Any]) -> str:
    return "{" + ",".join(_null_array(each) if isinstance(each, (list, tuple)) else "NULL" for each in values) + "}"


PRODUCTS: dict[str, type[Product]] = {"H2": H2, "MariaDB": MariaDB, "MySQL": MariaDB, "PostgreSQL": PostgreSQL, "SQLite": SQLite}


# ---- values of columns ----


class Column:
    """What the metadata of a ResultSet says about a column."""

    __slots__ = ("label", "type", "type_name", "product", "converter")

    def __init__(self, label: str, type: int, type_name: str, product: Product, converter: Callable[[Any], Any] | None) -> None:
        self.label, self.type, self.type_name, self.product, self.converter = label, type, type_name, product, converter

    def values(self, chunk: Chunk, connection: Connection) -> list[Any]:
        """Returns the Python values of the rows."""
        try:
            values = chunk.values()
        except (ValueError, OverflowError) as error:
            raise DataError(f"column {self.label!r}: Python's datetime has no such year ({error})") from None
        if chunk.type == "object":
            values = self._of_objects(values, connection)
        elif chunk.type == "decimal" and self.type == Types.BIGINT:  # without a sign
            values = [None if each is None else int(each) for each in values]
        try:
            values = self.product.column_values(self.type_name or "", values)
        except ValueError as error:
            raise DataError(f"column {self.label!r}: {error}") from None
        if self.converter is None:
            return values
        return [None if each is None else self.converter(each) for each in values]

    def _of_objects(self, values: list[Any], connection: Connection) -> list[Any]:
        if self.type in (Types.DECIMAL, Types.NUMERIC):
            return [each if each is None else decimal.Decimal(each) for each in values]
        if self.type == Types.ARRAY:
            return arrays(values, connection, ELEMENTS.get(self.type_name))
        return [plain(each) for each in values]


def plain(value: Any) -> Any:
    """Returns the Python value of an object in a column, or the object itself if Python has none."""
    if isinstance(value, UUID):
        return uuid.UUID(int=value.int)  # without the methods of Java
    if isinstance(value, BigDecimal):
        return decimal.Decimal(value)
    if isinstance(value, Duration) and not value.nanoseconds:
        return datetime.timedelta(value.days, value.seconds, value.microseconds)
    if not isinstance(value, Object):
        return value
    name = value._java_type
    if isinstance(value, Array):
        return bytes(value) if name == "[B" else to_python(value)
    if name == "org.postgresql.util.PGInterval":
        return _interval(value, ("Years", "Months", "Days", "Hours", "Minutes", "WholeSeconds"), "MicroSeconds", 1)
    if name == "org.h2.api.Interval":
        return _interval(value, ("Years", "Months", "Days", "Hours", "Minutes", "Seconds"), "NanosOfSecond", 1000)
    if name.startswith(("org.postgresql.util.PG", "org.postgresql.geometric.PG")):
        return value._connection.call("org.postgresql.util.PGobject", "getValue", value)
    if name in ("java.util.HashMap", "java.util.LinkedHashMap"):  # hstore
        return to_python(value)
    return value


def _interval(value: Object, names: Sequence[str], fraction: str, unit: int) -> Any:
    """Returns a timedelta; the object itself if the interval has months or years, or a part of a microsecond, or is too long."""
    steps = [("call", value._java_type, f"get{name}", value, ()) for name in (*names, fraction)]
    years, months, days, hours, minutes, seconds, part = value._connection.batch(steps)
    microseconds, rest = divmod(abs(part), unit)
    if years or months or rest:
        return value
    microseconds = -microseconds if part < 0 else microseconds
    try:
        return datetime.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)
    except OverflowError:
        return value


def arrays(values: list[Any], connection: Connection, convert: Callable[[Any], Any] | None = None) -> list[Any]:
    """Returns the elements of each java.sql.Array. They are read as a ResultSet, and so have the types of columns."""
    found = [each for each in values if isinstance(each, Object)]
    results = iter(connection.batch([("call", ARRAY, "getResultSet", each, ()) for each in found]) if found else [])
    return [_elements(next(results), connection, convert) if isinstance(each, Object) else each for each in values]


def _elements(results: Any, connection: Connection, convert: Callable[[Any], Any] | None) -> list[Any]:
    made: list[Any] = []
    done = False
    while not done:
        count, done, _, page = connection.columns(results, ARRAY_PAGE, 0, None)
        chunk = Chunk(connection.read_columns(page)[1], count)
        values = chunk.values()
        if any(isinstance(each, Object) and _is_array(each) for each in values):
            values = arrays(values, connection, convert)
        else:
            values = [plain(each) for each in values] if chunk.type == "object" else values
            values = [each if each is None else convert(each) for each in values] if convert else values
        made += values
    connection.call(RESULT_SET, "close", results)
    return made


def _is_array(value: Object) -> bool:
    return value._java_type in ("org.postgresql.jdbc.PgArray", "org.h2.jdbc.JdbcArray")


# ---- streams ----


class BlobReader(io.RawIOBase):
    """Reads a java.sql.Blob, as long as its row is the current one of the cursor."""

    def __init__(self, blob: Object) -> None:
        self._blob, self._position = blob, 0
        self._length = blob._connection.call("java.sql.Blob", "length", blob)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), PIECE, self._length - self._position)
        if size <= 0:
            return 0
        part = bytes(self._blob._connection.call("java.sql.Blob", "getBytes", self._blob, (self._position + 1, size)))
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)


class ClobReader(io.TextIOBase):
    """Reads a java.sql.Clob, as long as its row is the current one of the cursor."""

    def __init__(self, clob: Object) -> None:
        self._clob, self._position = clob, 0
        self._length = clob._connection.call("java.sql.Clob", "length", clob)

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        """Reads `size` UTF-16 units, or one more that completes a character; all if the size is negative."""
        left = self._length - self._position
        wanted = left if size is None or size < 0 else min(size, left)
        parts = []
        while wanted > 0:
            part = self._units(min(wanted, PIECE))
            if "\ud800" <= part[-1] <= "\udbff" and self._position < self._length:
                part = (part[:-1] + _joined(part[-1], self._units(1)))
            parts.append(part)
            wanted -= PIECE
        return "".join(parts)

    def _units(self, count: int) -> str:
        text: str = self._clob._connection.call("java.sql.Clob", "getSubString", self._clob, (self._position + 1, count))
        if not text:
            raise InterfaceError("the CLOB is shorter than its length")
        self._position += count
        return text


def _joined(high: str, low: str) -> str:
    return (high + low).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
