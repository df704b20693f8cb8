"""jpeer.dbapi is judged by dbapi-compliance, on three databases."""

import tempfile
import unittest
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


del Suite

if __name__ == "__main__":
    unittest.main()
