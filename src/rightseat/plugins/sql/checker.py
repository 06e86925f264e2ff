"""Runs the statement check in a child process: a statement that stalls the parser stalls nothing else.

The server calls `StatementChecker`; the child process runs the handler that `build` returns.
"""

import sys
from collections.abc import Callable

import msgspec

from rightseat.core.errors import BadQuery, NotConfigured, UnreadableFile
from rightseat.data.child import ChildFailed, ChildPool
from rightseat.installation import missing_extra
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.functions import Columns, DialectName, StatementRefused

MAX_MEMORY_BYTES = 512 * 2**20  # of address space; an ordinary statement needs 60 MB, most of it the parser's code
MAX_CPU_S = 2.0  # for one statement; an ordinary one takes 0.002
TIMEOUT_S = 10.0  # including the start of the child on a busy machine
MAX_CONCURRENT = 4
RECURSION_LIMIT = 10_000  # frames; the parser uses about 22 for one level of nesting


class CheckRequest(msgspec.Struct):
    """The payload is the statement."""

    columns: dict[str, list[str]]
    dialect: DialectName
    max_rows: int
    schema: str


class StatementChecker:
    def __init__(self) -> None:
        self._pool = ChildPool("rightseat.plugins.sql.checker", MAX_MEMORY_BYTES, MAX_CONCURRENT, MAX_CPU_S)

    async def check(self, sql: str, columns: Columns, dialect: DialectName, max_rows: int, schema: str = "") -> str:
        """Return the statement to run. Raises `StatementRefused`, or `StepFailed` without the parser."""
        listed = {table: list(each) for table, each in columns.items()}
        async with self._pool.child() as child:
            try:
                return await child.ask(CheckRequest(listed, dialect, max_rows, schema), str, TIMEOUT_S, sql)
            except BadQuery as error:
                raise StatementRefused(error.message) from None
            except ChildFailed as lost:
                raise StatementRefused(f"Checking the statement {lost}. Write a simpler one.") from None
            except UnreadableFile:
                limit = MAX_MEMORY_BYTES >> 20
                raise StatementRefused(
                    f"Checking the statement takes more than {limit} MB. Write a simpler one."
                ) from None
            except NotConfigured as error:
                raise StepFailed("sql_failed", error.message) from None

    async def aclose(self) -> None:
        await self._pool.aclose()


def build() -> Callable[[bytes, bytes], str]:
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        from rightseat.plugins.sql.guard import (
            check_statement,
        )  # imported here: the server itself never loads the parser
    except ImportError:
        raise NotConfigured(f"SQL in flows: {missing_extra('plugins')}.") from None

    def handle(request: bytes, payload: bytes) -> str:
        check = msgspec.msgpack.decode(request, type=CheckRequest)
        try:
            return check_statement(payload.decode(), check.columns, check.dialect, check.max_rows, check.schema)
        except StatementRefused as refused:
            raise BadQuery(str(refused)) from None

    return handle
