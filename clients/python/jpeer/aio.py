"""Java for asyncio: `await obj.method()`, `await obj.field`, `async for element in obj`.

async with jpeer.aio.launch() as java:
    xs = await java.java.util.ArrayList([3, 1, 2])
    await xs.sort(None)
    print([x async for x in xs], await xs.size())

Requests go out as they are made and are answered in their order; none holds up the loop. Classes are described when they
are first seen, which takes a moment. Everything that a connection gives belongs to the loop that opened it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextvars import ContextVar
from typing import Any

from . import connection
from ._native import Field, Method, Object
from .classes import JavaClass
from .exceptions import JavaException
from .objects import JavaObject, Wrapper
from .packages import Package
from .packages import member as package_member
from .pages import FIRST_PAGE, PAGE_GROWTH, PAGE_MAX, MapEntry


class _Calling:
    """A call of Java's that a coroutine answers."""

    def __init__(self, java: "AsyncJava", name: str | None) -> None:
        self.java, self.name = java, name


_calling: ContextVar[_Calling | None] = ContextVar("_calling", default=None)


class AsyncJava:
    """A connection for asyncio; attributes are packages and classes, as those of jpeer.Java."""

    def __init__(self, java: connection.Java) -> None:
        self._java = java
        self._loop = asyncio.get_running_loop()
        self._descriptor = java._connection.descriptor()
        self._loop.add_reader(self._descriptor, self._process)
        self._java._hooks.to_java[AsyncObject] = lambda value: value._target
        self._java._hooks.to_java[AsyncClass] = lambda value: value._target
        self._java._callbacks.run_coroutine = self._run_coroutine
        self._java._classes.throwable_type = type("AsyncThrowable", (AsyncThrowable,), {"_owner": self})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _wrap(self, package_member(lambda: self._java, "", name))

    def type(self, name: str) -> Any:
        """The class of that name."""
        return _wrap(self, self._java.type(name))

    @property
    def url(self) -> str:
        return self._java.url

    async def close(self) -> None:
        """Ends the connection, and the peer that launch has started."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
        self._descriptor = -1  # its number may be another file's soon
        await asyncio.to_thread(self._java.close)

    async def __aenter__(self) -> "AsyncJava":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _process(self) -> None:
        try:
            self._java._connection.process()
        except ConnectionError:  # whoever waits is told so by the connection
            if self._descriptor >= 0:
                self._loop.remove_reader(self._descriptor)
            self._descriptor = -1

    def _send(self, *step: Any) -> "asyncio.Future[Any]":
        """The answer to a step of _native.Connection.batch."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def done(value: Any, error: BaseException | None) -> None:
            try:
                self._loop.call_soon_threadsafe(_settle, future, value, error)
            except RuntimeError:
                if not self._loop.is_closed():  # nobody waits any more where it is
                    raise

        calling = _calling.get()
        within = calling.name if calling is not None and calling.java is self else None
        self._java._connection.send(step, self._java.timeout, done, within)
        self._loop.call_soon(self._process)  # what came at once may have woken nobody
        return future

    def _run_coroutine(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Called by Java, on a thread of the package. What the function awaits of Java runs on Java's thread, which
        waits for it, too."""
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
            calling.name = None  # tasks that it leaves behind are not part of it any more

    async def _ask(self, *step: Any) -> Any:
        return _wrap(self, await self._send(*step))


def _settle(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(RuntimeError(repr(error)) if isinstance(error, StopIteration) else error)
    else:
        future.set_result(value)


def _wrap(java: AsyncJava, value: Any) -> Any:
    if isinstance(value, JavaClass):
        return value if isinstance(value, AsyncThrowable) else AsyncClass(java, value)
    if isinstance(value, Package):
        return AsyncPackage(java, value)
    return AsyncObject(java, value) if isinstance(value, JavaObject) else value


def _member_of(cls: Any, name: str) -> Any:
    return next((each.__dict__[name] for each in cls.__mro__ if name in each.__dict__), None)


def _java_name(member: Any, name: str) -> str:
    """A name that Python or the package keeps for itself has an underscore more here."""
    return str(getattr(member, "__name__", name))


class AsyncPackage:
    """A package."""

    def __init__(self, java: AsyncJava, target: Any) -> None:
        self._owner, self._target = java, target

    def __getattr__(self, name: str) -> Any:
        return _wrap(self._owner, getattr(self._target, name))

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<async {self._target!r}>"


class AsyncMember:
    """A member of an object or a class: called it is a method, awaited a field."""

    def __init__(self, java: AsyncJava, java_type: str, instance: Object | None, name: str) -> None:
        self._owner, self._type, self._instance, self._name = java, java_type, instance, name

    async def __call__(self, *args: Any) -> Any:
        return await self._owner._ask("call", self._type, self._name, self._instance, args)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._owner._ask("get", self._type, self._name, self._instance).__await__()

    async def put(self, value: Any) -> None:
        """Writes the field."""
        await self._owner._send("put", self._type, self._name, self._instance, value)


class AsyncClass(Wrapper):
    """A class: awaiting a call of it makes an object. isinstance, issubclass and jpeer.cast take it."""

    def __init__(self, java: AsyncJava, target: Any) -> None:
        self._owner, self._target = java, target

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance._target if isinstance(instance, AsyncObject) else instance, self._target)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(subclass._target if isinstance(subclass, AsyncClass) else subclass, self._target)

    def __eq__(self, other: object) -> Any:
        return self._target is other._target if isinstance(other, AsyncClass) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._target)

    async def __call__(self, *args: Any) -> Any:
        return await self._owner._ask("new", self._target._java_name, args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        member = _member_of(self._target, name)
        if member is None or isinstance(member, JavaClass):
            return _wrap(self._owner, getattr(self._target, name))  # a nested class, or the error for the name
        return AsyncMember(self._owner, self._target._java_name, None, _java_name(member, name))

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<async {self._target!r}>"


class AsyncThrowable(JavaClass):
    """The type of a connection's classes of throwables. These are exceptions of Python, since `except` takes no other
    classes; as those of AsyncClass, their calls and static members are awaited."""

    _owner: AsyncJava

    async def __call__(cls, *args: Any) -> Any:
        return await cls._owner._ask("new", cls._java_name, args)

    def __getattribute__(cls, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        member = _member_of(cls, name)
        if isinstance(member, (Field, Method)):
            return AsyncMember(cls._owner, cls._java_name, None, _java_name(member, name))
        return _wrap(cls._owner, super().__getattribute__(name))

    def __getattr__(cls, name: str) -> Any:
        return _wrap(cls._owner, super().__getattr__(name))


class AsyncObject(Wrapper):
    """An object. `==`, `hash` and `repr` are those of the same Java object; what asks Java is awaited."""

    def __init__(self, java: AsyncJava, target: JavaObject) -> None:
        self._owner, self._target = java, target

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        member = _member_of(type(self._target), name)
        if member is None:
            getattr(self._target, name)  # raises the error for the name
        owner = getattr(member, "_type", self._target._java_type)  # the class may be hidden
        return AsyncMember(self._owner, owner, self._target, _java_name(member, name))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, AsyncObject):
            return NotImplemented
        return self._target._number == other._target._number and self._owner is other._owner

    def __hash__(self) -> int:
        return hash(self._target._number)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._elements()

    async def _elements(self) -> AsyncIterator[Any]:
        rest: Any = self._target
        size, start, is_array = FIRST_PAGE, 0, self._target._java_type.startswith("[")
        while rest is not None:
            elements, done, following = await self._owner._send("fetch", rest, size, start)
            start += len(elements) if is_array else 0
            for each in elements:
                yield MapEntry(each) if type(each) is tuple else _wrap(self._owner, each)
            rest = None if done else following
            size = min(size * PAGE_GROWTH, PAGE_MAX)

    async def __aenter__(self) -> "AsyncObject":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._owner._send("call", self._target._java_type, "close", self._target, ())

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<async {self._target._java_type} {self._target._number}>"


class _Opening:
    """What launch and connect give: awaited, or entered with `async with`."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def __await__(self) -> Generator[Any, None, AsyncJava]:
        return self._open().__await__()

    async def _open(self) -> AsyncJava:
        return AsyncJava(await asyncio.to_thread(self._opened))

    async def __aenter__(self) -> AsyncJava:
        self._entered = await self._open()
        return self._entered

    async def __aexit__(self, *_: object) -> None:
        await self._entered.close()


def launch(*args: Any, **options: Any) -> _Opening:
    """jpeer.launch for asyncio: `java = await launch(...)`, or `async with launch(...) as java`."""
    return _Opening(lambda: connection.launch(*args, **options))


def connect(*args: Any, **options: Any) -> _Opening:
    """jpeer.connect for asyncio."""
    return _Opening(lambda: connection.connect(*args, **options))


__all__ = ["AsyncJava", "JavaException", "connect", "launch"]
