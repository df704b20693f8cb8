"""Java from Python.

    import jpeer
    with jpeer.launch(classpath=["app.jar"]) as java:
        Point = java.java.awt.Point
        p = Point(3, 4)
        p.x += 1
"""

from typing import Any

from . import packages
from ._native import NotSent, Object, ProtocolError, Typed, version
from .callbacks import Implementation, implements, interfaces_in_java, interfaces_of
from .classes import JavaClass
from .names import source_name
from .connection import Java, class_name, connect, default, launch
from .directory import Peer, peers, wait_for
from .exceptions import (
    BadArgument,
    Denied,
    JavaException,
    NotFound,
    OutOfRange,
    PeerError,
    Refused,
    ShuttingDown,
    StaleObject,
    TooOld,
    handle_of,
)
from .objects import OPTIONALS, JavaObject, Wrapper
from .pages import to_list
from .sequences import to_python
from .tables import Table
from .values import Cast, text_as

__version__ = version()

__all__ = [
    "BadArgument", "Denied", "Java", "JavaClass", "JavaException", "JavaObject", "NotFound", "NotSent", "OutOfRange", "Peer",
    "PeerError", "ProtocolError", "Refused", "ShuttingDown", "StaleObject", "Table", "TooOld", "call", "cast", "connect",
    "default", "field", "implements", "jboolean", "jbyte", "jchar", "jdouble", "jfloat", "jint", "jlong", "jshort", "launch",
    "peers", "same", "set_field", "to_list", "to_python", "wait_for",
]  # fmt: skip


def jboolean(value: bool) -> Typed:
    """Returns a value that is sent as a Java boolean. As with jbyte to jchar, its type takes part in the choice of the
    overload."""
    return Typed("boolean", value)


def jbyte(value: int) -> Typed:
    """Returns a Java byte."""
    return Typed("byte", value)


def jshort(value: int) -> Typed:
    """Returns a Java short."""
    return Typed("short", value)


def jint(value: int) -> Typed:
    """Returns a Java int."""
    return Typed("int", value)


def jlong(value: int) -> Typed:
    """Returns a Java long."""
    return Typed("long", value)


def jfloat(value: float) -> Typed:
    """Returns a Java float."""
    return Typed("float", value)


def jdouble(value: float) -> Typed:
    """Returns a Java double."""
    return Typed("double", value)


def jchar(value: str) -> Typed:
    """Returns a Java char: a str of one UTF-16 unit."""
    return Typed("char", value)


def cast(java_type: Any, value: Any) -> Any:
    """Returns the value as an argument of that type (a class or its name), as a cast in Java: cast("java.lang.Object",
    5)."""
    name = class_name(java_type)
    if name in OPTIONALS:
        return Cast(name, value)
    if interfaces_of(value):
        if name == "java.lang.Object" or name in interfaces_in_java(value):
            return Cast(name, value)
        target = value.target if isinstance(value, Implementation) else value
        return Implementation.of(target, (name,), getattr(java_type, "_java", None))
    text = text_as(name, value)
    return Typed(name, value if text is None else text)


def call(target: Any, name: str, *args: Any) -> Any:
    """Calls a method of any visibility, even if a field or a Python name hides it. On a class, the name "<init>" calls
    a constructor of any visibility. target: an object or a class. For objects and classes of jpeer.aio, the results of
    call, field and set_field must be awaited."""
    connection, instance, java_type = _place(target)
    if name == "<init>" and instance is None:
        return connection.new(java_type, args)
    return connection.call(java_type, name, instance, args)


def field(target: Any, name: str) -> Any:
    """Reads a field of any visibility, even if a method of the same name hides it. target: an object or a class."""
    connection, instance, java_type = _place(target)
    return connection.get(java_type, name, instance)


def set_field(target: Any, name: str, value: Any) -> Any:
    """Writes a field of any visibility. target: an object or a class."""
    connection, instance, java_type = _place(target)
    return connection.put(java_type, name, instance, value)


def same(left: Any, right: Any) -> bool:
    """Returns whether both arguments are the same Java object, as `==` in Java."""
    left, right = (each._target if isinstance(each, Wrapper) else each for each in (left, right))
    left, right = (handle_of(each) or each if isinstance(each, JavaException) else each for each in (left, right))
    if isinstance(left, Object) and isinstance(right, Object):
        return (left._connection, left._number, left._epoch) == (right._connection, right._number, right._epoch)
    return left is right


def _place(target: Any) -> tuple[Any, Any, str]:
    """Returns the connection or operations to use, the object or None, and the class."""
    operations = None
    if isinstance(target, Wrapper):
        operations, target = target._operations, target._target
    if isinstance(target, JavaClass) and target._java is not None:
        return operations or target._operations, None, source_name(target._java_name)
    if isinstance(target, JavaException):
        target = handle_of(target)
    if isinstance(target, Object):
        return operations or target._connection, target, target._java_type
    raise TypeError(f"{target!r} is neither a Java object nor a Java class")


packages.install()
