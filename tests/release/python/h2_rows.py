"""A RowMapper for Spring's JdbcTemplate makes Python objects of the rows of an H2 database."""

import datetime
import decimal
import os
from dataclasses import dataclass

import jpeer


@dataclass
class Book:
    title: str
    price: decimal.Decimal
    published: datetime.date


with jpeer.launch(classpath=os.environ["JARS"]) as java:
    source = java.org.h2.jdbcx.JdbcDataSource()
    source.setURL("jdbc:h2:mem:books;DB_CLOSE_DELAY=-1")
    jdbc = java.org.springframework.jdbc.core.JdbcTemplate(source)
    jdbc.execute("create table book(title varchar, price decimal(8, 2), published date)")
    for title, price, published in [
        ("Emma", decimal.Decimal("7.90"), datetime.date(1815, 12, 23)),
        ("Walden", decimal.Decimal("12.50"), datetime.date(1854, 8, 9)),
    ]:
        jdbc.update("insert into book values (?, ?, ?)", title, price, published)

    books = jdbc.query(
        "select * from book order by published",
        lambda row, number: row.getString("title"),
    )
    assert list(books) == ["Emma", "Walden"], list(books)

    mapped = []

    def remember(row):
        published = row.getObject("published", java.java.time.LocalDate)
        mapped.append(Book(row.getString("title"), row.getBigDecimal("price"), published))

    jdbc.query("select * from book order by title", jpeer.cast("org.springframework.jdbc.core.RowCallbackHandler", remember))
    assert mapped == [
        Book("Emma", decimal.Decimal("7.90"), datetime.date(1815, 12, 23)),
        Book("Walden", decimal.Decimal("12.50"), datetime.date(1854, 8, 9)),
    ], mapped

    try:
        jdbc.execute("select * from nothing")
    except java.org.springframework.dao.DataAccessException as error:
        cause = error.__cause__
        assert isinstance(cause, java.java.sql.SQLException), cause
        print("as wanted:", type(error).__name__, "from", type(cause).__name__, cause.getSQLState())
    else:
        raise AssertionError("the table does not exist")
    print(*mapped, sep="\n")
