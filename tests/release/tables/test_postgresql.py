"""jpeer.dbapi on a real PostgreSQL: its types, its states, streams, transactions and lost connections."""

import datetime
import decimal
import os
import signal
import threading
import time
import unittest
import uuid

import jpeer
import jpeer.dbapi
import servers

dbapi = jpeer.dbapi
Decimal, UTC = decimal.Decimal, datetime.UTC


def setUpModule():
    global server, jars
    jars = servers.jars(servers.POSTGRESQL)
    server = servers.postgresql()


class Case(unittest.TestCase):
    def setUp(self):
        self.connection = self.connect()
        self.cursor = self.connection.cursor()

    def connect(self, **options):
        # 2024-03-31 has no 2:30 in this zone; the memory has no room for the rows of test_rows_are_streamed
        jvm_options = ["-Duser.timezone=Europe/Berlin", "-Xmx192m"]
        connection = dbapi.connect(server.url, "postgres", jars=jars, jvm_options=jvm_options, **options)
        self.addCleanup(connection.close)
        return connection

    def one(self, sql, *parameters):
        row, = self.cursor.execute(sql, parameters).fetchall()
        return row[0] if len(row) == 1 else row

    def check_error(self, kind, state, act, *arguments):
        with self.assertRaises(kind) as raised:
            act(*arguments)
        self.assertEqual((type(raised.exception), raised.exception.state), (kind, state))
        return raised.exception


class Types(Case):
    def test_a_parameter_comes_back_as_it_was(self):
        kept = {
            "int2": [5, None], "int4": [-2**31], "int8": [2**63 - 1], "bool": [True, False, None], "float8": [0.1, float("inf"), None],
            "numeric": [Decimal("1.50"), Decimal("9" * 60 + ".5"), Decimal("Infinity"), Decimal("-Infinity"), Decimal("1e3"), None],
            "numeric(5, 2)": [Decimal("-0.05")], "text": ["", "tä😀'\"\\", "x" * 300_000, None], "bytea": [b"", b"\0\xff" * 100_000, None],
            "date": [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(9999, 12, 31)],
            "time": [datetime.time(23, 59, 59, 999999)], "timetz": [datetime.time(1, 2, 3, 4, datetime.timezone(datetime.timedelta(hours=-3)))],
            "timestamp": [datetime.datetime(2024, 3, 31, 2, 30, 0, 1), datetime.datetime(1500, 1, 1)],
            "timestamptz": [datetime.datetime(2024, 10, 27, 0, 30, tzinfo=UTC)], "uuid": [uuid.UUID(int=7), None],
            "interval": [datetime.timedelta(days=1, microseconds=-5), datetime.timedelta(-1), None],
            "int[]": [[1, None, -3], [], [None], [[1, 2], [3, 4]]], "text[]": [["a", None, 'b,"\\{}'], []], "float8[]": [[1.5, 2]],
            "numeric[]": [[Decimal("1.5"), 2**70]], "bytea[]": [[b"\0x", b""]], "uuid[]": [[uuid.UUID(int=1)]], "bool[]": [[True, None]],
            "date[]": [[datetime.date(2024, 2, 29)]], "timestamptz[]": [[datetime.datetime(2024, 1, 1, tzinfo=UTC), None]],
            "timestamp[]": [[datetime.datetime(2024, 3, 31, 2, 30)]], "jsonb": ['{"a": 1}'], "inet": ["10.0.0.1"], "int4range": ["[1,5)"],
        }  # fmt: skip
        for name, values in kept.items():
            for value in values:
                with self.subTest(type=name, value=repr(value)[:50]):
                    self.assertEqual(self.one(f"select cast(? as {name})", value), value)
        self.assertTrue(self.one("select cast(? as numeric)", Decimal("NaN")).is_nan())
        self.assertEqual([repr(row) for row, in self.cursor.execute("values (1.5), ('NaN'::numeric), (null), (2)").fetchall()],
                         ["Decimal('1.5')", "Decimal('NaN')", "None", "Decimal('2')"])

    def test_what_the_driver_gives(self):
        self.cursor.execute("create extension if not exists hstore")
        self.assertEqual(self.one("select 'a=>1'::hstore, '(1,2)'::point, b'101'::bit(3), '<a/>'::xml, 5::oid, array[5::oid], row(1, 'x')"),
                         ({"a": "1"}, "(1.0,2.0)", "101", "<a/>", 5, [5], "(1,x)"))
        self.assertEqual(str(self.one("select interval '1 month'").getMonths()), "1")  # no timedelta has a month
        self.assertEqual(self.one("select '-$1,234.56'::money, null::money"), ("-$1,234.56", None))
        self.check_error(dbapi.DataError, None, self.one, "select date '0044-03-15 BC'")
        self.assertEqual(self.cursor.execute("select 1 as a, 'b' || ?::text as b", ["?"]).description[0][:2], ("a", dbapi.NUMBER))

    def test_bits_are_texts_and_one_bit_is_a_boolean(self):
        self.cursor.execute("create temporary table bits(a bit(1), b bit(3), c varbit(1))").execute("insert into bits values ('1', '101', '1')")
        self.assertEqual(self.one("select a, b, c, b'101', b'1', x'ff', b'', array[b'101', null] from bits"),
                         (True, "101", "1", "101", "1", "11111111", "", ["101", None]))

    def test_24_00_is_refused(self):
        """The driver gives the last nanosecond of the day."""
        for sql in ("time '24:00'", "timetz '24:00+00'", "array[null, time '24:00']"):
            with self.assertRaisesRegex(dbapi.DataError, "column '\\w+': 24:00 is no time of a day"):
                self.one(f"select {sql}")

    def test_arrays_of_a_statement_that_the_server_has_prepared(self):
        """The driver reads some arrays wrongly in their binary form."""
        for _ in range(8):
            found = self.one("select array[[[1], [2]], [[3], [4]]], array[5, 4294967295]::oid[], array['NaN', 0.1]::float4[] where ? > 0", 1)
            self.assertEqual(repr(found), "([[[1], [2]], [[3], [4]]], [5, 4294967295], [nan, 0.10000000149011612])")

    def test_converters(self):
        connection = self.connect(converters={"jsonb": lambda text: len(text), dbapi.Types.NUMERIC: float})
        self.assertEqual(connection.execute("select '[1]'::jsonb, 1.5, 'x'").fetchall(), [(3, 1.5, "x")])

    def test_a_question_mark_is_no_parameter_without_parameters(self):
        self.assertEqual(self.cursor.execute("""select '{"a": 1}'::jsonb ? 'a'""").fetchall(), [(True,)])
        self.assertIs(self.one("""select '{"a": 1}'::jsonb ?? ?""", "b"), False)

    def test_a_null_of_a_type(self):
        self.cursor.setinputsizes([dbapi.Types.INTEGER])
        self.assertEqual(self.one("select pg_typeof(?)::text", None), "integer")


class Statements(Case):
    def test_states(self):
        self.cursor.execute("create table s(i int primary key, v varchar(3) not null)")
        self.connection.commit()
        self.connection.autocommit = True
        for kind, state, sql in (
            (dbapi.ProgrammingError, "42601", "selec"), (dbapi.ProgrammingError, "42P01", "select * from nowhere"),
            (dbapi.DataError, "22012", "select 1 / 0"), (dbapi.DataError, "22001", "insert into s values (1, 'abcd')"),
            (dbapi.IntegrityError, "23502", "insert into s values (1, null)"), (dbapi.NotSupportedError, "0A000", "select distinct i from s for update"),
            (dbapi.OperationalError, "57014", "set statement_timeout = 50; select pg_sleep(30)"),
        ):  # fmt: skip
            with self.subTest(state=state):
                self.check_error(kind, state, self.cursor.execute, sql)
        error = self.check_error(dbapi.IntegrityError, "23505", self.cursor.executemany, "insert into s values (?, 'a')", [[1], [1]])
        self.assertEqual([each.state for each in error.chain], ["23505"])
        self.cursor.execute("drop table s")
        for parameters in ([], [1, 2]):
            error = self.check_error(dbapi.ProgrammingError, None, self.cursor.execute, "select ?::int", parameters)
            self.assertIn(f"has 1 parameters, and {len(parameters)} are given", str(error))

    def test_keys_are_asked_for_only_if_wanted(self):
        for wanted in (None, True):
            cursor = self.connect(generated_keys=wanted).execute("create temporary table k(v text, id serial primary key)")
            cursor.execute("insert into k(v) values (?)", ["a"])
            self.assertEqual((cursor.rowcount, repr(cursor.lastrowid)), (1, "1" if wanted else "None"))
            self.assertEqual(cursor.execute("insert into k(v) values ('b'), ('c') returning id").fetchall(), [(2,), (3,)])
            self.assertEqual(cursor.execute("update k set v = 'd' where id = ? returning v", [1]).fetchall(), [("d",)])

    def test_many_parameters(self):
        self.assertEqual(self.one(f"select cardinality(array[{', '.join('?' * 10_000)}])", *range(10_000)), 10_000)

    def test_a_changed_table_has_its_new_columns(self):
        """The server has prepared the statement after five executions."""
        for columns, expected in (("1 a", 1), ("1 a, 2 b", (1, 2)), ("'x' a", "x")):
            self.cursor.execute(f"create table changing as select {columns}")
            self.assertEqual([self.one("select * from changing where ? > 0", 1) for _ in range(8)], [expected] * 8)
            if columns == "1 a":
                self.connection.rollback()
            else:
                self.cursor.execute("drop table changing")

    def test_rows_are_streamed(self):
        self.cursor.fetch_size = 1000
        begin = time.monotonic()
        self.cursor.execute("select i, repeat('x', 1000) from (select generate_series(1, 100000000) i) s")
        self.assertEqual(sum(len(self.cursor.table(10_000)) for _ in range(50)), 500_000)
        self.assertLess(time.monotonic() - begin, 60)  # all rows are 100 GB
        self.assertEqual(self.one("select 1"), 1)

    def test_batches_and_tables(self):
        sql = "select i, i::numeric / 4 q, case when i % 3 = 0 then null else 'n' || i end s from generate_series(1, 50000) i order by i"
        self.assertEqual(sum(each.num_rows for each in self.cursor.execute(sql).batches(7000)), 50_000)
        frame = self.cursor.execute(sql).fetch_pandas()
        self.assertEqual((frame["q"].iloc[1], frame["s"].isna().sum()), (Decimal("0.5"), 16_666))

    def test_executemany(self):
        self.cursor.execute("create temporary table many(i int, n numeric, t timestamptz, a int[])")
        rows = [[i, Decimal(i) / 4, datetime.datetime(2024, 1, 1, tzinfo=UTC), [i]] for i in range(15_000)] + [[None] * 4]
        self.cursor.executemany("insert into many values (?, ?, ?, ?)", rows)
        self.assertEqual(self.cursor.rowcount, 15_001)
        self.assertEqual(self.one("select count(*), count(i), sum(n), count(distinct t), max(a) from many"),
                         (15_001, 15_000, Decimal(15_000 * 14_999 // 2) / 4, 1, [14_999]))

    def test_an_interrupt_cancels_the_statement(self):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.cursor.execute("select pg_sleep(60)")
        self.connection.rollback()
        self.assertEqual(self.one("select 1"), 1)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_lost_connection(self):
        process = self.one("select pg_backend_pid()")
        self.cursor.execute("select i from generate_series(1, 1000000) i").fetchone()
        other = self.connect(autocommit=True)
        other.execute("select pg_terminate_backend(?)", [process]).fetchall()
        self.check_error(dbapi.OperationalError, "57P01", self.cursor.fetchall)
        self.check_error(dbapi.OperationalError, "08003", self.connection.commit)

    def test_transactions(self):
        self.cursor.execute("create table tx(i int)")
        self.connection.commit()
        self.addCleanup(self.connect(autocommit=True).execute, "drop table tx")
        self.cursor.execute("insert into tx values (1)")
        self.connection.rollback()
        self.assertEqual(self.one("select count(*) from tx"), 0)
        self.connection.commit()
        self.connection.isolation = "SERIALIZABLE"
        self.assertEqual(self.one("show transaction_isolation"), "serializable")
        self.connection.rollback()
        self.check_error(dbapi.ProgrammingError, "42P01", self.cursor.execute, "select * from nowhere")
        self.check_error(dbapi.InternalError, "25P02", self.cursor.execute, "select 1")
        self.connection.rollback()


if __name__ == "__main__":
    unittest.main()
