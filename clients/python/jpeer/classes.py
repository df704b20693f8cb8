"""A Python class for each Java class, made from `jpeer.describe` when it is first seen."""

import contextlib
import keyword
import operator
import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from . import collections, objects, pages, sequences
from ._native import Array, Connection, Constructor, Field, Method, Object, Typed
from .answers import ProtocolError, described, taken_apart
from .exceptions import PYTHON_BASES, Denied, JavaException, NotFound, PeerError, make_throwable
from .names import runtime_name, source_name
from .objects import JavaObject
from .pieces import MANY

if TYPE_CHECKING:
    from .connection import Java

OBJECT, THROWABLE, ENUM = "java.lang.Object", "java.lang.Throwable", "java.lang.Enum"

# What a Java interface or class adds to the Python classes below it.
MIXINS: dict[str, type[JavaObject]] = {
    **dict.fromkeys(objects.NUMBERS, objects.NumberValueMixin),
    "java.lang.Comparable": objects.ComparableMixin,
    "java.lang.AutoCloseable": objects.AutoCloseableMixin,
    "java.lang.Number": objects.NumberMixin,
    "java.util.Map$Entry": collections.EntryMixin,
    "java.util.Map": collections.MapMixin,
    "java.util.List": sequences.ListMixin,
    "java.util.Set": collections.SetMixin,
    "java.util.Deque": collections.DescendingMixin,
    "java.util.NavigableSet": collections.DescendingMixin,
    "java.util.Collection": collections.CollectionMixin,
    "java.lang.Iterable": pages.IterableMixin,
    "java.util.Iterator": pages.IteratorMixin,
    "java.util.Enumeration": pages.IteratorMixin,
    "java.util.stream.BaseStream": pages.IteratorMixin,
}
# Methods of Java that a mixin has under the same name, with Python's additions.
OVERRIDES = {"get": collections.MapMixin, "sort": sequences.ListMixin}


SUPERTYPES_MAX = 64  # classes whose supertypes are being made on one thread
_under_way = threading.local()


class JavaClass(type):
    """The type of Java classes. Calling one is `new`; attributes are static members and nested classes."""

    _java: "Java | None" = None
    _java_name = ""
    _supertypes: frozenset[str] = frozenset()
    _nested: tuple[str, ...] = ()
    _constructor: Callable[..., Any]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "JavaClass":
        if "_java_name" not in namespace and any(getattr(base, "_java", None) is not None for base in bases):
            raise TypeError(
                "a Java class cannot be extended in Python; interfaces can be implemented: jpeer.implements"
            )
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if keywords:
            raise TypeError(f"Java has no keyword arguments: {list(keywords)}")
        return cls._constructor(*args)

    def __getattr__(cls, name: str) -> Any:
        if cls._java is None or name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        nested = cls._java._classes.nested(cls, name)
        if nested is None:
            raise objects.missing_attribute(cls, name, cls)
        type.__setattr__(cls, name, nested)
        return nested

    def __setattr__(cls, name: str, value: Any) -> None:
        for each in cls.__mro__:
            member = each.__dict__.get(name)
            if isinstance(member, Field):
                member.put_static(value)
                return
        if name in ("__abstractmethods__", "__doc__"):
            super().__setattr__(name, value)
            return
        raise AttributeError(f"{cls._java_name} has no static field {name!r}", name=name, obj=cls)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *(name.rpartition("$")[2] for name in cls._nested)})

    def __repr__(cls) -> str:
        return f"<java class {cls._java_name}>" if cls._java_name else super().__repr__()

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if super().__subclasscheck__(subclass):
            return True
        return (
            isinstance(subclass, JavaClass)
            and cls._java is not None
            and subclass._java is cls._java
            and cls._java_name in subclass._supertypes
        )

    @property
    def class_(cls) -> Any:
        """The java.lang.Class."""
        return cls._bridge.class_object(cls._java_name)

    @property
    def _bridge(cls) -> "Java":
        if cls._java is None:
            raise TypeError(f"{cls.__name__} is no class of a connection")
        return cls._java

    @property
    def _operations(cls) -> Any:
        """What jpeer.call and its kin ask."""
        return cls._bridge._connection

    # Enums are collections of their constants.

    def _constants(cls) -> list[Any]:
        if ENUM not in cls._supertypes:
            raise TypeError(f"{cls!r} is not iterable: it is no enum")
        return list(cls._bridge._connection.call(cls._java_name, "values"))

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._constants())

    def __len__(cls) -> int:
        return len(cls._constants())

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, value: object) -> bool:
        return isinstance(value, cls) or value in [constant.name() for constant in cls._constants()]

    def __getitem__(cls, key: Any) -> Any:
        """Of an enum the constant of that name. Type arguments of other classes mean nothing when a program runs."""
        if ENUM not in cls._supertypes:
            return cls
        try:
            return cls._bridge._connection.call(cls._java_name, "valueOf", None, (key,))
        except ValueError:
            raise KeyError(key) from None


class ThrowableMixin(JavaException):
    """What Python classes of throwables have beside the Java members."""

    @classmethod
    def _from_object(cls, handle: Object) -> JavaException:
        message = handle._connection.call(handle._java_type, "getMessage", handle)
        made = make_throwable(cls, message, handle)
        made.java_class = handle._java_type
        return made

    def __getattr__(self, name: str) -> NoReturn:
        raise objects.missing_attribute(type(self), name, self)


class ClassTable:
    """The Python classes of one connection.

    No lock is held, because whoever makes a class waits for the peer. Of two threads that make the same class at once
    the first one's counts.
    """

    def __init__(self, java: "Java") -> None:
        self._java = java
        self._classes: dict[str, type] = {}
        self.throwable_type: type[JavaClass] = JavaClass  # of classes of throwables

    @property
    def _connection(self) -> Connection:
        return self._java._connection

    def of_name(self, name: str) -> type:
        """The class of that name: `java.awt.Point`, `java.util.Map.Entry`, `int[]`. NotFound where there is none."""
        name = runtime_name(name)
        return self._classes.get(name) or self._make(name, None)

    def of_object(self, name: str, handle: Object | None) -> type:
        """Of the class of an object that has come. The class may be one that no name finds: a lambda's, another
        loader's."""
        return self._classes.get(name) or self._make(name, handle)

    def of_throwable(self, name: str) -> type[JavaException]:
        """The nearest class that the peer describes: it may deny all of them."""
        for each in (name, THROWABLE):
            with contextlib.suppress(PeerError, JavaException):
                found = self.of_name(each)
                self._java._hooks.classes.setdefault(each, found)
                if issubclass(found, JavaException):
                    return found
        return ThrowableMixin

    def nested(self, outer: JavaClass, name: str) -> type | None:
        """The member class of that name, also one that is inherited."""
        if not name[:1].isupper() and f"{outer._java_name}${name}" not in outer._nested:
            return None
        for owner in [outer._java_name, *sorted(outer._supertypes - {outer._java_name})]:
            with contextlib.suppress(NotFound, JavaException, Denied):
                return self.of_name(f"{owner}${name}")
        return None

    def _make(self, name: str, handle: Object | None) -> type:
        with self._making(name):
            info = None if name.startswith("[") else self._describe(name, handle)
            with taken_apart(f"the class {name[:200]}"):
                made = self._make_array(name) if info is None else self._make_class(name, info)
        return self._classes.setdefault(name, self._classes.setdefault(runtime_name(made._java_name), made))

    @contextlib.contextmanager
    def _making(self, name: str) -> Iterator[None]:
        """A class is made after its supertypes; Java's have no circles, and no chain of them is that long."""
        under_way: list[str] = _under_way.__dict__.setdefault("names", [])
        if name in under_way or len(under_way) >= SUPERTYPES_MAX:
            raise ProtocolError(f"the supertypes of the class {under_way[0][:200]} have no end")
        under_way.append(name)
        try:
            yield
        finally:
            under_way.pop()

    def _describe(self, name: str, handle: Object | None) -> dict[str, Any]:
        if handle is not None:
            return described(self._connection.describe(handle), name)
        try:
            return described(self._connection.describe(None, name), name)
        except NotFound as error:
            # java.util.Map.Entry: the peer names Map$Entry, which is the same written in Java's own way.
            outer, _, inner = name.rpartition(".")
            if f"{outer}${inner}" not in error.suggestions:
                raise
            return described(self._connection.describe(None, f"{outer}${inner}"), name)

    def _make_class(self, name: str, info: dict[str, Any]) -> JavaClass:
        name = info.get("class") or name
        known = self._classes.get(name)
        if isinstance(known, JavaClass):
            return known
        supertypes = frozenset([*info["superclasses"], *info["interfaces"], OBJECT])
        namespace = _names(name, info)
        namespace.update(_java=self._java, _java_name=name, _supertypes=supertypes | {name})
        namespace["_nested"] = tuple(info.get("nested") or ())
        owners = self._owners(info) if "/" in name else {}
        namespace.update(self._members(name, info, owners), _owners=owners)
        bases = self._bases(name, info, supertypes)
        if THROWABLE not in namespace["_supertypes"]:
            namespace["__slots__"] = ()
            namespace["_identity"] = _is_identity(info)
            if any(issubclass(base, collections.MapMixin) for base in bases):
                namespace.pop("get", None)
            if any(issubclass(base, sequences.ListMixin) for base in bases):
                namespace.pop("sort", None)
        namespace["_constructor"] = staticmethod(self._constructor(name, info))
        kind = self.throwable_type if THROWABLE in namespace["_supertypes"] else JavaClass
        return kind(namespace["__name__"], bases, {key: namespace[key] for key in namespace if key != "__name__"})

    def _bases(self, name: str, info: dict[str, Any], supertypes: frozenset[str]) -> tuple[type, ...]:
        base: type = ThrowableMixin if name == THROWABLE else JavaObject
        if name != THROWABLE:
            for superclass in info["superclasses"]:
                try:
                    base = self.of_name(superclass)
                    break
                except (PeerError, JavaException):  # denied, or of a loader that has no names here
                    continue
        if THROWABLE in supertypes or name == THROWABLE:
            python = PYTHON_BASES.get(name)
            return (base,) if python is None or issubclass(base, python) else (base, python)
        if "interface" in info.get("modifiers", "").split():
            return (JavaObject,)
        found = [MIXINS[each] for each in MIXINS if each in supertypes or each == name]
        mixins = [mixin for mixin in found if not issubclass(base, mixin)]
        needed = [each for each in mixins if not any(each is not other and issubclass(other, each) for other in mixins)]
        return (*needed, base)

    def _owners(self, info: dict[str, Any]) -> dict[str, str]:
        """Method name -> the supertype that has it, for a class that no request can name."""
        owners = {}
        for supertype in [*reversed(info["interfaces"]), *info["superclasses"][:1]]:
            with contextlib.suppress(PeerError, JavaException):
                known = self.of_name(supertype)
                owners.update({each: supertype for each in dir(known) if isinstance(getattr(known, each), Method)})
        return owners

    def _members(self, name: str, info: dict[str, Any], owners: dict[str, str]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for field in info["fields"]:
            if "public" in field["modifiers"].split() and not is_special(field["name"]):
                members[python_name(field["name"])] = Field(self._connection, name, field["name"], field["isStatic"])
        overloads: dict[str, list[dict[str, Any]]] = {}
        for method in info["methods"]:
            if "public" in method["modifiers"].split() and not is_special(method["name"]):
                overloads.setdefault(method["name"], []).append(method)
        for called, methods in overloads.items():
            kinds = {bool(method["isStatic"]) for method in methods}
            owner = owners.get(called, name)
            made = Method(self._connection, owner, called, True in kinds, False in kinds)
            made.__doc__ = "\n".join(_signature(method) for method in methods)
            made.__text_signature__ = _text_signature(methods[0]) if len(methods) == 1 else None
            members[python_name(called)] = made
        return members

    def _constructor(self, name: str, info: dict[str, Any]) -> Callable[..., Any]:
        if "interface" not in info.get("modifiers", "").split():
            return Constructor(self._connection, name)
        from .callbacks import implementation_of

        def implement(*targets: Any) -> Any:
            if len(targets) != 1:
                raise TypeError(
                    f"{name} is an interface: it takes one function, or one object, that implements it, "
                    f"not {len(targets)} arguments"
                )
            return implementation_of(name, targets[0])

        return implement

    def _make_array(self, name: str) -> JavaClass:
        shown = source_name(name)
        primitive = len(name) == 2
        base: tuple[type, ...] = (sequences.PrimitiveArrayMixin, Array) if primitive else (sequences.ObjectArrayMixin,)
        connection, pieces = self._connection, self._java._pieces

        def construct(*contents: Any) -> Any:
            if len(contents) != 1:
                raise TypeError(f"{shown} takes a length or the elements, not {len(contents)} arguments")
            arguments = array_arguments(shown, contents[0])
            content = arguments[0].value if primitive and isinstance(arguments[0], Typed) else ()
            made = pieces.array(shown, content) if hasattr(content, "__len__") and len(content) > MANY else None
            return connection.new(shown, arguments) if made is None else made

        return JavaClass(shown, base, {
            "__slots__": (), "__module__": "jpeer", "__doc__": f"{shown}: call it with a length or with the elements.",
            "_java": self._java, "_java_name": shown, "_supertypes": frozenset([shown, OBJECT]), "_nested": (),
            "_constructor": staticmethod(construct),
        })  # fmt: skip


def array_arguments(name: str, content: Any) -> tuple[Any, ...]:
    """Of `new` of the array's class, by a length or by the elements."""
    if hasattr(type(content), "__index__") and getattr(content, "ndim", 0) == 0:
        return (operator.index(content),)
    if not isinstance(content, (list, tuple, bytes, bytearray, memoryview)) and not hasattr(content, "dtype"):
        content = content if isinstance(content, objects.Wrapper) else list(content)
    return (Typed(name, content),)


def is_special(name: str) -> bool:
    """Whether Python gives such a name a meaning of its own, as it does with `__len__` and `__del__`: jpeer.call, get and put
    reach members that are called so."""
    return name.startswith("__") and name.endswith("__")


def python_name(name: str) -> str:
    """Names that Python keeps for itself get an underscore behind them: `in_`."""
    if keyword.iskeyword(name) or (name.startswith("_") and hasattr(JavaObject, name)) or name in RESERVED:
        return name + "_"
    return name


def parameter_name(name: str) -> str:
    """A name that Python can write: Java's may have a `$`."""
    return python_name(re.sub(r"\W", "_", name))


RESERVED = frozenset(
    "_java _java_name _supertypes _nested _constructor _identity _owner _owners _from_object _bridge _constants "
    "_operations "
    "java_class java_frames args with_traceback add_note".split()
)


def _names(name: str, info: dict[str, Any]) -> dict[str, Any]:
    package, _, local = name.rpartition(".")
    lines = [f"{info.get('modifiers') or 'class'} {name}"]
    if info["superclasses"]:
        lines.append(f"extends {info['superclasses'][0]}")
    if info["interfaces"]:
        lines.append(f"implements {', '.join(info['interfaces'])}")
    lines += ["", *(_signature(each) for each in info["constructors"] if "public" in each["modifiers"].split())]
    return {
        "__name__": local.rpartition("$")[2] or local,
        "__qualname__": local.replace("$", ".").strip(".") or local,
        "__module__": package or "java",
        "__doc__": "\n".join(lines).strip(),
    }


def _signature(member: dict[str, Any]) -> str:
    parameters = ", ".join(f"{each['name']}: {each['type']}" for each in member["parameters"])
    name = member["name"].rpartition(".")[2]
    start = "static " if member.get("isStatic") else ""
    result = member.get("returnType")
    return f"{start}{name}({parameters})" + (f" -> {result}" if result else "")


def _text_signature(method: dict[str, Any]) -> str:
    """What inspect.signature reads: "($self, dx, dy)"."""
    names = [parameter_name(each["name"]) for each in method["parameters"]]
    if names and method.get("isVarArgs"):
        names[-1] = f"*{names[-1]}"
    return f"({', '.join([*([] if method['isStatic'] else ['$self']), *names])})"


def _is_identity(info: dict[str, Any]) -> bool:
    """Whether equals is that of java.lang.Object, or an enum's, which is the same."""
    for method in info["methods"]:
        if method["name"] == "equals" and [each["type"] for each in method["parameters"]] == [OBJECT]:
            return method.get("inheritedFrom") in (OBJECT, ENUM)
    return False
