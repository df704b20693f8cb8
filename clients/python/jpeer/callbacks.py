"""Python objects that Java calls: functions for functional interfaces, and objects of classes that implement
interfaces.

A call within a request of this program runs on the thread that waits for the request. Calls from Java's own threads run
on threads of this package (`Listeners`).
"""

import contextlib
import functools
import keyword
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinMethodType, FunctionType, MethodType, NoneType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ._native import BoundMethod, Callback
from .answers import described
from .classes import UNFIT, python_name
from .exceptions import DENIED, Denied, JavaException, PeerError, handle_of
from .objects import OPTIONALS
from .thrown import Frame, ThrownExceptions
from .values import Cast, is_comparable, marked_interfaces, names_of

if TYPE_CHECKING:
    from .connection import Java

T = TypeVar("T")
FindFunction = Callable[[str, str, Sequence[str]], Callable[..., Any]]
# (the throwable or the name of its class, its message, its frames, its cause)
Thrown = tuple[Any, str | None, list[Frame], "Thrown | None"]

COMPARABLE, OBJECT = "java.lang.Comparable", "java.lang.Object"

FRAMES_MAX, CAUSES_MAX = 64, 16

LISTENERS_MAX = 256
UNDESCRIBED_MAX = 64  # of a class with more, each name is asked for
COUNTED_MAX = 192  # names with numbers of parameters: a peer accepts 255 overrides
LISTENER_WAKE_SECONDS = 1.0
LISTENER_IDLE_SECONDS = 10.0

# Python exceptions and the classes that they become in Java. The first match counts.
JAVA_EXCEPTIONS: tuple[tuple[type[BaseException], str], ...] = (
    (PermissionError, "java.lang.SecurityException"),
    (FileNotFoundError, "java.io.FileNotFoundException"),
    (TimeoutError, "java.util.concurrent.TimeoutException"),
    (OSError, "java.io.IOException"),
    (TypeError, "java.lang.ClassCastException"),
    (IndexError, "java.lang.IndexOutOfBoundsException"),
    (LookupError, "java.util.NoSuchElementException"),
    (StopIteration, "java.util.NoSuchElementException"),
    (ArithmeticError, "java.lang.ArithmeticException"),
    (NotImplementedError, "java.lang.UnsupportedOperationException"),
    (ValueError, "java.lang.IllegalArgumentException"),
    (MemoryError, "java.lang.OutOfMemoryError"),
    (BaseException, "java.lang.RuntimeException"),
)


def implements(*interfaces: Any) -> Callable[[T], T]:
    """Marks a class whose objects implement these Java interfaces, or a function that implements one interface:

        @jpeer.implements("java.util.Comparator")
        class ByLength:
            def compare(self, left, right):
                return len(left) - len(right)

    A default method of an interface runs in Java unless the class has a method with the same name that accepts as many
    arguments. The interfaces of several decorators and of all base classes add up. If the class defines __eq__,
    __hash__ or __str__, Java's equals, hashCode and toString call it. Otherwise Java compares by identity.
    """
    from .connection import class_name

    names = tuple(class_name(each) for each in interfaces)
    if not names:
        raise TypeError("implements needs the name of an interface")

    def mark(target: T) -> T:
        before = interfaces_of(target)
        target.__java_interfaces__ = tuple(dict.fromkeys((*names, *before)))  # type: ignore[attr-defined]
        return target

    return mark


def interfaces_of(target: Any) -> tuple[str, ...]:
    """Returns the interfaces that @implements has set. For a class, these are the interfaces of the class and of all
    its bases; for an object, the interfaces of its class, of the object, and of its target."""
    classes = target.__mro__ if isinstance(target, type) else type(target).__mro__
    marks = (marked_interfaces(target), *(names_of(each.__dict__.get("__java_interfaces__")) for each in classes))
    return tuple(dict.fromkeys(name for names in marks for name in names))


def interfaces_in_java(target: Any) -> tuple[str, ...]:
    """Returns the interfaces of an object in Java. An object with an order is also a Comparable, unless it is an
    Implementation."""
    interfaces = interfaces_of(target)
    is_object = not isinstance(target, (Implementation, FunctionType, MethodType, type))
    return tuple(dict.fromkeys((*interfaces, COMPARABLE))) if is_object and is_comparable(target) else interfaces


class Implementation:
    """A callable or an object that implements one interface: the result of calling the interface's class. Calling an
    Implementation calls its target. An Implementation has the interface's methods, and a default method that the target
    does not define runs in Java. While an Implementation is in use, the same target and interface give the same
    Implementation."""

    _made: "weakref.WeakValueDictionary[Any, Implementation]" = weakref.WeakValueDictionary()
    _lock = threading.Lock()

    def __init__(self, target: Any, interfaces: tuple[str, ...], java: "Java | None" = None) -> None:
        if not (callable(target) or hasattr(target, "__dict__") or is_comparable(target)):
            raise TypeError(f"{target!r} does not implement {', '.join(interfaces)}")
        self.target = target
        self.__java_interfaces__ = interfaces
        self._java = java  # the connection that has sent the callback first; None: it was not sent yet

    @classmethod
    def of(cls, target: Any, interfaces: tuple[str, ...], java: "Java | None") -> "Implementation":
        made = cls(target, interfaces, java)
        with cls._lock:
            return cls._made.setdefault((id(java), _identity(made)), made)

    def __call__(self, *args: Any) -> Any:
        return self.target(*args)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)
            found = None if isinstance(self.target, FUNCTIONS) else getattr(self.target, name, None)
            if found is None and self._java is not None:
                found = self._java._callbacks.member_of(self, name)
            if found is None:
                raise AttributeError(f"{self!r} has no method {name!r}", name=name, obj=self)
            return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Implementation) and _identity(self) == _identity(other)

    def __hash__(self) -> int:
        return hash(_identity(self))

    def __repr__(self) -> str:
        return f"<{self.target!r} as {', '.join(self.__java_interfaces__)}>"


FUNCTIONS = (FunctionType, MethodType, type)  # Java calls these for every method of an interface


def implementation_of(interface: str, target: Any, java: "Java") -> Implementation:
    """Returns the target as an object with that interface. A Python iterator becomes a java.util.Iterator that reads
    elements on demand."""
    if interface == "java.util.Iterator" and isinstance(target, Iterator):
        target = _JavaIterator(target)
    return Implementation.of(target, (interface,), java)


class _JavaIterator:
    def __init__(self, values: Iterator[Any]) -> None:
        self._values = values
        self._next: list[Any] = []

    def hasNext(self) -> bool:
        if not self._next:
            self._next.extend(value for value in [next(self._values, self)] if value is not self)
        return bool(self._next)

    def next(self) -> Any:
        if not self.hasNext():
            raise LookupError("the iterator has no more elements")
        return self._next.pop()


class ObjectMethod:
    """A method of java.lang.Object. A Python object answers the method if its class, or a base other than
    Python's built-in classes, defines one of the `specials`."""

    def __init__(self, name: str, specials: tuple[str, ...], answer: Callable[..., Any]) -> None:
        self._name, self._specials, self.answer = name, specials, answer

    def is_defined(self, cls: type) -> bool:
        return callable(_method_of(cls, self._name)) or any(
            getattr(cls, each) is not getattr(object, each) for each in self._specials
        )

    def is_in_python(self, cls: type) -> bool:
        """Returns whether a class written in Python defines the method. Python's callable types have a __str__ of their
        own, which does not count."""
        return callable(_method_of(cls, self._name)) or any(
            isinstance(getattr(cls, each), (FunctionType, NoneType)) for each in self._specials  # None: not hashable
        )


def _hash_code(target: Any) -> int:
    """Returns the hash as a signed 32-bit number. Equal objects have equal numbers."""
    number = hash(target)
    folded = (number ^ number >> 32) & 0xFFFFFFFF
    return folded - (1 << 32) if folded >= 1 << 31 else folded


OBJECT_METHODS = {
    "equals": ObjectMethod("equals", ("__eq__",), lambda target, other: bool(target == _target_of(other))),
    "hashCode": ObjectMethod("hashCode", ("__hash__",), _hash_code),
    "toString": ObjectMethod("toString", ("__str__", "__repr__"), str),
}


def _target_of(given: Any) -> Any:
    return given.target if isinstance(given, Implementation) else given


def _compare(target: Any, other: Any) -> int:
    """Compares two objects by __lt__, as Comparable.compareTo does."""
    other = _target_of(other)
    return -1 if target < other else 1 if other < target else 0


class CallbackTable:
    """The callbacks of one connection. As long as Java holds a function as an object of an interface, the function is
    given as the same Java object."""

    def __init__(self, java: "Java") -> None:
        self._java = java
        self._known: weakref.WeakValueDictionary[Any, Callback] = weakref.WeakValueDictionary()
        self.thrown = ThrownExceptions(java)
        self._signatures: dict[str, frozenset[tuple[str, int, bool]]] = {}
        self._denied: dict[tuple[str, str], bool] = {}
        self._members: dict[str, dict[str, tuple[str, bool]]] = {}
        self._may_add_comparable = True
        self._results: dict[str, dict[str, Callable[[Any], Any]]] = {}
        self._lock = threading.RLock()  # a request under the lock may fail and call retry_without_comparable
        self._listeners = Listeners(java)
        # Runs a coroutine function on the loop of jpeer.aio, and blocks the calling thread until the function returns.
        self.run_coroutine: Callable[[Callable[..., Any], Sequence[Any]], Any] | None = None

    def of(self, target: Any, as_comparable: bool = False) -> Callback:
        """Returns the callback of a target. With `as_comparable` a callable becomes a Comparable instead of the
        parameter's interface."""
        key = _identity(target)
        if as_comparable:
            key = COMPARABLE, key
        with self._lock:
            made = self._known.get(key)
            if made is None:
                self._known[key] = made = self._make(target, as_comparable)
        self._listeners.start()
        return made

    def retry_without_comparable(self, code: int, message: str) -> bool:
        """Decides after an error whether the request should be sent again. If the policy denies java.lang.Comparable,
        objects implement only the interfaces that @implements declares."""
        if code != DENIED or not self._may_add_comparable or COMPARABLE not in message:
            return False
        with self._lock:
            keys = [key for key, each in self._known.items() if len(each.interfaces) > 1 and COMPARABLE in each.interfaces]
            for key in keys:
                del self._known[key]
        self._may_add_comparable = not keys
        return bool(keys)

    def member_of(self, implementation: Implementation, name: str) -> Callable[..., Any] | None:
        """Returns the target if the interface's method is abstract. For a default method, returns a function that calls
        the method in Java. Returns None if the method does not exist."""
        if self.run_coroutine is not None:  # a request here would block the loop
            return None
        for interface in implementation.__java_interfaces__:
            if interface not in self._members:
                self._members[interface] = self._find_members(interface)
            called, is_abstract = self._members[interface].get(name, (None, False))
            if called is not None and is_abstract:
                return implementation.target if callable(implementation.target) else None
            if called is not None:
                return functools.partial(self._call_in_java, implementation, interface, called)
        return None

    def _find_members(self, interface: str) -> dict[str, tuple[str, bool]]:
        """Returns, for Python's name of each method, Java's name and whether an overload is abstract."""
        found = dict.fromkeys(OBJECT_METHODS, False)
        with contextlib.suppress(PeerError):  # no description, for example because of the policy
            for each in self._methods(interface):
                is_abstract = "abstract" in each["modifiers"].split() and each["name"] not in OBJECT_METHODS
                found[each["name"]] = found.get(each["name"], False) or is_abstract
        return {python_name(each): (each, found[each]) for each in found}

    def _call_in_java(self, implementation: Implementation, interface: str, name: str, *args: Any) -> Any:
        connection = self._java._connection
        return connection.call(OBJECT if name in OBJECT_METHODS else interface, name, connection.handle(implementation), args)

    def _make(self, target: Any, as_comparable: bool) -> Callback:
        given = target
        interfaces = interfaces_of(target)
        if interfaces and self._may_add_comparable:
            interfaces = interfaces_in_java(target)
        if isinstance(target, Implementation):
            target._java = target._java or self._java
            target = target.target
        elif isinstance(target, type) and interfaces:
            name = target.__qualname__
            raise TypeError(f"{name} is a class that implements {', '.join(interfaces)}: pass an object, {name}(...)")
        if self.run_coroutine is None and _is_coroutine_function(target):
            raise TypeError(f"only a connection of jpeer.aio accepts a coroutine function: {target!r}")
        connection = self._java._connection
        cls = type(target)
        if not interfaces and callable(target) and not as_comparable:
            is_object = not isinstance(target, FUNCTIONS)
            answered = [name for name, answer in OBJECT_METHODS.items() if is_object and answer.is_in_python(cls)]
            find = self._function(target)
            arity = arity_of(target)
            return Callback(connection, find, self._throw, arity=arity, overrides=answered, target=given)
        if isinstance(target, FUNCTIONS):
            return Callback(connection, self._function(target), self._throw, interfaces=interfaces, target=given)
        if not interfaces and not is_comparable(target):
            raise TypeError(f"{cls.__module__}.{cls.__qualname__} has no form in Java")
        interfaces = interfaces or (COMPARABLE,)
        overrides = self._overrides(target, interfaces)
        overrides += [name for name, answer in OBJECT_METHODS.items() if answer.is_defined(cls)]
        return Callback(
            connection, self._method(target), self._throw, interfaces=interfaces, overrides=overrides, target=given
        )

    def _overrides(self, target: Any, interfaces: Sequence[str]) -> list[str]:
        """Returns the default methods that the target has, and its methods that the descriptions lack: a policy may allow
        Java to call a method and hide it from this client. Each is with the numbers of parameters that the target accepts."""
        cls = type(target)
        found, described_names = [], set(OBJECT_METHODS)
        for interface in interfaces:
            with contextlib.suppress(PeerError):  # no description, for example because of the policy
                methods = self._methods_of(interface)
                described_names |= {name for name, _, _ in methods}
                found += [
                    f"{name}/{count}"
                    for name, count, is_default in methods
                    if is_default and callable(_method_of(cls, name)) and accepts(_method_of(target, name), count)
                ]
        hidden = [each for each in dir(cls) if not each.startswith("_") and callable(getattr(cls, each, None))]
        hidden = [each[:-1] if each.endswith("_") and keyword.iskeyword(each[:-1]) else each for each in hidden]
        hidden = [each for each in hidden if each not in described_names]
        if len(hidden) > UNDESCRIBED_MAX:
            hidden = [each for each in hidden if any(self._is_denied(interface, each) for interface in interfaces)]
        counted = [each for name in hidden for each in _with_counts(name, _method_of(target, name))]
        return sorted({*found, *(counted if len(counted) <= COUNTED_MAX else hidden)})

    def _is_denied(self, interface: str, method: str) -> bool:
        """Returns whether the policy denies the method, which may not exist. Does not call the method."""
        key = interface, method
        if key not in self._denied:
            try:
                self._java._connection.call(interface, method, None, (UNFIT,))
                self._denied[key] = False
            except PeerError as why:
                self._denied[key] = isinstance(why, Denied)
        return self._denied[key]

    def _methods_of(self, interface: str) -> frozenset[tuple[str, int, bool]]:
        """Returns the names of the methods with their numbers of parameters, and whether they have a default."""
        if interface not in self._signatures:
            self._signatures[interface] = frozenset(
                (each["name"], len(each["parameters"]), "abstract" not in each["modifiers"].split())
                for each in self._methods(interface)
            )
        return self._signatures[interface]

    def _methods(self, interface: str) -> list[dict[str, Any]]:
        methods = described(self._java._connection.describe(None, interface), interface)["methods"]
        return [each for each in methods if not each["isStatic"]]

    def _function(self, function: Callable[..., Any]) -> FindFunction:
        """Calls the function for every method of an interface."""

        answer = self._method(function)  # for the methods of java.lang.Object
        function = self._awaited(function)

        def find(interface: str, method: str, types: Sequence[str]) -> Callable[..., Any]:
            if interface == OBJECT:
                return answer(interface, method, types)
            convert = self._result_converter(interface, method)
            return function if convert is None else lambda *args: convert(function(*args))

        return find

    def _method(self, target: Any) -> FindFunction:
        """Calls the target's method of the same name. The method is looked up for each call."""

        def find(interface: str, method: str, types: Sequence[str]) -> Callable[..., Any]:
            convert = self._result_converter(interface, method)

            def call(*args: Any) -> Any:
                member = _method_of(target, method)
                if member is None and method in OBJECT_METHODS and interface == OBJECT:
                    return OBJECT_METHODS[method].answer(target, *args)
                if member is None and method == "compareTo" and is_comparable(target):
                    return _compare(target, *args)
                if member is None and callable(target):
                    member = target
                if member is None:
                    raise NotImplementedError(
                        f"{type(target).__qualname__} has no method {method}, which {interface} requires"
                    )
                result = self._awaited(member)(*args)
                return result if convert is None else convert(result)

            return call

        return find

    def _awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        run = self.run_coroutine
        if run is None or not _is_coroutine_function(function):
            return function
        return lambda *args: run(function, args)

    def _result_converter(self, interface: str, method: str) -> Callable[[Any], Any] | None:
        """Converts a function's result to the return type of the interface's method; None if no conversion is needed. A
        void method drops the result, a boolean method gets bool(result), and a method that returns an Optional gets an
        Optional of the result."""
        known = self._results.get(interface)
        if known is None:
            known = {}
            with contextlib.suppress(PeerError):
                known = _results_of(self._methods(interface))
            self._results[interface] = known
        return known.get(method)

    def _throw(self, error: BaseException) -> Thrown:
        """Returns the Java throwable for a Python exception: its own throwable if this connection has it, or a new
        throwable of the equivalent class."""
        can_ask = self._java._connection.can_ask()
        if not isinstance(error, JavaException) or not self._is_own(error):
            return self._make_thrown(error, 0)
        handle = handle_of(error) if can_ask else error.__dict__.get("_handle")
        return (handle, None, [], None) if handle is not None else self._make_thrown(error, 0)

    def _is_own(self, error: BaseException | None) -> bool:
        return isinstance(error, JavaException) and getattr(type(error), "_java", None) in (None, self._java)

    def _make_thrown(self, error: BaseException, depth: int) -> Thrown:
        """Makes a new throwable for the exception, with its causes. When Java throws the outermost throwable back,
        Python gets the same exception."""
        frames = frames_of(error)
        cause = None
        if error.__cause__ is not None and depth < CAUSES_MAX:
            handle = error.__cause__.__dict__.get("_handle") if self._is_own(error.__cause__) else None
            cause = (handle, None, [], None) if handle is not None else self._make_thrown(error.__cause__, depth + 1)
        if isinstance(error, JavaException) and self._is_own(error):
            return error.java_class, _plain(str(error)), frames, cause
        name = next(name for kind, name in JAVA_EXCEPTIONS if isinstance(error, kind))
        message = _message_of(error)
        if depth > 0:
            return name, _plain(message), frames, cause
        can_ask = self._java._connection.can_ask()
        throwable = self.thrown.throwable_of(error, name, message, frames) if can_ask else None
        if throwable is not None:
            return throwable, None, frames, cause
        return name, self.thrown.mark(error, _plain(message), frames), frames, cause

    def close(self) -> None:
        self._listeners.close()


class Listeners:
    """The threads that run calls from Java's own threads. One thread listens. Before it runs a function, another thread
    starts to listen, so that a function that waits delays no other call."""

    def __init__(self, java: "Java") -> None:
        self._java = java
        self._changed = threading.Condition()
        self._listening: int | None = None  # the ident of the listening thread
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self._is_stopped = False

    def start(self) -> None:
        if not self._threads:
            with self._changed:
                if not self._threads:
                    self._add()

    def hand_on(self) -> None:
        """Lets another thread listen. The listening thread calls this before it runs a function."""
        with self._changed:
            self._listening = None
            if self._idle > 0:
                self._changed.notify()
            elif len(self._threads) < LISTENERS_MAX and not self._is_stopped:
                self._add()

    def close(self) -> None:
        """Stops the threads. A thread that runs a function ends after the function; this method does not wait for
        it."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            listening = [each for each in self._threads if each.ident == self._listening]
        for thread in listening:
            if thread is not threading.current_thread():
                thread.join(LISTENER_WAKE_SECONDS * 10)

    def _add(self) -> None:
        thread = threading.Thread(target=self._run, name="jpeer-callbacks", daemon=True)
        thread.start()  # may fail; the new thread first waits for the caller's lock
        self._threads.add(thread)

    def _run(self) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while self._take_turn():
                    self._java._connection.listen(LISTENER_WAKE_SECONDS, self.hand_on)
        finally:
            self._end()

    def _take_turn(self) -> bool:
        """Waits until no other thread listens. False: this thread should end."""
        with self._changed:
            self._idle += 1
            is_free = self._changed.wait_for(self._is_free, LISTENER_IDLE_SECONDS)
            self._idle -= 1
            if not is_free or self._is_stopped or self._java._connection.is_closed:
                return False
            self._listening = threading.get_ident()
            return True

    def _is_free(self) -> bool:
        return self._listening in (None, threading.get_ident()) or self._is_stopped

    def _end(self) -> None:
        with self._changed:
            self._threads.discard(threading.current_thread())
            if self._listening == threading.get_ident():
                self._listening = None
                self._changed.notify()


def _identity(target: Any) -> Any:
    """Returns a key for the function or object. Equal keys mean the same function: a bound method that is
    read twice, for example, has one key. Runs no code of the object."""
    if isinstance(target, Implementation):
        return target.__java_interfaces__, _identity(target.target)
    if isinstance(target, MethodType):
        return id(target.__self__), id(target.__func__)
    if isinstance(target, (BuiltinMethodType, BoundMethod)):
        return id(target.__self__), target.__name__
    return id(target)


def _results_of(methods: Iterable[dict[str, Any]]) -> dict[str, Callable[[Any], Any]]:
    """Returns converters for methods whose overloads all return nothing, or all return a boolean, or all return the
    same class of Optional."""
    kinds: dict[str, set[str]] = {}
    for each in methods:
        kinds.setdefault(each["name"], set()).add(each["returnType"].partition("<")[0])
    makers: dict[str, Callable[[Any], Any]] = {"void": lambda result: None, "boolean": bool}
    makers.update((each, functools.partial(_as_optional, each)) for each in OPTIONALS)
    return {name: makers[kind] for name, found in kinds.items() for kind in found if len(found) == 1 and kind in makers}


def _as_optional(name: str, result: Any) -> Cast:
    return result if isinstance(result, Cast) else Cast(name, result)


def _method_of(target: Any, name: str) -> Any:
    """Returns the attribute that implements a Java method. Its name has an additional underscore if Python reserves the
    Java name."""
    found = getattr(target, name, None)
    return getattr(target, f"{name}_", None) if found is None else found


def _is_coroutine_function(function: Any) -> bool:
    import inspect  # imported here, because the import is slow and only needed when Java gets a function

    return inspect.iscoroutinefunction(function)


def accepts(function: Callable[..., Any], count: int) -> bool:
    """Returns whether the function accepts that many arguments. Returns True if its signature is unknown."""
    import inspect

    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _with_counts(name: str, function: Callable[..., Any]) -> list[str]:
    """Returns the name with each number of arguments that the function accepts (`serialize/3`): Java may have further
    methods of that name. Returns the name alone if the number is unlimited or unknown."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [name]
    if any(each.kind == each.VAR_POSITIONAL for each in parameters):
        return [name]
    most = sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters)
    return [f"{name}/{count}" for count in range(most + 1) if accepts(function, count)]


def arity_of(function: Callable[..., Any]) -> int:
    """Returns how many arguments the function needs, or -1 if the number varies or the signature is unknown."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return -1
    count = 0
    for each in parameters:
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty:
            count += 1
        elif each.kind != each.VAR_KEYWORD and not (each.kind == each.KEYWORD_ONLY and each.default is not each.empty):
            return -1
    return count


def frames_of(error: BaseException) -> list[Frame]:
    """Returns the frames of the exception's traceback, the innermost first, at most FRAMES_MAX, without the frames of
    this package."""
    entries: deque[tuple[str, TracebackType]] = deque(maxlen=FRAMES_MAX)
    entry = error.__traceback__
    while entry is not None:
        name = dict.get(entry.tb_frame.f_globals, "__name__")
        module = name if type(name) is str else ""  # a value of another type could run code of the program
        if not module.startswith("jpeer.") and module != "jpeer":
            entries.appendleft((module, entry))
        entry = entry.tb_next
    return [_frame_of(*each) for each in entries]


def _frame_of(module: str, entry: TracebackType) -> Frame:
    code = entry.tb_frame.f_code
    file = code.co_filename.replace("\\", "/").rpartition("/")[2]
    line = entry.tb_lineno if entry.tb_lineno is not None else -1
    return _plain(module), _plain(getattr(code, "co_qualname", code.co_name)), _plain(file), line


def _message_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be made)"
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name


def _plain(text: str) -> str:
    """Replaces NUL and unpaired surrogates, which Java's side does not accept."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
