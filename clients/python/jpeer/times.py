"""The Python values of java.time: subclasses of the datetime types that keep nanoseconds and have Java's methods.
BigDecimal and UUID have the methods of their Java classes, too.

A value without nanoseconds equals the corresponding datetime value and has the same hash; a value with nanoseconds does
not. Arithmetic returns these types. A value from Java, and a value computed from it, keeps the `Java` that runs its
methods; a pickled copy does not.
"""

import datetime
import decimal
import functools
import uuid
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self, SupportsIndex


class JavaValue:
    """The base of values that have Java's methods. `_java_name` is the Java class of the value."""

    __slots__ = ()
    _java: Any  # a Java, or an AsyncJava, whose methods are awaited; None for a value made in Python

    def _java_name(self) -> str:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        if name.startswith("_"):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        if self._java is None:
            raise AttributeError(
                f"{kind.__name__!r} object has no attribute {name!r}, and is not from Java, so has no Java methods",
                name=name, obj=self,
            )  # fmt: skip
        found: Any = self._java
        for part in self._java_name().split("."):
            found = getattr(found, part)
        member = getattr(found, name)
        return functools.partial(member, self) if callable(member) else member

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def _unpickled(kind: Any, arguments: tuple[Any, ...], nanoseconds: int) -> Any:
    made = kind(*arguments)
    made._nanoseconds = nanoseconds
    return made


class Date(JavaValue, datetime.date):
    """A java.time.LocalDate."""

    _java = None

    def _java_name(self) -> str:
        return "java.time.LocalDate"

    def __add__(self, other: datetime.timedelta) -> Self:
        made: Self = self._like(super().__add__(other))
        return made

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._like(super().__sub__(other))

    def replace(self, *args: SupportsIndex, **fields: SupportsIndex) -> Self:
        made: Self = self._like(super().replace(*args, **fields))
        return made

    def _like(self, made: Any) -> Any:
        if isinstance(made, Date):
            made._java = self._java
        return made

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return super().__reduce_ex__(protocol)[:2]


class _Nanoseconds(JavaValue):
    """Equality, order and hash of a type with `_nanoseconds`, 0 to 999, in addition to microseconds."""

    __slots__ = ()
    _nanoseconds: int

    def __eq__(self, other: object) -> Any:
        equal = super().__eq__(other)
        return self._nanoseconds == nanoseconds_of(other) if equal is True else equal

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        plain = super().__hash__()
        return hash((plain, self._nanoseconds)) if self._nanoseconds else plain

    def _order(self, other: Any, name: str) -> Any:
        plain = getattr(super(), name)(other)
        if plain is NotImplemented or not super().__eq__(other):
            return plain
        return getattr(self._nanoseconds, name)(nanoseconds_of(other))

    def __lt__(self, other: Any) -> Any:
        return self._order(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._order(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._order(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._order(other, "__ge__")

    def __repr__(self) -> str:
        plain: str = super().__repr__()
        name = "nanoseconds" if isinstance(self, Duration) else "nanosecond"
        return f"{plain[:-1]}, {name}={self._nanoseconds})" if self._nanoseconds else plain

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        made: Any = super().__reduce_ex__(protocol)
        return _unpickled, (made[0], made[1], self._nanoseconds)


def nanoseconds_of(value: Any) -> int:
    """Returns the nanoseconds of a value of this module or of pandas, and 0 for a value of datetime."""
    name = "nanoseconds" if isinstance(value, datetime.timedelta) else "nanosecond"
    return int(getattr(value, name, 0)) if type(value).__module__ != "datetime" else 0


def _checked(nanoseconds: Any) -> int:
    if not 0 <= nanoseconds <= 999:
        raise ValueError(f"nanosecond must be in 0..999, not {nanoseconds!r}")
    return int(nanoseconds)


class Time(_Nanoseconds, datetime.time):
    """A java.time.LocalTime, or an OffsetTime if it has a zone. `nanosecond` (0 to 999) adds to the microsecond."""

    _java = None
    _nanoseconds = 0

    def __new__(cls, *args: Any, nanosecond: int = 0, **fields: Any) -> Self:
        made = super().__new__(cls, *args, **fields)
        if nanosecond:
            made._nanoseconds = _checked(nanosecond)
        return made

    @property
    def nanosecond(self) -> int:
        return self._nanoseconds

    def _java_name(self) -> str:
        return "java.time.LocalTime" if self.tzinfo is None else "java.time.OffsetTime"

    def replace(self, *args: Any, nanosecond: int | None = None, **fields: Any) -> Self:
        """Returns a copy with these fields. A new microsecond without a nanosecond sets the nanosecond to 0."""
        made = super().replace(*args, **fields)
        kept = 0 if len(args) > 3 or "microsecond" in fields else self._nanoseconds
        made._nanoseconds = kept if nanosecond is None else _checked(nanosecond)
        made._java = self._java
        return made


class DateTime(_Nanoseconds, datetime.datetime):
    """A java.time.LocalDateTime, Instant (with timezone.utc), ZonedDateTime (ZoneInfo) or OffsetDateTime (other zones).
    `nanosecond` (0 to 999) adds to the microsecond."""

    _java = None
    _nanoseconds = 0
    _class_of: Callable[[datetime.datetime], str]  # set by values.py, which distinguishes the Java classes by the zone

    def __new__(cls, *args: Any, nanosecond: int = 0, **fields: Any) -> Self:
        made = super().__new__(cls, *args, **fields)
        if nanosecond:
            made._nanoseconds = _checked(nanosecond)
        return made

    @property
    def nanosecond(self) -> int:
        return self._nanoseconds

    def _java_name(self) -> str:
        return type(self)._class_of(self)

    def _like(self, plain: datetime.datetime, nanoseconds: int) -> Self:
        if type(plain) is not type(self):
            day = (plain.year, plain.month, plain.day, plain.hour, plain.minute, plain.second, plain.microsecond)
            plain = type(self)(*day, plain.tzinfo, fold=plain.fold)
        assert isinstance(plain, DateTime)
        plain._nanoseconds, plain._java = nanoseconds, self._java
        return plain  # type: ignore[return-value]

    def replace(self, *args: Any, nanosecond: int | None = None, **fields: Any) -> Self:
        """Returns a copy with these fields. A new microsecond without a nanosecond sets the nanosecond to 0."""
        kept = 0 if len(args) > 6 or "microsecond" in fields else self._nanoseconds
        return self._like(super().replace(*args, **fields), kept if nanosecond is None else _checked(nanosecond))

    def astimezone(self, tz: datetime.tzinfo | None = None) -> Self:
        made = super().astimezone(tz)
        return self if made is self else self._like(made, self._nanoseconds)

    def time(self) -> Time:
        return self.timetz().replace(tzinfo=None)

    def timetz(self) -> Time:
        parts = (self.hour, self.minute, self.second, self.microsecond, self.tzinfo)
        made = Time(*parts, fold=self.fold, nanosecond=self._nanoseconds)
        made._java = self._java
        return made

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, datetime.timedelta):
            return NotImplemented
        carry, nanoseconds = divmod(self._nanoseconds + nanoseconds_of(other), 1000)
        plain = _plain_timedelta(other) + datetime.timedelta(microseconds=carry)
        return self._like(super().__add__(plain), nanoseconds)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, datetime.timedelta):
            return self + -other
        plain: Any = super().__sub__(other)
        if plain is NotImplemented:
            return plain
        return Duration._of(_total(plain) + self._nanoseconds - nanoseconds_of(other), self._java)

    def __rsub__(self, other: Any) -> Any:
        plain: Any = datetime.datetime.__rsub__(self, other)  # type: ignore[attr-defined]
        if plain is NotImplemented:
            return plain
        return Duration._of(_total(plain) + nanoseconds_of(other) - self._nanoseconds, self._java)


def _plain_timedelta(value: datetime.timedelta) -> datetime.timedelta:
    return datetime.timedelta(value.days, value.seconds, value.microseconds)


def _total(value: datetime.timedelta) -> int:
    """Returns the whole duration in nanoseconds."""
    return ((value.days * 86400 + value.seconds) * 1_000_000 + value.microseconds) * 1000 + nanoseconds_of(value)


class Duration(_Nanoseconds, datetime.timedelta):
    """A java.time.Duration. `nanoseconds` (0 to 999) add to the microseconds."""

    _java = None
    _nanoseconds = 0

    def __new__(cls, *args: Any, nanoseconds: int = 0, **fields: Any) -> Self:
        made = super().__new__(cls, *args, **fields)
        if nanoseconds:
            made._nanoseconds = _checked(nanoseconds)
        return made

    @classmethod
    def _of(cls, total: int, java: Any) -> Self:
        microseconds, nanoseconds = divmod(total, 1000)
        made = cls(microseconds=microseconds)
        made._nanoseconds, made._java = nanoseconds, java
        return made

    @property
    def nanoseconds(self) -> int:
        return self._nanoseconds

    def _java_name(self) -> str:
        return "java.time.Duration"

    def __bool__(self) -> bool:
        return _total(self) != 0

    def __neg__(self) -> Self:
        return self._of(-_total(self), self._java)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._of(abs(_total(self)), self._java)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, datetime.timedelta):
            return NotImplemented
        return self._of(_total(self) + _total(other), self._java)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, datetime.timedelta) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, datetime.timedelta) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return self._of(round(_total(self) * Fraction(other)), self._java)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, datetime.timedelta):
            return _total(self) / _total(other)
        if not isinstance(other, (int, float)):
            return NotImplemented
        return self._of(round(_total(self) / Fraction(other)), self._java)

    def __rtruediv__(self, other: Any) -> Any:
        return _total(other) / _total(self) if isinstance(other, datetime.timedelta) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, datetime.timedelta):
            return _total(self) // _total(other)
        return self._of(_total(self) // other, self._java) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _total(other) // _total(self) if isinstance(other, datetime.timedelta) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        if not isinstance(other, datetime.timedelta):
            return NotImplemented
        return self._of(_total(self) % _total(other), self._java)

    def __rmod__(self, other: Any) -> Any:
        if not isinstance(other, datetime.timedelta):
            return NotImplemented
        return self._of(_total(other) % _total(self), self._java)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other) if isinstance(other, datetime.timedelta) else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self) if isinstance(other, datetime.timedelta) else NotImplemented

    def total_seconds(self) -> float:
        return _total(self) / 1_000_000_000


class BigDecimal(JavaValue, decimal.Decimal):  # type: ignore[misc]
    """A java.math.BigDecimal. Arithmetic in Python returns a plain Decimal."""

    _java = None

    def _java_name(self) -> str:
        return "java.math.BigDecimal"


class UUID(JavaValue, uuid.UUID):
    """A java.util.UUID."""

    _java = None

    def _java_name(self) -> str:
        return "java.util.UUID"
