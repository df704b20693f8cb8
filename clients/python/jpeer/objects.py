"""The base class of all Java objects in Python, and the base classes for some of Java's interfaces."""

import contextlib
import decimal
import math
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from . import _value_classes
from ._native import Object, ProtocolError
from .exceptions import BadArgument, Denied, JavaException, PeerError

OBJECT = "java.lang.Object"
REPR_MAX = 200  # characters of an object's text


class JavaObject(Object):
    """A Java object. `==` is equals, `hash` hashCode, `str` toString, `repr` shows class and text."""

    __slots__ = ()

    _identity = False
    """Whether the class inherits equals and hashCode from java.lang.Object. If it is set, objects are
    compared by their refs, without a request."""
    _owners: ClassVar[dict[str, str]] = {}
    """Method name -> the supertype that a request names in place of the object's class. The keys are all methods of a
    hidden class (such as a lambda's), because no request can name such a class, and the methods that the
    policy allows only through a supertype."""

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Object):
            if self._connection is not other._connection or self._epoch != other._epoch:
                return False
            if self._identity or self._number == other._number:
                return self._number == other._number
        if other is None:
            return False
        try:
            return call(self, "equals", other)
        except (BadArgument, TypeError):  # `other` cannot be converted to Java
            return NotImplemented

    def __hash__(self) -> int:
        if self._identity:
            return hash((self._number, id(self._connection)))
        return hash(call(self, "hashCode"))

    def __str__(self) -> str:
        text = call(self, "toString")
        return "null" if text is None else str(text)

    def __repr__(self) -> str:
        return describe_briefly(self)

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    if not TYPE_CHECKING:  # type checkers should report names that a stub lacks

        def __getattr__(self, name: str) -> Any:
            java = getattr(type(self), "_java", None)
            if java is None:
                raise missing_attribute(type(self), name, self)
            return java._classes.undescribed(type(self), name, self, self)

    def __dir__(self) -> list[str]:
        java = getattr(type(self), "_java", None)
        if java is not None:
            with contextlib.suppress(PeerError, JavaException, OSError, RuntimeError):
                java._classes.complete(type(self), self)
        return sorted(super().__dir__())

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"cannot pickle or copy {self._java_type}: it is in the peer, and lives no longer than the connection"
        )


class Wrapper:
    """The base class of jpeer.aio's classes and objects."""

    _target: Any
    """The class or the object."""
    _operations: Any
    """The connection's call, get and put; their results are awaited."""


class ComparableMixin(JavaObject):
    """java.lang.Comparable."""

    __slots__ = ()

    def __lt__(self, other: object) -> Any:
        return _compare(self, other, lambda order: order < 0)

    def __le__(self, other: object) -> Any:
        return _compare(self, other, lambda order: order <= 0)

    def __gt__(self, other: object) -> Any:
        return _compare(self, other, lambda order: order > 0)

    def __ge__(self, other: object) -> Any:
        return _compare(self, other, lambda order: order >= 0)


class AutoCloseableMixin(JavaObject):
    """java.lang.AutoCloseable: `with` closes the object."""

    __slots__ = ()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        call(self, "close")


LONG_RANGE = 2.0**63
LONGS = {f"java.util.concurrent.atomic.{name}" for name in ("AtomicInteger", "AtomicLong", "LongAdder")}


class NumberMixin(JavaObject):
    """java.lang.Number, for AtomicInteger and others that are not converted to Python numbers."""

    __slots__ = ()

    def __int__(self) -> int:
        if self._java_type in LONGS:
            return int(call(self, "longValue"))
        near = float(self)
        if -LONG_RANGE < near < LONG_RANGE:
            return int(call(self, "longValue"))
        text = str(self)
        if _INTEGER.fullmatch(text):
            return read_integer(text)
        if _FLOAT.fullmatch(text) and float(text) == near or not math.isfinite(near):
            return int(near)
        raise OverflowError(f"{text[:REPR_MAX]} of {self._java_type} exceeds a long, and its text is not an integer")

    def __float__(self) -> float:
        return float(call(self, "doubleValue"))


class OptionalMixin(JavaObject):
    """java.util.Optional and similar classes: true if a value is present."""

    __slots__ = ()

    def __bool__(self) -> bool:
        present = call(self, "isPresent")
        if type(present) is not bool:
            raise ProtocolError("the peer's answer is malformed: the value of isPresent is not a boolean")
        return present

    def _value(self) -> Any:
        """Returns the value, or None."""
        return call(self, OPTIONALS[self._java_type]) if self else None


OPTIONALS = {
    "java.util.Optional": "get",
    "java.util.OptionalDouble": "getAsDouble",
    "java.util.OptionalInt": "getAsInt",
    "java.util.OptionalLong": "getAsLong",
}
"""The method that returns the value."""


class NumberValueMixin(ComparableMixin):
    """Java numbers that were created by a constructor call, and whose class is otherwise converted to Python numbers.
    They compare with Python numbers by value."""

    __slots__ = ()

    def _value(self) -> Any:
        return NUMBERS[self._java_type](str(self))

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if isinstance(other, Object) else self._value() == other

    def __hash__(self) -> int:
        return hash(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __float__(self) -> float:
        return float(self._value())

    def __lt__(self, other: object) -> Any:
        return super().__lt__(other) if isinstance(other, Object) else _order(operator.lt, self, other)

    def __le__(self, other: object) -> Any:
        return super().__le__(other) if isinstance(other, Object) else _order(operator.le, self, other)

    def __gt__(self, other: object) -> Any:
        return super().__gt__(other) if isinstance(other, Object) else _order(operator.gt, self, other)

    def __ge__(self, other: object) -> Any:
        return super().__ge__(other) if isinstance(other, Object) else _order(operator.ge, self, other)


def _order(holds: Callable[[Any, Any], Any], left: NumberValueMixin, right: object) -> Any:
    return holds(left._value(), right) if isinstance(right, (int, float, decimal.Decimal)) else NotImplemented


DIGITS_MAX = 1_000_000
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?", re.ASCII)  # Double.toString
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?", re.ASCII)  # BigDecimal.toString


def read_integer(text: str) -> int:
    """Converts a text to an int. Long texts are converted in halves, because int() accepts at most 4300 digits and
    needs quadratic time. Raises ValueError beyond DIGITS_MAX."""
    if len(text) > DIGITS_MAX or not _INTEGER.fullmatch(text):
        raise ValueError(f"{text[:40]}... is not a number of at most {DIGITS_MAX} digits")
    powers: dict[int, int] = {}

    def power(count: int) -> int:
        if count not in powers:
            half = count // 2
            powers[count] = 10**count if count <= 4000 else power(half) * power(count - half)
        return powers[count]

    def read(begin: int, end: int) -> int:
        if end - begin <= 2000:
            return int(text[begin:end])
        middle = end - (end - begin) // 2
        return read(begin, middle) * power(end - middle) + read(middle, end)

    return -read(1, len(text)) if text[0] == "-" else read(0, len(text))


def read_decimal(text: str) -> decimal.Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:40]} is not a number of java.math.BigDecimal")
    return decimal.Decimal(text)


# The converters that native/op/value_classes.json names.
NUMBER_READERS: dict[str, Callable[[str], Any]] = {
    "decimal": read_decimal,
    "float": float,
    "int": int,
    "integer": read_integer,
}
NUMBERS = {name: NUMBER_READERS[reader] for name, reader in _value_classes.NUMBERS.items()}


def call(instance: Object, name: str, *args: Any) -> Any:
    """Calls a method by its Java name, even if the name has another meaning in the Python class."""
    java_type = callable_name(instance, name)
    try:
        return instance._connection.call(java_type, name, instance, args)
    except Denied as why:
        owner = allowed_owner(instance, name) if is_denial_of(why, java_type, name) else None
        if owner is None:
            raise
    return instance._connection.call(owner, name, instance, args)


def callable_name(instance: Object, method: str) -> str:
    """Returns the class that a request names for a method of the object. Usually this is the object's own class; the
    policy then also considers the supertypes that declare the method. For a method in `_owners` it is the supertype
    there."""
    own = instance._java_type
    owners: dict[str, str] = getattr(type(instance), "_owners", {})
    return owners.get(method) or (OBJECT if "/" in own else own)


def allowed_owner(instance: Object, method: str) -> str | None:
    """Finds a supertype that has or inherits the method, and by whose name the policy allows the method. From then on
    callable_name returns this supertype."""
    java = getattr(type(instance), "_java", None)
    found: str | None = None if java is None else java._classes.owner_of(type(instance), method, instance)
    return found


def is_denial_of(why: Denied, java_type: str, name: str) -> bool:
    """Returns whether the error belongs to this request, and not to a request that a callback has made during this
    request."""
    return str(why).startswith(f"RPC access denied: {java_type}.{name} ")


def _compare(left: JavaObject, right: object, holds: Any) -> Any:
    if right is None:
        return NotImplemented
    try:
        return holds(call(left, "compareTo", right))
    except (BadArgument, TypeError):
        return NotImplemented


def describe_briefly(instance: Object) -> str:
    """Returns a repr of limited length. Never raises an exception."""
    name = instance._java_type
    try:
        described = instance._connection.describe(instance)
        text, length = described.get("text"), described.get("length")
    except (JavaException, PeerError, OSError, RuntimeError, ValueError, TypeError) as why:
        return f"<{name}: {type(why).__name__}>"
    if text is None:
        return f"<{name}>" if length is None else f"<{name} of {length} elements>"
    if len(text) > REPR_MAX:
        text = text[:REPR_MAX] + "..."
    return f"<{name}: {text}>".encode("utf-8", "backslashreplace").decode()


def refuse_pickle(value: Any) -> NoReturn:
    """Raises the error when classes, their members or packages are pickled."""
    raise TypeError(f"cannot pickle or copy {value!r}: it belongs to a connection, which the other process has to open")


def missing_attribute(cls: type, name: str, owner: object) -> AttributeError:
    """Returns the error for a name that a Java class lacks, with similar names."""
    java_name = getattr(cls, "_java_name", cls.__name__)
    if name.startswith("_"):
        return AttributeError(f"{java_name} has no attribute {name!r}", name=name, obj=owner)
    import difflib  # imported here, because the import is slow and only needed for this error

    near = difflib.get_close_matches(name, [each for each in dir(cls) if not each.startswith("_")], 3)
    text = f"{java_name} has no public member {name!r}"
    if near:
        text += f". Did you mean {' or '.join(near)}?"
    return AttributeError(text, name=name, obj=owner)
