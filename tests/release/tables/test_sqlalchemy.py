"""SQLAlchemy's dialects jpeer+postgresql and jpeer+sqlite: Core, ORM, types, reflection, and pandas over them."""

import datetime
import decimal
import enum
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any

import pandas
import servers
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload


class Color(enum.Enum):
    red = 1
    blue = 2


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(30), unique=True)
    items: Mapped[list["Item"]] = relationship(back_populates="user")


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.id"))
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    ratio: Mapped[float | None]
    moment: Mapped[datetime.datetime | None] = mapped_column(sa.DateTime())
    day: Mapped[datetime.date | None]
    clock: Mapped[datetime.time | None]
    wait: Mapped[datetime.timedelta | None] = mapped_column(sa.Interval())
    key: Mapped[uuid.UUID | None]
    data: Mapped[Any | None] = mapped_column(sa.JSON())
    blob: Mapped[bytes | None]
    flag: Mapped[bool | None]
    color: Mapped[Color | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    text: Mapped[str | None] = mapped_column(sa.Text)
    user: Mapped[User] = relationship(back_populates="items")


VALUES = {
    "price": decimal.Decimal("1.50"), "ratio": 0.25, "moment": datetime.datetime(2024, 3, 31, 2, 30, 0, 5), "day": datetime.date(1500, 1, 1),
    "clock": datetime.time(1, 2, 3, 4), "wait": datetime.timedelta(days=1, seconds=5), "key": uuid.UUID(int=7), "data": {"a": [1, None, "ü"]},
    "blob": b"\0\xff", "flag": True, "color": Color.blue, "big": 2**40, "text": "t?%s:x",
}  # fmt: skip


class Dialect:
    """The tests of both dialects."""

    def setUp(self):
        Base.metadata.create_all(self.engine)
        self.addCleanup(Base.metadata.drop_all, self.engine)
        with Session(self.engine) as session:
            session.add_all([User(name=f"u{i}", items=[Item(**VALUES), Item(price=3)]) for i in range(20)])
            session.commit()

    def test_types_and_the_orm(self):
        with Session(self.engine) as session:
            user = session.scalars(sa.select(User).where(User.name == "u7").options(selectinload(User.items))).one()
            item = user.items[0]
            self.assertEqual({name: getattr(item, name) for name in VALUES}, VALUES)
            self.assertEqual({name: type(getattr(item, name)) for name in VALUES}, {name: type(value) for name, value in VALUES.items()})
            self.assertEqual([getattr(user.items[1], name) for name in VALUES if name != "price"], [None] * (len(VALUES) - 1))
            user.items[1].text = "changed"
            session.flush()
            self.assertEqual(session.scalar(sa.select(sa.func.count()).where(Item.text == "changed")), 1)
            session.rollback()
            session.add(User(name="u1"))
            with self.assertRaises(sa.exc.IntegrityError):
                session.flush()

    def test_core(self):
        with self.engine.begin() as connection:
            self.assertEqual(connection.execute(sa.select(sa.func.sum(Item.price), sa.func.avg(Item.ratio))).one(),
                             (decimal.Decimal("90.00"), 0.25))
            self.assertEqual(connection.execute(sa.update(Item).where(Item.id <= 4).values(flag=False)).rowcount, 4)
            self.assertEqual(connection.scalars(sa.select(User.name).where(User.name.in_(["u2", "u1"])).order_by(User.name)).all(), ["u1", "u2"])
            self.assertEqual(sum(map(len, connection.execute(sa.select(Item.id)).yield_per(7).partitions())), 40)
            self.assertEqual(connection.scalar(sa.text("select :a"), {"a": "x"}), "x")
            users = User.__table__
            self.assertEqual(connection.execute(sa.insert(users), [{"name": f"more{i}"} for i in range(500)]).rowcount, 500)
            key = connection.execute(sa.insert(users).values(name="last")).inserted_primary_key[0]
            self.assertEqual(connection.scalar(sa.select(users.c.name).where(users.c.id == key)), "last")
            self.assertEqual(len(connection.execute(sa.insert(users).returning(users.c.id), [{"name": "r1"}, {"name": "r2"}]).all()), 2)

    def test_reflection(self):
        metadata = sa.MetaData()
        metadata.reflect(self.engine)
        items = metadata.tables["items"]
        self.assertEqual([(column.name, column.nullable, column.primary_key) for column in items.columns],
                         [(column.name, column.nullable, column.primary_key) for column in Item.__table__.columns])
        self.assertEqual([key.target_fullname for key in items.foreign_keys], ["users.id"])
        self.assertEqual(str(items.c.price.type), "NUMERIC(10, 2)")
        self.assertEqual([each["column_names"] for each in sa.inspect(self.engine).get_unique_constraints("users")], [["name"]])

    def test_pandas(self):
        self.addCleanup(lambda: sa.Table("frame", sa.MetaData()).drop(self.engine, checkfirst=True))
        moments = pandas.to_datetime(["2024-01-01 00:00:00", "2024-01-02 03:04:05.123456", None], format="ISO8601")
        frame = pandas.DataFrame({"a": [1.0, 2.0, None], "b": ["x", None, "z"], "c": moments, "e": [True, False, True], "i": [1, 2, 3]})
        for method in (None, "multi"):
            frame.to_sql("frame", self.engine, if_exists="replace", index=False, method=method)
            found = pandas.read_sql("select * from frame", self.engine, parse_dates=["c"])
            self.assertEqual(found.fillna("-").astype(str).values.tolist(), frame.fillna("-").astype(found.dtypes, errors="ignore")
                             .fillna("-").astype(str).values.tolist())
        self.assertEqual(pandas.read_sql_table("frame", self.engine)["c"].tolist()[:2], moments.tolist()[:2])

    def test_isolation(self):
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            self.assertEqual(connection.get_isolation_level(), "AUTOCOMMIT")
            connection.execute(sa.insert(User.__table__).values(name="kept"))
        with self.engine.connect() as connection:
            self.assertEqual(connection.get_isolation_level(), self.level)
            self.assertEqual(connection.scalar(sa.select(sa.func.count()).where(User.name == "kept")), 1)


class SQLite(Dialect, unittest.TestCase):
    level = "SERIALIZABLE"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-sqlite-")
        cls.addClassCleanup(folder.cleanup)
        cls.engine = sa.create_engine(f"jpeer+sqlite:///{Path(folder.name, 'a.db')}", connect_args={"jars": servers.jars(*servers.SQLITE)})
        cls.addClassCleanup(cls.engine.dispose)


class PostgreSQL(Dialect, unittest.TestCase):
    level = "READ COMMITTED"

    @classmethod
    def setUpClass(cls):
        server = servers.postgresql()
        jar, = servers.jars(servers.POSTGRESQL)
        cls.engine = sa.create_engine(f"jpeer+postgresql://postgres@127.0.0.1:{server.port}/postgres?jars={jar}&ApplicationName=tests")
        cls.addClassCleanup(cls.engine.dispose)

    def test_types_of_postgresql(self):
        table = sa.Table("own", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("a", pg.ARRAY(sa.Integer)),
                         sa.Column("j", pg.JSONB), sa.Column("ip", pg.INET), sa.Column("h", pg.HSTORE), sa.Column("t", sa.Time(timezone=True)),
                         sa.Column("z", pg.ARRAY(sa.DateTime(timezone=True))))
        moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
        values = {"a": [1, 2], "j": {"k": {"x": 1}}, "ip": "10.0.0.1", "h": {"a": "b"}, "t": moment.timetz(), "z": [moment, None]}
        with self.engine.connect() as connection:  # which rolls back
            connection.execute(sa.text("create extension if not exists hstore"))
            table.create(connection)
            connection.execute(table.insert().values(**values))
            self.assertEqual(connection.execute(sa.select(table)).mappings().one(), {"id": 1, **values})
            for where in (table.c.j.has_key("k"), table.c.a.contains([1]), table.c.j["k"]["x"].as_integer() == 1, table.c.h["a"] == "b",
                          table.c.j.contains({"k": {"x": 1}}), sa.literal(2) == sa.any_(table.c.a)):
                self.assertEqual(connection.scalars(sa.select(table.c.id).where(where)).all(), [1], where)
            upsert = pg.insert(table).values(id=1, a=[5]).on_conflict_do_update(index_elements=["id"], set_={"a": [9]})
            self.assertEqual(connection.scalar(upsert.returning(table.c.a)), [9])
            self.assertEqual(connection.scalar(sa.text("select current_setting('application_name')")), "tests")

    def test_a_lost_connection_is_replaced(self):
        with self.engine.connect() as connection:
            process = connection.scalar(sa.text("select pg_backend_pid()"))
            with self.engine.connect() as other:
                other.execute(sa.text("select pg_terminate_backend(:process)"), {"process": process})
            with self.assertRaises(sa.exc.OperationalError) as raised:
                connection.execute(sa.text("select 1"))
            self.assertTrue(raised.exception.connection_invalidated)
        with self.engine.connect() as connection:
            self.assertEqual(connection.scalar(sa.text("select 5")), 5)


if __name__ == "__main__":
    unittest.main()
