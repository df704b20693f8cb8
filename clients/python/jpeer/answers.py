"""Reads parts of the peer's answers. Any malformed answer raises a ProtocolError."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._native import ProtocolError

# a bit of type.__flags__ that is set for this package's exceptions, and not for Python's built-in exceptions
_HEAP_TYPE = 1 << 9
_SHAPES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def shown(text: str) -> str:
    """Returns a name that the peer has sent, for an error text or a traceback. Control characters are escaped, because
    a terminal would obey them."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def parsing(what: str) -> Iterator[None]:
    """Turns Python's errors about a value of a wrong type or shape into ProtocolError, as the C half does in its own
    conversions. Errors of the peer and of the connection pass unchanged."""
    try:
        yield
    except _SHAPES as why:
        if type(why).__flags__ & _HEAP_TYPE:
            raise
        raise ProtocolError(f"{what} is malformed: {type(why).__name__}: {why}") from why


def count_of(answer: Any, what: str) -> int:
    """Checks a number of elements. If __len__ returned an invalid value, Python itself would raise ValueError,
    OverflowError or TypeError."""
    if type(answer) is not int or not 0 <= answer <= sys.maxsize:
        raise ProtocolError(f"the peer's answer is malformed: {what} is {repr(answer)[:200]}")
    return answer


def described(answer: Any, what: str) -> dict[str, Any]:
    """Checks the description of a class: all parts that the package reads must have the types that the protocol
    defines."""
    with parsing(f"the description of {shown(what[:200])}"):
        for key in ("superclasses", "interfaces"):
            _each(answer[key], str)
        _each(answer.get("nested") or [], str)
        _optional(answer, str, "modifiers", "text")
        _optional(answer, bool, "identity")
        if answer.get("class") is not None:
            _text(answer["class"])
        for key in ("fields", "methods", "constructors"):
            for member in _each(answer[key], dict):
                _member(member, key)
        return answer  # type: ignore[no-any-return]


def superclasses_in(data: Any, name: str) -> list[str]:
    """Returns the superclasses in the data of a Java error, the nearest first. The list is empty if the peer does not
    send them."""
    with parsing(f"the error's data of {shown(name[:200])}"):
        found: list[str] = _each(data.get("superclasses") or [], str)
        return found


def names_in(answer: Any, key: str) -> list[str]:
    """Returns one list of the answer to list_names. Call it inside `parsing`."""
    found: list[str] = _each(answer[key], str)
    return found


def _member(member: dict[str, Any], kind: str) -> None:
    _text(member["name"])
    _text(member["modifiers"])
    if kind != "constructors":
        _is(member["isStatic"], bool)
    if kind != "fields":
        for parameter in _each(member["parameters"], dict):
            _text(parameter["name"])
            _text(parameter["type"])
    _optional(member, str, "returnType", "inheritedFrom")


def _optional(container: dict[str, Any], kind: type, *keys: str) -> None:
    for key in keys:
        if container.get(key) is not None:
            _is(container[key], kind)


def _each(values: Any, kind: type) -> Any:
    for each in _is(values, list):
        _text(each) if kind is str else _is(each, kind)
    return values


def _text(value: Any) -> None:
    """Checks a name, which is sent back to the peer as UTF-8."""
    _is(value, str)
    value.encode()
    if "\0" in value:
        raise ValueError(f"{value[:200]!r} has a NUL")


def _is(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{repr(value)[:200]} is not of the type {kind.__name__}")
    return value
