"""The C half of the package: connections, handles of Java objects, members, arrays, callbacks, conversions.

It is a thin layer on libjpeer-client. The Python half decides through the `Hooks` of a connection which class an object
gets, which Python value a Java value becomes, and which exception an error becomes.

Threads: any thread may call any function. The GIL is released while a thread waits for the peer. If the connection's
session has a name (`session`), each thread calls over a link of its own. It reuses the link of a thread that has ended,
or opens a link, so that no thread waits for the call of another thread. When there are 256 links, further threads share
the first link. Objects belong to the session and can be used on every link. A callback is called over the link that
sent it to Java, and its own requests use that link, too.
Threads do not use links that an event loop has opened with open_link, or reserved with reserve_link.

Errors: an error of the peer becomes the result of `Hooks.make_error`. Errors of the library itself:
    ConnectionError       the connection was refused or has ended
    NotSent               the request was not sent (only with a dir: URL)
    ProtocolError         an answer is malformed
    TimeoutError          no answer in time
    ValueError, TypeError an argument cannot be sent; the text names it
    MemoryError
    RuntimeError          a limit was reached, the transport does not support the operation, or the process was forked
                          after the connection was opened
    KeyboardInterrupt     (or what another signal handler raises) a signal arrived while the main thread waited. The wait
                          ends, and so do the waits for the callbacks around it. The answer is dropped when it arrives.
                          The connection remains usable.
"""

from collections.abc import Callable, Sequence
from typing import Any

class Hooks:
    """What the Python half provides to a connection. Plain attributes, set before the first call."""

    classes: dict[str, type]
    """Java class name -> Python class of its objects. Looked up by the runtime class of each object that the peer
    sends."""
    make_class: Callable[[str, "Object"], type]
    """Called for a class that is not in `classes`, with a handle of the object or None. The result is stored in
    `classes`. It may send requests."""
    from_text: dict[str, Callable[[str], Any]]
    """Java class name -> converter of the text that the peer sends with an object (java.util.UUID, java.time values).
    The converter returns NotImplemented if the Python value would lose information; the value then becomes an
    Object."""
    to_java: dict[type, Callable[[Any], Any]]
    """Python type -> converter to an argument that the C half knows (a Typed, an Object, a str, a list, ...). Looked up
    by the exact type, then along its MRO."""
    other_to_java: Callable[[Any], Any]
    """Converter of all other values (callables, buffers without a Java type). Raises TypeError."""
    in_pieces: Callable[[Any, str | None], Any]
    """(value, declared type or None) -> an Object that was assembled from pieces of the value (Connection.assemble), or
    None to send the value whole. Called for the values of a request that is too long for one message."""
    make_error: Callable[["Connection", int, str, tuple[Any, ...] | None, dict[str, Any] | None], Any]
    """(connection, JSON-RPC code, message, throwable, data) -> the exception to raise. A throwable is (class or None,
    message or None, [frames], cause), and the outermost throwable has a handle or None as fifth element. The cause is
    such a tuple or None. `data` is the parsed data of the error. NotImplemented: the arguments are converted anew and
    the request is sent again, once."""

# py_arrow.c. A field is (name, Arrow's format, whether it is nullable), a batch (rows, a list of columns), and a column
# (the number of nulls, or -1; the buffers, None for a bitmap that is absent). Returns a PyCapsule "arrow_array_stream".
def arrow_stream(fields: list[tuple[str, str, bool]], batches: list[tuple[int, list[tuple[int, tuple[Any, ...]]]]]) -> Any: ...
# A capsule of a stream, or those of a schema and an array. Returns (reader, names of the columns).
def arrow_open(first: Any, second: Any = ..., /) -> tuple[Any, list[str | None]]: ...
# The next rows, at most so many, each column as (type, unit, scale, data, offsets, valid) of jpeer.rows, or of the type "uuid"
# with 16 bytes for each value; None: the end.
def arrow_read(reader: Any, rows: int, /) -> tuple[int, list[tuple[Any, ...]]] | None: ...
# Whether offsets lead through the data without a step back, and a text is UTF-8 whose characters are not divided.
def check_offsets(offsets: Any, data: Any, is_text: bool, /) -> bool: ...
def return_free_memory() -> None: ...

class Typed:
    """A value with the Java type that it is sent as: Typed("int", 5), Typed("java.util.Collection", obj),
    Typed("java.lang.String", None). The type chooses among overloads, as a cast does."""

    def __init__(self, type: str, value: Any) -> None: ...
    type: str
    value: Any

class Forms:
    """The forms in which a value may be sent, in the order in which they are tried. If the peer refuses the arguments,
    the request is sent again with other forms of the receiver and of the first seven arguments, in all combinations (64
    at most). All values inside one argument change together. The last form of a buffer is the list of its elements, up
    to 4 Mi of them. A buffer of unsigned numbers has one more array form. An error that a number is out of range ends
    the attempts. A form is a value that the C half knows, or a function without parameters that returns such a value
    when the form is needed. Steps of a batch use only the first form."""

    def __init__(self, *forms: Any) -> None: ...
    forms: tuple[Any, ...]

class Object:
    """A handle of an object in the peer. The Python classes of Java classes derive from it. It has no public names of
    its own.

    When the last handle of an object is freed, the next message to the peer releases the object."""

    _connection: "Connection"  # read-only
    _number: int  # the ref's number; equal numbers of one epoch are the same object
    _epoch: int  # identifies the session's peer: another peer uses the same number for another object
    _java_type: str  # the runtime class that the peer has sent
    def _as(self, python_class: Any) -> Any: ...  # the same Java object with another Python class

class Array(Object):
    """A Java array of primitives. Its elements in Python are int, float, bool or str of one unit (char).

    The buffer protocol gives a read-only copy of all elements at that time (one round trip, as bytes), in the format of
    the struct module: b h i q f d ?, and H for char."""

    def _read(self, start: int, stop: int) -> memoryview: ...  # a copy of a range, with its format
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Buffered(Object):
    """Supports the buffer protocol by its method _elements, which returns an Array or another object with the buffer
    protocol."""

    def _elements(self) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Method:
    """All overloads of one name. A descriptor: bound to an object, or called on a class with the receiver as first
    argument if `is_static` is false. The receiver may be a Python value that converts to a Java object.

    A call sends `call` with the class name and converts the result. Keyword arguments raise a TypeError that names
    them.
    """

    def __init__(self, connection: "Connection", type: str, name: str, is_static: bool, has_instance: bool) -> None: ...
    # has_instance: some overload is an instance method; is_static: some overload is static. An object reaches both.
    _type: str  # read-only
    _is_static: bool  # read-only
    _has_instance: bool  # read-only
    def __call__(self, *args: Any) -> Any: ...
    __name__: str
    __doc__: str | None  # settable
    __text_signature__: str | None  # settable

class BoundMethod:
    """A Method of an object. Its other attributes are the Method's."""

    __self__: Object
    __name__: str
    def __call__(self, *args: Any) -> Any: ...

class Constructor:
    """Sends `new` for a class. The result is always an Object (or what Hooks.classes has for the class)."""

    def __init__(self, connection: "Connection", type: str) -> None: ...
    def __call__(self, *args: Any) -> Any: ...

class Field:
    """A data descriptor that sends `get` and `put` for a field. On a class it reads a static field; the metaclass
    writes static fields with Field.put_static."""

    def __init__(self, connection: "Connection", type: str, name: str, is_static: bool) -> None: ...
    def put_static(self, value: Any) -> None: ...

class Callback:
    """A Python object that Java can call.

    find(interface, method, parameter_types) returns the function that is called with the converted arguments. `find` is
    called again when Java calls another method than before. The function's result is converted to Java. `target` is the
    Python object if Java returns the object. throw(exception) describes the Java exception for a Python exception: (a
    throwable as an Object, a class name or None; the message or None; a list of frames (module, function, file or None,
    line); such a tuple for the cause, or None). Java always waits for the function."""

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
    """The other side has sent bytes that no peer sends. It is another program, or it is hostile."""

class NotSent(ConnectionError):
    """The request was not sent, and has not run. Only of connections with a dir: URL."""

# Both: the endpoints of a directory, and its settings: namespace, ca_file, cert_file, key_file, user_file.
_Peer = tuple[str, str | None, str | None, str | None, str | None, int]
"""(UUID, name, json_rpc, zmq_rpc, zmq_curve, milliseconds since 1970 or 0)"""

def directory_peers(endpoints: str, settings: dict[str, str], timeout: float, /) -> tuple[list[_Peer], str | None]: ...
# check is called a few times a second; its exception ends the wait.
def await_peer(
    endpoints: str, settings: dict[str, str], name_or_uuid: str, timeout: float | None, check: Callable[[], object] = ..., /
) -> _Peer: ...  # fmt: skip

class Connection:
    """A connection: a jp_client, and after launch() also a jp_peer. The library has no other threads for it."""

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
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        token: str | Callable[[], str] | None = None,
        token_file: str | None = None,
        headers: Sequence[str] | None = None,  # "NAME: VALUE"
        directory: dict[str, str] | None = None,  # settings, as those of directory_peers
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
    url: str  # the address at which other clients connect, for launch()
    process_id: int | None  # of the launched peer
    timeout: float | None  # the time limit of every wait, in seconds; None (the default): no limit
    idempotent: bool  # requests have the option `idempotent`; set False by default
    is_closed: bool
    pins: bool  # each link has a Java thread of its own: this thread's link now, other links from their first call on
    session: str | None  # the UUID of the session that the links share; set once, to the result of share_session
    def close(self) -> None: ...
    def stop(self, timeout: float) -> int: ...  # also ends the peer of launch(); returns the status of waitpid
    # The operations. instance: an Object, or a Typed. Types are Java's full names.
    # loader: a java.lang.ClassLoader that looks up the names in the request.
    def new(self, type: str, args: Sequence[Any] = (), loader: Any = None) -> Any: ...
    def call(self, type: str, method: str, instance: Any = None, args: Sequence[Any] = (), loader: Any = None) -> Any: ...
    def get(self, type: str, field: str, instance: Any = None, loader: Any = None) -> Any: ...
    def put(self, type: str, field: str, instance: Any, value: Any, loader: Any = None) -> None: ...
    def fetch(
        self, instance: Any, maximum: int = 1000, start: int = 0, rows: bool = False
    ) -> tuple[list[Any], bool, "Object | None"]: ...
    # Returns (elements as Python values, done, the instance of the next fetch). rows: for an array of arrays of
    # primitives. Each row is its bytes in base64, or an object if it does not fit in an answer.
    def columns(
        self, instance: Any, maximum: int, start: int, names: str | None
    ) -> tuple[int, bool, "Object | None", Any]: ...
    # jpeer.columns. names: the JSON array of the columns. Returns (rows, done, the instance of the next call, a capsule).
    def read_columns(self, capsule: Any) -> list[dict[str, Any]]: ...  # of columns(); a text in base64 is a bytearray
    def rows(
        self, instance: Any, count: int, first: int, columns: tuple[dict[str, Any], ...], element: str | None
    ) -> bytearray | None: ...
    # jpeer.rows. first: the number of the first row in errors. Returns the update counts of a PreparedStatement, int32.
    def handle(self, value: Any) -> Object | None: ...
    def assemble(self, type: str, java_type: str, piece: Any, before: "Object | None") -> "Object": ...
    # Sends a piece to jpeer.assemble, the first piece or the piece after `before`. java_type: Class.getName() of the
    # whole.
    def learn_limits(self) -> tuple[int, int]: ...  # message-max and values-max of the peer; 0: unknown
    def describe(self, instance: Any = None, type: str | None = None, members_only: bool = False, loader: Any = None) -> dict[str, Any]: ...  # jpeer.describe's result
    def classes_info(self, include: Sequence[str], merge_ancestry: bool = False) -> list[dict[str, Any]]: ...
    def list_names(self, prefix: str, maximum: int) -> dict[str, Any]: ...  # {"packages", "classes", "complete"}
    def control(self, method: str) -> Any: ...  # ping, gc, stats
    def batch(self, steps: Sequence[tuple[Any, ...]]) -> list[Any]: ...
    # One round trip. A step is ("new", type, args), ("call", type, method, instance, args), ("get", type, field,
    # instance) or ("put", type, field, instance, value). Result(i) as argument or instance is the result of step i.
    # Returns the results of all steps, in order. Raises the error of the first step that failed.
    # For an event loop of the caller. A link is identified by its number.
    def learn_epoch(self, link: int = 0) -> None: ...  # waits until the link knows its peer's identity; raises no error of the peer
    def reserve_link(self) -> None: ...  # reserves link 0, the first link, for the loop
    def pin_link(self, number: int, name: str | None) -> None: ...  # gives the link a Java thread of its own
    def unpin_link(self, number: int) -> None: ...
    def open_link(self) -> int | None: ...  # opens a link for the loop; None: no more links are possible now
    def descriptor(self, link: int = 0) -> int: ...
    def process(self, link: int = 0) -> None: ...  # handles answers; listen() runs calls from Java
    def cancel(self, request: int) -> bool: ...  # true: the request is in flight and was cancelled
    def unanswered(self, link: int = 0) -> int: ...  # the number of requests, including those that have timed out
    def send(
        self,
        step: tuple[Any, ...],
        timeout: float | None,
        done: Callable[[Any, BaseException | None], None],
        within: str | None = None,
        link: int = 0,
        link_for_callbacks: int = 0,
        later: Callable[[Callable[[], None]], object] | None = None,
    ) -> tuple[int, bool, int]: ...  # the link, whether it sends callbacks, the request's number for cancel()
    # step: as in batch(), or ("fetch", instance, maximum, start), ("describe", instance, type, members_only),
    # ("control", method).
    # within: a callback as identified by calling(). The step runs on that callback's Java thread, and `link` is its
    # link. Otherwise a step that sends Java callables uses link_for_callbacks, or the link by which Java has one of
    # them.
    # later(convert): called for an answer whose conversion sends requests. convert(), on another thread, calls done.
    # Returns the link that was used, and whether the step sent callables to Java.
    def calling(self) -> tuple[str, int] | None: ...
    # The innermost callback that runs on this thread and that Java waits for, and the link of its call.
    def can_ask(self) -> bool: ...  # False: the callback's Java thread is still inside a request that was abandoned
    def listen(self, timeout: float, hand_on: Callable[[], None] | None = None) -> None: ...
    # Waits, no longer than the timeout, for calls from Java's own threads that no other thread runs, and runs them.
    # hand_on is called once, before the first function runs.
    pending: int
    ref_count: int
    link_count: int

class Result:
    """The result of step `index` of a batch, for later steps."""

    def __init__(self, index: int) -> None: ...

def version() -> str: ...
