"""The milliseconds between two times, in SQL: times are stored as text, which each dialect reads differently."""

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class MillisecondsBetween(GenericFunction[float]):
    """`MillisecondsBetween(start, end)`; NULL if one of them is."""

    type = Float()
    inherit_cache = True


@compiles(MillisecondsBetween, "sqlite")
def compile_for_sqlite(element: MillisecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    start, end = (compiler.process(clause, **options) for clause in element.clauses)
    return f"((julianday({end}) - julianday({start})) * 86400000.0)"


@compiles(MillisecondsBetween, "postgresql")
def compile_for_postgresql(element: MillisecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    start, end = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(EXTRACT(EPOCH FROM (({end})::timestamptz - ({start})::timestamptz)) * 1000.0)"
