"""`launch` and `connect`, and the connection that they return."""

import codecs
import contextlib
import copyreg
import glob
import json
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

from . import callbacks, objects, packages, values
from ._native import BoundMethod, Connection, Hooks, Method, Object, Typed
from .answers import names_in, parsing
from .classes import ClassTable, JavaClass, find_class_object, python_name
from .directory import settings_of
from .exceptions import ErrorMaker, TooOld
from .names import source_name
from .objects import Wrapper
from .pieces import Pieces
from .rows import new_rows
from .tables import PAGE, Table, read_batches, read_table

STOP_SECONDS = 10.0
NAMES_MAX = 100_000  # in one package
KIND_MAX = 1000  # the most names that list_names returns; the wanted name is the first of the names that begin with it
# For a peer that serves only this program: large arrays fit in one message, and only warnings are logged.
# Calls that are running when the connection is closed have a moment to end.
DEFAULTS = {"--message-max": "512M", "--send-buffer-max": "256M", "--log-level": "warn", "--grace": "100"}

_open: list["Java"] = []  # the last entry is the default
_open_lock = threading.Lock()


for _kind in (JavaClass, packages.Package, packages.ClassModule, Method, BoundMethod):
    copyreg.pickle(_kind, objects.refuse_pickle)


class Java(ModuleType):
    """A connection to a peer. `java.java.util.ArrayList` is a class; `java.type(name)` finds any class by its name.

    `with` closes the connection at the end, and ends a peer that `launch` has started. Like its packages, the
    connection is a module, whose attributes IPython can complete.
    """

    def __init__(self) -> None:
        """Makes no connection: call launch or connect instead."""
        super().__init__("java", Java.__doc__)
        self.__dict__["__getattr__"] = lambda name: packages.member(lambda: self, "", name)
        self.__dict__["__all__"] = ["type", "array", "class_object", "stats", "gc", "close"]  # help() shows these
        self._hooks = Hooks()
        self._classes = ClassTable(self)
        self._callbacks = callbacks.CallbackTable(self)
        self._hooks.classes = values.readers(self)
        self._hooks.make_class = self._classes.of_object
        self._hooks.from_text = values.from_text(self)
        self._hooks.to_java = values.writers()
        self._hooks.other_to_java = values.OtherValues(self)
        self._pieces = Pieces(self)
        self._hooks.in_pieces = self._pieces
        self._hooks.make_error = ErrorMaker(
            self._classes.of_thrown, self._callbacks.thrown.recover, self._callbacks.retry_without_comparable
        )
        self._added_loaders: list[Any] = []
        self._driver_loaders: dict[tuple[str, ...], Any] = {}  # of jpeer.dbapi, by their jars
        self._kinds: dict[str, packages.Kind] = {}
        self._launched = self._reconnects = False
        self._connection: Connection

    # ---- classes ----

    def type(self, name: Any, loader: Any = None) -> Any:
        """Returns the class of that name ("java.awt.Point", "java.util.Map.Entry", "int[]"), or the class of a
        java.lang.Class. With a loader (a java.lang.ClassLoader), returns the class that the loader finds. Raises
        NotFound."""
        if loader is not None:
            name = self._connection.call(*find_class_object(class_name(name)), loader)
        if isinstance(name, Object):
            return self._classes.of_class(name)
        return self._classes.of_name(name)

    def add_classpath(self, *entries: str | os.PathLike[str]) -> Any:
        """Adds jars and folders (paths on the peer's machine) for this connection. A class that the application's class
        loader does not have is looked up there. Returns the java.net.URLClassLoader; its parent is the loader of the
        previous call."""
        lang, net = self._classes.of_name("java.lang.ClassLoader"), self._classes.of_name("java.net.URLClassLoader")
        parent = self._added_loaders[-1] if self._added_loaders else lang.getSystemClassLoader()  # type: ignore[attr-defined]
        path, urls = self._classes.of_name("java.nio.file.Path"), []
        for each in entries:
            entry = path.of(os.path.abspath(os.path.expanduser(os.fspath(each))))  # type: ignore[attr-defined]
            if not entry.toFile().exists():
                raise FileNotFoundError(f"class path: {entry} does not exist")
            urls.append(entry.toUri().toURL())
        made = net(urls, parent)
        self._added_loaders.append(made)
        return made

    def array(self, element_type: Any, *content: Any) -> Any:
        """Returns a new array with these elements, of that length, or of several dimensions: java.array("double", [1.5,
        2]), java.array("java.awt.Point", 3), java.array("int", 2, 3)."""
        name = class_name(element_type)
        if len(content) == 1:
            return self._classes.of_name(f"{name}[]")(content[0])
        return self._connection.call(*array_of_dimensions(name, content))

    def table(
        self, source: Any, columns: Sequence[str] | None = None, rows: int | None = None, progress: bool = False
    ) -> Table:
        """Returns the next rows of a ResultSet, an iterator, a stream, a collection, a map or an array as a Table.
        columns: names of columns or paths in the elements, such as "address.city"; None: all. rows: at most so many.
        progress: shows a bar if tqdm is installed."""
        return read_table(self, source, columns, rows, progress)

    def table_batches(self, source: Any, columns: Sequence[str] | None = None, rows: int = PAGE) -> Iterator[Table]:
        """Yields the same rows as `table` in Tables of at most so many rows. The next one is fetched while one is used."""
        return read_batches(self, source, columns, rows)

    def rows(self, source: Any, target: Any = "java.util.List", of: str | None = None) -> Any:
        """Sends the rows of a Table, a DataFrame, an Arrow table, or an iterable of tuples to a new Collection of the class
        `target`, or to the object `target`: a Collection, or a PreparedStatement, which executes them. Returns the
        object. of: what a row becomes in a Collection: "java.util.List", "java.util.Map", or None: an Object[]."""
        return new_rows(self, source, target if isinstance(target, Object) else class_name(target), of)

    def class_object(self, name: str) -> Any:
        """Returns the java.lang.Class of that name."""
        return self._connection.call(*find_class_object(name))

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self._members_of("")})

    def _members_of(self, package: str) -> list[str]:
        """Returns the classes and packages in a package, by their Python names."""
        start = f"{package}." if package else ""
        names = self._names(start, NAMES_MAX)
        found = {python_name(each[len(start) :]) for each in names[0] + names[1]}
        return sorted(each for each in found if not each.startswith("_"))  # attributes have no leading underscore

    def _kind_of(self, name: str) -> packages.Kind:
        """Returns whether the name is a package, and whether it is a class. A connection asks the peer only once about
        a name that exists."""
        known = self._kinds.get(name)
        if known is None:
            found = self._names(name, KIND_MAX)
            known = packages.Kind(name in found[0], name in found[1])
            if any(known):
                self._kinds[name] = known
        return known

    def _names(self, prefix: str, most: int) -> tuple[list[str], list[str]]:
        """Returns the packages and the classes whose names begin with the prefix."""
        answer = self._connection.list_names(prefix, most)
        with parsing("the list of names"):
            return names_in(answer, "packages"), names_in(answer, "classes")

    # ---- the connection ----

    @property
    def url(self) -> str:
        """The address at which other clients can connect."""
        return self._connection.url

    @property
    def process_id(self) -> int | None:
        """The process that launch has started, or None."""
        return self._connection.process_id

    @property
    def is_closed(self) -> bool:
        """Whether the program has closed the connection, or the peer has ended it. If the connection `reconnects`, the
        end of the peer does not close it."""
        if self._connection.is_closed or self._reconnects:
            return self._connection.is_closed
        try:
            self._connection.process()  # notices the end of the connection if no call has noticed it
        except ConnectionError:
            return True
        except RuntimeError:  # the connection belongs to the process that forked this process
            pass
        return False

    @property
    def timeout(self) -> float | None:
        """The time limit of every call, in seconds. None: no limit."""
        return self._connection.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._connection.timeout = seconds

    @property
    def idempotent(self) -> bool:
        """Whether the peer runs only members that its policy names idempotent. A call by a "dir:" URL whose connection has
        ended is then sent again, to another peer of the service, unless it names an object of the old peer."""
        return self._connection.idempotent

    @idempotent.setter
    def idempotent(self, value: bool) -> None:
        self._connection.idempotent = value

    def stats(self) -> dict[str, Any]:
        """Figures of the session: its objects and calls, and the sessions of this address."""
        return read_stats(self._connection.control("stats"))

    def gc(self) -> None:
        """Runs Java's garbage collector."""
        self._connection.control("gc")
        self._callbacks.thrown.forget_collected()

    def close(self) -> None:
        """Closes the connection, and ends the peer if launch has started it. The connection's objects cannot be used
        afterwards."""
        with _open_lock:
            if self in _open:
                _open.remove(self)
        if self._launched:
            self._connection.stop(STOP_SECONDS)
        else:
            self._connection.close()
        self._callbacks.close()

    def __enter__(self) -> "Java":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.is_closed else ""
        return f"<jpeer.Java {self._connection.url}{state}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("cannot pickle a connection; connect to its url in the other process")

    def _opened(self, connection: Connection, launched: bool, pins: bool) -> "Java":
        self._connection = connection
        self._launched = launched
        try:
            name = connection.control("share_session")
            with parsing("the name of the session"):
                connection.session = name
            self._pieces.learn()
        except (AttributeError, TooOld) as error:
            self.close()
            raise ConnectionError(f"the peer is too old, or runs with --compat pal: {error}") from None
        except BaseException:
            self.close()
            raise
        try:
            connection.pins = pins
        except BaseException:
            self.close()
            raise
        with _open_lock:
            _open.append(self)
        return self


def default() -> Java:
    """Returns the open connection that was opened last."""
    with _open_lock:
        while _open and _open[-1].is_closed:
            _open.pop()
        if not _open:
            raise RuntimeError("there is no connection to Java: call jpeer.launch() or jpeer.connect() first")
        return _open[-1]


# Requests of Java.array and Java.class_object, and the answer of Java.stats; jpeer.aio uses them, too.


def array_of_dimensions(element_type: str, content: Sequence[Any]) -> tuple[Any, ...]:
    arguments = (Typed("java.lang.Class", element_type), Typed("int[]", [operator.index(each) for each in content]))
    return "java.lang.reflect.Array", "newInstance", None, arguments


def read_stats(answer: Any) -> dict[str, Any]:
    with parsing("the answer to stats"):
        return dict(json.loads(answer) if isinstance(answer, str) else answer)


def class_name(java_class: Any) -> str:
    """Returns the Java name of a class that is given as a Python class, as a java.lang.Class or by its name."""
    if isinstance(java_class, str):
        return java_class
    if isinstance(java_class, Wrapper):
        java_class = java_class._target
    if isinstance(java_class, JavaClass) and java_class._java is not None:
        return java_class._java_name
    if isinstance(java_class, Object) and java_class._java_type == "java.lang.Class":
        return source_name(java_class._connection.call("java.lang.Class", "getName", java_class))
    raise TypeError(f"{java_class!r} is not a Java class")


READY_LINE = "jpeer ready: "


class Output:
    """Writes a launched peer's stdout (1) and stderr (2) to Python's own, which works in Jupyter, too."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {1: decoder("replace"), 2: decoder("replace")}
        self._start: str | None = ""  # the incomplete line of stderr, until the ready line has been removed

    def __call__(self, descriptor: int, data: bytes) -> None:
        stream = sys.stdout if descriptor == 1 else sys.stderr
        text = self._decoders[descriptor].decode(data)
        if descriptor == 2 and self._start is not None:
            text = self._without_ready_line(self._start + text)
        if stream is None or getattr(stream, "closed", False) or not text:
            return
        try:
            stream.write(text)
        except UnicodeEncodeError:  # the terminal's encoding lacks a character
            stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()

    def _without_ready_line(self, text: str) -> str:
        """Removes the ready line, which is meant for people who start a peer by hand."""
        whole, newline, self._start = text.rpartition("\n")
        lines = whole.split("\n") if newline else []
        for place, line in enumerate(lines):
            if line.startswith(READY_LINE):
                text, self._start = "\n".join([*lines[:place], *lines[place + 1 :], self._start]), None
                return text
        return "".join(f"{line}\n" for line in lines)


def launch(
    classpath: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    *,
    jvm_options: str | Sequence[str] = (),
    policy: str | os.PathLike[str] | None = None,
    allow: Sequence[str] = (),
    options: str | Sequence[str] = (),
    main_class: str | None = None,
    arguments: str | Sequence[str] = (),
    program: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    start_timeout: float = 60.0,
    stdin: Any = None,
    pin: bool = True,
) -> Java:
    """Starts a peer with a JVM for this program, and connects to it over shared memory.

    classpath: jars and folders; the default is $CLASSPATH. `*` and `**` in a path match several files (a trailing `/*`:
    all jars of a folder, as with java).
    jvm_options: such as "-Xmx2g". policy: a policy file. allow: classes and patterns, such as "java.util.ArrayList" and
    "com.example.**" (a wildcard matches classes of the JDK only after "jdk:"); without policy and allow this program
    may use everything. options: more options of `jpeer run`. main_class, arguments: an application that runs in the
    same JVM.
    timeout: the time limit of every call, in seconds. Java's output goes to sys.stdout and sys.stderr. stdin: a file or
    a descriptor that Java reads as System.in, which is empty by default; Java cannot read from a terminal. pin: each
    Python thread has a Java thread of its own.
    """
    jvm_words, more = words_of(jvm_options, "jvm_options"), words_of(options, "options")
    for option, value in DEFAULTS.items():
        if not any(each.split("=")[0] == option for each in more):
            more += [option, value]
    if policy is not None:
        more += ["--rpc-policy", os.fspath(policy)]
    if allow:
        more += ["--rpc-allow", ",".join(allow)]
    java = Java()
    with contextlib.ExitStack() as cleanup:
        given = 0
        if stdin is not None:
            # the descriptor is never 0, because 0 means no input
            given = os.dup(stdin if isinstance(stdin, int) else stdin.fileno())
            cleanup.callback(os.close, given)
        connection = Connection.launch(
            java._hooks,
            program=os.fspath(program) if program is not None else find_program(),
            class_path=join_class_path(classpath) or default_class_path(),
            jvm_options=[*default_jvm_options(jvm_words), *jvm_words],
            options=more,
            main_class=main_class,
            arguments=words_of(arguments, "arguments"),
            on_output=Output(),
            start_timeout=start_timeout,
            input=given,
        )
    connection.timeout = timeout
    return java._opened(connection, True, pin)


def words_of(words: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], what: str) -> list[str]:
    """Returns a list of words. A single word becomes a list."""
    if isinstance(words, (str, os.PathLike)):
        words = [words]
    if isinstance(words, (bytes, dict)) or not isinstance(words, Iterable):
        raise TypeError(f"{what} must be a list of words or one word, not {type(words).__name__}")
    return [os.fspath(each) for each in words]


# Python reads Java's output as UTF-8 in any locale, so Java must write UTF-8. With LC_ALL=C it would write question
# marks.
ENCODINGS = ("file.encoding", "stdout.encoding", "stderr.encoding")


def default_jvm_options(given: Sequence[str]) -> list[str]:
    return [f"-D{name}=UTF-8" for name in ENCODINGS if not any(each.startswith(f"-D{name}=") for each in given)]


Path = str | os.PathLike[str]


def absolute_path(path: Path | None) -> str | None:
    """Returns an absolute path, because the program may have another working folder when it connects again."""
    return None if path is None else os.path.abspath(os.path.expanduser(os.fspath(path)))


def header_lines(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[str]:
    """Returns the lines of the header fields. No error shows a value."""
    lines = []
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError("the names and values of headers are str")
        if not name or ":" in name:
            raise ValueError(f"headers: {name!r} is not a name")
        lines.append(f"{name}: {value}")
    return lines


def connect(
    url: str, *, peer_id: str | None = None, timeout: float | None = None, connect_timeout: float = 10.0,
    reconnects: bool = False, pin: bool = False, ca_file: Path | None = None, cert_file: Path | None = None,
    key_file: Path | None = None, token: str | Callable[[], str] | None = None, token_file: Path | None = None,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (), directory: Mapping[str, Path] | None = None,
    idempotent: bool = False,
) -> Java:  # fmt: skip
    """Connects to a running peer: "ws://127.0.0.1:4711", "wss://app.example/rpc", "shm:PATH", "https://...", or by a
    directory: "dir://HOST:PORT/NAME" (or a UUID), "dir://HOST:PORT/service/SERVICE".

    peer_id: a UUID that names a session, which outlives the connection. reconnects: a call after the connection's end
    opens another one. pin: each Python thread has a Java thread of its own; not with `reconnects`, and not over HTTP
    and ZeroMQ.
    ca_file: the authorities (PEM) that the peer's certificate is verified with; the default is the system's. cert_file,
    key_file: the client's certificate and key (PEM). token or token_file: who the client is. A token may be a function
    without parameters, which is called for each connection, and over HTTP for each request. A token is sent only over
    TLS, to a loopback address or over a Unix socket. headers: further header fields of the requests.
    directory: how the directory of a "dir:" URL is reached: a dict with the keyword arguments of `peers`, such as
    ca_file and user_file. Such a connection always reconnects: to whoever has the name then, or to another peer of the
    service. A call that fails because the connection has ended raises NotSent if it was not sent. idempotent: see
    Java.idempotent.
    """
    reconnects = reconnects or url.startswith("dir:")
    if pin and reconnects:
        raise ValueError("a connection that reconnects cannot pin: the Java threads end with the connection")
    java = Java()
    connection = Connection(
        url, java._hooks, peer_id=peer_id, connect_timeout=connect_timeout, reconnects=reconnects,
        ca_file=absolute_path(ca_file), cert_file=absolute_path(cert_file), key_file=absolute_path(key_file),
        token=token, token_file=absolute_path(token_file), headers=header_lines(headers),
        directory=None if directory is None else settings_of(**directory),
    )  # fmt: skip
    connection.timeout = timeout
    connection.idempotent = idempotent
    java._reconnects = reconnects
    return java._opened(connection, False, pin)


def find_program() -> str:
    """Returns the path of the program jpeer: in this package, in the build folder that contains this package, or in
    PATH."""
    here = os.path.dirname(os.path.abspath(__file__))  # a symbolic link, in a build folder
    for place in (os.path.join(here, "bin", "jpeer"), os.path.join(os.path.dirname(os.path.dirname(here)), "jpeer")):
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    import shutil

    found = shutil.which("jpeer")
    if found is None:
        raise FileNotFoundError(
            "this package contains no peer (on musl, such as Alpine, it is a client alone), and there is no program "
            "jpeer in PATH: use connect() with the URL of a peer, or give launch the program's path: program="
        )
    return found


def default_class_path() -> str | None:
    """Returns the CLASSPATH of the environment; if it is not set, this package's folder, because that folder
    has no classes. Java's default is the current folder, and describing a class would read all of that
    folder."""
    if os.environ.get("JPEER_CLASS_PATH"):
        return None
    return os.environ.get("CLASSPATH") or os.path.dirname(os.path.abspath(__file__))


def join_class_path(entries: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> str | None:
    """Returns the class path in Java's form. Raises FileNotFoundError for an entry that does not exist."""
    if isinstance(entries, (str, os.PathLike)):
        entries = os.fspath(entries).split(os.pathsep)
    found: list[str] = []
    for each in entries:
        entry = os.path.expanduser(os.fspath(each))
        if not entry:
            continue
        if entry.endswith(f"{os.sep}*") or not glob.has_magic(entry) or os.path.exists(entry):
            matches = [entry] if os.path.exists(entry.removesuffix("*")) else []
        else:
            matches = sorted(glob.glob(entry, recursive=True))
        if not matches:
            raise FileNotFoundError(f"class path: {entry} does not exist")
        found += matches
    return os.pathsep.join(found) or None
