"""Databases by JDBC, as PEP 249 describes it.

    import jpeer.dbapi
    with jpeer.dbapi.connect("jdbc:h2:mem:shop", jars=["h2.jar"]) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select * from orders where id > ?", [7])
            for row in cursor:
                print(row)

Rows come as columns, thousands in one answer (tables.py). Threads may share a connection: one call of JDBC runs at a
time, and others wait. Threads may not share a cursor.
"""

import json
import operator
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple

from ._native import Object, Result, Typed
from .classes import JavaClass
from .connection import Java, join_class_path, launch, words_of
from .dbapi_errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    class_names,
    translating,
)
from .dbapi_types import (
    BINARY,
    DATETIME,
    NUMBER,
    PRODUCTS,
    ROWID,
    STRING,
    Binary,
    BlobReader,
    ClobReader,
    Column,
    Date,
    DateFromTicks,
    Out,
    Product,
    Setter,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    TypeObject,
    Types,
    checked_text,
    plain,
    type_of,
)
from .exceptions import JavaException, PeerError, handle_of
from .rows import Job, Page, Part, RowSender, columns_of, pages_of
from .tables import PAGE, Chunk, Table, _needed, read_table

__all__ = [
    "BINARY", "Binary", "BlobReader", "ClobReader", "Connection", "Cursor", "DATETIME", "DataError", "DatabaseError",
    "Date", "DateFromTicks", "Error", "IntegrityError", "InterfaceError", "InternalError", "NUMBER",
    "NotSupportedError", "OperationalError", "Out", "ProgrammingError", "ROWID", "STRING", "Time", "TimeFromTicks",
    "Timestamp", "TimestampFromTicks", "Types", "Warning", "apilevel", "connect", "paramstyle", "threadsafety",
]  # fmt: skip

for _kind in (Warning, Error, *Error.__subclasses__(), *DatabaseError.__subclasses__()):
    _kind.__module__ = __name__  # which a traceback shows

apilevel = "2.0"
threadsafety = 2  # threads may share the module and connections
paramstyle = "qmark"

CONNECTION, STATEMENT, PREPARED = "java.sql.Connection", "java.sql.Statement", "java.sql.PreparedStatement"
CALLABLE, RESULT_SET, METADATA = "java.sql.CallableStatement", "java.sql.ResultSet", "java.sql.ResultSetMetaData"
DRIVER, DATABASE, BATCH_UPDATE = "java.sql.Driver", "java.sql.DatabaseMetaData", "java.sql.BatchUpdateException"
SERVICE = "META-INF/services/java.sql.Driver"  # the file of a jar that names its drivers
RETURN_GENERATED_KEYS = 1
BATCH_STEPS = 500  # steps of one message
LONG_VALUE = 1 << 16  # units or bytes: a longer parameter is a message of its own, which may be sent in pieces
FIRST_PAGE, PAGE_GROWTH = 1024, 4
BATCH_ROWS = 10_000  # rows of executemany in one batch of JDBC
SUCCESS_NO_INFO, EXECUTE_FAILED = -2, -3
ISOLATION_LEVELS = {"READ UNCOMMITTED": 1, "READ COMMITTED": 2, "REPEATABLE READ": 4, "SERIALIZABLE": 8}
INSERTS = ("INSERT", "REPLACE", "MERGE")
SCHEMA_CHANGES = ("CREATE", "ALTER", "DROP")
DESCRIBED = ("getColumnLabel", "getColumnType", "getColumnTypeName", "getColumnDisplaySize", "getPrecision", "getScale", "isNullable")
NEEDED = 3  # of these; a driver may lack the others
NULLABLE = {0: False, 1: True}

# Properties of a driver, unless the URL or the user says otherwise
DRIVER_PROPERTIES = {
    "org.postgresql.Driver": {
        # a str may be a value of any type, as in a literal: of an enum, of jsonb, of inet
        "stringtype": "unspecified",
        # the driver cannot read some arrays in their binary form: of three dimensions, of oid
        "binaryTransferDisable": "BYTEA_ARRAY,INT2_ARRAY,INT4_ARRAY,INT8_ARRAY,OID_ARRAY,FLOAT4_ARRAY,FLOAT8_ARRAY,VARCHAR_ARRAY,TEXT_ARRAY",
    },
    "org.mariadb.jdbc.Driver": {"yearIsDateType": "false"},  # a YEAR is a number
    "com.mysql.cj.jdbc.Driver": {"yearIsDateType": "false"},
}

Parameters = Sequence[Any]
Converters = Mapping[int | str, Callable[[Any], Any]]


# ---- peers ----


class _Peer:
    """A peer that connect has launched. Connections with the same jars and options share it, and it ends with the last
    of them."""

    def __init__(self, java: Java) -> None:
        self.java = java
        self.users = 1
        self.process = os.getpid()

    @property
    def is_own(self) -> bool:
        """False: this process was forked after the launch."""
        return self.process == os.getpid()

    def release(self) -> None:
        with _peers_lock:
            self.users -= 1
            is_last = self.users == 0
            if is_last:
                for key in [key for key, peer in _peers.items() if peer is self]:
                    del _peers[key]
        if is_last and self.is_own:
            self.java.close()


_peers: dict[Any, _Peer] = {}
_peers_lock = threading.RLock()  # a finalizer may release a peer while this thread has the lock
_loaders_lock = threading.Lock()


def _acquire_peer(jars: Sequence[str], jvm_options: Sequence[str]) -> _Peer:
    key = (join_class_path(jars), tuple(jvm_options))
    with _peers_lock:
        peer = _peers.get(key)
        if peer is not None and peer.is_own:
            peer.users += 1  # from now on no finalizer ends it
            if not peer.java.is_closed:
                return peer
            peer.release()
        peer = _peers[key] = _Peer(launch(jars, jvm_options=jvm_options))
        return peer


def _loader_of(java: Java, jars: Sequence[str]) -> Any:
    """Returns the class loader of these jars; the same one for the same jars, so that a driver is loaded once."""
    if not jars:
        return java._added_loaders[-1] if java._added_loaders else None
    with _loaders_lock:
        loaders = java._driver_loaders
        if tuple(jars) not in loaders:
            loaders[tuple(jars)] = java.add_classpath(*jars)
        return loaders[tuple(jars)]


def _find_driver(java: Java, url: str, driver: Any, loader: Any) -> Any:
    """Returns the java.sql.Driver for the URL."""
    if isinstance(driver, Object):
        return driver
    if isinstance(driver, (str, JavaClass)):
        return (java.type(driver, loader=loader) if isinstance(driver, str) else driver)()
    if driver is not None:
        raise TypeError(f"driver is the name of a class, a class or an object of Java, not {type(driver).__name__}")
    for name in _names_of_drivers(loader):
        found = java.type(name, loader=loader)()
        if java._connection.call(DRIVER, "acceptsURL", found, (url,)):
            return found
    try:
        return java._connection.call("java.sql.DriverManager", "getDriver", None, (url,))
    except JavaException as error:
        raise InterfaceError(f"no driver for {_scheme(url)} is in the class path: give its jar (jars=) or its class (driver=)") from error


def _scheme(url: str) -> str:
    """Returns the start of a URL, which has no password."""
    return ":".join(url.split(":")[:2])


def _names_of_drivers(loader: Any) -> Iterator[str]:
    # DriverManager and ServiceLoader show a caller only the drivers of its own class loader
    if loader is None:
        return
    connection = loader._connection
    found = connection.call("java.lang.ClassLoader", "getResources", loader, (SERVICE,))
    while connection.call("java.util.Enumeration", "hasMoreElements", found):
        place = connection.call("java.util.Enumeration", "nextElement", found)
        stream = connection.call("java.net.URL", "openStream", place)
        text = bytes(connection.call("java.io.InputStream", "readAllBytes", stream)).decode()
        connection.call("java.io.InputStream", "close", stream)
        for line in text.splitlines():
            if name := line.partition("#")[0].strip():
                yield name


def connect(
    url: str, user: str | None = None, password: str | None = None, *, jars: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    driver: Any = None, java: Java | None = None, properties: Mapping[str, Any] | None = None, autocommit: bool = False,
    isolation: str | None = None, fetch_size: int = PAGE, converters: Converters | None = None,
    generated_keys: bool | None = None, jvm_options: str | Sequence[str] = (),
) -> "Connection":  # fmt: skip
    """Opens a connection to a database: connect("jdbc:postgresql://host/shop", "ada", "...", jars=["postgresql.jar"]).

    jars: the driver and what it needs. Without `java`, a peer is launched with these jars; connections with the same
    jars share it, and it ends with the last of them. With `java`, a connection of jpeer, the driver runs in that peer.
    driver: the driver's class, if its jar names none; or a java.sql.Driver. properties: for the driver, as in its
    manual. fetch_size: the rows that the driver fetches at once, if it can. converters: functions for values, by
    the column's type (a member of Types) or the database's name for it ("jsonb"). generated_keys: whether an INSERT asks
    for `lastrowid`; by default it does, except for PostgreSQL.
    """
    if not isinstance(url, str):
        raise TypeError(f"the url is a str, not {type(url).__name__}")
    if java is not None and not isinstance(java, Java):
        raise TypeError(f"java is a connection of jpeer.launch or jpeer.connect, not {type(java).__name__}")
    entries = words_of(jars, "jars")
    peer = None
    try:
        with translating:
            if java is None:
                peer = _acquire_peer(entries, words_of(jvm_options, "jvm_options"))
                java, loader = peer.java, None
            else:
                loader = _loader_of(java, entries)
            found = _find_driver(java, url, driver, loader)
            given = _properties(java, found, url, user, password, properties)
            jdbc = java._connection.call(DRIVER, "connect", found, (url, given))
            if jdbc is None:
                raise InterfaceError(f"the driver {found._java_type} does not accept {_scheme(url)}")
    except BaseException:
        if peer is not None:
            peer.release()
        raise
    with translating:
        return Connection(java, peer, jdbc, autocommit, isolation, fetch_size, converters, generated_keys)


def _properties(java: Java, driver: Object, url: str, user: str | None, password: str | None, more: Mapping[str, Any] | None) -> Any:
    values = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (more or {}).items()}
    for key, default in DRIVER_PROPERTIES.get(driver._java_type, {}).items():
        if f"{key}=" not in url:
            values.setdefault(key, default)
    for name, value in (("user", user), ("password", password)):
        if value is not None:
            values[name] = value
    connection = java._connection
    made = connection.new("java.util.Properties")
    connection.batch([("call", "java.util.Properties", "setProperty", made, item) for item in values.items()])
    return made


# ---- connections ----


def _end(java: Java, peer: _Peer | None, jdbc: Object) -> None:
    """Ends a connection that was closed or dropped: rolls its transaction back, and closes it."""
    native = java._connection
    try:
        if peer is None or peer.is_own:
            for method in ("rollback", "close"):
                try:
                    if method == "close" or not native.call(CONNECTION, "getAutoCommit", jdbc):
                        native.call(CONNECTION, method, jdbc)
                # A RuntimeError: this process was forked.
                except (JavaException, PeerError, ConnectionError, TimeoutError, RuntimeError):
                    pass  # the database, the peer or another process has ended the connection before
    finally:
        if peer is not None:
            peer.release()


class Connection:
    """A connection to a database. `with` commits at the end, or rolls back after an exception, and closes it. A
    connection that Python drops is rolled back and closed."""

    Warning, Error, InterfaceError, DatabaseError, DataError = Warning, Error, InterfaceError, DatabaseError, DataError
    OperationalError, IntegrityError, InternalError = OperationalError, IntegrityError, InternalError
    ProgrammingError, NotSupportedError = ProgrammingError, NotSupportedError

    def __init__(
        self, java: Java, peer: _Peer | None, jdbc: Object, autocommit: bool, isolation: str | None, fetch_size: int,
        converters: Converters | None, generated_keys: bool | None,
    ) -> None:  # fmt: skip
        self._finalizer = weakref.finalize(self, _end, java, peer, jdbc)
        self._java = java
        self._native = java._connection
        self._lock = threading.RLock()
        self._unused: deque[Any] = deque()  # statements that no cursor needs any more
        self._jdbc = jdbc
        self._has_changed_schema = False  # in this transaction
        self.fetch_size = fetch_size
        self.converters: dict[int | str, Callable[[Any], Any]] = dict(converters or {})
        try:
            metadata = self._native.call(CONNECTION, "getMetaData", jdbc)
            name = self._native.call(DATABASE, "getDatabaseProductName", metadata) or ""
            self._product = PRODUCTS.get(name, Product)(name, self._native, jdbc)
            self._gives_keys = self._product.gives_keys if generated_keys is None else generated_keys
            self._count_method = self._find_count_method()
            if isolation is not None:
                self.isolation = isolation
            self._autocommit = True  # as JDBC promises
            self.autocommit = autocommit
        except BaseException:
            self._finalizer()
            raise

    def _find_count_method(self) -> str:
        """Returns the method for update counts: drivers of JDBC 4.1 and older have no long counts."""
        statement = self._native.call(CONNECTION, "createStatement", self._jdbc)
        try:
            self._native.call(STATEMENT, "getLargeUpdateCount", statement)
            return "getLargeUpdateCount"
        except JavaException:
            return "getUpdateCount"
        finally:
            self._native.call(STATEMENT, "close", statement)

    @property
    def jdbc(self) -> Any:
        """The java.sql.Connection."""
        return self._jdbc

    @property
    def java(self) -> Java:
        """The connection to the peer that runs the driver."""
        return self._java

    @property
    def closed(self) -> bool:
        """Whether the program has closed the connection."""
        return not self._finalizer.alive

    def _call(self, method: str, *args: Any) -> Any:
        self._check_open()
        with self._lock, translating:
            self._close_unused()
            return self._native.call(CONNECTION, method, self._jdbc, args)

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise InterfaceError("the connection is closed")

    def _close_unused(self) -> None:
        """Closes the statements of cursors that were closed or dropped: an open one may keep a table locked. Every use of the
        connection begins with this."""
        self._product.settle()
        while self._unused:
            self._native.call(STATEMENT, "close", self._unused.popleft())

    def _note_change(self) -> None:
        """Executes what the database needs after a change of the schema, which a rollback reverts."""
        text = self._product.after_changes
        if text is not None:
            self._has_changed_schema = True
            steps: list[tuple[Any, ...]] = [
                ("call", CONNECTION, "createStatement", self._jdbc, ()), ("call", STATEMENT, "execute", Result(0), (text,)),
                ("call", STATEMENT, "close", Result(0), ()),
            ]  # fmt: skip
            self._native.batch(steps)

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own. A change commits the open transaction."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._call("setAutoCommit", bool(value))
        self._autocommit = bool(value)

    @property
    def isolation(self) -> str | None:
        """The isolation level: "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ" or "SERIALIZABLE"; None: there are
        no transactions."""
        level = self._call("getTransactionIsolation")
        return next((name for name, number in ISOLATION_LEVELS.items() if number == level), None)

    @isolation.setter
    def isolation(self, name: str) -> None:
        level = ISOLATION_LEVELS.get(name.upper().replace("_", " "))
        if level is None:
            raise ProgrammingError(f"{name!r} is no isolation level; the levels are {', '.join(ISOLATION_LEVELS)}")
        self._call("setTransactionIsolation", level)

    def commit(self) -> None:
        """Commits the transaction. With autocommit there is nothing to commit."""
        self._check_open()
        if not self._autocommit:
            self._call("commit")
        self._has_changed_schema = False

    def rollback(self) -> None:
        """Rolls the transaction back. With autocommit there is nothing to roll back."""
        self._check_open()
        if not self._autocommit:
            with self._lock:
                self._call("rollback")
                if self._has_changed_schema:
                    with translating:
                        self._note_change()
        self._has_changed_schema = False

    def cursor(self) -> "Cursor":
        """Returns a new cursor."""
        self._check_open()
        return Cursor(self)

    def execute(self, operation: str, parameters: Parameters | None = None) -> "Cursor":
        """Returns a new cursor that has executed the operation."""
        return self.cursor().execute(operation, parameters)

    def close(self) -> None:
        """Rolls the open transaction back, and closes the connection. A second call does nothing."""
        with self._lock:
            self._product.settle()
            self._finalizer()

    def __enter__(self) -> "Connection":
        self._check_open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if error is None and not self.closed:
                self.commit()
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<jpeer.dbapi.Connection to {self._product.name}{', closed' if self.closed else ''}>"


# ---- cursors ----


class _Rows:
    """The rows of a ResultSet from the position of the cursor on: a page that was fetched, and the ResultSet."""

    def __init__(self, connection: Connection, results: Object, columns: Sequence[Column]) -> None:
        self._native = connection._native
        self.results: Object | None = results
        self.columns = columns
        self._page: list[tuple[Any, ...]] = []
        self._chunks: Sequence[Chunk] = ()
        self._position = 0
        self._size = FIRST_PAGE
        self._is_done = False
        self._failure: BaseException | None = None
        self._pending: Exception | None = None  # the failure, which was not raised yet
        self.taken = 0

    @property
    def has_next(self) -> bool:
        """Whether the next row was fetched."""
        return self._position < len(self._page)

    def take(self, count: int | None) -> list[tuple[Any, ...]]:
        """Returns the next rows: so many, or all."""
        found: list[tuple[Any, ...]] = []
        while count is None or len(found) < count:
            try:
                if self._position == len(self._page) and not self._fetch(PAGE if count is None else self._size):
                    break
            except Exception as error:
                if count is None or not found:
                    raise
                self._pending = error  # for the next call: these rows are good
                break
            stop = len(self._page) if count is None else self._position + count - len(found)
            part = self._page[self._position : stop]
            found += part
            self._position += len(part)
        self.taken += len(found)
        return found

    def _fetch(self, size: int) -> bool:
        """Fetches a page. False: there are no more rows."""
        self._check()
        if self._is_done:
            return False
        try:
            rows, self._is_done, _, page = self._native.columns(self.results, size, 0, None)
            self._chunks = [Chunk(column, rows) for column in self._native.read_columns(page)]
            values = [column.values(chunk, self._native) for column, chunk in zip(self.columns, self._chunks, strict=True)]
        except BaseException as error:
            self._failure = error
            raise
        self._page, self._position = list(zip(*values, strict=True)) if values else [()] * rows, 0
        self._size = min(self._size * PAGE_GROWTH, PAGE)
        return rows > 0 or self._fetch(size)

    def _check(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            raise pending
        # The peer goes on after a row that failed, but without that row.
        if self._failure is not None:
            raise InterfaceError(f"the rows have ended with an error: {self._failure}") from self._failure

    def table(self, java: Java, rows: int | None, progress: bool = False) -> Table:
        """Returns the next rows as a Table."""
        self._check()
        left = len(self._page) - self._position
        names = [column.label for column in self.columns]
        pages: list[tuple[int, Sequence[Chunk]]] = []
        if left and rows != 0:
            count = left if rows is None else min(left, rows)
            pages.append((count, [chunk.part(self._position, count) for chunk in self._chunks]))
            self._position += count
            rows = None if rows is None else rows - count
        if not self._is_done and rows != 0 or not pages:
            try:
                more = read_table(java, self.results, None, rows, progress, any_thread=True)
            except BaseException as error:
                self._failure = error
                raise
            self._is_done = rows is None or len(more) < rows
            pages = [*pages, *more._pages] if len(more) or not pages else pages
        table = Table(names, pages)
        self.taken += len(table)
        return table

    def with_streams(self) -> tuple[Any, ...] | None:
        """Returns the next row, with readers of its BLOBs and CLOBs."""
        self._check()
        if self._position < len(self._page) or self._is_done:
            found = self.take(1)
            return found[0] if found else None
        streams = {index: each.type for index, each in enumerate(self.columns) if each.type in READERS}
        labels = [each.label for index, each in enumerate(self.columns) if index not in streams]
        if len({each.lower() for each in labels}) < len(labels):
            raise NotSupportedError("a row with streams needs columns of different names")
        names = json.dumps(labels)
        try:
            rows, self._is_done, _, page = self._native.columns(self.results, 1, 0, names)
            columns = self._native.read_columns(page)
        except BaseException as error:
            self._failure = error
            raise
        if rows == 0:
            return None
        others = iter(Chunk(column, rows) for column in columns)
        row = [
            self._stream(index, streams[index]) if index in streams else column.values(next(others), self._native)[0]
            for index, column in enumerate(self.columns)
        ]
        self.taken += 1
        return tuple(row)

    def _stream(self, index: int, type: int) -> Any:
        getter, reader = READERS[type]
        found = self._native.call(RESULT_SET, getter, self.results, (index + 1,))
        return None if found is None else reader(found)


# the getter of a column that a stream can be read from, and the reader
READERS: dict[int, tuple[str, Callable[[Object], Any]]] = {
    Types.BLOB: ("getBlob", BlobReader), Types.CLOB: ("getClob", ClobReader), Types.NCLOB: ("getClob", ClobReader),
}  # fmt: skip
# of an output parameter, whose getObject would give a class of java.sql
OUTPUT_CLASSES = {
    Types.DATE: "java.time.LocalDate", Types.TIME: "java.time.LocalTime", Types.TIMESTAMP: "java.time.LocalDateTime",
    Types.TIME_WITH_TIMEZONE: "java.time.OffsetTime", Types.TIMESTAMP_WITH_TIMEZONE: "java.time.OffsetDateTime",
}  # fmt: skip


class Cursor:
    """Executes statements, and reads the rows of the last one. An iteration gives the rows as tuples, and `with` closes
    the cursor."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._native = connection._native
        self._plain: Any = None  # a Statement
        self._prepared: Any = None  # a PreparedStatement for _sql
        self._sql: tuple[str, bool] | None = None  # and whether it was prepared for generated keys
        self._current: Any = None  # the statement that was executed last
        self._rows: _Rows | None = None
        self._sizes: Sequence[Any] = ()
        self._lastrowid: Any = None
        self._has_keys = False  # the keys of the last statement were not read yet
        self._is_closed = False
        self.arraysize = 1
        self.fetch_size = connection.fetch_size
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1

    @property
    def connection(self) -> Connection:
        return self._connection

    @property
    def jdbc(self) -> Any:
        """The java.sql.Statement that was executed last, or None."""
        return self._current

    @property
    def closed(self) -> bool:
        return self._is_closed or self._connection.closed

    @property
    def rownumber(self) -> int | None:
        """The number of rows that were fetched; None: the last statement gave no rows."""
        return None if self._rows is None else self._rows.taken

    # ---- execution ----

    def execute(self, operation: str, parameters: Parameters | None = None) -> "Cursor":
        """Executes a statement. With parameters, even an empty list of them, each `?` in it is a parameter; without
        parameters, the database gets the text as it is."""
        with self._use():
            self._reset()
            if parameters is None:
                self._execute_text(checked_text(_checked_operation(operation)))
            else:
                setters = self._setters(parameters)
                statement = self._prepare(operation, self._asks_for_keys(operation))
                self._check_count(len(setters))
                clear = ("call", PREPARED, "clearParameters", statement, ())  # those of an earlier execution
                steps = [clear, *_set(statement, setters), ("call", PREPARED, "execute", statement, ())]
                try:
                    self._run(steps, statement)
                except JavaException:
                    self._explain(statement, len(setters))
                    raise
            word = _first_word(operation)
            if self._rows is None and not self._connection._product.counts(word):
                self.rowcount = -1
            if word in SCHEMA_CHANGES:
                self._connection._note_change()
            self._read_keys(operation)
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> "Cursor":
        """Executes a statement once for each list of parameters, in batches of the driver. A Table, a DataFrame or an Arrow
        table is a sequence of its rows. rowcount is the sum; -1 if the driver does not tell it."""
        with self._use():
            self._reset()
            _checked_operation(operation)
            counts: list[int] = []
            try:
                if _is_frame(seq_of_parameters):
                    if self._sizes:  # an iteration gives the columns of most frames
                        raise ProgrammingError("setinputsizes is for lists of rows, not for a frame, whose columns have types")
                    counts = self._execute_frame(operation, seq_of_parameters)
                else:
                    counts = self._execute_list(operation, iter(seq_of_parameters))
            except BaseException:
                self._forget_prepared()  # which may hold rows that were not executed
                raise
            self.rowcount = -1 if SUCCESS_NO_INFO in counts else sum(counts)
            self._sizes = ()
        return self

    def _execute_frame(self, operation: str, source: Any) -> list[int]:
        """Executes batches of the rows of a DataFrame or an Arrow table, whose columns are sent as they are."""
        product = self._connection._product
        statement = self._current = self._prepare(operation, False)
        self._native.call(PREPARED, "clearParameters", statement)
        sender = product.sender = RowSender(self._connection._java, statement, any_thread=True)
        width = 0

        def pages() -> Iterator[Page]:
            nonlocal width
            for names, rows, parts in pages_of(source, sender.page_rows):
                width = len(parts)
                self._check_count(width)
                for name, part in zip(names, parts, strict=True):
                    if part.type in product.lacks:
                        raise NotSupportedError(f"column {name!r}: {product.name} has no {part.type}; give a list of rows")
                yield names, rows, parts

        try:
            return [each for part in sender.send(pages()) for each in memoryview(part).cast("i")]
        except JavaException as error:
            self._explain(statement, width)
            self._name_row(error, sender.sent)
            raise

    def _execute_list(self, operation: str, rows: Iterator[Parameters]) -> list[int]:
        """Executes batches of the rows, and makes the next batch while one is executed. Returns the update count of each
        row."""
        batch = self._next_batch(rows, 0, None)
        if batch is None:
            return []
        width = batch.width
        statement = self._current = self._prepare(operation, False)
        self._native.call(PREPARED, "clearParameters", statement)
        self._check_count(width)
        sender = self._connection._product.sender = RowSender(self._connection._java, statement, any_thread=True)

        def jobs() -> Iterator[Job]:
            first = 0
            each: _Batch | None = batch
            while each is not None:
                if each.setters:
                    yield each.rows, True, partial(self._execute_setters, statement, each.setters)
                else:
                    yield from sender.jobs([([None] * width, each.rows, each.parts)], first)
                first += each.rows
                each = self._next_batch(rows, first, width)

        counts: list[int] = []
        try:
            for made in sender.run(jobs()):
                counts.extend(made if isinstance(made, list) else memoryview(made).cast("i"))
        except JavaException as error:
            self._explain(statement, width)
            self._name_row(error, sender.sent)
            raise
        return counts

    def _name_row(self, error: JavaException, first: int) -> None:
        """Adds a note about the row that has failed, if the driver has executed all others of the batch. PostgreSQL names
        the entry of the batch; other drivers do not know it."""
        handle = handle_of(error) if BATCH_UPDATE in class_names(error) else None
        try:
            counts = [] if handle is None else list(self._native.call(BATCH_UPDATE, "getUpdateCounts", handle) or ())
        except (JavaException, PeerError):
            return
        if counts.count(EXECUTE_FAILED) == 1:
            error.add_note(f"row {first + counts.index(EXECUTE_FAILED)} has failed; the other rows of its batch were executed")

    def _next_batch(self, rows: Iterator[Parameters], first: int, width: int | None) -> "_Batch | None":
        """Returns the next rows, whose first has this number; None: there are none. width: the parameters that a row must
        have; None: as many as the first one has."""
        page = list(islice(rows, BATCH_ROWS))
        if not page:
            return None
        found = len(page[0]) if isinstance(page[0], (list, tuple)) else -1
        if found > 0 and not self._sizes and all(isinstance(row, (list, tuple)) and len(row) == found for row in page):
            parts = self._parts(page, first)
            if len(parts) == found and width in (None, found):
                return _Batch(found, len(page), parts, [])
        setters = [self._setters(row, f"row {first + number}: ") for number, row in enumerate(page)]
        wanted = len(setters[0]) if width is None else width
        for number, row in enumerate(setters, first):
            if len(row) != wanted:
                raise ProgrammingError(f"row {number} has {len(row)} parameters, and row 0 has {wanted}")
        return _Batch(wanted, len(page), [], setters if wanted else [])

    def _parts(self, page: list[Parameters], first: int) -> list[Part]:
        """Returns the columns of the parameters, up to the first that needs setters."""
        parts: list[Part] = []
        for column in columns_of(page):
            try:
                part = self._connection._product.part(column)
            except (Error, ValueError, OverflowError, TypeError):
                return parts  # the setters name the value
            if part is None:
                return parts
            parts.append(part)
        return parts

    def _execute_setters(self, statement: Any, rows: Sequence[Sequence[Setter]]) -> list[int]:
        add = ("call", PREPARED, "addBatch", statement, ())
        self._send([step for setters in rows for step in (*_set(statement, setters), add)])
        return [int(each) for each in self._native.call(STATEMENT, "executeBatch", statement)]

    def callproc(self, procname: str, parameters: Parameters = ()) -> list[Any]:
        """Calls a procedure. Returns the parameters, with the results of those that are an Out. Rows are fetched as after
        execute."""
        with self._use():
            self._reset()
            given = [each.value[0] if isinstance(each, Out) and each.value else each for each in parameters]
            outputs = {index: each.type for index, each in enumerate(parameters, 1) if isinstance(each, Out)}
            text = f"{{call {_checked_operation(procname)}({', '.join('?' * len(given))})}}"
            setters = self._setters([None if isinstance(each, Out) else each for each in given])
            self._forget_prepared()
            self._prepared, self._sql = self._native.call(CONNECTION, "prepareCall", self._connection._jdbc, (text,)), None
            statement = self._prepared
            steps = [
                step for index, step in enumerate(_set(statement, setters), 1)
                if index not in outputs or not isinstance(given[index - 1], Out)
            ]  # fmt: skip
            steps += [("call", CALLABLE, "registerOutParameter", statement, item) for item in outputs.items()]
            self._run([*steps, ("call", PREPARED, "execute", statement, ())], statement)
            made = list(parameters)
            for index, type in outputs.items():
                made[index - 1] = self._output(statement, index, type)
            return made

    def _output(self, statement: Any, index: int, type: int) -> Any:
        wanted = OUTPUT_CLASSES.get(type)  # type: ignore[call-overload]
        arguments = (index,) if wanted is None else (index, Typed("java.lang.Class", wanted))
        found = self._native.call(CALLABLE, "getObject", statement, arguments)
        if type == Types.REF_CURSOR and found is not None:
            return read_table(self._connection._java, found, None, None, False, any_thread=True)
        return plain(found)

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Sets the types of the parameters of the next execution: members of Types, or STRING, BINARY, NUMBER, DATETIME.
        None, and a length, set nothing. A type matters to a database that needs to know the type of a null."""
        self._sizes = sizes

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values may have any length."""

    def _use(self) -> "_Use":
        self._check_open()
        return _Use(self)

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed")
        self._connection._check_open()

    def _reset(self) -> None:
        self._rows, self.description, self.rowcount = None, None, -1
        self._lastrowid, self._has_keys = None, False

    def _execute_text(self, text: str) -> None:
        if self._plain is None:
            self._plain = self._native.call(CONNECTION, "createStatement", self._connection._jdbc)
        keys = (RETURN_GENERATED_KEYS,) if self._asks_for_keys(text) else ()
        self._run([("call", STATEMENT, "execute", self._plain, (text, *keys))], self._plain)

    def _asks_for_keys(self, text: str) -> bool:
        # an INSERT that returns rows would give them as its keys
        is_insert = _first_word(_checked_operation(text)) in INSERTS
        return self._connection._gives_keys and is_insert and not _RETURNING.search(text)

    def _prepare(self, operation: str, asks_for_keys: bool) -> Any:
        """Returns the PreparedStatement for the text, which is kept for the next execution of the same text."""
        if self._prepared is not None and self._sql == (operation, asks_for_keys):
            return self._prepared
        text = checked_text(_checked_operation(operation))
        self._forget_prepared()
        keys = (RETURN_GENERATED_KEYS,) if asks_for_keys else ()
        self._prepared = self._native.call(CONNECTION, "prepareStatement", self._connection._jdbc, (text, *keys))
        self._sql = operation, asks_for_keys
        return self._prepared

    def _check_count(self, count: int) -> None:
        if self._connection._product.checks_count:
            wanted = self._parameter_count(self._prepared)
            if wanted != count:
                raise ProgrammingError(f"the statement has {wanted} parameters, and {count} are given")

    def _parameter_count(self, statement: Any) -> int:
        steps: list[tuple[Any, ...]] = [
            ("call", PREPARED, "getParameterMetaData", statement, ()),
            ("call", "java.sql.ParameterMetaData", "getParameterCount", Result(0), ()),
        ]
        return int(self._native.batch(steps)[1])

    def _explain(self, statement: Any, count: int) -> None:
        """Raises a ProgrammingError if an execution has failed because of the number of parameters."""
        try:
            wanted = self._parameter_count(statement)
        except (JavaException, PeerError):
            return  # so it has failed for another reason
        if wanted != count:
            raise ProgrammingError(f"the statement has {wanted} parameters, and {count} are given")

    def _forget_prepared(self) -> None:
        if self._prepared is not None:
            self._connection._unused.append(self._prepared)
        self._prepared = self._sql = None

    def _setters(self, parameters: Parameters, place: str = "") -> list[Setter]:
        if isinstance(parameters, (str, bytes, bytearray, Mapping, set, frozenset)) or not isinstance(parameters, Iterable):
            raise ProgrammingError(f"{place}the parameters are a list, not {type(parameters).__name__}")
        setter, made = self._connection._product.setter, []
        number = 0
        try:
            for value in parameters:
                number += 1
                made.append(setter(value))
        except Error as error:
            raise type(error)(f"{place}parameter {number}: {error}") from error
        except (ValueError, OverflowError, TypeError) as error:
            raise DataError(f"{place}parameter {number}: {error}") from error
        return _with_types(made, self._sizes) if self._sizes else made

    def _run(self, steps: list[tuple[Any, ...]], statement: Any) -> None:
        """Executes the steps, whose last executes the statement."""
        self._current = statement
        self._sizes = ()
        if self.fetch_size:
            steps.insert(0, ("call", STATEMENT, "setFetchSize", statement, (self.fetch_size,)))
        steps.append(("call", STATEMENT, "getResultSet", statement, ()))
        steps.append(("call", STATEMENT, self._connection._count_method, statement, ()))
        results, count = self._send(steps)[-2:]
        self._accept(results, count)

    def _send(self, steps: list[tuple[Any, ...]]) -> list[Any]:
        """Sends the steps, in several messages if there are many or if they are long."""
        made: list[Any] = []
        part: list[tuple[Any, ...]] = []
        for step in steps:
            arguments = step[4]
            if len(arguments) > 1 and isinstance(arguments[1], (str, bytes)) and len(arguments[1]) > LONG_VALUE:
                made += self._native.batch(part) if part else []
                made.append(self._native.call(step[1], step[2], step[3], arguments))
                part = []
                continue
            part.append(step)
            if len(part) == BATCH_STEPS:
                made += self._native.batch(part)
                part = []
        return made + (self._native.batch(part) if part else [])

    def _accept(self, results: Any, count: int) -> None:
        if results is None:
            self.rowcount = count
            return
        self.rowcount = -1
        columns = self._describe(results)
        self._rows = _Rows(self._connection, results, columns)

    def _describe(self, results: Object) -> list[Column]:
        steps: list[tuple[Any, ...]] = [
            ("call", RESULT_SET, "getMetaData", results, ()), ("call", METADATA, "getColumnCount", Result(0), ()),
        ]  # fmt: skip
        metadata, count = self._native.batch(steps)
        try:
            facts = self._send([("call", METADATA, name, metadata, (index,)) for index in range(1, count + 1) for name in DESCRIBED])
        except (JavaException, PeerError):  # the driver lacks one of them
            facts = [self._fact(metadata, name, index) for index in range(1, count + 1) for name in DESCRIBED]
        columns, self.description = [], []
        converters = self._connection.converters
        for begin in range(0, len(facts), len(DESCRIBED)):
            label, number, type_name, display_size, precision, scale, nullable = facts[begin : begin + len(DESCRIBED)]
            type = type_of(number)
            by_name = converters.get(type_name) or converters.get(type_name.lower()) if type_name else None
            columns.append(Column(label or "", type, type_name, self._connection._product, by_name or converters.get(type)))
            self.description.append((label or "", type, display_size, None, precision, scale, NULLABLE.get(nullable)))
        return columns

    def _fact(self, metadata: Any, name: str, index: int) -> Any:
        try:
            return self._native.call(METADATA, name, metadata, (index,))
        except JavaException:
            if DESCRIBED.index(name) < NEEDED:
                raise
            return None

    # ---- results ----

    @property
    def lastrowid(self) -> Any:
        """The key that the last INSERT of execute has generated; of several rows, the last one that the driver gives.
        None: there is none, or it was not asked for (`generated_keys` of connect)."""
        if self._has_keys:
            with self._use():
                self._fetch_keys()
        return self._lastrowid

    def _read_keys(self, operation: str) -> None:
        self._has_keys = self._rows is None and self._asks_for_keys(operation)
        if self._has_keys and self._connection._product.keys_change:
            self._fetch_keys()

    def _fetch_keys(self) -> None:
        self._has_keys = False
        results = self._native.call(STATEMENT, "getGeneratedKeys", self._current)
        if results is None:
            return
        rows = list(read_table(self._connection._java, results, None, None, False, any_thread=True))
        self._native.call(RESULT_SET, "close", results)
        if rows and rows[-1]:
            keys = [int(each) if isinstance(each, Decimal) and each == int(each) else each for each in rows[-1]]
            self._lastrowid = next((each for each in keys if type(each) is int), keys[0])

    def nextset(self) -> bool | None:
        """Goes on to the next rows that the statement gives, over counts of updates between them. None: there are no
        more."""
        with self._use():
            self._rows, self.description = None, None
            if self._current is None:
                return None
            while True:
                steps: list[tuple[Any, ...]] = [
                    ("call", STATEMENT, name, self._current, ())
                    for name in ("getMoreResults", "getResultSet", self._connection._count_method)
                ]
                has_rows, results, count = self._native.batch(steps)
                if has_rows:
                    self._accept(results, count)
                    return True
                if count == -1:
                    return None

    def _result(self) -> _Rows:
        self._check_open()
        if self._rows is None:
            raise ProgrammingError("the last statement gave no rows" if self._current is not None else "no statement was executed")
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row; None: there are no more."""
        rows = self._result()
        if rows.has_next:
            return rows.take(1)[0]  # without the lock
        with self._use():
            found = rows.take(1)
        return found[0] if found else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Returns the next `size` rows, or as many as there are; by default `arraysize`."""
        rows = self._result()
        count = operator.index(self.arraysize if size is None else size)
        if count < 0:
            raise ProgrammingError(f"the number of rows is {count}")
        with self._use():
            return rows.take(count)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all rows that are left."""
        rows = self._result()
        with self._use():
            return rows.take(None)

    def stream_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields the rows that are left, with a file to read in place of each BLOB (bytes) and CLOB (texts). A file can
        be read until the next row. Each row is a round trip or more."""
        rows = self._result()
        while True:
            with self._use():
                found = rows.with_streams()
            if found is None:
                return
            yield found

    def __iter__(self) -> "Cursor":
        return self

    def __next__(self) -> tuple[Any, ...]:
        found = self.fetchone()
        if found is None:
            raise StopIteration
        return found

    # ---- columns ----

    def table(self, rows: int | None = None, progress: bool = False) -> Table:
        """Returns the next `rows` rows, or all that are left, as a jpeer.Table. It has the types of the columns, without
        the connection's converters."""
        found = self._result()
        with self._use():
            return found.table(self._connection._java, rows, progress)

    def fetch_pandas(self) -> Any:
        """Returns all rows that are left as a pandas.DataFrame."""
        return self.table().to_pandas()

    def fetch_arrow(self) -> Any:
        """Returns all rows that are left as a pyarrow.Table."""
        return self.table().to_arrow()

    def batches(self, rows: int = PAGE) -> Iterator[Any]:
        """Yields the rows that are left as pyarrow.RecordBatches of so many rows. They have the schema of the first one,
        unless the values of a later one do not fit it."""
        if rows < 1:
            raise ProgrammingError(f"the number of rows is {rows}")
        return self._batches(self._result(), rows)

    def _batches(self, found: _Rows, rows: int) -> Iterator[Any]:
        schema = None
        while True:
            if self._rows is not found:
                raise ProgrammingError("the cursor has executed another statement: its batches have ended")
            part = self.table(rows)
            if len(part) == 0 and schema is not None:
                return
            arrow = part.to_arrow()
            schema = arrow.schema if schema is None else schema
            yield from _as_schema(arrow, schema).combine_chunks().to_batches()
            if len(part) < rows:
                return

    # ---- the end ----

    def cancel(self) -> None:
        """Cancels the statement that another thread executes with this cursor, if the driver can."""
        if self._current is not None:
            with translating:
                self._native.call(STATEMENT, "cancel", self._current)

    def close(self) -> None:
        """Closes the cursor and its statements. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._reset_statements()
        if not self._connection.closed:
            with self._connection._lock, translating:
                self._connection._close_unused()

    def _reset_statements(self) -> None:
        self._forget_prepared()
        if self._plain is not None:
            self._connection._unused.append(self._plain)
        self._plain = self._current = self._rows = None

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self._reset_statements()  # which the connection closes before the next statement

    def __enter__(self) -> "Cursor":
        self._check_open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<jpeer.dbapi.Cursor of {self._connection!r}{', closed' if self._is_closed else ''}>"


class _Batch(NamedTuple):
    """Rows of executemany: their columns, or the setters of each row."""

    width: int
    rows: int
    parts: list[Part]
    setters: list[list[Setter]]


class _Use:
    """A context in which a cursor uses JDBC: alone on the connection. Java's exceptions become Errors. A
    KeyboardInterrupt, and a timeout of the peer's connection, cancel the statement."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def __enter__(self) -> None:
        connection = self._cursor._connection
        connection._lock.acquire()
        try:
            with translating:
                connection._close_unused()
        except BaseException:
            connection._lock.release()
            raise

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if isinstance(error, (KeyboardInterrupt, TimeoutError)):
                try:
                    self._cursor.cancel()
                except Error:
                    pass  # the driver cannot cancel, or the statement has ended
            translating.__exit__(kind, error, traceback)
        finally:
            self._cursor._connection._lock.release()


# ---- helpers ----


def _is_frame(source: Any) -> bool:
    """Returns whether the source has columns for jpeer.rows. A Table is read by its rows, which may need conversions."""
    is_frame = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__") or hasattr(source, "iloc")
    return is_frame and not isinstance(source, Table)


def _checked_operation(operation: str) -> str:
    if not isinstance(operation, str):
        raise ProgrammingError(f"a statement is a str, not {type(operation).__name__}")
    return operation


_START = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(\w*)", re.DOTALL)


_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)


def _first_word(text: str) -> str:
    """Returns the first word of a statement, in capitals."""
    match = _START.match(text)
    return match[1].upper() if match else ""


def _set(statement: Any, setters: Sequence[Setter]) -> list[tuple[Any, ...]]:
    return [("call", PREPARED, name, statement, (index, *arguments)) for index, (name, arguments) in enumerate(setters, 1)]


def _with_types(setters: list[Setter], sizes: Sequence[Any]) -> list[Setter]:
    """Gives the parameters the types of setinputsizes."""
    made = list(setters)
    for index, size in enumerate(sizes[: len(setters)]):
        wanted = size.parameter if isinstance(size, TypeObject) else size
        if isinstance(wanted, Types):  # another int is a length
            name, arguments = setters[index]
            made[index] = ("setNull", (int(wanted),)) if name == "setNull" else ("setObject", (arguments[0], int(wanted)))
    return made


def _as_schema(table: Any, schema: Any) -> Any:
    pyarrow = _needed("pyarrow", "batches()")
    columns = [
        column if column.type == field.type else _as_type(pyarrow, column, field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pyarrow.Table.from_arrays(columns, names=table.column_names)


def _as_type(pyarrow: Any, column: Any, wanted: Any) -> Any:
    families = ("is_integer", "is_floating"), ("is_decimal",), ("is_timestamp",)
    kinds = [[any(getattr(pyarrow.types, each)(type) for each in family) for family in families] for type in (column.type, wanted)]
    is_text = pyarrow.types.is_decimal(column.type) and pyarrow.types.is_string(wanted)
    if not (is_text or pyarrow.types.is_null(column.type) or kinds[0] == kinds[1] and any(kinds[0])):
        return column  # a cast between others reads texts as numbers
    try:
        return column.cast(wanted)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        return column
