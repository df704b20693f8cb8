"""The C half of the package: connections, handles of Java objects, members, arrays, callbacks, conversions.

It is a thin layer on libjpeer-client and knows no policy of its own: how classes look, which Python value a Java type
becomes and what an exception is are decided by the Python half, through the `Hooks` of a connection.

Threads: every function may be called on any thread. The GIL is released while a thread waits for the peer. Where
a connection's session has a name (`session`), each thread calls over a link of its own, which it takes from those of threads
that have ended, or opens: no thread waits behind the call of another. Beyond 256 they share the first. Objects are of the
session, and so of all of them; a callback is called over the link that it was given by, and what it asks goes there, too.
A loop has links of its own, which no thread takes: the first one, once it is reserved, and those of open_link.
Errors: what the peer answers with becomes what `Hooks.make_error` gives. Of the library itself:
    ConnectionError       the connection is gone or refused
    ProtocolError         an answer is malformed
    TimeoutError          no answer in time
    ValueError, TypeError an argument that cannot be sent; the text names it
    MemoryError
    RuntimeError          a limit was reached, the transport has no such thing, or a process that fork has made uses it
    KeyboardInterrupt     (or what another signal handler raises) a signal came while the main thread waited: the wait
                          is over, and so are those that the callback is part of which made the request; the answer is
                          dropped when it comes, and the connection stays usable
"""

from collections.abc import Callable, Sequence
from typing import Any

class Hooks:
    """What a connection asks of the Python half. Plain attributes, set before the first call."""

    classes: dict[str, type]
    """Java class name -> Python class of its objects. Looked up by the runtime type of each object that comes."""
    make_class: Callable[[str, "Object"], type]
    """Called for a name that `classes` lacks, with a nameless handle of the object (None where there is none); what it
    gives is kept in `classes`. It may call the peer."""
    from_text: dict[str, Callable[[str], Any]]
    """Java class name -> what makes a Python value of the text that came with an object (java.util.UUID,
    java.time values). It gives NotImplemented where the value would lose something: then it is an Object."""
    to_java: dict[type, Callable[[Any], Any]]
    """Python type -> what makes an argument of it that the C half knows (a Typed, an Object, a str, a list, ...).
    Asked by the exact type, then along its MRO."""
    other_to_java: Callable[[Any], Any]
    """The same for what nothing else knows (callables, buffers without a Java type); raises TypeError."""
    in_pieces: Callable[[Any, str | None], Any]
    """(value, declared type or None), of a request that is too long for one message: an Object that pieces of the value have
    made (Connection.assemble), or None: the value goes whole."""
    make_error: Callable[["Connection", int, str, tuple[Any, ...] | None, dict[str, Any] | None], Any]
    """(connection, JSON-RPC code, message, throwable, data) -> the exception to raise. A throwable is (type or None,
    message or None, [frames], cause as another such tuple or None, and of the first one the handle or None); data is the
    parsed JSON of the error's data. NotImplemented: the arguments are converted anew and the request is sent again, once."""

class Typed:
    """A value with the Java type that it goes as: Typed("int", 5), Typed("java.util.Collection", obj),
    Typed("java.lang.String", None). The type chooses among overloads, as a cast does."""

    def __init__(self, type: str, value: Any) -> None: ...
    type: str
    value: Any

class Forms:
    """What a value may go as, in the order in which it is tried: where the peer refuses the arguments of a request, it is
    sent again with other forms of the receiver and of the first seven arguments, in all their combinations (64 at most);
    what is inside one argument changes together. Buffers have lists of their elements, up to 4 Mi of these, as their last form,
    and those of unsigned numbers one array more. A number that is out of range ends it. A form is
    what the C half knows, or a function without parameters that gives it when it is needed. Steps of a batch have the
    first form alone."""

    def __init__(self, *forms: Any) -> None: ...
    forms: tuple[Any, ...]

class Object:
    """A handle of an object in the peer. Python classes of Java classes derive from it; it has no public names of its own.

    When the last handle of an object goes, the peer lets go of it with the next message."""

    _connection: "Connection"  # read-only
    _number: int  # the ref's number; equal numbers of one epoch are the same object
    _epoch: int  # of the session, in the peer that the object is of: another peer uses the number for another object
    _java_type: str  # the runtime class that the peer told
    def _as(self, python_class: Any) -> Any: ...  # the same Java object with another Python class

class Array(Object):
    """A Java array of primitives. Elements of Python: int, float, bool, str of one unit (char).

    The buffer protocol gives a read-only copy of all elements as they are now (one round trip, as bytes), with the
    format of the struct module: b h i q f d ?, and H for char."""

    def _read(self, start: int, stop: int) -> memoryview: ...  # a copy of a range, with its format
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Buffered(Object):
    """Has the buffer protocol by what its method _elements gives: an Array, or anything else with that protocol."""

    def _elements(self) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Method:
    """All overloads of one name. A descriptor: on an object it is bound, on a class it is called with the receiver as
    first argument where `is_static` is false (the receiver may be a Python value that has a Java form).

    Calling it sends `call` with the class name and converts the result. Keyword arguments are refused, with the name.
    """

    def __init__(self, connection: "Connection", type: str, name: str, is_static: bool, has_instance: bool) -> None: ...
    # has_instance: some overload is an instance method; is_static: some is static. Bound to an object both are reached.
    _type: str  # read-only
    _is_static: bool  # read-only
    _has_instance: bool  # read-only
    def __call__(self, *args: Any) -> Any: ...
    __name__: str
    __doc__: str | None  # settable
    __text_signature__: str | None  # settable

class BoundMethod:
    """A Method of an object; what it has beside these is the Method's."""

    __self__: Object
    __name__: str
    def __call__(self, *args: Any) -> Any: ...

class Constructor:
    """Calls `new` of a class. What it gives is always an Object (or what Hooks.classes has for the class)."""

    def __init__(self, connection: "Connection", type: str) -> None: ...
    def __call__(self, *args: Any) -> Any: ...

class Field:
    """A data descriptor: `get` and `put` of a field. On a class it reads a static field; a put of one is done by
    Field.put_static, which the metaclass calls."""

    def __init__(self, connection: "Connection", type: str, name: str, is_static: bool) -> None: ...
    def put_static(self, value: Any) -> None: ...

class Callback:
    """A Python object that Java can call.

    find(interface, method, parameter_types) gives the function that is called with the converted arguments. It is asked when
    a call is of another method than the call before. What the function returns is converted back. `target` is what Python
    gets where Java returns the object. A Python exception becomes a Java one: `throw(exception)` gives (an Object that is a throwable, a Java class name or None; the message or None; a list of
    frames (module, function, file or None, line); such a tuple for the cause, or None). Java always waits for the answer."""

    def __init__(
        self,
        connection: "Connection",
        find: Callable[[str, str, Sequence[str]], Callable[..., Any]],
        throw: Callable[[BaseException], Any],
        *,
        interfaces: Sequence[str] = (),
        arity: int = -1,
        overrides: Sequence[str] = (),
        target: Any = ...,
    ) -> None: ...
    interfaces: tuple[str, ...]

class ProtocolError(ConnectionError):
    """The peer has sent what no peer sends: it is another program, or a hostile one."""

class Connection:
    """One jp_client; of launch() one jp_peer, too. With no other thread of the library's."""

    def __init__(
        self,
        url: str,
        hooks: Hooks,
        *,
        peer_id: str | None = None,
        connect_timeout: float = 10.0,
        message_max: int = 0,
        pending_max: int = 0,
        reconnects: bool = False,
    ) -> None: ...
    @staticmethod
    def launch(
        hooks: Hooks,
        *,
        program: str | None = None,
        class_path: str | None = None,
        jvm_options: Sequence[str] = (),
        options: Sequence[str] = (),
        main_class: str | None = None,
        arguments: Sequence[str] = (),
        on_output: Callable[[int, bytes], None] | None = None,
        input: int = 0,  # a descriptor; 0: none
        start_timeout: float = 30.0,
    ) -> "Connection": ...
    url: str  # of launch(): where others connect
    process_id: int | None  # of the launched peer
    timeout: float | None  # of every wait, in seconds; None (at first): for ever
    is_closed: bool
    pins: bool  # the link of this thread has a Java thread of its own, and so has that of each other one with its first call
    session: str | None  # a UUID by which links share the connection's session; set once, to what share_session tells
    def close(self) -> None: ...
    def stop(self, timeout: float) -> int: ...  # of launch(): ends the peer too; the status of waitpid
    # The operations. instance: an Object, or a Typed; types are Java's full names.
    # loader: a java.lang.ClassLoader, in which the names of the request are looked up.
    def new(self, type: str, args: Sequence[Any] = (), loader: Any = None) -> Any: ...
    def call(self, type: str, method: str, instance: Any = None, args: Sequence[Any] = (), loader: Any = None) -> Any: ...
    def get(self, type: str, field: str, instance: Any = None, loader: Any = None) -> Any: ...
    def put(self, type: str, field: str, instance: Any, value: Any, loader: Any = None) -> None: ...
    def fetch(
        self, instance: Any, maximum: int = 1000, start: int = 0, rows: bool = False
    ) -> tuple[list[Any], bool, "Object | None"]: ...
    # (elements as Python values, done, what takes the next fetch); rows: of an array of arrays of primitives, each as its
    # bytes in base64, or as an object where it has no room in an answer
    def handle(self, value: Any) -> Object | None: ...
    def assemble(self, type: str, java_type: str, piece: Any, before: "Object | None") -> "Object": ...
    # the next piece of `before`, or the first one: jpeer.assemble; java_type: Class.getName() of the whole
    def learn_limits(self) -> tuple[int, int]: ...  # message-max and values-max of the peer; 0: unknown
    def describe(self, instance: Any = None, type: str | None = None, members_only: bool = False, loader: Any = None) -> dict[str, Any]: ...  # jpeer.describe's result
    def classes_info(self, include: Sequence[str], merge_ancestry: bool = False) -> list[dict[str, Any]]: ...
    def list_names(self, prefix: str, maximum: int) -> dict[str, Any]: ...  # {"packages", "classes", "complete"}
    def control(self, method: str) -> Any: ...  # ping, gc, stats
    def batch(self, steps: Sequence[tuple[Any, ...]]) -> list[Any]: ...
    # One round trip. A step is ("new", type, args), ("call", type, method, instance, args), ("get", type, field,
    # instance) or ("put", type, field, instance, value); Result(i) among arguments and instances is what step i gave.
    # Results of all steps, in order; the first that failed raises.
    # For a loop of the caller's. A link is named by its number:
    def learn_epoch(self, link: int = 0) -> None: ...  # waits until the link knows which peer it has; never raises for the peer
    def reserve_link(self) -> None: ...  # link 0, the first one, is the loop's
    def pin_link(self, number: int, name: str | None) -> None: ...  # it has a Java thread of its own from now on
    def unpin_link(self, number: int) -> None: ...
    def open_link(self) -> int | None: ...  # another one for the loop; None: there can be no more at the moment
    def descriptor(self, link: int = 0) -> int: ...
    def process(self, link: int = 0) -> None: ...  # of answers; Java's calls are for listen()
    def cancel(self, request: int) -> bool: ...  # true: the request was in flight, and the peer is asked to end it
    def unanswered(self, link: int = 0) -> int: ...  # requests, those that have timed out included
    def send(
        self,
        step: tuple[Any, ...],
        timeout: float | None,
        done: Callable[[Any, BaseException | None], None],
        within: str | None = None,
        link: int = 0,
        link_for_callbacks: int = 0,
        later: Callable[[Callable[[], None]], object] | None = None,
    ) -> tuple[int, bool, int]: ...  # the link, whether it gives callbacks, the request's number for cancel()
    # step: as in batch(), or ("fetch", instance, maximum, start), ("describe", instance, type, members_only),
    # ("control", method).
    # within: the callback, as calling() names it, on whose Java thread it runs, and whose link is to be given. Without
    # it, a step that gives Java callables goes over link_for_callbacks, or over the link by which Java has one of them.
    # later(convert): takes an answer whose value asks the peer again; convert(), on another thread, calls done then.
    # Gives the link that it went over, and whether Java has been given callables by that.
    def calling(self) -> tuple[str, int] | None: ...
    # The innermost callback that runs on this thread and that Java waits for, and by which link it has come.
    def can_ask(self) -> bool: ...  # False: its Java thread is still inside a request of it that was given up
    def listen(self, timeout: float, hand_on: Callable[[], None] | None = None) -> None: ...
    # Waits for calls from threads of Java's that nobody else takes, no longer than that, and runs those that have come.
    # hand_on is called once, before the first of their functions.
    pending: int
    ref_count: int
    link_count: int

class Result:
    """The result of step `index` of a batch, for steps behind it."""

    def __init__(self, index: int) -> None: ...

def version() -> str: ...
