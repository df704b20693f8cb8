"""The exceptions of jpeer.dbapi, and which of them a java.sql.SQLException becomes."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from .exceptions import Denied, JavaException, PeerError, handle_of

CHAIN_MAX = 100  # exceptions after the first, and causes
SQL_EXCEPTION = "java.sql.SQLException"


class Warning(Exception):  # PEP 249 wants this name
    """Never raised. The warnings of a statement are cursor.jdbc.getWarnings()."""


class Error(Exception):
    """`state` is the SQLState, `code` the database's own error code, each None if there is none. `chain` has the Errors
    for SQLException.getNextException. `__cause__` is the Java exception."""

    state: str | None = None
    code: int | None = None
    chain: tuple["Error", ...] = ()


class InterfaceError(Error):
    """A wrong use of this package, such as a cursor that is closed."""


class DatabaseError(Error):
    """An error of the database or of its driver."""


class DataError(DatabaseError):
    """A value is out of range, or has no form in the other language."""


class OperationalError(DatabaseError):
    """The connection, the server or a limit of it."""


class IntegrityError(DatabaseError):
    """A constraint is violated."""


class InternalError(DatabaseError):
    """An invalid state of the database or of its driver."""


class ProgrammingError(DatabaseError):
    """An error in the SQL, in the number of parameters or in their types."""


class NotSupportedError(DatabaseError):
    """The database or its driver lacks the feature."""


Kind = type[DatabaseError]

# By the class of the SQLState, its first two characters.
BY_STATE: dict[str, Kind] = {
    "07": ProgrammingError, "08": OperationalError, "0A": NotSupportedError, "20": ProgrammingError,
    "21": ProgrammingError, "22": DataError, "23": IntegrityError, "24": InternalError, "25": InternalError,
    "26": ProgrammingError, "27": OperationalError, "28": OperationalError, "2B": InternalError, "2D": InternalError,
    "2F": InternalError, "34": OperationalError, "38": InternalError, "39": InternalError, "3B": InternalError,
    "3D": ProgrammingError, "3F": ProgrammingError, "40": OperationalError, "42": ProgrammingError,
    "44": IntegrityError, "53": OperationalError, "54": OperationalError, "55": OperationalError,
    "57": OperationalError, "58": OperationalError, "F0": InternalError, "HV": OperationalError,
    "P0": InternalError, "XX": InternalError,
}  # fmt: skip
# Where neither the state nor the driver decides: by the subclass of SQLException, the nearest first.
BY_CLASS: dict[str, Kind] = {
    "java.sql.SQLIntegrityConstraintViolationException": IntegrityError,
    "java.sql.SQLDataException": DataError,
    "java.sql.SQLSyntaxErrorException": ProgrammingError,
    "java.sql.SQLFeatureNotSupportedException": NotSupportedError,
    "java.sql.SQLInvalidAuthorizationSpecException": OperationalError,
    "java.sql.SQLNonTransientConnectionException": OperationalError,
    "java.sql.SQLTransientException": OperationalError,
    "java.sql.SQLRecoverableException": OperationalError,
    "java.sql.SQLException": DatabaseError,
    "java.lang.UnsupportedOperationException": NotSupportedError,
    "java.lang.AbstractMethodError": NotSupportedError,
    "java.lang.OutOfMemoryError": OperationalError,
}
# SQLite's driver gives no states. Its codes are those of sqlite3.h; the class of each is that of Python's sqlite3.
SQLITE_EXCEPTION = "org.sqlite.SQLiteException"
BY_SQLITE_CODE: dict[int, Kind] = {
    2: InternalError, 11: DatabaseError, 12: InternalError, 18: DataError, 19: IntegrityError, 20: IntegrityError,
    21: ProgrammingError, 25: ProgrammingError, 26: DatabaseError,
}  # fmt: skip


def class_names(error: JavaException) -> list[str]:
    return [name for each in type(error).__mro__ if (name := getattr(each, "_java_name", ""))]


def _kind_of(names: list[str], state: str | None, code: int | None) -> Kind:
    if SQLITE_EXCEPTION in names and code is not None:
        return BY_SQLITE_CODE.get(code & 0xFF, OperationalError)
    found = BY_STATE.get(state[:2]) if state else None
    if found is not None:
        return found
    return next((BY_CLASS[name] for name in names if name in BY_CLASS), InternalError)


def _facts_of(handle: Any) -> tuple[str | None, int | None, Any]:
    """Returns the state, the code and the next exception. The state and code are None if the policy denies them."""
    try:
        steps = [("call", SQL_EXCEPTION, name, handle, ()) for name in ("getSQLState", "getErrorCode", "getNextException")]
        state, code, following = handle._connection.batch(steps)
    except Denied:
        return None, None, None
    return state, code, following


def of_java(error: JavaException) -> Error:
    """Returns the Error for an exception of a JDBC call. Its cause is the exception."""
    made = _of_one(error)
    first, seen = made, 0
    chain: list[Error] = []
    for following in _following(first):
        chain.append(following)
        seen += 1
        if seen == CHAIN_MAX:
            break
    made.chain = tuple(chain)
    return made


def _of_one(error: JavaException) -> Error:
    names = class_names(error)
    state, code, following = None, None, None
    if SQL_EXCEPTION in names:
        handle = handle_of(error)
        if handle is not None:
            state, code, following = _facts_of(handle)
    text = str(error) or error.java_class
    made = _kind_of(names, state, code)(text if SQL_EXCEPTION in names else f"{error.java_class}: {text}")
    made.state, made.code, made.__cause__ = state, code, error
    for note in error.__dict__.pop("__notes__", ()):
        made.add_note(note)
    made.__dict__["_following"] = following
    return made


def _following(error: Error) -> Iterator[Error]:
    while isinstance(following := error.__dict__.pop("_following", None), JavaException):
        error = _of_one(following)
        yield error


def translate(error: BaseException) -> Error | None:
    """Returns the Error for an exception of a call of Java; None: the exception is raised as it is. A denial remains a
    PermissionError, which names the rule to add."""
    if isinstance(error, JavaException):
        return of_java(error)
    if isinstance(error, (Denied, Error)) or not isinstance(error, (PeerError, ConnectionError, TimeoutError)):
        return None
    made = OperationalError(str(error) or type(error).__name__)
    made.__cause__ = error
    return made


class Translation:
    """A context in which the exceptions of Java and of the peer become Errors."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is not None:
            made = translate(error)
            if made is not None:
                raise made from made.__cause__


translating = Translation()
