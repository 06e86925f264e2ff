"""Finds the threads and runs that an operator may see: those of its user, and those of others by its rights."""

from dataclasses import dataclass

from rightseat.core.ask import AgentNames, Principal
from rightseat.core.runtime import Runtime
from rightseat.core.thread_parts import is_visible
from rightseat.core.threads import Thread
from rightseat.operations.records import Records
from rightseat.operations.rights import Operator, OperatorNotFound, Right


@dataclass(frozen=True, slots=True)
class VisibleThread:
    """A thread that an operator may see, as `principal`: its user, or the operator in the place of its owner.

    Without `has_words` the operator must receive no text of it.
    """

    thread: Thread
    principal: Principal
    is_own: bool
    has_words: bool

    @property
    def agent(self) -> str:
        """`*` for a thread without runs."""
        return self.thread.summary.agent if self.thread.summary else "*"


class VisibleThreads:
    """Without `records` an operator sees the threads of its own user."""

    def __init__(self, runtime: Runtime, records: Records | None) -> None:
        self._runtime = runtime
        self._records = records

    async def find(
        self, operator: Operator, thread_id: str, right: Right = "watch", *, has_messages: bool = True
    ) -> VisibleThread | None:
        """The thread, if it is one of the user's, or of others and the right is for its agents.

        With `has_messages` it has those of a run that is just ending too; otherwise none, and no state.
        """
        load = self._runtime.settled if has_messages else self._load_outline
        thread = await load(thread_id, operator.principal)
        if thread is not None and is_visible(thread, operator.principal):
            return VisibleThread(thread, operator.principal, is_own=True, has_words=True)
        others: AgentNames = getattr(operator.rights, right)
        row = await self._records.thread(thread_id) if self._records is not None and others != () else None
        thread = await load(thread_id, Principal(row.user, others)) if row else None
        if row is None or thread is None or not is_visible(thread, Principal(row.user, others)):
            return None
        has_words = is_visible(thread, Principal(row.user, operator.rights.read))
        return VisibleThread(thread, Principal(row.user, others), is_own=False, has_words=has_words)

    async def get(
        self, operator: Operator, thread_id: str, right: Right = "watch", *, has_messages: bool = True
    ) -> VisibleThread:
        """As `find`. Raises `OperatorNotFound`."""
        found = await self.find(operator, thread_id, right, has_messages=has_messages)
        if found is None:
            raise OperatorNotFound("There is no such thread.")
        return found

    async def _load_outline(self, thread_id: str, principal: Principal) -> Thread | None:
        outline = await self._runtime.outline(thread_id, principal)
        return None if outline is None else Thread(outline.id, (), None, outline.runs, outline.summary)
