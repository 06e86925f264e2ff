"""The condition that a row is one that its reader may see, as `records.is_visible_run`."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Column, ColumnElement, and_, false, or_

from rightseat.operations.records import RecordReader


def visible_rows(reader: RecordReader | None, owner: Column[str], agent: Column[str]) -> Iterator[ColumnElement[bool]]:
    """`owner` and `agent` are columns of the table."""
    if reader is None or reader.others is None:
        return
    own = and_(owner == reader.user, *(() if reader.own is None else (is_agent(agent, reader.own),)))
    yield or_(own, is_agent(agent, reader.others)) if reader.others else own


def is_agent(column: ColumnElement[str], agents: Sequence[str]) -> ColumnElement[bool]:
    """As `core.ask.includes_agent`."""
    return or_(false(), column.in_(agents), *(column.startswith(f"{agent}/", autoescape=True) for agent in agents))
