"""Conversion of values that exist in both languages: java.time and datetime, UUID, BigDecimal and Decimal.

A Java value is converted only if nothing is lost: a date of the year 12000 remains a Java object.
"""

import datetime
import decimal
import enum
import numbers
import operator
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, MappingView, Set
from types import FunctionType
from typing import TYPE_CHECKING, Any

from . import _value_classes
from ._native import Connection, Forms, Object, ProtocolError, Result, Typed
from .classes import DeniedMethod, JavaClass
from .collections import ItemsView, widened
from .names import source_name
from .exceptions import JavaException, handle_of
from .objects import OPTIONALS, read_decimal, read_integer
from .times import BigDecimal, Date, DateTime, Duration, JavaValue, Time, UUID

if TYPE_CHECKING:
    from .connection import Java

MAP_CLASS = "java.util.LinkedHashMap"
BATCH_STEPS = 500
STRING_PAGE = 1 << 20
STRING_MAX = 1 << 31  # Java's Strings are shorter

# ---- from Java ----

_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_TIME = r"(?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<fraction>\d+))?"
_ZONE = r"(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)"
_LOCAL_TIME = re.compile(f"{_TIME}$")
_OFFSET_TIME = re.compile(f"{_TIME}{_ZONE}$")
_LOCAL_DATE_TIME = re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)T{_TIME}$")
_OFFSET_DATE_TIME = re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)T{_TIME}{_ZONE}$")
_ZONED_DATE_TIME = re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)T{_TIME}{_ZONE}\[(?P<zone>[^\]]+)\]$")
_DURATION = re.compile(r"PT(?:(?P<hours>-?\d+)H)?(?:(?P<minutes>-?\d+)M)?(?:(?P<seconds>-?\d+(?:\.\d+)?)S)?$")

# timezone.utc is not used, because Java would make an Instant of it
_OFFSET_ZERO = datetime.timezone(datetime.timedelta(0), "Z")


def _date(text: str) -> Any:
    return Date.fromisoformat(text) if _DATE.match(text) else NotImplemented


def _moment(pattern: re.Pattern[str], text: str) -> tuple[re.Match[str], str, int] | None:
    """Returns the match, the date and time as datetime parses them, and the remaining nanoseconds. Returns
    None if datetime does not support the year."""
    match = pattern.match(text)
    if match is None:
        return None
    fraction = (match["fraction"] or "").ljust(9, "0")
    day = match.groupdict().get("date")
    if day is not None and day < "0001":
        return None
    whole = match["time"] if len(match["time"]) == 8 else match["time"] + ":00"
    return match, f"{day}T{whole}.{fraction[:6]}" if day else f"{whole}.{fraction[:6]}", int(fraction[6:])


def _local_time(text: str) -> Any:
    found = _moment(_LOCAL_TIME, text)
    return NotImplemented if found is None else _with_nanoseconds(Time.fromisoformat(found[1]), found[2])


def _offset_time(text: str) -> Any:
    found = _moment(_OFFSET_TIME, text)
    if found is None:
        return NotImplemented
    made = datetime.time.fromisoformat(found[1])
    zone = _offset(found[0]["offset"])
    return _with_nanoseconds(Time(made.hour, made.minute, made.second, made.microsecond, zone), found[2])


def _local_date_time(text: str) -> Any:
    found = _moment(_LOCAL_DATE_TIME, text)
    return NotImplemented if found is None else _date_time(found, None)


def _offset_date_time(text: str) -> Any:
    found = _moment(_OFFSET_DATE_TIME, text)
    return NotImplemented if found is None else _date_time(found, _offset(found[0]["offset"]))


def _instant(text: str) -> Any:
    found = _moment(_OFFSET_DATE_TIME, text)
    return NotImplemented if found is None else _date_time(found, datetime.timezone.utc)


def _zoned_date_time(text: str) -> Any:
    found = _moment(_ZONED_DATE_TIME, text)
    if found is None:
        return NotImplemented
    offset = _offset(found[0]["offset"]).utcoffset(None)
    try:
        zone = zoneinfo.ZoneInfo(found[0]["zone"])
        for fold in (0, 1):
            moment = _date_time(found, zone, fold)
            if moment.utcoffset() == offset:
                return moment
    except (zoneinfo.ZoneInfoNotFoundError, OSError):  # an OSError if the name is a folder
        pass
    return NotImplemented


def _date_time(found: tuple[re.Match[str], str, int], zone: datetime.tzinfo | None, fold: int = 0) -> DateTime:
    plain = datetime.datetime.fromisoformat(found[1])
    day = (plain.year, plain.month, plain.day, plain.hour, plain.minute, plain.second, plain.microsecond)
    made: DateTime = _with_nanoseconds(DateTime(*day, zone, fold=fold), found[2])
    return made


def _with_nanoseconds(made: Any, nanoseconds: int) -> Any:
    if nanoseconds:
        made._nanoseconds = nanoseconds
    return made


def _offset(text: str) -> datetime.timezone:
    if text == "Z":
        return _OFFSET_ZERO
    hours, minutes, *seconds = map(int, text[1:].split(":"))
    length = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
    return datetime.timezone(-length if text[0] == "-" else length)


def _duration(text: str) -> Any:
    match = _DURATION.match(text)
    if match is None:
        return NotImplemented
    seconds = int(decimal.Decimal(match["seconds"] or 0).scaleb(9))
    whole = int(match["hours"] or 0) * 3600 + int(match["minutes"] or 0) * 60
    return Duration._of(whole * 1_000_000_000 + seconds, None)


def _lossless(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def read_text(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError, ArithmeticError):  # year 0, a duration of 10**9 days, 1E+999999999999999999
            return NotImplemented

    return read_text


# The converters that native/op/value_classes.json names, like those of WRITERS and OBJECT_READERS below.
READERS: dict[str, Callable[[str], Any]] = {
    "date": _date,
    "decimal": lambda text: BigDecimal(read_decimal(text)),
    "duration": _duration,
    "instant": _instant,
    "integer": read_integer,
    "local-date-time": _local_date_time,
    "local-time": _local_time,
    "offset-date-time": _offset_date_time,
    "offset-time": _offset_time,
    "uuid": UUID,
    "zoned-date-time": _zoned_date_time,
}
FROM_TEXT = {name: _lossless(READERS[reader]) for name, reader in _value_classes.READERS.items()}


def from_text(java: Any) -> dict[str, Callable[[str], Any]]:
    """Returns the entries of Hooks.from_text: a converter for each Java class. The values have Java's methods, which
    run over `java`, a Java or an AsyncJava."""
    return {name: _of_java(java, read) for name, read in FROM_TEXT.items()}


def _of_java(java: Any, read: Callable[[str], Any]) -> Callable[[str], Any]:
    def read_text(text: str) -> Any:
        made = read(text)
        if isinstance(made, JavaValue):
            object.__setattr__(made, "_java", java)  # UUID refuses ordinary assignment
        return made

    return read_text


class StringReader:
    """Reads, in pieces, a String that was too long for an answer and was sent as a reference."""

    @staticmethod
    def _from_object(handle: Object) -> str:
        connection, units, pieces = handle._connection, 0, []
        done = False
        while not done:
            elements, done, _ = connection.fetch(handle, STRING_PAGE, units)
            if not done and (not elements or not elements[0] or units > STRING_MAX):
                raise ProtocolError("the peer's answer is malformed: a String has no end")
            for piece in elements:
                pieces.append(piece)
                units += len(piece) + sum(1 for each in piece if ord(each) > 0xFFFF)
        return "".join(pieces)


OBJECT_READERS: dict[str, Any] = {"string": StringReader}


def readers(java: "Java") -> dict[str, Any]:
    """Returns the first entries of Hooks.classes: the classes whose objects become Python values."""
    return {name: OBJECT_READERS[reader] for name, reader in _value_classes.OBJECT_READERS.items()}


# ---- to Java ----


def text_of(value: Any) -> tuple[str, str] | None:
    """Returns the Java class and the text of a Python value that is sent as text, and None for other values."""
    for kind in type(value).__mro__:
        if kind in _CLASSES:
            return _text_of_kind(kind, value)
    return None


def text_as(java_type: str, value: Any) -> str | None:
    """Returns the text of a value that is cast to that type. Returns None if the value is not sent as text."""
    if java_type in MOMENTS and isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return _write(java_type, value)
    found = text_of(value)
    return None if found is None else found[1]


def _text_of_kind(kind: type, value: Any) -> tuple[str, str]:
    names = _CLASSES[kind]
    name = CHOOSERS[kind](value) if kind in CHOOSERS else names[0]
    return name, _write(name, value)


def _write(name: str, value: Any) -> str:
    return WRITERS[_value_classes.WRITERS[name][1]](value)


# The Java class of a value whose Python type has several Java classes.


def _time_class(value: datetime.time) -> str:
    if value.tzinfo is None:
        return "java.time.LocalTime"
    if value.utcoffset() is None:
        raise ValueError(f"{value!r} has a time zone without a fixed offset, which java.time.OffsetTime needs")
    return "java.time.OffsetTime"


def _datetime_class(value: datetime.datetime) -> str:
    zone = value.tzinfo
    if zone is None:
        return "java.time.LocalDateTime"
    if zone is datetime.timezone.utc:
        return "java.time.Instant"
    if isinstance(zone, zoneinfo.ZoneInfo) and zone.key is not None:
        return "java.time.ZonedDateTime"
    return "java.time.OffsetDateTime"


DateTime._class_of = staticmethod(_datetime_class)
CHOOSERS: dict[type, Callable[[Any], str]] = {datetime.datetime: _datetime_class, datetime.time: _time_class}

MOMENTS = ("java.time.OffsetDateTime", "java.time.ZonedDateTime", "java.time.Instant")
"""The Java classes of a datetime with a zone. The class that _datetime_class returns is tried first, then the
others in this order, until the peer accepts the value."""

# Texts of values.


def _decimal_text(value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is not a number of java.math.BigDecimal")
    return str(value)


def _iso_text(value: datetime.date | datetime.time) -> str:
    if isinstance(value, (DateTime, Time)) and value.nanosecond:
        text = value.isoformat(timespec="microseconds")
        end = text.index(".") + 7
        return f"{text[:end]}{value.nanosecond:03}{text[end:]}"
    return value.isoformat()


def _instant_text(value: datetime.datetime) -> str:
    return _iso_text(value.astimezone(datetime.timezone.utc).replace(tzinfo=None)) + "Z"


def _zoned_text(value: datetime.datetime) -> str:
    key = getattr(value.tzinfo, "key", None)
    return _iso_text(value) if key is None else f"{_iso_text(value)}[{key}]"


def _timedelta_text(value: datetime.timedelta) -> str:
    total = (value.days * 86400 + value.seconds) * 1_000_000_000 + value.microseconds * 1000
    total += getattr(value, "nanoseconds", 0)  # Duration and pandas.Timedelta have them
    seconds, fraction = divmod(abs(total), 1_000_000_000)
    return f"PT{'-' if total < 0 else ''}{seconds}.{fraction:09}S"


def _offset_text(value: datetime.timezone) -> str:
    return datetime.time(tzinfo=value).isoformat()[8:]


WRITERS: dict[str, Callable[[Any], str]] = {
    "decimal": _decimal_text,
    "duration": _timedelta_text,
    "instant": _instant_text,
    "iso": _iso_text,
    "offset": _offset_text,
    "str": str,
    "zone": operator.attrgetter("key"),
    "zoned": _zoned_text,
}

_CLASSES: dict[type, list[str]] = {}  # Python type -> the Java classes of its values
for _name, (_kind, _) in _value_classes.WRITERS.items():
    _CLASSES.setdefault(_kind, []).append(_name)


def _datetime(value: datetime.datetime) -> Any:
    _refuse_missing(value)
    name, text = _text_of_kind(datetime.datetime, value)
    if value.tzinfo is None:
        return Typed(name, text)

    def moment(other: str) -> Callable[[], Typed]:
        return lambda: Typed(other, _write(other, value))

    return Forms(Typed(name, text), *(moment(other) for other in MOMENTS if other != name))


class Cast:
    """A value that is sent as an object of the class java_type, which Java makes: an Optional, or the object that a
    Python value becomes."""

    def __init__(self, java_type: str, value: Any) -> None:
        self.java_type, self.value = java_type, value

    def __repr__(self) -> str:
        return f"<{self.value!r} as {self.java_type}>"

    def make(self, connection: Connection) -> Any:
        if isinstance(self.value, Object) and self.value._java_type == self.java_type and self.java_type in OPTIONALS:
            return self.value
        if self.java_type == "java.util.Optional":
            return Typed(self.java_type, [] if self.value is None else [self.value])
        if self.java_type in OPTIONALS:
            return _optional(connection, self.java_type, self.value)
        made = connection.call("java.util.Objects", "requireNonNull", None, (self.value,))
        if is_callback(made) or is_comparable(made):
            made = connection.handle(made)
        return Typed(self.java_type, made)


def _optional(connection: Connection, name: str, value: Any) -> Any:
    return connection.call(name, "empty") if value is None else connection.call(name, "of", None, (value,))


def writers() -> dict[type, Callable[[Any], Any]]:
    """Returns the entries of Hooks.to_java: a converter for each Python type."""
    made: dict[type, Callable[[Any], Any]] = {kind: _typed_by(kind) for kind in _CLASSES}
    made[datetime.datetime] = _datetime
    made[JavaException] = _throwable
    made[enum.Enum] = _enum
    return made


def _typed_by(kind: type) -> Callable[[Any], Typed]:
    def typed(value: Any) -> Typed:
        _refuse_missing(value)
        return Typed(*_text_of_kind(kind, value))

    return typed


def _refuse_missing(value: Any) -> None:
    """Raises a TypeError for pandas.NaT, an instance of datetime without a value. NaT does not equal itself."""
    if value != value and not isinstance(value, decimal.Decimal):
        raise TypeError(f"{value!r} has no form in Java: None is null")


def _enum(member: enum.Enum) -> Any:
    """Returns the name of an enum member, as Java's enums are sent, or the value of a member of an IntEnum or
    StrEnum."""
    return (
        member.value
        if isinstance(member.value, (int, str, float)) and isinstance(member, type(member.value))
        else member.name
    )


def _throwable(error: JavaException) -> Object:
    handle = handle_of(error)
    if handle is None:
        raise TypeError(f"this {error.java_class} is a copy: the peer has not kept the Java object")
    assert isinstance(handle, Object)
    return handle


def is_comparable(value: Any) -> bool:
    """Returns whether the value's class defines an order. Containers and numbers do not count."""
    kind = type(value)
    has_order = isinstance(getattr(kind, "__lt__", None), FunctionType)
    return has_order and not hasattr(kind, "__iter__") and not isinstance(value, numbers.Number)


def is_callback(value: Any) -> bool:
    """Returns whether the value becomes a callback, an object whose methods Java calls."""
    if isinstance(value, Object):
        return False
    return (callable(value) and not isinstance(value, Mapping)) or bool(marked_interfaces(value))


def marked_interfaces(value: Any) -> tuple[str, ...]:
    """Returns the interfaces that @implements has set. An attribute of that name may also come from the program."""
    return names_of(getattr(value, "__java_interfaces__", ()))


def names_of(mark: Any) -> tuple[str, ...]:
    return mark if isinstance(mark, tuple) and all(isinstance(each, str) for each in mark) else ()


class OtherValues:
    """Converts values whose types are not in the tables (Hooks.other_to_java)."""

    def __init__(self, java: "Java") -> None:
        self._java = java

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, DeniedMethod):
            value.refuse()
        if isinstance(value, JavaClass):
            return Typed("java.lang.Class", source_name(value._java_name))
        if is_callback(value):
            return self._callback(value)
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, Cast):
            return value.make(self._java._connection)
        if isinstance(value, pathlib.PurePath):
            return self._path(str(value))
        if hasattr(value, "dtype") and hasattr(value, "ndim"):
            return _numpy_value(value)
        if hasattr(kind, "__index__"):
            return operator.index(value)
        if isinstance(value, Set) and not isinstance(value, (MappingView, ItemsView)):  # views have an order
            return set(value)
        if isinstance(value, Iterable):
            return list(value)
        if is_comparable(value):
            return self._java._callbacks.of(value)
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} has no form in Java; jpeer.implements gives a class Java's interfaces")

    def _callback(self, value: Any) -> Any:
        """Makes a callback. If the object has an order, and Java's parameter accepts none of its interfaces, the object
        is sent as a Comparable."""
        callbacks = self._java._callbacks
        made = callbacks.of(value)
        if made.interfaces or not is_comparable(value):
            return made
        return Forms(made, lambda: callbacks.of(value, as_comparable=True))

    def _path(self, text: str) -> Forms:
        connection = self._java._connection
        return Forms(
            lambda: connection.call("java.nio.file.Path", "of", None, (text,)),
            lambda: connection.new("java.io.File", (text,)),
        )

    def _map(self, value: Mapping[Any, Any]) -> Any:
        if all(type(key) is str for key in value):
            return dict(value)
        connection = self._java._connection
        pairs = list(zip(widened(value.keys()), widened(value.values())))
        made: Any = Result(0)
        for begin in range(0, len(pairs), BATCH_STEPS) or [0]:
            steps: list[tuple[Any, ...]] = [("new", MAP_CLASS, ())] if isinstance(made, Result) else []
            steps += [("call", MAP_CLASS, "put", made, pair) for pair in pairs[begin : begin + BATCH_STEPS]]
            results = connection.batch(steps)
            made = results[0] if isinstance(made, Result) else made
        return made


def _numpy_value(value: Any) -> Any:
    if hasattr(value, "mask"):
        return value.tolist() if value.mask.any() else value.data  # masked elements become None
    if value.dtype.kind in "Mm":
        value = _numpy_moment(value)
    if value.ndim == 1:
        return value.tolist()  # Java lacks the format (unsigned numbers, for example)
    if value.ndim > 0:
        return list(value)
    made = value.item()
    if type(made) is type(value) and value.dtype.kind == "f":  # longdouble, which Python lacks
        return float(value)
    if made is not None and hasattr(made, "dtype"):
        raise TypeError(f"numpy.{value.dtype} has no form in Java")
    return made


def _numpy_moment(value: Any) -> Any:
    """Converts a datetime64 or timedelta64 to the unit that datetime supports."""
    exact = value.astype(f"{value.dtype.kind}8[us]")
    missing = value != value  # NaT becomes None
    if not ((exact == value) | missing).all():
        raise TypeError(f"numpy.{value.dtype} has more digits than datetime, and no form in Java")
    is_fine = value.dtype.kind == "m" or value.dtype.str[-4:] in ("[ns]", "[ps]", "[fs]", "[as]")
    return exact if is_fine else value  # days become dates
