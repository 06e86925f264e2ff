"""Statements that the driver of SQLite executes itself."""

import sqlite3

from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, insert, select

from rightseat.stores.prepared import LARGE_VALUE_CHARS, PreparedStatement

texts = Table("texts", MetaData(), Column("id", Integer, primary_key=True), Column("text", Text, nullable=False))


def test_sqlite_does_not_keep_the_values_of_an_insert_that_are_large() -> None:
    executed: list[str] = []
    large = "x" * (LARGE_VALUE_CHARS + 1)
    with create_engine("sqlite://").begin() as connection:
        texts.metadata.create_all(connection)
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_trace_callback(executed.append)

        add = PreparedStatement(insert(texts))
        add.change(connection, {"id": 1, "text": "small"})
        add.change(connection, {"id": 2, "text": "small"}, {"id": 3, "text": large})
        driver.set_trace_callback(None)

        assert [text for text in executed if "NULL" in text] == ["INSERT INTO texts (id, text) VALUES (NULL, NULL)"]
        assert executed[-1] == "INSERT INTO texts (id, text) VALUES (NULL, NULL)"
        assert connection.execute(select(texts.c.text).order_by(texts.c.id)).scalars().all() == [
            "small",
            "small",
            large,
        ]
