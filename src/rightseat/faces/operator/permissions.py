"""Finds the threads and runs that a request may see: those of its user, and those of others by an operator's rights.

What a request may not see does not exist for it (404). What it sees and may not read or change is refused (403).
"""

from dataclasses import dataclass
from typing import Literal, NoReturn

from rightseat.access.threads import is_visible
from rightseat.core.ask import AgentNames, Principal, includes_agent
from rightseat.core.errors import InsufficientScope, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Thread
from rightseat.faces.operator.audit_lines import Openings
from rightseat.faces.operator.requests import OperatorNotFound, OperatorRequest
from rightseat.operations.records import RecordReader, Records, RunRecord, is_visible_run
from rightseat.operations.transient_runs import TransientRun

Right = Literal["watch", "read", "act", "author"]


class ListsNotSupported(RightseatError):
    code = "lists_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("The configured store of threads cannot list threads and runs. Use `threads: {type: sql}`.")


@dataclass(frozen=True, slots=True)
class VisibleThread:
    """A thread that a request may see, as `principal`: its user, or an operator in the place of its owner.

    Without `has_words` the request must receive no text of it.
    """

    thread: Thread
    principal: Principal
    is_own: bool
    has_words: bool


class Permissions:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._openings = Openings()

    @property
    def records(self) -> Records:
        """Raises `ListsNotSupported`."""
        if self._runtime.records is None:
            raise ListsNotSupported
        return self._runtime.records

    async def find_thread(
        self, request: OperatorRequest, thread_id: str, right: Right = "watch", *, has_messages: bool = True
    ) -> VisibleThread | None:
        """The thread, if it is one of the user's, or of others and the right is for its agents.

        With `has_messages` it has those of a run that is just ending too; otherwise none, and no state.
        """
        load = self._runtime.settled if has_messages else self._load_outline
        thread = await load(thread_id, request.principal)
        if thread is not None:
            return VisibleThread(thread, request.principal, is_own=True, has_words=True)
        others: AgentNames = getattr(request.rights, right)
        row = await self._runtime.records.thread(thread_id) if self._runtime.records and others != () else None
        thread = await load(thread_id, Principal(row.user, others)) if row else None
        if row is None or thread is None:
            return None
        has_words = is_visible(thread, Principal(row.user, request.rights.read))
        return VisibleThread(thread, Principal(row.user, others), is_own=False, has_words=has_words)

    async def _load_outline(self, thread_id: str, principal: Principal) -> Thread | None:
        outline = await self._runtime.outline(thread_id, principal)
        return None if outline is None else Thread(outline.id, (), None, outline.runs, outline.summary)

    async def open_thread(self, request: OperatorRequest, thread_id: str) -> VisibleThread:
        """The thread with its text, if the request may read it. Raises `OperatorNotFound`."""
        found = await self.find_thread(request, thread_id)
        if found is None:
            raise OperatorNotFound("There is no such thread.")
        self.record_opening(request, found)
        return found

    async def find_run(
        self, request: OperatorRequest, run_id: str, right: Right = "watch"
    ) -> tuple[VisibleThread, RunRecord]:
        """Raises `OperatorNotFound`; `InsufficientScope` if the request may see the run and does not have the right."""
        run = await self.records.run(run_id)
        found = await self.find_thread(request, run.thread, right) if run else None
        run = await self.records.run(run_id) if found else run  # it may have ended meanwhile
        if found and run:
            return found, run
        if run and right != "watch" and await self.find_thread(request, run.thread):
            forbid(right, run.agent)
        raise OperatorNotFound("There is no such run.")

    def find_transient_run(self, request: OperatorRequest, run_id: str) -> TransientRun | None:
        """A run of this process that is not stored, if the request may see it."""
        run = self._runtime.transient_runs.find(run_id) if self._runtime.transient_runs is not None else None
        reader = RecordReader(request.principal.id, request.principal.agents, request.rights.watch)
        return run if run is not None and is_visible_run(run.record, reader) else None

    async def find_file_owner(self, request: OperatorRequest, file_id: str) -> Principal | None:
        """The user of a file that the request may download by its rights to watch and to read."""
        readable = intersect(request.rights.watch, request.rights.read)
        if readable == () or self._runtime.records is None:
            return None
        owner = await self._runtime.records.file_owner(file_id)
        return None if owner is None else Principal(owner, readable)

    def check_words(self, request: OperatorRequest, found: VisibleThread) -> None:
        """Raises `InsufficientScope` if the request may not read the text of the thread."""
        if not found.has_words:
            forbid("read", found.thread.summary.agent if found.thread.summary else "*")
        self.record_opening(request, found)

    def record_opening(self, request: OperatorRequest, found: VisibleThread) -> None:
        if found.has_words and not found.is_own:
            self._openings.record(request.principal.id, "thread", found.thread.id, found.principal.id)

    def record_download(self, request: OperatorRequest, file_id: str, owner: Principal) -> None:
        self._openings.record(request.principal.id, "file", file_id, owner.id)


def forbid(right: Right, agent: str) -> NoReturn:
    """Raises `InsufficientScope`."""
    scope = f"operator.{right}:{agent}"
    raise InsufficientScope(f"This credential lacks the scope {scope!r}. Ask an operator for one that has it.")


def intersect(left: AgentNames, right: AgentNames) -> AgentNames:
    """The agents that both include."""
    if left is None or right is None:
        return right if left is None else left
    both = [agent for agent in left if includes_agent(right, agent)]
    return tuple(dict.fromkeys([*both, *(agent for agent in right if includes_agent(left, agent))]))
