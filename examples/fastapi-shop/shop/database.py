"""People and their orders, in PostgreSQL."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import ForeignKey, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DATABASE_URL = os.environ["DATABASE_URL"]
engine = create_async_engine(DATABASE_URL.replace("postgresql://", "postgresql+asyncpg://"))
open_session = async_sessionmaker(engine, expire_on_commit=False)


class Table(DeclarativeBase):
    pass


class Person(Table):
    __tablename__ = "shop_people"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    salt: Mapped[bytes]
    password: Mapped[bytes]
    """Its scrypt hash."""


class Order(Table):
    __tablename__ = "shop_orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("shop_people.id"), index=True)
    title: Mapped[str]
    is_cancelled: Mapped[bool] = mapped_column(default=False)


async def get_session() -> AsyncIterator[AsyncSession]:
    """For routes, and for tools of the copilot."""
    async with open_session() as session:
        yield session


@asynccontextmanager
async def prepared() -> AsyncIterator[None]:
    """The tables, with two people and their orders in an empty shop."""
    from shop.users import hash_password

    async with engine.begin() as connection:
        await connection.run_sync(Table.metadata.create_all)
    async with open_session() as session:
        if await session.scalar(select(Person.id).limit(1)) is None:
            for name, titles in {"mira": ["A lamp", "A desk"], "jonas": ["A chair"]}.items():
                salt, password = hash_password("harbour")
                person = Person(name=name, salt=salt, password=password)
                session.add(person)
                await session.flush()
                session.add_all(Order(person_id=person.id, title=title) for title in titles)
            await session.commit()
    yield
    await engine.dispose()
