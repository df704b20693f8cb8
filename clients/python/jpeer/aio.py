"""Java for asyncio: `await obj.method()`, `await obj.field`, `async for element in obj`.

    async with jpeer.aio.launch() as java:
        xs = await java.java.util.ArrayList([3, 1, 2])
        await xs.sort(None)
        print([x async for x in xs], await xs.size())

A call blocks neither the loop nor a later call. Calls that are made without an await between them may run in any order.
The first use of a class by its name blocks the loop for a moment; `asyncio.to_thread(java.type, name)` avoids that. The
objects of a connection belong to the loop that opened the connection.
"""

import asyncio
import contextlib
import inspect
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn

from . import connection, directory, values
from ._native import Constructor, Field, Method, Object
from .aio_links import Link, Links, Place
from .classes import (
    ENUM, DeniedMethod, JavaClass, LoadedConstructor, LoadedField, PublicConstructors, array_arguments,
    find_class_object, java_name,
)  # fmt: skip
from .collections import MapMixin
from .exceptions import Denied, JavaException
from .objects import JavaObject, OptionalMixin, Wrapper, allowed_owner, missing_attribute
from .packages import Package
from .packages import member as package_member
from .pages import FIRST_PAGE, PAGE_GROWTH, PAGE_MAX, MapEntry, needs_iterator
from .tables import PAGE, Table


class _Calling:
    """A call from Java that a coroutine answers."""

    def __init__(self, java: "AsyncJava", place: Place | None) -> None:
        self.java, self.place = java, place


_calling: ContextVar[_Calling | None] = ContextVar("_calling", default=None)
_threads: ContextVar[Mapping["AsyncJava", Link] | None] = ContextVar("_threads", default=None)  # AsyncJava.thread

FIELDS = (Field, LoadedField)


class AsyncJava:
    """A connection for asyncio. Its attributes are packages and classes, like the attributes of
    jpeer.Java."""

    def __init__(self, java: connection.Java, reconnects: bool = False) -> None:
        self._java = java
        self._loop = asyncio.get_running_loop()
        self._links = Links(java._connection, reconnects)
        self._java._hooks.to_java[AsyncObject] = lambda value: value._target
        self._java._hooks.to_java[AsyncClass] = lambda value: value._target
        self._java._hooks.from_text.update(values.from_text(self))
        self._java._callbacks.run_coroutine = self._run_coroutine
        self._java._classes.throwable_type = type("AsyncThrowable", (AsyncThrowable,), {"_owner": self})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _wrap(self, package_member(lambda: self._java, "", name))

    def type(self, name: Any, loader: Any = None) -> Any:
        """Returns the class of that name, or the class of that java.lang.Class. With a loader, returns the class that
        the loader finds."""
        name, loader = (each._target if isinstance(each, Wrapper) else each for each in (name, loader))
        return _wrap(self, self._java.type(name, loader))

    async def add_classpath(self, *entries: str | os.PathLike[str]) -> Any:
        """Adds jars and folders (paths on the peer's machine) to the class path of this connection."""
        return _wrap(self, await asyncio.to_thread(self._java.add_classpath, *entries))

    async def array(self, element_type: Any, *content: Any) -> Any:
        """Returns a new array: with these elements, of this length, or with several dimensions."""
        name = connection.class_name(element_type)
        if len(content) == 1:
            return await self.type(f"{name}[]")(content[0])
        return await self._ask("call", *connection.array_of_dimensions(name, content))

    async def table(self, source: Any, columns: Sequence[str] | None = None, rows: int | None = None) -> Table:
        """Returns the next rows of a ResultSet, an iterator or another source as a Table; see jpeer.Java.table. A thread of
        asyncio.to_thread waits for the pages, over a link of its own."""
        return self._wrapped(await asyncio.to_thread(self._java.table, _unwrapped(source), columns, rows))

    async def table_batches(self, source: Any, columns: Sequence[str] | None = None, rows: int = PAGE) -> AsyncIterator[Table]:
        """Yields the same rows in Tables of at most so many rows. The next one is fetched while one is used."""
        batches: Any = self._java.table_batches(_unwrapped(source), columns, rows)  # a generator
        try:
            while (part := await asyncio.to_thread(next, batches, None)) is not None:
                yield self._wrapped(part)
        finally:
            with contextlib.suppress(ValueError):  # a thread fetches a page still, and drops the generator after it
                batches.close()

    async def rows(self, source: Any, target: Any = "java.util.List", of: str | None = None) -> Any:
        """Sends rows to a Collection or a PreparedStatement; see jpeer.Java.rows."""
        return _wrap(self, await asyncio.to_thread(self._java.rows, source, _unwrapped(target), of))

    def _wrapped(self, table: Table) -> Table:
        for _, chunks in table._pages:
            for chunk in chunks:
                if chunk.type == "object":
                    chunk.data = [_wrap(self, each) for each in chunk.data]
        return table

    async def class_object(self, name: str) -> Any:
        """Returns the java.lang.Class of that name."""
        return await self._ask("call", *find_class_object(name))

    async def stats(self) -> dict[str, Any]:
        """Returns figures of the session: its objects and calls, and the sessions of this address."""
        return connection.read_stats(await self._send("control", "stats"))

    async def gc(self) -> None:
        """Runs Java's garbage collector."""
        await self._send("control", "gc")

    @property
    def url(self) -> str:
        """The address at which other clients can connect."""
        return self._java.url

    @property
    def process_id(self) -> int | None:
        """The process that launch has started, or None."""
        return self._java.process_id

    @property
    def is_closed(self) -> bool:
        return self._java.is_closed

    @property
    def timeout(self) -> float | None:
        """The time limit of every call, in seconds. None: no limit."""
        return self._java.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._java.timeout = seconds

    async def close(self) -> None:
        """Closes the connection, and ends the peer if launch has started it."""
        self._links.close()
        await asyncio.to_thread(self._java.close)

    async def __aenter__(self) -> "AsyncJava":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _send(self, *step: Any) -> "asyncio.Future[Any]":
        """Sends a step of _native.Connection.batch. The future is its result."""
        calling = _calling.get()
        place = calling.place if calling is not None and calling.java is self else None
        return self._links.call(step, self._java.timeout, place, (_threads.get() or {}).get(self))

    @asynccontextmanager
    async def thread(self, name: str | None = None) -> AsyncIterator[None]:
        """Gives this task a Java thread of its own with that name. Tasks that start inside the `async with` share the
        thread."""
        task = asyncio.current_task()
        link = await self._links.open_thread_link(name or (task.get_name() if task is not None else None))
        token = _threads.set({**(_threads.get() or {}), self: link})
        try:
            yield
        finally:
            _threads.reset(token)
            self._links.release_thread_link(link)

    def _run_coroutine(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Runs a coroutine function for Java, and waits on a thread of this package. Requests that the function awaits
        run on the Java thread that made the call."""
        calling = _Calling(self, self._java._connection.calling())

        async def run() -> Any:
            _calling.set(calling)
            return await function(*(_wrap(self, each) for each in args))

        running = run()
        try:
            future = asyncio.run_coroutine_threadsafe(running, self._loop)
        except RuntimeError:
            running.close()
            raise
        try:
            return future.result()
        finally:
            calling.place = None  # the function may have started tasks that outlive the call

    async def _ask(self, *step: Any) -> Any:
        return _wrap(self, await self._send(*step))


def _unwrapped(value: Any) -> Any:
    return value._target if isinstance(value, Wrapper) else value


def _wrap(java: AsyncJava, value: Any) -> Any:
    if isinstance(value, JavaClass):
        return value if isinstance(value, AsyncThrowable) else AsyncClass(java, value)
    if isinstance(value, Package):
        return AsyncPackage(java, value)
    if isinstance(value, DeniedMethod):
        return AsyncMember(java, value._class, value._instance, value, value._name)
    if type(value) is tuple:  # an entry of a map, in a page of elements
        return MapEntry(_wrap(java, each) for each in value)
    return AsyncObject(java, value) if isinstance(value, JavaObject) else value


def _member_of(cls: Any, name: str) -> Any:
    return next((each.__dict__[name] for each in cls.__mro__ if name in each.__dict__), None)


def _java_name(member: Any, name: str) -> str:
    """Returns Java's name of a member. Python's name has one underscore more if Python or the package reserves the
    name."""
    return str(getattr(member, "__name__", java_name(name)))


class AsyncPackage:
    """A Java package."""

    def __init__(self, java: AsyncJava, target: Any) -> None:
        self._owner, self._target = java, target

    def __getattr__(self, name: str) -> Any:
        return _wrap(self._owner, getattr(self._target, name))

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __call__(self, *args: Any) -> NoReturn:
        self._target(*args)
        raise TypeError(f"{self._target!r} is not a class")

    def __repr__(self) -> str:
        return f"<async {self._target!r}>"


class _Operations:
    """The requests of jpeer.call and similar functions, as awaitables."""

    def __init__(self, java: AsyncJava) -> None:
        self.new = partial(java._ask, "new")
        self.call = partial(java._ask, "call")
        self.get = partial(java._ask, "get")
        self.put = partial(java._ask, "put")


class _Awaitable:
    """A request that is sent when it is awaited."""

    def __init__(self, ask: Callable[[], Awaitable[Any]]) -> None:
        self._ask = ask

    def __await__(self) -> Generator[Any, None, Any]:
        return self._ask().__await__()


class AsyncMember:
    # An object that is called for a method and awaited for a field. It has no docstring, because its __doc__ is the
    # member's.

    def __init__(self, java: AsyncJava, cls: Any, instance: Object | None, member: Any, name: str) -> None:
        self._owner, self._class, self._instance, self._member = java, cls, instance, member
        # If the object's class is hidden, no request can name it.
        self._type = cls._java_name if instance is None else getattr(member, "_type", instance._java_type)
        self._name = _java_name(member, name)

    async def __call__(self, *args: Any) -> Any:
        instance: Any = self._instance
        if instance is None and self._takes_receiver(args):
            instance, args = args[0], args[1:]
        loader = self._class._loader if instance is None else None
        try:
            return await self._owner._ask("call", self._type, self._name, instance, args, loader)
        except Denied as why:
            if isinstance(self._member, DeniedMethod):
                raise self._member.refusal(why) from None
            raise

    def _takes_receiver(self, args: Sequence[Any]) -> bool:
        if not getattr(self._member, "_has_instance", False):
            return False
        if self._member._is_static:  # the method has static and instance overloads
            return bool(args) and isinstance(args[0], AsyncObject) and isinstance(args[0]._target, self._class)
        if not args:
            raise TypeError(f"{self._type}.{self._name} needs an object")
        return True

    def __await__(self) -> Generator[Any, None, Any]:
        loader = self._class._loader if self._instance is None else None
        return self._owner._ask("get", self._type, self._name, self._instance, loader).__await__()

    async def put(self, value: Any) -> None:
        """Writes the field."""
        await self._owner._send("put", self._type, self._name, self._instance, value)

    @property
    def __name__(self) -> str:
        return self._name

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        if isinstance(self._member, FIELDS):
            return f"The field {self._type}.{self._name}: await it, or its put(value)."
        return getattr(self._member, "__doc__", None)

    @property
    def __signature__(self) -> inspect.Signature:
        try:
            whole = inspect.signature(self._member)
        except (TypeError, ValueError):
            raise AttributeError("__signature__") from None
        return whole if self._instance is None else whole.replace(parameters=[*whole.parameters.values()][1:])

    def __repr__(self) -> str:
        kind = "field" if isinstance(self._member, FIELDS) else "method"
        return f"<async Java {kind} {self._type}.{self._name}>"


class AsyncWrapper(Wrapper):
    """A class or an object. Its attributes cannot be assigned."""

    _owner: AsyncJava

    def __init__(self, java: AsyncJava, target: Any) -> None:
        self.__dict__.update(_owner=java, _target=target)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        target = self._target
        raise _refusal(target if isinstance(target, JavaClass) else type(target), self, name)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"members of Java cannot be deleted: {name!r}", name=name, obj=self)

    @property
    def _operations(self) -> _Operations:
        return _Operations(self._owner)

    def __dir__(self) -> list[str]:
        return dir(self._target)


def _refusal(cls: Any, owner: object, name: str) -> AttributeError:
    """Returns the error for an assignment, because an assignment cannot wait for Java."""
    member = _member_of(cls, name)
    if member is None or name.startswith("_"):
        return missing_attribute(cls, name, owner)
    text = f"{cls._java_name}.{name} is a method"
    if isinstance(member, FIELDS):
        text = f"{cls._java_name}.{name} is a field of Java's, which is written by: await x.{name}.put(value)"
    return AttributeError(text, name=name, obj=owner)


class AsyncClass(AsyncWrapper):
    """A Java class. Calling it and awaiting the call creates an object. isinstance, issubclass and jpeer.cast accept
    it."""

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance._target if isinstance(instance, AsyncObject) else instance, self._target)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(subclass._target if isinstance(subclass, AsyncClass) else subclass, self._target)

    def __eq__(self, other: object) -> Any:
        return self._target is other._target if isinstance(other, AsyncClass) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._target)

    async def __call__(self, *args: Any) -> Any:
        name, constructor = self._target._java_name, self._target._constructor
        if name.endswith("[]"):
            args = array_arguments(name, *args)
        elif isinstance(constructor, Method):  # `apply` of a Scala object
            return await self._owner._ask("call", name, constructor.__name__, None, args, self._target._loader)
        elif isinstance(constructor, PublicConstructors):
            constructor.check(args)
        elif not isinstance(constructor, (Constructor, LoadedConstructor)):
            return constructor(*args)  # an interface, which the argument implements
        return await self._owner._ask("new", name, args, self._target._loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        member = _member_of(self._target, name)
        if member is None and name == "class_":
            call = (*find_class_object(self._target._java_name), self._target._loader)
            return _Awaitable(lambda: self._owner._ask("call", *call))
        if member is None or isinstance(member, JavaClass):
            return _wrap(self._owner, getattr(self._target, name))  # a nested class, or the error for the name
        return AsyncMember(self._owner, self._target, None, member, name)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Returns the constants of an enum."""
        if ENUM not in self._target._supertypes:
            raise TypeError(f"{self._target!r} is not iterable: it is not an enum")
        async for each in await self._owner._ask("call", self._target._java_name, "values", None, (), self._target._loader):
            yield each

    def __repr__(self) -> str:
        return f"<async {self._target!r}>"


class AsyncThrowable(JavaClass):
    """The type of a connection's classes of throwables. They are Python exceptions, because `except` accepts nothing
    else. Their calls and static members are awaited, like those of AsyncClass."""

    _owner: AsyncJava

    async def __call__(cls, *args: Any) -> Any:
        return await cls._owner._ask("new", cls._java_name, args)

    def __getattribute__(cls, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        member = _member_of(cls, name)
        if isinstance(member, (*FIELDS, Method)):
            return AsyncMember(cls._owner, cls, None, member, name)
        if member is None and name == "class_":
            return _Awaitable(lambda: cls._owner.class_object(cls._java_name))
        return _wrap(cls._owner, super().__getattribute__(name))

    def __getattr__(cls, name: str) -> Any:
        return _wrap(cls._owner, super().__getattr__(name))

    def __setattr__(cls, name: str, value: Any) -> None:
        if isinstance(_member_of(cls, name), FIELDS):
            raise _refusal(cls, cls, name)
        super().__setattr__(name, value)

    @property
    def _operations(cls) -> _Operations:
        return _Operations(cls._owner)


class AsyncObject(AsyncWrapper):
    """A Java object. `==`, `hash` and `repr` need no request. Requests to Java are awaited."""

    _target: JavaObject

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        cls = type(self._target)
        member = _member_of(cls, name)
        if member is None:
            member = getattr(self._target, name)  # may send a request that blocks the loop, or raise an error
            member = _member_of(cls, name) or member
        return AsyncMember(self._owner, cls, self._target, member, name)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, AsyncObject):
            return NotImplemented
        mine, others = self._target, other._target
        return (mine._number, mine._epoch) == (others._number, others._epoch) and self._owner is other._owner

    def __hash__(self) -> int:
        return hash(self._target._number)

    def __bool__(self) -> bool:
        if isinstance(self._target, OptionalMixin):
            raise TypeError(f"the truth value of a {self._target._java_type} has to be awaited: await x.isPresent()")
        return True

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._elements()

    async def _elements(self) -> AsyncIterator[Any]:
        """Returns the elements of a collection, or the keys of a map, as a loop in Python does."""
        rest: Any = self._target
        if isinstance(rest, MapMixin):
            rest = (await self.keySet())._target
        size, start, is_array = FIRST_PAGE, 0, rest._java_type.startswith("[")
        if needs_iterator(rest):
            rest = (await self.iterator())._target
        while rest is not None:
            try:
                elements, done, following = await self._owner._send("fetch", rest, size, start)
            except Denied:
                if rest is not self._target or not await asyncio.to_thread(allowed_owner, rest, "iterator"):
                    raise
                rest = (await self.iterator())._target
                continue
            start += len(elements) if is_array else 0
            for each in elements:
                yield _wrap(self._owner, each)
            rest = None if done else following
            size = min(size * PAGE_GROWTH, PAGE_MAX)

    async def __aenter__(self) -> "AsyncObject":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<async {self._target._java_type} {self._target._number}>"


class _Opening:
    """The result of launch and connect: await it, or use it in `async with`."""

    def __init__(self, opened: Any, reconnects: bool = False) -> None:
        self._opened, self._reconnects = opened, reconnects

    def __await__(self) -> Generator[Any, None, AsyncJava]:
        return self._open().__await__()

    async def _open(self) -> AsyncJava:
        return AsyncJava(await asyncio.to_thread(self._opened), self._reconnects)

    async def __aenter__(self) -> AsyncJava:
        self._entered = await self._open()
        return self._entered

    async def __aexit__(self, *_: object) -> None:
        await self._entered.close()


def launch(*args: Any, **options: Any) -> _Opening:
    """Does for asyncio what jpeer.launch does: `java = await launch(...)`, or `async with launch(...) as java`."""
    return _Opening(lambda: connection.launch(*args, **{**options, "pin": False}))


def connect(*args: Any, **options: Any) -> _Opening:
    """Does for asyncio what jpeer.connect does."""
    url = args[0] if args else options.get("url", "")
    reconnects = options.get("reconnects", False) or str(url).startswith("dir:")
    return _Opening(lambda: connection.connect(*args, **{**options, "pin": False}), reconnects)


async def peers(*args: Any, **options: Any) -> list[directory.Peer]:
    """Does for asyncio what jpeer.peers does."""
    return await asyncio.to_thread(directory.peers, *args, **options)


async def wait_for(directory_endpoints: str, name: str, *, timeout: float | None = None, **options: Any) -> directory.Peer:
    """Does for asyncio what jpeer.wait_for does. A thread waits, which a cancelled task ends."""
    is_over = threading.Event()

    def check() -> None:
        if is_over.is_set():
            raise InterruptedError("the task that waits was cancelled")
    try:
        return await asyncio.to_thread(directory.wait_until_raised, directory_endpoints, name, timeout, check, options)
    finally:
        is_over.set()


__all__ = ["AsyncJava", "JavaException", "connect", "launch", "peers", "wait_for"]
