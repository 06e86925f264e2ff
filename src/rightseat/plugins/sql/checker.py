"""The first guard, in a child process: a statement that is built to hold up its parser holds up nothing else.

Both sides are here. The server asks `Checker`; the child answers with `build`.
"""

import sys
from collections.abc import Callable

import msgspec

from rightseat.core.errors import BadQuery, Misuse, Unreadable
from rightseat.data.child import ChildPool, Lost
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.allowed import Columns, Dialect, Refused

MEMORY_BYTES = 512 * 2**20  # of address space; an ordinary statement needs 60 MB, most of it the parser's code
CPU_SECONDS = 2.0  # for one statement; an ordinary one takes 0.002
TIMEOUT = 10.0  # seconds, with the start of the child, on a machine that is busy
MAX_AT_ONCE = 4
RECURSION_LIMIT = 10_000  # frames; the parser uses about 22 for one level of nesting


class Check(msgspec.Struct):
    """The payload is the statement."""

    columns: dict[str, list[str]]
    dialect: Dialect
    rows: int
    schema: str


class Checker:
    def __init__(self) -> None:
        self._pool = ChildPool("rightseat.plugins.sql.checker", MEMORY_BYTES, MAX_AT_ONCE, CPU_SECONDS)

    async def check(self, sql: str, columns: Columns, dialect: Dialect, rows: int, schema: str = "") -> str:
        """The statement to run: what `guard.guard` gives. Raises `Refused`, and `StepFailed` without the parser."""
        listed = {table: list(each) for table, each in columns.items()}
        async with self._pool.child() as child:
            try:
                return await child.ask(Check(listed, dialect, rows, schema), str, TIMEOUT, sql)
            except BadQuery as error:
                raise Refused(error.message) from None
            except Lost as lost:
                raise Refused(f"Checking the statement {lost}. Write a simpler one.") from None
            except Unreadable:
                most = MEMORY_BYTES >> 20
                raise Refused(f"Checking the statement takes more than {most} MB. Write a simpler one.") from None
            except Misuse as error:
                raise StepFailed("sql_failed", error.message) from None

    async def aclose(self) -> None:
        await self._pool.aclose()


def build() -> Callable[[bytes, bytes], str]:
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        from rightseat.plugins.sql.guard import guard  # here: the server itself never loads the parser
    except ImportError:
        raise Misuse("SQL in flows needs a package: pip install 'rightseat[plugins]'.") from None

    def handle(request: bytes, payload: bytes) -> str:
        wanted = msgspec.msgpack.decode(request, type=Check)
        try:
            return guard(payload.decode(), wanted.columns, wanted.dialect, wanted.rows, wanted.schema)
        except Refused as refused:
            raise BadQuery(str(refused)) from None

    return handle
