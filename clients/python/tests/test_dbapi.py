"""jpeer.dbapi on H2, and on a driver of the fixtures that breaks its promises."""

import datetime
import decimal
import enum
import gc
import io
import os
import signal
import subprocess
import threading
import time
import unittest
import uuid

from jpeer import dbapi
from support import FIXTURES, ROOT, await_true, launch, run_threads

H2 = "com.h2database:h2:2.3.232"
INTERFACES = ("DriverManager", "Driver", "Connection", "DatabaseMetaData", "Statement", "PreparedStatement", "ParameterMetaData",
              "CallableStatement", "ResultSet", "ResultSetMetaData", "SQLException")
LONG_QUERY = "select count(*) from system_range(1, 1000000) a, system_range(1, 1000000) b"
Decimal = decimal.Decimal


def setUpModule():
    global java, jar
    found = subprocess.run([str(ROOT / "tools/fetch-jar"), H2], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise unittest.SkipTest(f"H2 cannot be fetched: {found.stderr.strip()[-200:]}")
    jar = found.stdout.strip()
    java = launch(classpath=[FIXTURES, jar], jvm_options=["-Duser.timezone=Europe/Berlin"])  # 2024-03-31 has no 2:30 there
    unittest.addModuleCleanup(java.close)


class Case(unittest.TestCase):
    def setUp(self):
        self.connection = dbapi.connect("jdbc:h2:mem:", java=java)
        self.addCleanup(self.connection.close)
        self.cursor = self.connection.cursor()

    def one(self, sql, *parameters):
        row, = self.cursor.execute(sql, parameters).fetchall()
        return row[0] if len(row) == 1 else row

    def check_error(self, kind, text, act, *arguments):
        with self.assertRaisesRegex(kind, text) as raised:
            act(*arguments)
        self.assertIs(type(raised.exception), kind)
        return raised.exception


class Values(Case):
    def test_a_parameter_comes_back_as_it_was(self):
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        kept = {
            "boolean": [True, False, None], "int": [5, -2**31, None], "bigint": [2**40, -2**63], "numeric(40)": [Decimal(2**100)],
            "double": [1.5, float("inf"), None], "numeric(20, 5)": [Decimal("1.50000"), Decimal("-0.00001")],
            "numeric(1000)": [Decimal("7" * 1000)],
            "varchar": ["", "tä😀\0", "x" * 200_000, None], "clob": ["clöb", "", None],
            "varbinary": [b"", b"\0\xff", None], "blob": [b"x" * 200_000],
            "date": [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(9999, 12, 31), None],
            "time(6)": [datetime.time(23, 59, 59, 999999)], "uuid": [uuid.UUID(int=7), None],
            "timestamp(6)": [datetime.datetime(2024, 3, 31, 2, 30, 0, 1), datetime.datetime(1500, 2, 28), None],
            "timestamp(6) with time zone": [datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zone)],
            "time(6) with time zone": [datetime.time(1, 2, 3, 4, zone)],
            "interval day to second(6)": [datetime.timedelta(days=-3, microseconds=1), None],
            "int array": [[1, None, -3], [], None], "varchar array": [["a", None]], "int array array": [[[1], [2, 3]]],
        }  # fmt: skip
        for name, values in kept.items():
            for value in values:
                with self.subTest(type=name, value=repr(value)[:50]):
                    self.assertEqual(self.one(f"select cast(? as {name})", value), value)
        self.assertEqual(self.one("select json '{}', array[json '1', null], array[array[json '[]']]"), ("{}", ["1", None], [["[]"]]))
        self.assertEqual(str(self.one("select interval '999999999999999999' hour").getHours()), "999999999999999999")  # no timedelta
        self.assertIs(type(self.one("select cast(? as uuid)", uuid.UUID(int=7))), uuid.UUID)
        self.assertEqual(str(self.one("select cast(? as double precision)", Decimal("NaN"))), "nan")

    def test_values_of_other_types_are_converted_or_refused(self):
        class Level(enum.IntEnum):
            HIGH = 5

        class Word(str, enum.Enum):
            YES = "yes"

        for given, expected in ((bytearray(b"ab"), b"ab"), (memoryview(b"abcd")[::2], b"ac"), (Level.HIGH, 5), (Word.YES, "yes"),
                                (io.BytesIO(b"file"), b"file"), (io.StringIO("text"), "text")):
            with self.subTest(given=given):
                self.assertEqual(self.one("select ?", given), expected)
        for bad, kind, text in (({}, dbapi.ProgrammingError, "parameter 2: builtins.dict has no form in SQL"),
                                (object(), dbapi.ProgrammingError, "parameter 2: builtins.object has no form"),
                                ("a\ud800", dbapi.DataError, r"parameter 2: a text with the lone surrogate '\\ud800'"),
                                (Decimal("sNaN"), dbapi.DataError, "parameter 2: a signaling NaN")):
            self.check_error(kind, text, self.cursor.execute, "select ?, ?", [1, bad])
        self.check_error(dbapi.DataError, "lone surrogate", self.cursor.execute, "select '\ud800'")
        self.check_error(dbapi.ProgrammingError, "the parameters are a list, not set", self.cursor.execute, "select ?, ?", {1, 2})
        self.check_error(dbapi.ProgrammingError, "row 1: parameter 1: ", self.cursor.executemany, "select ?", [[1], [{}]])

    def test_rows_of_executemany_have_the_same_values(self):
        columns = {
            "n numeric(30, 3)": [Decimal("1.500"), 2**70, None, 3], "d double": [1, 2.5, float("nan"), None], "v varchar": ["é", 5, True, None],
            "u uuid": [uuid.UUID(int=1), None, None, None], "a int array": [[1, None], [], None, [2]], "b blob": [b"", bytearray(b"x"), None, b"\0"],
            "z timestamp with time zone": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, None, None],
            "t time": [datetime.time(1, 2, 3), None, None, None], "i interval day to second": [datetime.timedelta(1), None, None, None],
        }  # fmt: skip
        for name, values in columns.items():
            with self.subTest(column=name):
                self.cursor.execute(f"create table one(number int, {name})").execute(f"create table many(number int, {name})")
                for row in enumerate(values):
                    self.cursor.execute("insert into one values (?, ?)", row)
                self.cursor.executemany("insert into many values (?, ?)", list(enumerate(values)))
                self.assertEqual(self.cursor.rowcount, 4)
                found = [repr(self.cursor.execute(f"select * from {each} order by number").fetchall()) for each in ("one", "many")]
                self.assertEqual(found[0], found[1])
                self.cursor.execute("drop table one, many")
        self.cursor.execute("create table copy as select x from system_range(1, 5)")
        table = self.cursor.execute("select * from copy").table()
        self.assertEqual(self.cursor.executemany("insert into copy values (?)", table).rowcount, 5)
        for rows, text in (([[1], [2, 3]], "row 1 has 2 parameters, and row 0 has 1"), ([[1, 2]], "has 1 parameters, and 2 are given"),
                           ([[1], [{}]], "row 1: parameter 1: "), ([[1], {"a": 1}], "row 1: the parameters are a list")):
            self.check_error(dbapi.ProgrammingError, text, self.cursor.executemany, "insert into copy values (?)", rows)
        self.assertEqual(self.one("select count(*) from copy"), 10)

    def test_numpy_scalars(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        moment = self.one("select ?", numpy.datetime64("2024-01-01T00:00:00.000000001"))
        self.assertEqual((moment.replace(nanosecond=0), moment.nanosecond), (datetime.datetime(2024, 1, 1), 1))
        self.assertEqual(self.one("select ?, ?, ?, ?", numpy.int64(5), numpy.float32(0.5), numpy.bool_(True), numpy.datetime64("NaT")),
                         (5, 0.5, True, None))
        self.assertEqual(self.one("select cast(? as int array)", numpy.array([1, 2])), [1, 2])

    def test_long_values(self):
        text, data = "x" * 20_000_000, b"y" * 20_000_000
        self.assertTrue(self.one("select ?, ?", text, data) == (text, data))
        self.cursor.execute("create table long(t varchar(20000000), d varbinary(20000000))")
        self.cursor.executemany("insert into long values (?, ?)", [[text, data], ["", b""]])
        self.assertTrue(self.cursor.execute("select * from long order by t desc").fetchall() == [(text, data), ("", b"")])

    def test_a_statement_may_have_many_parameters_and_columns(self):
        self.assertEqual(self.one(f"select {', '.join('?' * 10_000)}", *range(10_000)), tuple(range(10_000)))

    def test_parameters_are_neither_too_many_nor_too_few_nor_old_ones(self):
        for sql, parameters in (("select ?", []), ("select ?", [1, 2]), ("select ?, ?", [1])):
            self.check_error(dbapi.ProgrammingError, f"has {sql.count('?')} parameters, and {len(parameters)} are given",
                             self.cursor.execute, sql, parameters)
        self.cursor.execute("select ?, ?", [1, 2])
        self.check_error(dbapi.ProgrammingError, "has 2 parameters, and 1 are given", self.cursor.execute, "select ?, ?", [3])
        for bad in ("x", {"a": 1}, 5):
            self.check_error(dbapi.ProgrammingError, "the parameters are a list", self.cursor.execute, "select ?", bad)

    def test_setinputsizes_gives_the_type_of_a_null(self):
        self.cursor.setinputsizes([dbapi.Types.INTEGER, dbapi.STRING, 25])
        self.assertEqual(self.one("select ?, ?, ?", None, 5, 6), (None, "5", 6))
        self.assertEqual([each[1] for each in self.cursor.description][1:], [dbapi.STRING, dbapi.NUMBER])

    def test_converters_are_chosen_by_the_type_or_its_name(self):
        converters = {dbapi.Types.DECIMAL: float, "character varying": str.upper}
        with dbapi.connect("jdbc:h2:mem:", java=java, converters=converters) as connection:
            row = connection.execute("select cast(1.5 as decimal(5, 2)), cast('a' as varchar), cast(null as decimal), 7").fetchone()
        self.assertEqual([repr(each) for each in row], ["1.5", "'A'", "None", "7"])


class Cursors(Case):
    def make_table(self, count=5):
        self.cursor.execute("create table t as select x id, 'n' || x name, mod(x, 2) = 0 even, cast(x as numeric(9, 2)) price"
                            f" from system_range(1, {count})")

    def test_rows_are_fetched_in_any_order_of_calls(self):
        self.make_table(100_000)
        self.cursor.execute("select id from t order by id")
        found = [self.cursor.fetchone(), *self.cursor.fetchmany(2), *self.cursor.fetchmany(), next(self.cursor), *self.cursor.fetchmany(5000)]
        self.assertEqual(self.cursor.rownumber, 5005)
        found += [(each,) for each in self.cursor.table(3000)["ID"]]
        found += self.cursor.fetchall()
        self.assertEqual([number for number, in found], list(range(1, 100_001)))
        self.assertEqual((self.cursor.fetchone(), self.cursor.fetchall(), list(self.cursor), len(self.cursor.table())), (None, [], [], 0))

    def test_a_table_has_the_rest_of_a_page(self):
        self.make_table()
        for skipped in range(6):
            self.cursor.execute("select id, name, even, price, case when even then id end from t order by id")
            self.cursor.fetchmany(skipped)
            expected = [(n, f"n{n}", n % 2 == 0, Decimal(n), n if n % 2 == 0 else None) for n in range(skipped + 1, 6)]
            self.assertEqual(list(self.cursor.table(1)) + list(self.cursor.table()), expected)

    def test_the_description(self):
        self.cursor.execute("create table d(i int not null, n numeric(7, 2), s varchar(9), t timestamp with time zone, b blob)")
        self.assertIsNone(self.cursor.description)
        self.cursor.execute("select * from d")
        self.assertEqual([(name, precision, scale, null) for name, _, _, _, precision, scale, null in self.cursor.description],
                         [("I", 32, 0, False), ("N", 7, 2, True), ("S", 9, 0, True), ("T", 32, 6, True), ("B", 2**31 - 1, 0, True)])
        self.assertEqual([each[1] for each in self.cursor.description],
                         [dbapi.NUMBER, dbapi.NUMBER, dbapi.STRING, dbapi.DATETIME, dbapi.BINARY])
        self.assertEqual(self.cursor.description[1][1], dbapi.Types.NUMERIC)
        self.assertNotEqual(self.cursor.description[1][1], dbapi.STRING)

    def test_counts_and_keys(self):
        self.cursor.execute("create table k(id int generated always as identity primary key, v int)")
        self.assertEqual((self.cursor.rowcount, self.cursor.lastrowid), (0, None))
        self.cursor.execute(" -- a comment\n insert into k(v) values (?)", [7])
        self.assertEqual((self.cursor.rowcount, self.cursor.lastrowid), (1, 1))
        self.cursor.execute("insert into k(v) values (8), (9)")
        self.assertEqual((self.cursor.rowcount, self.cursor.lastrowid), (2, 3))
        self.cursor.executemany("insert into k(v) values (?)", ([number] for number in range(25_000)))
        self.assertEqual(self.cursor.rowcount, 25_000)
        self.assertEqual(self.one("select count(*), max(v) from k"), (25_003, 24_999))
        self.cursor.executemany("insert into k(v) values (?)", [])
        self.assertEqual(self.cursor.rowcount, 0)
        self.cursor.execute("update k set v = 0 where v < 10")
        self.assertEqual((self.cursor.rowcount, self.cursor.lastrowid), (13, None))
        error = self.check_error(dbapi.IntegrityError, "Unique index", self.cursor.executemany, "insert into k(id, v) overriding system value"
                                 " values (?, 1)", [[50_000], [50_000]])
        self.assertEqual(error.state, "23505")

    def test_executemany_makes_a_batch_while_one_is_executed(self):
        url = "jdbc:h2:mem:overlap;LOCK_TIMEOUT=30000"
        with dbapi.connect(url, java=java) as holder, dbapi.connect(url, java=java) as connection:
            holder.execute("create table o(id int primary key)")
            holder.commit()
            cursor = connection.cursor()

            def rows(last):
                yield from ([number] for number in range(10_000))
                last()  # while the rows before wait for the lock of the holder
                yield from ([number] for number in range(10_000, 25_000))

            holder.execute("insert into o values (7)")
            cursor.executemany("insert into o values (?)", rows(holder.rollback))
            self.assertEqual((cursor.rowcount, cursor.execute("select count(*) from o").fetchone()), (25_000, (25_000,)))
            cursor.execute("create table copy(id int)").executemany("insert into copy values (?)", connection.execute("select id from o"))
            self.assertEqual(cursor.execute("select count(distinct id) from copy").fetchone(), (25_000,))

            def fail(kind):
                raise kind("the rows end here")

            cursor.execute("delete from o")
            self.check_error(ValueError, "end here", cursor.executemany, "insert into o values (?)", rows(lambda: fail(ValueError)))
            self.assertEqual(cursor.execute("select count(*) from o").fetchone(), (10_000,))
            # the failure of the rows before is raised, and no row after them is sent
            self.check_error(dbapi.IntegrityError, "Unique index", cursor.executemany, "insert into o values (?)", rows(lambda: fail(ValueError)))
            cursor.execute("delete from o where id < 10000").execute("insert into o values (24000)")
            connection.commit()
            error = self.check_error(dbapi.IntegrityError, "Unique index", cursor.executemany, "insert into o values (?)", rows(lambda: None))
            self.assertEqual(error.__notes__, ["the first 20000 rows were sent before",
                                               "row 24000 has failed; the other rows of its batch were executed"])
            connection.rollback()
            holder.execute("insert into o values (7)")
            with self.assertRaises(KeyboardInterrupt):
                cursor.executemany("insert into o values (?)", rows(lambda: fail(KeyboardInterrupt)))
            holder.rollback()
            connection.rollback()
            self.assertEqual(cursor.execute("select count(*) from o").fetchone(), (1,))

    def test_callproc(self):
        self.assertEqual(self.cursor.callproc("lower", ["FOO"]), ["FOO"])
        self.assertEqual(self.cursor.fetchall(), [("foo",)])
        self.assertIsNone(self.cursor.nextset())

    def test_streams(self):
        text = "a😀" * 600_000
        self.cursor.execute("create table s(id int, b blob, c clob)")
        self.cursor.executemany("insert into s values (?, ?, ?)", [[1, b"xyz" * 500_000, text], [2, None, None]])
        rows = self.cursor.execute("select * from s order by id").stream_rows()
        number, blob, clob = next(rows)
        self.assertEqual((number, blob.read(4), len(blob.read()), blob.read()), (1, b"xyzx", 1_499_996, b""))
        self.assertEqual((clob.read(2), clob.read(1)), ("a😀", "a"))
        self.assertEqual("a😀a" + clob.read(), text)
        self.assertEqual(list(rows), [(2, None, None)])

    def test_a_closed_cursor_and_a_closed_connection_are_refused(self):
        self.cursor.execute("select 1")
        with self.connection.cursor() as other:
            other.execute("select 2")
        for act in (other.fetchone, other.table, lambda: other.execute("select 3"), lambda: other.executemany("select ?", [])):
            self.check_error(dbapi.InterfaceError, "the cursor is closed", act)
        self.connection.close()
        for act in (self.cursor.fetchone, self.connection.commit, self.connection.rollback, self.connection.cursor,
                    lambda: self.cursor.execute("select 3"), lambda: self.connection.isolation):
            self.check_error(dbapi.InterfaceError, "the connection is closed", act)
        self.cursor.close()

    def test_rows_of_a_statement_without_rows(self):
        self.check_error(dbapi.ProgrammingError, "no statement was executed", self.cursor.fetchone)
        self.cursor.execute("create table e(i int)")
        self.check_error(dbapi.ProgrammingError, "the last statement gave no rows", self.cursor.fetchall)
        self.check_error(dbapi.ProgrammingError, "a statement is a str, not bytes", self.cursor.execute, b"select 1")


class Connections(Case):
    def test_transactions(self):
        self.connection = dbapi.connect("jdbc:h2:mem:tx;DB_CLOSE_DELAY=-1", java=java)
        self.cursor = self.connection.cursor().execute("create table x(i int)")
        self.cursor.execute("insert into x values (1)")
        self.connection.rollback()
        self.assertEqual(self.one("select count(*) from x"), 0)
        with dbapi.connect("jdbc:h2:mem:tx", java=java) as other:
            other.execute("insert into x values (2)")
        with self.assertRaises(LookupError), dbapi.connect("jdbc:h2:mem:tx", java=java) as other:
            other.execute("insert into x values (3)")
            raise LookupError
        with dbapi.connect("jdbc:h2:mem:tx", java=java, autocommit=True, isolation="serializable") as other:
            self.assertEqual((other.autocommit, other.isolation), (True, "SERIALIZABLE"))
            other.execute("insert into x values (4)")
            other.rollback()
            other.commit()
            self.check_error(dbapi.ProgrammingError, "'SNAPSHOT' is no isolation level", setattr, other, "isolation", "SNAPSHOT")
        dropped = dbapi.connect("jdbc:h2:mem:tx", java=java)
        dropped.execute("insert into x values (5)")
        del dropped
        gc.collect()
        self.connection.commit()
        self.assertEqual(self.cursor.execute("select i from x order by i").fetchall(), [(2,), (4,)])
        self.assertEqual(self.one("select count(*) from information_schema.sessions"), 1)
        self.connection.jdbc.createStatement().execute("drop all objects")
        self.connection.close()
        self.connection.close()

    def test_threads_share_a_connection(self):
        self.cursor.execute("create table w(i int)")

        def act(start):
            cursor = self.connection.cursor()
            for number in range(start, start + 30):
                cursor.execute("insert into w values (?)", [number])
                self.assertEqual(cursor.execute("select ?", [number]).fetchall(), [(number,)])

        run_threads(act, [0, 100, 200, 300])
        self.assertEqual(self.one("select count(distinct i) from w"), 120)

    def test_an_interrupt_cancels_the_statement(self):
        begin = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.cursor.execute(LONG_QUERY)
        self.assertEqual(self.one("select 1"), 1)
        timer = threading.Timer(0.5, self.cursor.cancel)
        timer.start()
        error = self.check_error(dbapi.OperationalError, "canceled", self.cursor.execute, LONG_QUERY)
        timer.join()
        self.assertEqual(error.state, "57014")
        self.addCleanup(setattr, java, "timeout", java.timeout)
        java.timeout = 0.5
        self.check_error(dbapi.OperationalError, "", self.cursor.execute, LONG_QUERY)
        java.timeout = 60
        self.assertEqual(self.one("select 1"), 1)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_launched_peer_ends_with_its_last_connection(self):
        first, second = (dbapi.connect("jdbc:h2:mem:shared", "sa", "", jars=jar) for _ in range(2))
        self.assertIs(first.java, second.java)
        process = f"/proc/{first.java.process_id}"
        first.execute("create table seen(i int)")
        first.close()
        self.assertEqual(second.execute("select * from seen").fetchall(), [])
        del first, second
        gc.collect()
        await_true(lambda: not os.path.exists(process), "the end of the peer")

    def test_a_peer_that_was_killed(self):
        connection = dbapi.connect("jdbc:h2:mem:", jars=[jar])
        cursor = connection.execute("select x from system_range(1, 100000)")
        cursor.fetchone()
        os.kill(connection.java.process_id, signal.SIGKILL)
        self.check_error(dbapi.OperationalError, "its process has ended with signal 9", cursor.fetchall)
        self.check_error(dbapi.InterfaceError, "the rows have ended with an error", cursor.fetchall)
        self.check_error(dbapi.OperationalError, "", connection.commit)
        connection.close()
        with dbapi.connect("jdbc:h2:mem:", jars=[jar]) as again:
            self.assertEqual(again.execute("select 1").fetchall(), [(1,)])

    def test_drivers(self):
        with launch() as other:  # has the driver from a loader of its own, which is made once
            for _ in range(2):
                with dbapi.connect("jdbc:h2:mem:kept;DB_CLOSE_DELAY=-1", java=other, jars=[jar], properties={"USER": "ada"}) as connection:
                    connection.execute("create table if not exists kept(i int)")
                    self.assertEqual(connection.execute("select user").fetchone(), ("ADA",))
        dbapi.connect("jdbc:h2:mem:", java=java, driver="org.h2.Driver").close()
        dbapi.connect("jdbc:h2:mem:", java=java, driver=java.org.h2.Driver).close()
        self.check_error(dbapi.InterfaceError, "no driver for jdbc:nope is in the class path: give its jar", dbapi.connect, "jdbc:nope:x")
        with self.assertRaisesRegex(dbapi.InterfaceError, "the driver org.h2.Driver does not accept jdbc:nope"):
            dbapi.connect("jdbc:nope:x", java=java, driver="org.h2.Driver")
        with self.assertRaisesRegex(dbapi.OperationalError, "not found") as raised:
            dbapi.connect("jdbc:h2:mem:none;IFEXISTS=TRUE", java=java)
        self.assertEqual((raised.exception.state, raised.exception.code), ("90146", 90146))
        self.check_error(dbapi.ProgrammingError, "'x' is no isolation level", lambda: dbapi.connect("jdbc:h2:mem:", java=java, isolation="x"))
        with self.assertRaisesRegex(TypeError, "java is a connection of jpeer.launch or jpeer.connect, not str"):
            dbapi.connect("jdbc:h2:mem:", java="java")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere.jar"):
            dbapi.connect("jdbc:h2:mem:", jars=["/nowhere.jar"])

    def test_under_a_policy_the_interfaces_of_jdbc_are_enough(self):
        allow = [*(f"java.sql.{each}" for each in INTERFACES), "java.util.Properties"]
        self.assertIn(f"\n{','.join(allow)}\n", (ROOT / "docs/databases.md").read_text(encoding="utf-8"))
        with launch(classpath=[jar], allow=allow) as peer, dbapi.connect("jdbc:h2:mem:", java=peer) as connection:
            cursor = connection.execute("create table p(id int generated always as identity, n varchar)")
            cursor.executemany("insert into p(n) values (?)", [["a"], ["b"]])
            self.assertEqual(cursor.execute("insert into p(n) values (?)", ["c"]).lastrowid, 3)
            self.assertEqual(cursor.execute("select * from p").fetchall(), [(1, "a"), (2, "b"), (3, "c")])
            error = self.check_error(dbapi.ProgrammingError, "not found", cursor.execute, "select * from q")
            self.assertEqual(error.state, "42S02")
            with self.assertRaisesRegex(PermissionError, "java.sql.Array"):
                cursor.execute("select array[1]").fetchall()


class Hostile(Case):
    def setUp(self):
        self.connection = dbapi.connect("jdbc:fixture:", java=java, driver=java.fixtures.Tables.driver())
        self.addCleanup(self.connection.close)
        self.cursor = self.connection.cursor()

    def test_an_error_in_the_middle_comes_after_the_rows_before_it_and_ends_them(self):
        self.check_error(dbapi.OperationalError, "row 5001 is broken", self.cursor.execute("9000 3 5001 -").fetchall)
        self.cursor.execute("9000 3 5001 -")
        self.assertEqual(len(self.cursor.fetchmany(6000)), 5000)
        error = self.check_error(dbapi.OperationalError, "row 5001 is broken", self.cursor.fetchone)
        self.assertEqual((error.state, error.code, error.chain), ("08006", 42, ()))
        self.assertIsInstance(error.__cause__, java.java.sql.SQLException)
        for act in (self.cursor.fetchone, self.cursor.fetchall, self.cursor.table):
            self.check_error(dbapi.InterfaceError, "the rows have ended with an error: row 5001 is broken", act)

    def test_lies_of_the_metadata(self):
        for lie, text in (("count", "no column 4"), ("negative", "-1 columns"), ("no metadata", ".")):
            with self.subTest(lie=lie), self.assertRaisesRegex(dbapi.Error, text):
                self.cursor.execute(f"3 3 0 {lie}").fetchall()
        self.assertEqual(len(self.cursor.execute("3 3 0 label").fetchall()), 3)
        self.assertEqual(len(self.cursor.execute("3 3 0 scale").fetchall()), 3)
        self.assertEqual(self.cursor.execute("1 3 0 wrong class").fetchall(), [(11, "s1", "no date")])
        self.assertEqual(len(self.cursor.execute("2 1000 0 -").fetchone()), 1000)

    def test_another_thread_closes_the_rows(self):
        self.cursor.execute("2000000000 3 0 -").fetchone()
        timer = threading.Timer(0.3, self.cursor._rows.results.close)
        timer.start()
        error = self.check_error(dbapi.InternalError, "the ResultSet is closed", self.cursor.fetchall)
        timer.join()
        self.assertEqual(error.state, "24000")

    def test_a_method_that_the_driver_lacks(self):
        self.check_error(dbapi.NotSupportedError, "commit is missing", self.connection.commit)


class Libraries(Case):
    def test_pandas_and_arrow(self):
        for name in ("pandas", "pyarrow"):
            try:
                __import__(name)
            except ImportError:
                self.skipTest(f"{name} is not installed")
        sql = "select x id, cast(x as numeric(9, 2)) price, 'n' || x name from system_range(1, 1000) order by x"
        frame = self.cursor.execute(sql).fetch_pandas()
        self.assertEqual((list(frame.columns), len(frame), frame["ID"].sum()), (["ID", "PRICE", "NAME"], 1000, 500_500))
        self.assertEqual(self.cursor.execute(sql).fetch_arrow().num_rows, 1000)
        batches = list(self.cursor.execute(sql).batches(300))
        self.assertEqual([each.num_rows for each in batches], [300, 300, 300, 100])
        self.assertEqual(len({each.schema for each in batches}), 1)
        self.assertEqual([each.num_rows for each in self.cursor.execute(f"{sql} limit 0").batches()] or [0], [0])
        running = self.cursor.execute(sql).batches(300)
        next(running)
        self.cursor.execute("select 'others'")
        self.check_error(dbapi.ProgrammingError, "another statement", next, running)
        self.cursor.setinputsizes([dbapi.Types.INTEGER])
        self.check_error(dbapi.ProgrammingError, "setinputsizes is for lists", self.cursor.executemany, "select ?", frame)
        self.cursor.setinputsizes([])
        self.cursor.execute("create table copy(id bigint, price numeric(9, 2), name varchar)")
        for source in (frame, self.cursor.execute(sql).fetch_arrow(), batches[0]):
            self.assertEqual(self.cursor.executemany("insert into copy values (?, ?, ?)", source).rowcount, len(source))
        self.assertEqual(self.one("select count(*), sum(price), max(name) from copy"), (2300, Decimal("1046150.00"), "n999"))
        self.check_error(dbapi.ProgrammingError, "has 2 parameters, and 3 are given", self.cursor.executemany, "insert into copy(id, name)"
                         " values (?, ?)", frame)


if __name__ == "__main__":
    unittest.main()
