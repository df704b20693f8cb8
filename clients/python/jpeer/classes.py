"""The Python classes of Java classes. Each is made from `jpeer.describe` when it is first used."""

import contextlib
import keyword
import operator
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from . import collections, objects, pages, sequences
from ._native import Array, Connection, Constructor, Field, Method, Object, ProtocolError, Typed
from .answers import described, parsing, shown
from .exceptions import (
    PYTHON_BASES, BadArgument, Denied, JavaException, NotFound, OutOfRange, PeerError, handle_of, make_throwable,
)  # fmt: skip
from .names import runtime_name, source_name
from .objects import JavaObject
from .pieces import MANY

if TYPE_CHECKING:
    from .connection import Java

JDK_PACKAGES = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
OBJECT, THROWABLE, ENUM = objects.OBJECT, "java.lang.Throwable", "java.lang.Enum"

# Java supertypes and the Python base classes that they add.
MIXINS: dict[str, type[JavaObject]] = {
    **dict.fromkeys(objects.NUMBERS, objects.NumberValueMixin),
    **dict.fromkeys(objects.OPTIONALS, objects.OptionalMixin),
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
    **dict.fromkeys(sequences.BUFFERS, sequences.BufferMixin),
    "kotlin.sequences.Sequence": pages.HasIteratorMixin,
    "scala.Product2": pages.ScalaPairMixin,
    "scala.collection.Iterable": pages.ScalaIterableMixin,
    "scala.collection.Iterator": pages.ScalaIteratorMixin,
}
# Java methods that a mixin replaces by a method of the same name with Python's additions.
OVERRIDES = {"get": collections.MapMixin, "sort": sequences.ListMixin}


SUPERTYPES_SHOWN = 4
OBJECT_METHODS = frozenset("equals getClass hashCode notify notifyAll toString wait".split())  # of every object
ASKED_MAX = 10_000  # the number of names without a description that a connection keeps
# an argument that is not accepted by any parameter, so that a request with it never calls a method
UNFIT = Typed("int", "")
SUPERTYPES_MAX = 64  # nested constructions of classes on one thread
# State of each thread: `names` has the names of the classes that the thread constructs, and `thrown` is set while it
# looks up the class of a throwable.
_in_progress = threading.local()


class JavaClass(type):
    """The type of the Python classes of Java classes. Calling a class calls a constructor. Attributes are static
    members and nested classes."""

    _java: "Java | None" = None
    _java_name = ""
    _supertypes: frozenset[str] = frozenset()
    _nested: tuple[str, ...] = ()
    _loader: "Object | None" = None  # None: the application's class loader has the class
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
            return cls._java._classes.undescribed(cls, name, None, cls)
        type.__setattr__(cls, name, nested)
        return nested

    def __setattr__(cls, name: str, value: Any) -> None:
        for each in cls.__mro__:
            member = each.__dict__.get(name)
            if isinstance(member, (Field, LoadedField)):
                member.put_static(value)
                return
        if name in ("__abstractmethods__", "__doc__"):
            super().__setattr__(name, value)
            return
        raise AttributeError(f"{cls._java_name} has no static field {name!r}", name=name, obj=cls)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *(python_name(name.rpartition("$")[2]) for name in cls._nested)})

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
            and cls._java._classes.is_assignable(cls, subclass)
        )

    @property
    def class_(cls) -> Any:
        """The class's java.lang.Class."""
        return cls._operations.call(*find_class_object(cls._java_name))

    @property
    def _bridge(cls) -> "Java":
        if cls._java is None:
            raise TypeError(f"{cls.__name__} is not a class of a connection")
        return cls._java

    @property
    def _operations(cls) -> Any:
        """The object whose call, get and put jpeer.call and similar functions use."""
        return _static_operations(cls)

    # An enum is a collection of its constants.

    def _constants(cls) -> list[Any]:
        if ENUM not in cls._supertypes:
            raise TypeError(f"{cls!r} is not iterable: it is not an enum")
        return list(cls._operations.call(cls._java_name, "values"))

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._constants())

    def __len__(cls) -> int:
        return len(cls._constants())

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, value: object) -> bool:
        return isinstance(value, cls) or value in [constant.name() for constant in cls._constants()]

    def __getitem__(cls, key: Any) -> Any:
        """Returns the enum constant of that name. For other classes the brackets hold type arguments, which have no
        effect at run time."""
        if ENUM not in cls._supertypes:
            return cls
        try:
            return cls._operations.call(cls._java_name, "valueOf", None, (key,))
        except ValueError:
            raise KeyError(key) from None


class ThrowableMixin(JavaException):
    """The base of the Python classes of throwables."""

    @classmethod
    def _from_object(cls, handle: Object) -> JavaException:
        message = None
        with contextlib.suppress(Denied):
            message = handle._connection.call(handle._java_type, "getMessage", handle)
        made = make_throwable(cls, message, handle)
        made.java_class = handle._java_type
        return made

    def __getattr__(self, name: str) -> Any:
        java = getattr(type(self), "_java", None)
        if java is not None and not name.startswith("_"):
            with contextlib.suppress(OSError, RuntimeError):  # an exception is often reported after the peer has ended
                handle = handle_of(self)
                if handle is not None:
                    return java._classes.undescribed(type(self), name, handle, self)
        raise objects.missing_attribute(type(self), name, self)


class DeniedMethod:
    """A method that the policy denies, or a name that may be a denied method. Calling it sends the request. Using it as
    a value raises a PermissionError."""

    def __init__(self, cls: Any, name: str, instance: Object | None) -> None:
        self._class, self._name, self._instance = cls, name, instance
        self._type = _callable_name(cls)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            raise TypeError(f"Java has no keyword arguments: {list(keywords)}")
        operations = _static_operations(self._class) if self._instance is None else self._instance._connection
        try:
            return operations.call(self._type, self._name, self._instance, args)
        except Denied as why:
            raise self.refusal(why) from None

    def refusal(self, why: Denied) -> Denied:
        """Returns the denial, extended by a rule that would allow the method."""
        made = Denied(f"{why}. {self._rule()}" if objects.is_denial_of(why, self._type, self._name) else str(why))
        made.code, made.data = why.code, why.data
        return made

    def refuse(self) -> NoReturn:
        """Raises the denial when the program uses the attribute as a value, because the name may be a field."""
        raise Denied(f"RPC access denied: {self._type}.{self._name}. {self._rule()}")

    def __bool__(self) -> bool:
        self.refuse()

    def __eq__(self, other: object) -> bool:
        self.refuse()

    def __hash__(self) -> int:
        self.refuse()

    def _rule(self) -> str:
        above = getattr(self._class, "_above", ()) if self._instance is not None else ()
        names = [self._type, *sorted(above, key=lambda each: not is_foreign(each))]
        if self._type != self._class._java_name and len(names) > 1:
            del names[0]  # only a substitute for the hidden class
        rule = f'A rule that allows it: {{class: "{names[0]}", method: "{self._name}", action: ALLOW}}'
        shown = [*names[1 : SUPERTYPES_SHOWN + 1], *(["..."] if len(names) > SUPERTYPES_SHOWN + 1 else [])]
        return f"{rule}, or one for a supertype that declares it ({', '.join(shown)})" if shown else rule

    def __repr__(self) -> str:
        return f"<Java method {self._type}.{self._name}, which the policy denies>"


class LoadedOperations:
    """A connection's operations for classes of one class loader."""

    def __init__(self, connection: Connection, loader: Object) -> None:
        self._connection, self._loader = connection, loader

    def new(self, type: str, args: Sequence[Any] = ()) -> Any:
        return self._connection.new(type, args, self._loader)

    def call(self, type: str, method: str, instance: Any = None, args: Sequence[Any] = ()) -> Any:
        return self._connection.call(type, method, instance, args, self._loader)

    def get(self, type: str, field: str, instance: Any = None) -> Any:
        return self._connection.get(type, field, instance, self._loader)

    def put(self, type: str, field: str, instance: Any, value: Any) -> None:
        return self._connection.put(type, field, instance, value, self._loader)


def _static_operations(cls: JavaClass) -> "Connection | LoadedOperations":
    """Operations that return results directly, also for a class of jpeer.aio."""
    connection = cls._bridge._connection
    return connection if cls._loader is None else LoadedOperations(connection, cls._loader)


class LoadedMethod(Method):
    """A static method of a class from another class loader. For an instance method the object identifies the class."""

    loader: Any = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        receives = self._has_instance and args and isinstance(args[0], Object)
        if keywords or (receives and self._type in getattr(type(args[0]), "_supertypes", ())):
            return super().__call__(*args, **keywords)
        return self.loader._connection.call(self._type, self.__name__, None, args, self.loader)


class LoadedConstructor:
    """The constructors of a class from another class loader."""

    def __init__(self, connection: Connection, loader: Object, type: str) -> None:
        self._operations, self._type = LoadedOperations(connection, loader), type

    def __call__(self, *args: Any) -> Any:
        return self._operations.new(self._type, args)


class LoadedField:
    """A static field of a class from another class loader."""

    def __init__(self, connection: Connection, loader: Object, type: str, name: str) -> None:
        self._operations, self._type, self._name = LoadedOperations(connection, loader), type, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self._operations.get(self._type, self._name)

    def __set__(self, instance: Any, value: Any) -> None:
        self.put_static(value)

    def put_static(self, value: Any) -> None:
        self._operations.put(self._type, self._name, None, value)


class ByLoader:
    """Finds the classes of objects if several loaders have a class of the same name. The loader of an object's class
    decides."""

    def __init__(self, table: "ClassTable", name: str) -> None:
        self._table, self._name = table, name

    def _from_object(self, handle: Object) -> Any:
        class_object = handle._connection.call(OBJECT, "getClass", handle)
        found: Any = self._table.of_class(class_object)
        return found._from_object(handle) if issubclass(found, JavaException) else handle._as(found)

    def __instancecheck__(self, instance: object) -> bool:
        return self._name in getattr(type(instance), "_supertypes", ())


def _loader_in(answer: Any) -> Object | None:
    if answer is not None and not isinstance(answer, Object):
        raise ProtocolError(f"the peer's answer is malformed: {repr(answer)[:200]} is not a class loader")
    return answer


def is_foreign(name: str) -> bool:
    """Returns whether the class may come from another class loader. Hidden classes and arrays are found in other
    ways."""
    return not name.startswith(JDK_PACKAGES) and "/" not in name and not name.startswith("[")


class ClassTable:
    """The Python classes of one connection.

    There is no lock, because making a class waits for the peer. If two threads make the same class at the same time,
    the first class is kept.
    """

    def __init__(self, java: "Java") -> None:
        self._java = java
        self._classes: dict[str, type] = {}  # by name, for classes that are found without a loader
        self._loaded: dict[tuple[str, int], type] = {}  # by name and number of the loader, for the others
        self._assignable: dict[tuple[type, type], bool] = {}
        self._asked: dict[tuple[type, str, bool], bool] = {}  # undescribed name -> whether it is denied
        self._by_object: set[type] = set()  # classes described by one of their objects
        self._open_supertypes: dict[type, list[Any]] = {}  # the supertypes of a class that the policy allows by name
        self._without_owner: set[tuple[type, str]] = set()  # methods that the policy allows by no supertype
        self._known_loaders: frozenset[int] | None = None  # loaders of classes found by name; None: not asked yet
        self._kept_loaders: list[Object | None] = []  # keeps the loaders' numbers from being used for other objects
        self._asks_loaders = True  # False once the policy has denied the question
        self.throwable_type: type[JavaClass] = JavaClass  # the type of throwables' classes

    @property
    def _connection(self) -> Connection:
        return self._java._connection

    def of_name(self, name: str) -> type:
        """Returns the class of that name: `java.awt.Point`, `java.util.Map.Entry`, `int[]`. Raises NotFound."""
        name = runtime_name(name)
        return self._classes.get(name) or self._make_named(name)

    def _make_named(self, name: str) -> type:
        loader = None
        if is_foreign(name):
            with contextlib.suppress(NotFound, JavaException):  # the name may be "a.Outer.Inner", or no class has it
                loader = self._loader_of_class(lambda: self._connection.call(*find_class_object(name)))
        try:
            if loader is not None:
                return self._classes.setdefault(name, self.of_loader(name, loader))
            return self._make(name, None)
        except NotFound as why:
            for loader in reversed(self._java._added_loaders):
                with contextlib.suppress(NotFound):
                    return self.of_class(self._connection.call(*find_class_object(name), loader))
            raise why from None

    # ---- classes of other loaders than the application's ----

    def of_class(self, class_object: Object) -> type:
        """Returns the Python class of a java.lang.Class."""
        name = self._connection.call("java.lang.Class", "getName", class_object)
        if type(name) is not str:
            raise ProtocolError(f"the peer's answer is malformed: {repr(name)[:200]} is not a class name")
        loader = self._loader_of_class(lambda: class_object)
        return self.of_name(name) if loader is None else self.of_loader(name, loader)

    def of_loader(self, name: str, loader: Object) -> type:
        """Returns the Python class of a class that this loader has defined."""
        key = name, loader._number
        known = self._loaded.get(key)
        if known is not None:
            return known
        with self._making(f"{name} of {loader._number}"):
            info = described(self._connection.describe(None, name, False, loader), name)
            with parsing(f"the class {shown(name[:200])}"):
                made = self._make_class(name, info, loader)
        kept = self._loaded.setdefault(key, made)
        if self._has_several(name):
            self._java._hooks.classes[name] = ByLoader(self, name)  # type: ignore[assignment]
        return kept

    def _has_several(self, name: str) -> bool:
        plain = self._classes.get(name)
        found = {*([] if plain is None else [plain]), *(self._loaded[key] for key in [*self._loaded] if key[0] == name)}
        return len(found) > 1

    def _loader_of_class(self, find: Callable[[], Any]) -> Any:
        """Returns the loader of a java.lang.Class. Returns None if its classes are found by name without a
        loader, or if the policy denies asking for the loader."""
        if not self._asks_loaders:
            return None
        try:
            if self._known_loaders is None:
                loaders = "getSystemClassLoader", "getPlatformClassLoader"
                found = [_loader_in(self._connection.call("java.lang.ClassLoader", each)) for each in loaders]
                self._kept_loaders = found
                self._known_loaders = frozenset(each._number for each in found if each is not None)
            loader = _loader_in(self._connection.call("java.lang.Class", "getClassLoader", find()))
        except Denied:
            self._asks_loaders = False
            return None
        return None if loader is None or loader._number in self._known_loaders else loader

    def is_assignable(self, cls: JavaClass, subclass: JavaClass) -> bool:
        """Returns whether `subclass` extends or implements `cls` itself, and not only a class of the same name from
        another loader."""
        if cls._loader is None and (subclass._loader is None or not is_foreign(cls._java_name)):
            return True
        key = cls, subclass
        known = self._assignable.get(key)
        if known is None:
            try:
                known = bool(self._connection.call("java.lang.Class", "isAssignableFrom", cls.class_, (subclass.class_,)))
            except (Denied, NotFound):
                known = True
            self._assignable[key] = known
        return known

    # ----

    def of_object(self, name: str, handle: Object | None) -> type:
        """Returns the class of an object that the peer has sent. Some classes cannot be found by name: a lambda's, or
        another loader's."""
        if handle is not None and is_foreign(name):
            if self._has_several(name):
                return ByLoader(self, name)  # type: ignore[return-value]
            loader = self._loader_of_class(lambda: handle._connection.call(OBJECT, "getClass", handle))
            if loader is not None:
                made = self.of_loader(name, loader)
                return ByLoader(self, name) if self._has_several(name) else made  # type: ignore[return-value]
        return self._classes.get(name) or self._make(name, handle)

    def of_thrown(self, name: str, superclasses: Sequence[str], handle: Any) -> type[JavaException]:
        """Returns the class of a throwable that Java has thrown. If a request of this lookup fails as well, its error
        gets the class JavaException."""
        if _in_progress.__dict__.get("thrown"):
            return JavaException
        _in_progress.thrown = True
        try:
            return self.of_throwable(name, superclasses, handle)
        finally:
            _in_progress.thrown = False

    def of_throwable(self, name: str, superclasses: Sequence[str] = (), handle: Any = None) -> type[JavaException]:
        """Returns the class of a throwable. `superclasses` has the names of its superclasses, the nearest first.
        `except` matches by the names of the class and its superclasses even if the policy denies a description.
        `handle` is the throwable, which decides between several classes of that name."""
        with contextlib.suppress(PeerError, JavaException):
            if handle is not None and any(key[0] == name for key in [*self._loaded]):
                loaded = self.of_class(handle._connection.call(OBJECT, "getClass", handle))
                if issubclass(loaded, JavaException):
                    return loaded
            found = self.of_name(name)
            if issubclass(found, JavaException):
                self._java._hooks.classes.setdefault(name, found)
                return found
        return self._undescribed_throwable(name, superclasses)

    def _undescribed_throwable(self, name: str, superclasses: Sequence[str]) -> type[JavaException]:
        above = [each for each in superclasses[:SUPERTYPES_MAX] if each not in (name, OBJECT)]
        base: type[JavaException] = ThrowableMixin
        if name != THROWABLE:
            base = self.of_throwable(above[0], above[1:]) if above else self.of_throwable(THROWABLE)
        namespace = _names(name, {"superclasses": above[:1], "interfaces": [], "constructors": []})
        namespace.update(_java=self._java, _java_name=name, _supertypes=frozenset([name, *above, THROWABLE, OBJECT]))
        namespace.update(_nested=(), _constructor=staticmethod(Constructor(self._connection, name)))
        local = namespace.pop("__name__")
        with parsing(f"the class {shown(name[:200])}"):
            made: type[JavaException] = self.throwable_type(local, _with_python_base(name, base), namespace)  # type: ignore[assignment]
        known = self._classes.setdefault(name, made)  # a class of this name may exist, but it is not a throwable
        return known if issubclass(known, JavaException) else made

    def nested(self, outer: JavaClass, name: str) -> type | None:
        """Returns the member class of that name. It may be inherited."""
        if name.endswith("_") and keyword.iskeyword(name[:-1]):
            name = name[:-1]
        is_listed = f"{outer._java_name}${name}" in outer._nested  # not known for classes of other loaders
        if not name[:1].isupper() and not is_listed and outer._loader is None:
            return None
        for owner in [outer._java_name, *sorted(outer._supertypes - {outer._java_name})]:
            with contextlib.suppress(NotFound, JavaException, Denied):
                inner = f"{owner}${name}"
                if outer._loader is not None and is_foreign(inner):
                    return self.of_class(outer._operations.call(*find_class_object(inner)))
                return self.of_name(inner)
        return None

    # ---- names that the description does not have ----

    def undescribed(self, cls: Any, name: str, instance: Object | None, owner: object) -> Any:
        """Looks up an attribute that the description of its class does not contain. The result is a method that the
        policy allows by a supertype, or a DeniedMethod; otherwise an AttributeError is raised. `instance` is the
        object, or None for a static member. `owner` is what the error names. The first lookup sends a request, which
        calls no method."""
        if name.startswith("_"):
            raise objects.missing_attribute(cls, name, owner)
        key = cls, name, instance is None
        denied = self._asked.get(key)
        if denied is None:
            try:
                denied = self._is_denied(cls, java_name(name), instance)
            except (OSError, RuntimeError):
                if self._connection.is_closed:
                    raise objects.missing_attribute(cls, name, owner) from None
                raise
            if denied and instance is not None:
                self._add_inherited(cls, name, instance)
            found = cls.__dict__.get(name)  # a description of the object may have added the name
            if found is not None:
                return found.__get__(owner, cls)
            if len(self._asked) >= ASKED_MAX:
                self._asked.clear()
            self._asked[key] = denied
        if not denied or (name == "keys" and _iterates(cls)):  # with `keys`, dict(x) would read x as a map
            raise objects.missing_attribute(cls, name, owner)
        return DeniedMethod(cls, java_name(name), instance)

    def _is_denied(self, cls: Any, name: str, instance: Object | None) -> bool:
        """Returns whether the policy denies a method, and False if the public method does not exist. Adds the
        description of the object, because a description by the class's name lacks methods that the policy
        allows by a supertype."""
        operations = _static_operations(cls) if instance is None else self._connection
        try:
            operations.call(_callable_name(cls), name, instance, (UNFIT,))
            denied = False
        except Denied:
            denied = True
        except NotFound:
            return False
        except (BadArgument, OutOfRange, JavaException):  # it exists, but is not public, so no description has it
            denied = False
        if instance is not None:
            with contextlib.suppress(Denied):
                self.complete(cls, instance)
        return denied

    def complete(self, cls: Any, instance: Object) -> None:
        """Adds the members that a description of an object has and the description of its class by name lacks."""
        if cls in self._by_object or "_owners" not in cls.__dict__:  # arrays have no description
            return
        info = described(self._connection.describe(instance, members_only=True), cls._java_name)
        with parsing(f"the class {shown(cls._java_name[:200])}"):
            members = self._members(cls._java_name, info, cls._owners, cls._loader)
        for name, member in _without_mixed_in(members, cls.__bases__).items():
            if name not in cls.__dict__:
                type.__setattr__(cls, name, member)
        self._by_object.add(cls)

    def _add_inherited(self, cls: Any, name: str, instance: Object) -> None:
        """Adds a method that the policy allows only by the name of a supertype that inherits it."""
        owner = self.owner_of(cls, java_name(name), instance) if name not in cls.__dict__ else None
        if owner is not None:
            made = Method(self._connection, owner, java_name(name), False, True)
            known = next((each.__dict__[name] for each in self._open_supertypes[cls] if _has_method(each, name)), None)
            made.__doc__, made.__text_signature__ = getattr(known, "__doc__", None), getattr(known, "__text_signature__", None)
            type.__setattr__(cls, name, made)

    def owner_of(self, cls: Any, method: str, instance: Object) -> str | None:
        """Returns a supertype by whose name the policy allows the method for objects of the class."""
        if "_owners" not in cls.__dict__ or (cls, method) in self._without_owner:
            return None
        for each in self._supertypes_of(cls):
            if method in OBJECT_METHODS:  # the description of an interface lacks them
                found = self._allows(each._java_name, method, instance)
            else:
                found = _has_method(each, python_name(method))
            if found:
                cls._owners[method] = each._java_name
                return str(each._java_name)
        self._without_owner.add((cls, method))
        return None

    def _supertypes_of(self, cls: Any) -> list[Any]:
        """Returns the supertypes that the policy allows, each before its own supertypes."""
        known = self._open_supertypes.get(cls)
        if known is None:
            known = []
            for name in cls._supertypes - {cls._java_name}:
                with contextlib.suppress(Denied, NotFound, JavaException):
                    known.append(self.of_name(name))
            known.sort(key=lambda each: (-len(each._supertypes), each._java_name))
            self._open_supertypes[cls] = known
        return known

    def _allows(self, java_type: str, method: str, instance: Object) -> bool:
        """Returns whether the policy allows an existing method. Does not call the method."""
        try:
            self._connection.call(java_type, method, instance, (UNFIT,))
        except Denied:
            return False
        except (BadArgument, OutOfRange):
            pass
        return True

    # ----

    def _make(self, name: str, handle: Object | None) -> type:
        with self._making(name):
            info = None if name.startswith("[") else self._describe(name, handle)
            with parsing(f"the class {shown(name[:200])}"):
                made = self._make_array(name) if info is None else self._make_class(name, info)
        if handle is not None:
            self._by_object.add(made)
        return self._classes.setdefault(name, self._classes.setdefault(runtime_name(made._java_name), made))

    @contextlib.contextmanager
    def _making(self, name: str) -> Iterator[None]:
        """Guards the construction of a class, which first constructs the supertypes. Java's supertypes have no cycles,
        and no chain of supertypes has SUPERTYPES_MAX classes."""
        in_progress: list[str] = _in_progress.__dict__.setdefault("names", [])
        if name in in_progress or len(in_progress) >= SUPERTYPES_MAX:
            raise ProtocolError(f"the supertypes of the class {shown(in_progress[0][:200])} are endless")
        in_progress.append(name)
        try:
            yield
        finally:
            in_progress.pop()

    def _describe(self, name: str, handle: Object | None) -> dict[str, Any]:
        if handle is not None:
            return described(self._connection.describe(handle, members_only=True), name)
        try:
            return described(self._connection.describe(None, name), name)
        except NotFound as error:
            # Map.Entry: the peer suggests Map$Entry, the same class in Java's own notation.
            outer, _, inner = name.rpartition(".")
            if f"{outer}${inner}" not in error.suggestions:
                raise
            return described(self._connection.describe(None, f"{outer}${inner}"), name)

    def _make_class(self, name: str, info: dict[str, Any], loader: Object | None = None) -> JavaClass:
        name = info.get("class") or name
        known = self._classes.get(name)
        if isinstance(known, JavaClass) and loader is None:
            return known
        supertypes = frozenset([*info["superclasses"], *info["interfaces"], OBJECT])
        namespace = _names(name, info)
        namespace.update(_java=self._java, _java_name=name, _supertypes=supertypes | {name})
        namespace["_nested"] = tuple(info.get("nested") or ())
        namespace["_above"] = tuple(each for each in (*info["interfaces"], *info["superclasses"]) if each != OBJECT)
        owners = self._owners(info) if "/" in name else {}
        bases = self._bases(name, info, supertypes, loader)
        namespace.update(_without_mixed_in(self._members(name, info, owners, loader), bases), _owners=owners, _loader=loader)
        if THROWABLE not in namespace["_supertypes"]:
            namespace["__slots__"] = ()
            namespace["_identity"] = _is_identity(info)
        namespace["_constructor"] = staticmethod(self._constructor(name, info, loader))
        kind = self.throwable_type if THROWABLE in namespace["_supertypes"] else JavaClass
        return kind(namespace["__name__"], bases, {key: namespace[key] for key in namespace if key != "__name__"})

    def _superclass(self, name: str, loader: Object | None) -> type:
        if loader is None or not is_foreign(name):
            return self.of_name(name)
        return self.of_class(self._connection.call(*find_class_object(name), loader))

    def _bases(
        self, name: str, info: dict[str, Any], supertypes: frozenset[str], loader: Object | None
    ) -> tuple[type, ...]:
        above = info["superclasses"]
        if name == THROWABLE:
            return (ThrowableMixin,)
        if THROWABLE in supertypes:
            return _with_python_base(name, self.of_throwable(above[0], above[1:]))
        base: type = JavaObject
        for superclass in above:
            try:
                base = self._superclass(superclass, loader)
                break
            except (PeerError, JavaException):  # denied, or of a loader that is unknown here
                continue
        if "interface" in info.get("modifiers", "").split():
            return (JavaObject,)
        found = dict.fromkeys(MIXINS[each] for each in MIXINS if each in supertypes or each == name)
        mixins = [mixin for mixin in found if not issubclass(base, mixin)]
        needed = [each for each in mixins if not any(each is not other and issubclass(other, each) for other in mixins)]
        return (*needed, base)

    def _owners(self, info: dict[str, Any]) -> dict[str, str]:
        """For a class that no request can name: returns, for each of its methods, the supertype that has the
        method."""
        owners = {}
        for supertype in [*reversed(info["interfaces"]), *info["superclasses"][:1]]:
            with contextlib.suppress(PeerError, JavaException):
                known = self.of_name(supertype)
                owners.update({each: supertype for each in dir(known) if isinstance(getattr(known, each), Method)})
        return owners

    def _members(
        self, name: str, info: dict[str, Any], owners: dict[str, str], loader: Object | None
    ) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for field in info["fields"]:
            if "public" in field["modifiers"].split() and not is_special(field["name"]):
                made_field: Any = Field(self._connection, name, field["name"], field["isStatic"])
                if loader is not None and field["isStatic"]:
                    made_field = LoadedField(self._connection, loader, name, field["name"])
                members[python_name(field["name"])] = made_field
        overloads: dict[str, list[dict[str, Any]]] = {}
        for method in info["methods"]:
            if "public" in method["modifiers"].split() and not is_special(method["name"]):
                overloads.setdefault(method["name"], []).append(method)
        for called, methods in overloads.items():
            kinds = {bool(method["isStatic"]) for method in methods}
            owner = owners.get(called, name)
            kind = Method if loader is None or True not in kinds else LoadedMethod
            made = kind(self._connection, owner, called, True in kinds, False in kinds)
            if isinstance(made, LoadedMethod):
                made.loader = loader
            made.__doc__ = "\n".join(_signature(method) for method in methods)
            made.__text_signature__ = _text_signature(methods[0]) if len(methods) == 1 else None
            members[python_name(called)] = made
        return members

    def _constructor(self, name: str, info: dict[str, Any], loader: Object | None) -> Callable[..., Any]:
        if "interface" not in info.get("modifiers", "").split():
            call: Callable[..., Any] = Constructor(self._connection, name)
            if loader is not None:
                call = LoadedConstructor(self._connection, loader, name)
            if self._is_scala_object(name, info):
                return Method(self._connection, name, "apply", True, False)
            are_public = all("public" in each["modifiers"].split() for each in info["constructors"])
            return call if are_public else PublicConstructors(name, info, call)
        from .callbacks import implementation_of

        def implement(*targets: Any) -> Any:
            if len(targets) != 1:
                raise TypeError(
                    f"{name} is an interface: it accepts one argument, a function or an object that implements it, "
                    f"not {len(targets)}"
                )
            return implementation_of(name, targets[0], self._java)

        return implement

    def _is_scala_object(self, name: str, info: dict[str, Any]) -> bool:
        """Returns whether a call of the class means the `apply` of its Scala object: no constructor is public, and the
        class of the object exists."""
        if any("public" in each["modifiers"].split() for each in info["constructors"]):
            return False
        has_apply = any(each["name"] == "apply" and each["isStatic"] for each in info["methods"])
        return has_apply and self._java._kind_of(f"{name}$").is_class

    def _make_array(self, name: str) -> JavaClass:
        shown = source_name(name)
        primitive = len(name) == 2
        of_objects = sequences.ObjectArrayMixin if name.lstrip("[")[:1] == "L" else sequences.MatrixMixin
        base: tuple[type, ...] = (sequences.PrimitiveArrayMixin, Array) if primitive else (of_objects,)
        connection, pieces = self._connection, self._java._pieces

        def construct(*contents: Any) -> Any:
            if len(contents) != 1:
                raise TypeError(f"{shown} accepts a length or the elements, not {len(contents)} arguments")
            arguments = array_arguments(shown, contents[0])
            content = arguments[0].value if primitive and isinstance(arguments[0], Typed) else ()
            made = pieces.array(shown, content) if hasattr(content, "__len__") and len(content) > MANY else None
            return connection.new(shown, arguments) if made is None else made

        return JavaClass(shown, base, {
            "__slots__": (), "__module__": "jpeer", "__doc__": f"{shown}: call it with a length or with the elements.",
            "_java": self._java, "_java_name": shown, "_supertypes": frozenset([shown, OBJECT]), "_nested": (),
            "_constructor": staticmethod(construct),
        })  # fmt: skip


def _callable_name(cls: Any) -> str:
    """Returns the class that a request names for a method of the object. A hidden class cannot be named."""
    name: str = cls._java_name
    return OBJECT if "/" in name else name


def _has_method(cls: type, name: str) -> bool:
    """Returns whether the class's own description has this instance method."""
    found = cls.__dict__.get(name)
    return isinstance(found, Method) and found._has_instance


def _iterates(cls: type) -> bool:
    return any("__iter__" in each.__dict__ for each in cls.__mro__)


def _without_mixed_in(members: dict[str, Any], bases: Sequence[type]) -> dict[str, Any]:
    """Returns the members without those that a mixin of the class replaces."""
    mixed_in = {name for name, mixin in OVERRIDES.items() if any(issubclass(base, mixin) for base in bases)}
    return {name: members[name] for name in members if name not in mixed_in}


def find_class_object(name: str) -> tuple[str, str, None, tuple[Typed, ...]]:
    """Returns the request that Java.class_object sends."""
    return "java.util.Objects", "requireNonNull", None, (Typed("java.lang.Class", name),)


def array_arguments(name: str, content: Any) -> tuple[Any, ...]:
    """Returns the arguments of `new` of an array class: a length or the elements."""
    elements: Any = content
    if hasattr(type(content), "__index__") and getattr(content, "ndim", 0) == 0:
        return (Typed("int", operator.index(content)),)
    if isinstance(content, Object) or not (
        isinstance(content, (list, tuple, bytes, bytearray, memoryview, objects.Wrapper)) or hasattr(content, "dtype")
    ):
        elements = list(elements)
    return (Typed(name, elements),)


def is_special(name: str) -> bool:
    """Returns whether the name has a special meaning in Python, such as `__len__` and `__del__`. A Java
    member of this name can be used through jpeer.call, get and put."""
    return name.startswith("__") and name.endswith("__")


def python_name(name: str) -> str:
    """Returns the Python name of a Java name. Names that Python or the package reserves get an underscore: `in_`."""
    if keyword.iskeyword(name) or (name.startswith("_") and hasattr(JavaObject, name)) or name in RESERVED:
        return name + "_"
    return name


def java_name(name: str) -> str:
    """Returns the Java name of a Python name, as the inverse of python_name."""
    return name[:-1] if name.endswith("_") and python_name(name[:-1]) == name else name


def parameter_name(name: str) -> str:
    """Returns the Python name of a parameter: a `$` of Java becomes an underscore."""
    return python_name(re.sub(r"\W", "_", name))


RESERVED = frozenset(
    "_java _java_name _supertypes _nested _constructor _identity _owner _owners _from_object _bridge _constants "
    "_operations _loader _above "
    "java_class java_frames args with_traceback add_note".split()
)


class PublicConstructors:
    """The constructors of a class of which some are not public. The peer may choose a constructor of this
    kind if no public constructor accepts the arguments. A plain call must not run it."""

    def __init__(self, name: str, info: dict[str, Any], call: Callable[..., Any]) -> None:
        self._name, self._call = name, call
        public = [each["parameters"] for each in info["constructors"] if "public" in each["modifiers"].split()]
        # A description by an object does not say which constructors are varargs.
        variable = [
            len(each["parameters"]) - 1
            for each in info["constructors"]
            if "public" in each["modifiers"].split()
            and (each.get("isVarArgs") or "modifiers" not in info)
            and each["parameters"]
        ]
        self._has_public, self._counts = bool(public), {len(each) for each in public}
        self._least = min(variable, default=None)

    def check(self, args: Sequence[Any]) -> None:
        if len(args) in self._counts or (self._least is not None and len(args) >= self._least):
            return
        what = f"no public constructor of {len(args)} arguments" if self._has_public else "no public constructor"
        raise TypeError(f"{self._name} has {what}; jpeer.call(its class, '<init>', ...) calls one that is not public")

    def __call__(self, *args: Any) -> Any:
        self.check(args)
        return self._call(*args)


def _with_python_base(name: str, base: type) -> tuple[type, ...]:
    """Returns the Python bases of a throwable's class."""
    python = PYTHON_BASES.get(name)
    if python is None or issubclass(base, python):
        return (base,)
    return (python, base) if python is MemoryError else (base, python)  # __new__ must be that of the first base


def _names(name: str, info: dict[str, Any]) -> dict[str, Any]:
    package, _, local = shown(name).rpartition(".")
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
    """Returns the text that inspect.signature parses: "($self, dx, dy)"."""
    names = [parameter_name(each["name"]) for each in method["parameters"]]
    if names and method.get("isVarArgs"):
        names[-1] = f"*{names[-1]}"
    return f"({', '.join([*([] if method['isStatic'] else ['$self']), *names])})"


def _is_identity(info: dict[str, Any]) -> bool:
    """Returns whether the class inherits `equals` from java.lang.Object or java.lang.Enum, which compare by
    identity. The peer says so where the policy hides `equals`."""
    if info.get("identity"):
        return True
    for method in info["methods"]:
        if method["name"] == "equals" and [each["type"] for each in method["parameters"]] == [OBJECT]:
            return method.get("inheritedFrom") in (OBJECT, ENUM)
    return False
