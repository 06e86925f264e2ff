"""Lists threads, shows one with its messages, runs, questions and files, and renames, archives and deletes one."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.core.ask import includes_agent
from rightseat.core.errors import ThreadNotFound
from rightseat.core.messages import Message
from rightseat.core.read_limits import hold_read
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.approvals import ApprovalLine, describe_approval
from rightseat.faces.operator.permissions import Permissions, VisibleThread
from rightseat.faces.operator.queries import MAX_ROWS, read_thread_query
from rightseat.faces.operator.requests import OperatorNotFound, OperatorRequest, Routes
from rightseat.faces.operator.run_line import RunLine, RunTokens, build_run_line
from rightseat.operations.records import MAX_TOTAL, FileRow, RunQuery, RunRecord, ThreadRow


class ThreadChange(msgspec.Struct):
    name: str | None = None
    archived: bool | None = None


class ThreadLine(msgspec.Struct, frozen=True, kw_only=True):
    """A thread in a list. `name` and `last` are null for readers who may not read it: they are words of the user.

    `state` is `running`, or the outcome of its last run. `last` is the beginning of its last message.
    """

    id: str
    name: str | None
    agent: str
    owner: str
    state: str | None
    runs: int
    tokens: RunTokens | None
    milliseconds: int | None
    last: str | None
    created_at: str
    updated_at: str
    archived: bool


class ThreadPage(msgspec.Struct, frozen=True):
    """`next` is the `after` of the next page. `total` stops at a maximum, or is null if it is not counted."""

    threads: Sequence[ThreadLine]
    next: str | None
    total: int | None
    total_is_exact: bool


class ThreadDetails(msgspec.Struct, frozen=True):
    """Without the right to read, `readable` is false, and `messages`, `state` and `files` are empty."""

    thread: ThreadLine
    readable: bool
    messages: Sequence[Message]
    state: JsonValue
    runs: Sequence[RunLine]
    pending: Sequence[ApprovalLine]
    files: Sequence[FileRow]


class ThreadRoutes:
    def __init__(self, runtime: Runtime, permissions: Permissions) -> None:
        self._runtime = runtime
        self._permissions = permissions

    def routes(self) -> Routes:
        return {
            ("GET", "threads"): self.list,
            ("GET", "threads/{thread:path}"): self.show,
            ("PATCH", "threads/{thread:path}"): self.change,
            ("DELETE", "threads/{thread:path}"): self.delete,
        }

    async def list(self, request: OperatorRequest) -> Response:
        await hold_read()
        page = await self._permissions.records.threads(read_thread_query(request))
        lines = [build_thread_line(row, has_words=may_read(request, row)) for row in page.rows]
        is_exact = page.total is not None and page.total < MAX_TOTAL
        return json_response(ThreadPage(lines, page.next, page.total, is_exact))

    async def show(self, request: OperatorRequest) -> Response:
        """Without the right to read it has neither name nor messages, state, files or texts of questions."""
        found = await self._permissions.open_thread(request, request.id("thread"))
        thread, has_words = found.thread, found.has_words
        row = await self._permissions.records.thread(thread.id)
        if row is None:
            raise OperatorNotFound("There is no such thread.")
        return json_response(
            ThreadDetails(
                thread=build_thread_line(row, has_words=has_words),
                readable=has_words,
                messages=thread.messages if has_words else (),
                state=thread.state if has_words else None,
                runs=[build_run_line(run, self._runtime.prices) for run in await self._list_runs(thread.id)],
                pending=await self._describe_pending(request, found),
                files=await self._permissions.records.files(thread.id) if has_words else (),
            )
        )

    async def _list_runs(self, thread_id: str) -> Sequence[RunRecord]:
        """The oldest first."""
        page = await self._permissions.records.runs(RunQuery(thread=thread_id, limit=MAX_ROWS))
        found = [*page.rows]
        while page.next is not None:
            page = await self._permissions.records.runs(RunQuery(thread=thread_id, limit=MAX_ROWS, after=page.next))
            found += page.rows
        return found[::-1]

    async def _describe_pending(self, request: OperatorRequest, found: VisibleThread) -> Sequence[ApprovalLine]:
        pending = await self._runtime.pending(found.principal, found.thread.id)
        return [
            describe_approval(
                one,
                found.principal.id,
                has_words=found.has_words or includes_agent(request.rights.act, one.agent),
            )
            for one in pending
        ]

    async def change(self, request: OperatorRequest) -> Response:
        """Only one's own: no right includes the threads of others."""
        thread_id, wanted, records = request.id("thread"), request.read(ThreadChange), self._permissions.records
        await self._runtime.change(thread_id, request.principal, name=wanted.name, archived=wanted.archived)
        row = await records.thread(thread_id)
        if row is None:
            raise ThreadNotFound(thread_id)
        return json_response(build_thread_line(row, has_words=True))

    async def delete(self, request: OperatorRequest) -> Response:
        """As `change`."""
        await self._runtime.delete(request.id("thread"), request.principal)
        return Response(status_code=204)


def may_read(request: OperatorRequest, row: ThreadRow) -> bool:
    """Whether the name of a listed thread may be shown. Where agents differ, one of them may not be readable."""
    is_own = row.user == request.principal.id
    for agents in (request.rights.read, *((request.principal.agents,) if is_own else ())):
        if agents is None or (includes_agent(agents, row.agent) and not row.has_other_agents):
            return True
    return False


def build_thread_line(row: ThreadRow, *, has_words: bool) -> ThreadLine:
    return ThreadLine(
        id=row.id,
        name=row.title if has_words else None,
        agent=row.agent,
        owner=row.user,
        state=row.state,
        runs=row.runs,
        tokens=RunTokens(row.input_tokens, row.output_tokens, row.cache_read_tokens)
        if row.input_tokens is not None
        else None,
        milliseconds=row.milliseconds,
        last=row.last_text if has_words else None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived=row.archived,
    )
