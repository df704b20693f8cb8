# mypy: ignore-errors
"""SQLAlchemy's dialects over jpeer.dbapi: `jpeer+postgresql` and `jpeer+sqlite`.

    create_engine("jpeer+postgresql://ada:secret@host/shop?jars=postgresql.jar")

`jars` and `driver` in the query, and everything in connect_args, are parameters of jpeer.dbapi.connect; other names in
the query are properties of the driver. SQLAlchemy finds the dialects by the package's entry points.
"""

import decimal
import os
import types
from urllib.parse import quote

from sqlalchemy import pool, util
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql import ENUM, HSTORE, INTERVAL, JSON, JSONB
from sqlalchemy.dialects.postgresql import ARRAY as PGARRAY
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.dialects.postgresql.pg_catalog import INT2VECTOR, OIDVECTOR
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import processors

from . import dbapi

FLOATS = (dbapi.Types.REAL, dbapi.Types.FLOAT, dbapi.Types.DOUBLE)
SHUT_DOWN = ("57P01", "57P02", "57P03")


def _cast(base, **members):
    """Returns a subclass whose parameters have a cast, so that PostgreSQL knows their type."""
    return type(base.__name__, (base,), {"render_bind_cast": True, "__module__": __name__, **members})


class _Numbers:
    """The results of Numeric and Float. The driver gives Decimals and floats by the type of the column."""

    render_bind_cast = True

    def bind_processor(self, dialect):
        return None

    def result_processor(self, dialect, coltype):
        if self.asdecimal and coltype in FLOATS:
            return processors.to_decimal_processor_factory(decimal.Decimal, self._effective_decimal_return_scale)
        return None if self.asdecimal or coltype in FLOATS else processors.to_float


class _Numeric(_Numbers, sqltypes.Numeric):
    pass


class _Float(_Numbers, sqltypes.Float):
    pass


class _HStore(HSTORE):
    render_bind_cast = True

    def result_processor(self, dialect, coltype):
        return None  # the driver gives a map


class _Interval(INTERVAL):
    render_bind_cast = True

    @classmethod
    def adapt_emulated_to_native(cls, interval, **kw):
        return _Interval(precision=interval.second_precision)


class _Vector:
    """A list of numbers in PostgreSQL's catalog, which the driver gives as a text."""

    def result_processor(self, dialect, coltype):
        return lambda text: None if text is None else [int(part) for part in text.split()]


class _Compiler(PGCompiler):
    def visit_custom_op_binary(self, element, operator, **kw):
        if "?" not in operator.opstring:
            return super().visit_custom_op_binary(element, operator, **kw)
        kw["eager_grouping"] = operator.eager_grouping
        return self._generate_generic_binary(element, f" {operator.opstring.replace('?', '??')} ", **kw)


class _Dialect:
    """What both dialects have in common."""

    driver = "jpeer"
    default_paramstyle = "qmark"

    @classmethod
    def import_dbapi(cls):
        return dbapi

    @staticmethod
    def _options(url):
        """Returns the parameters of connect that the query of a URL has."""
        options, properties = {}, {}
        for name, value in url.query.items():
            if name == "jars":
                values = [value] if isinstance(value, str) else value
                options[name] = [each for text in values for each in text.split(os.pathsep)]
            elif name == "driver":
                options[name] = value
            else:
                properties[name] = value if isinstance(value, str) else value[-1]
        return {**options, "properties": properties} if properties else options

    def is_disconnect(self, error, connection, cursor):
        if not isinstance(error, dbapi.Error):
            return False
        state = error.state or ""
        cause = error.__cause__
        is_closed = connection is not None and getattr(connection, "closed", False) is True
        return state[:2] == "08" or state in SHUT_DOWN or isinstance(cause, ConnectionError) or is_closed

    def detect_autocommit_setting(self, connection):
        return connection.autocommit

    def retrieve_dbapi_version(self, module):
        return util.VersionInfo((0,)) if hasattr(util, "VersionInfo") else None


class PostgreSQL(_Dialect, PGDialect):
    """PostgreSQL by org.postgresql's driver."""

    supports_statement_cache = True
    supports_native_decimal = True
    statement_compiler = _Compiler
    supports_sane_multi_rowcount = True
    supports_native_json_deserialization = False
    render_bind_cast = True

    colspecs = util.update_copy(
        PGDialect.colspecs,
        {
            sqltypes.String: _cast(sqltypes.String),
            sqltypes.Numeric: _Numeric,
            sqltypes.Float: _Float,
            sqltypes.JSON: _cast(JSON),
            JSONB: _cast(JSONB),
            sqltypes.JSON.JSONIntIndexType: _cast(sqltypes.JSON.JSONIntIndexType, __visit_name__="json_int_index"),
            sqltypes.JSON.JSONStrIndexType: _cast(sqltypes.JSON.JSONStrIndexType, __visit_name__="json_str_index"),
            sqltypes.Boolean: _cast(sqltypes.Boolean),
            sqltypes.LargeBinary: _cast(sqltypes.LargeBinary, bind_processor=lambda self, dialect: None),
            sqltypes.Interval: _Interval,
            INTERVAL: _Interval,
            sqltypes.DateTime: _cast(sqltypes.DateTime),
            sqltypes.Date: _cast(sqltypes.Date),
            sqltypes.Time: _cast(sqltypes.Time),
            sqltypes.Integer: _cast(sqltypes.Integer),
            sqltypes.SmallInteger: _cast(sqltypes.SmallInteger),
            sqltypes.BigInteger: _cast(sqltypes.BigInteger),
            sqltypes.Enum: _cast(ENUM),
            sqltypes.ARRAY: _cast(PGARRAY),
            HSTORE: _HStore,
            INT2VECTOR: type("INT2VECTOR", (_Vector, INT2VECTOR), {}),
            OIDVECTOR: type("OIDVECTOR", (_Vector, OIDVECTOR), {}),
        },
    )

    def create_connect_args(self, url):
        host = url.host or "localhost"
        host = f"[{host}]" if ":" in host else host
        port = f":{url.port}" if url.port else ""
        options = self._options(url)
        if url.username is not None:
            options["user"] = url.username
        if url.password is not None:
            options["password"] = str(url.password)
        return [f"jdbc:postgresql://{host}{port}/{quote(url.database or '', safe='')}"], options

    def get_isolation_level_values(self, connection):
        return ("AUTOCOMMIT", *dbapi.ISOLATION_LEVELS)

    def set_isolation_level(self, connection, level):
        connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            connection.isolation = level

    def get_isolation_level(self, connection):
        return "AUTOCOMMIT" if connection.autocommit else connection.isolation


class SQLite(_Dialect, SQLiteDialect):
    """SQLite by org.xerial's driver."""

    MODULE_VERSION = (3, 35)  # with RETURNING; the version of the library is known after the first connection

    supports_statement_cache = True
    returns_native_bytes = True

    @classmethod
    def import_dbapi(cls):
        made = types.ModuleType(dbapi.__name__, dbapi.__doc__)
        made.__dict__.update(vars(dbapi), sqlite_version_info=cls.MODULE_VERSION)  # which SQLAlchemy reads
        return made

    @classmethod
    def get_pool_class(cls, url):
        return pool.SingletonThreadPool if url.database in (None, "", ":memory:") else pool.QueuePool

    def create_connect_args(self, url):
        if url.username or url.password or url.host or url.port:
            raise ValueError(f"a URL of SQLite has no user and no host: {url!r}")
        return [f"jdbc:sqlite:{url.database or ':memory:'}"], self._options(url)

    def initialize(self, connection):
        super().initialize(connection)
        if self.server_version_info < (3, 35):
            self.insert_returning = self.update_returning = self.delete_returning = False

    def _get_server_version_info(self, connection):
        return tuple(int(part) for part in connection.exec_driver_sql("select sqlite_version()").scalar().split("."))

    def get_isolation_level_values(self, connection):
        return [*super().get_isolation_level_values(connection), "AUTOCOMMIT"]

    def set_isolation_level(self, connection, level):
        connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            super().set_isolation_level(connection, level)

    def get_isolation_level(self, connection):
        return "AUTOCOMMIT" if connection.autocommit else super().get_isolation_level(connection)
