"""Lists threads, shows one with its messages, runs, questions and files, and renames, archives and deletes one."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.core.ask import includes_agent
from rightseat.core.messages import Message
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.approvals import ApprovalLine, describe_approval
from rightseat.faces.operator.queries import read_thread_query
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.run_line import RunLine, RunTokens, build_run_line
from rightseat.operations.records import MAX_TOTAL, FileRow, ThreadRow
from rightseat.operations.service import Operations


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
    def __init__(self, runtime: Runtime, operations: Operations) -> None:
        self._runtime = runtime
        self._operations = operations

    def routes(self) -> Routes:
        return {
            ("GET", "threads"): self.list,
            ("GET", "threads/{thread:path}"): self.show,
            ("PATCH", "threads/{thread:path}"): self.change,
            ("DELETE", "threads/{thread:path}"): self.delete,
        }

    async def list(self, request: OperatorRequest) -> Response:
        page = await self._operations.list_threads(request.operator, read_thread_query(request))
        lines = [build_thread_line(row, has_words=may_read(request, row)) for row in page.rows]
        is_exact = page.total is not None and page.total < MAX_TOTAL
        return json_response(ThreadPage(lines, page.next, page.total, is_exact))

    async def show(self, request: OperatorRequest) -> Response:
        """Without the right to read it has neither name nor messages, state, files or texts of questions."""
        opened = await self._operations.open_thread(request.operator, request.id("thread"))
        found, prices = opened.found, self._operations.prices
        return json_response(
            ThreadDetails(
                thread=build_thread_line(opened.row, has_words=found.has_words),
                readable=found.has_words,
                messages=found.thread.messages if found.has_words else (),
                state=found.thread.state if found.has_words else None,
                runs=[build_run_line(run, prices) for run in opened.runs],
                pending=[
                    describe_approval(
                        question,
                        has_words=found.has_words or includes_agent(request.rights.act, question.pending.agent),
                    )
                    for question in opened.questions
                ],
                files=opened.files,
            )
        )

    async def change(self, request: OperatorRequest) -> Response:
        """Only one's own: no right includes the threads of others."""
        wanted = request.read(ThreadChange)
        row = await self._operations.change_thread(
            request.operator, request.id("thread"), name=wanted.name, archived=wanted.archived
        )
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
