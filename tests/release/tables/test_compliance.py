"""jpeer.dbapi is judged by dbapi-compliance, on four databases."""

import datetime
import decimal
import tempfile
import unittest
import uuid
from pathlib import Path

import dbapi20
import jpeer.dbapi
import servers


class Suite(dbapi20.DatabaseAPI20Test):
    driver = jpeer.dbapi
    test_non_idempotent_close = None  # a second close does nothing

    def test_setoutputsize(self):
        """setoutputsize does nothing, and long values are complete."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.setoutputsize(3)
            self.assertEqual(cursor.execute("select 'a long text'").fetchone(), ("a long text",))

    def test_nextset(self):
        """Without a procedure that gives several results, there is one."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("select 1")
            self.assertIsNone(cursor.nextset())
            self.assertRaises(jpeer.dbapi.Error, cursor.fetchone)


class OnH2(Suite):
    @classmethod
    def setUpClass(cls):
        cls.connect_args = ("jdbc:h2:mem:compliance;DB_CLOSE_DELAY=-1",)
        cls.connect_kw_args = {"jars": servers.jars(servers.H2)}
        cls.kept = cls.driver.connect(*cls.connect_args, **cls.connect_kw_args)  # keeps the peer

    @classmethod
    def tearDownClass(cls):
        cls.kept.close()


class OnSQLite(Suite):
    lower_func = None  # SQLite has no procedures

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-sqlite-")
        cls.addClassCleanup(folder.cleanup)
        cls.connect_args = (f"jdbc:sqlite:{Path(folder.name, 'compliance.db')}",)
        cls.connect_kw_args = {"jars": servers.jars(*servers.SQLITE)}
        cls.kept = cls.driver.connect(*cls.connect_args, **cls.connect_kw_args)
        cls.addClassCleanup(cls.kept.close)


    def test_values(self):
        """SQLite has no types of columns: the values decide, also where they change."""
        dbapi = self.driver
        moment = datetime.datetime(2024, 3, 31, 2, 30, 0, 5)
        values = [1, 2**40, -2**63, 0.5, "tä😀", b"\0\xff", None, "", b""]
        texts = [moment, moment.date(), moment.time(), moment.replace(tzinfo=datetime.UTC), decimal.Decimal("0.10"), uuid.UUID(int=1)]
        stored = ["2024-03-31 02:30:00.000005", "2024-03-31", "02:30:00.000005", "2024-03-31 02:30:00.000005+00:00", "0.10", str(uuid.UUID(int=1))]
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("create temporary table v(n integer primary key, x)")
            cursor.executemany("insert into v(x) values (?)", [[value] for value in values + texts])
            self.assertEqual(cursor.execute("select x from v order by n").fetchall(), [(value,) for value in values + stored])
            cursor.execute("insert into v(x) values (?)", [True])
            self.assertEqual((cursor.lastrowid, cursor.execute("select x from v where n = ?", [16]).fetchone()), (16, (1,)))
            for execute, given in ((cursor.execute, [2**63]), (cursor.executemany, [[2**63]])):
                with self.assertRaisesRegex(dbapi.DataError, "SQLite has no integers of more than 64 bits"):
                    execute("insert into v(x) values (?)", given)
            cursor.execute("select ?, ?", [1, 2])
            for given in ([], [1], [1, 2, 3]):
                with self.assertRaisesRegex(dbapi.ProgrammingError, f"has 2 parameters, and {len(given)} are given"):
                    cursor.execute("select ?, ?", given)
            with self.assertRaises(dbapi.IntegrityError):
                cursor.execute("insert into v values (1, 1)")
            texts = cursor.execute("select 1 a union all select 2 union all select '007' union all select 'x'").batches(2)
            self.assertEqual([each.to_pydict() for each in texts], [{"a": [1, 2]}, {"a": ["007", "x"]}])
            cursor.execute("create temporary table j(x json)").execute("insert into j values (x'00')")
            self.assertEqual(cursor.execute("select x from j").fetchall(), [(b"\0",)])  # the name of the type says nothing
            other = connection.execute("select * from v")
            other.fetchone()
            del other  # an open statement would keep the table locked
            cursor.execute("drop table v")


class OnPostgreSQL(Suite):
    @classmethod
    def setUpClass(cls):
        cls.connect_args = (servers.postgresql().url, "postgres")
        cls.connect_kw_args = {"jars": servers.jars(servers.POSTGRESQL)}
        cls.kept = cls.driver.connect(*cls.connect_args, **cls.connect_kw_args)
        cls.addClassCleanup(cls.kept.close)

    def test_nextset(self):
        """Over an update between two results."""
        with self._connect() as connection, connection.cursor() as cursor:
            self.executeDDL1(cursor)
            cursor.execute(f"select 1; insert into {self.table_prefix}booze values ('x'); select 2, 3; select 4 where false")
            self.assertEqual(cursor.fetchall(), [(1,)])
            self.assertTrue(cursor.nextset())
            self.assertEqual((len(cursor.description), cursor.fetchall()), (2, [(2, 3)]))
            self.assertTrue(cursor.nextset())
            self.assertEqual(cursor.fetchall(), [])
            self.assertIsNone(cursor.nextset())


class OnMariaDB(Suite):
    lower_func = None  # it has no procedure of this name

    @classmethod
    def setUpClass(cls):
        jars = servers.jars(*servers.MARIADB)
        server = servers.MariaDB()
        cls.addClassCleanup(server.close)
        cls.connect_args = (server.url, "root", "")
        cls.connect_kw_args = {"jars": jars}
        cls.kept = cls.driver.connect(*cls.connect_args, **cls.connect_kw_args)
        cls.addClassCleanup(cls.kept.close)

    def test_nextset(self):
        """A procedure with two results and parameters that it sets."""
        dbapi = self.driver
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("create procedure two(in a int, inout b int, out c varchar(9)) begin set b = a + b; set c = 'hi'; select 1; select 2, 3; end")
            self.assertEqual(cursor.callproc("two", [1, dbapi.Out(dbapi.Types.INTEGER, 5), dbapi.Out(dbapi.Types.VARCHAR)]), [1, 6, "hi"])
            self.assertEqual((cursor.fetchall(), cursor.nextset(), cursor.fetchall(), cursor.nextset()), ([(1,)], True, [(2, 3)], None))

    def test_values(self):
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("create temporary table v(id bigint unsigned auto_increment primary key, s varchar(9), u uuid, t time(6), d datetime(6))")
            row = ("tä😀", None, datetime.timedelta(hours=-30, microseconds=1), datetime.datetime(2024, 3, 31, 2, 30, 0, 5))
            cursor.execute("insert into v(s, u, t, d) values (?, ?, ?, ?)", row)
            self.assertEqual(repr(cursor.lastrowid), "1")
            returned = cursor.execute("insert into v(s) values ('x'), ('y') returning id").fetchall()
            self.assertEqual((returned, cursor.lastrowid), ([(2,), (3,)], None))
            cursor.execute("delete from v where id > 1")
            self.assertEqual(cursor.execute("select * from v").fetchall(), [(1, *row)])
            cursor.execute("create temporary table w(b boolean, u tinyint(1) unsigned, y year, x bit(9))")
            cursor.execute("insert into w values (1, 1, 1901, b'100000001'), (5, 200, 0, null), (null, null, null, b'0'), (-1, 0, 2155, b'1')")
            self.assertEqual([repr(row) for row in cursor.execute("select * from w").fetchall()],
                             [r"(True, True, 1901, b'\x01\x01')", "(5, 200, 0, None)", r"(None, None, None, b'\x00\x00')",
                              r"(-1, False, 2155, b'\x00\x01')"])

    def test_the_driver_of_mysql(self):
        url = self.connect_args[0].replace("mariadb", "mysql", 1) + "&sslMode=DISABLED"
        for form in ("", "&useServerPrepStmts=true"):
            with self.driver.connect(url + form, "root", jars=servers.jars(servers.MYSQL)) as connection, connection.cursor() as cursor:
                cursor.execute("create temporary table w(n int, b boolean, x bit(1), y year, t time(6))")
                times = [datetime.timedelta(microseconds=-1), datetime.timedelta(hours=-838, microseconds=1), datetime.timedelta(0),
                         datetime.timedelta(hours=30), None]
                cursor.executemany("insert into w values (?, ?, b'1', 1901, ?)", [[n, n, each] for n, each in enumerate(times)])
                rows = [(n, n if n > 1 else bool(n), True, 1901, each) for n, each in enumerate(times)]
                self.assertEqual(repr(cursor.execute("select * from w where n >= ? order by n", [0]).fetchall()), repr(rows))


del Suite

if __name__ == "__main__":
    unittest.main()
