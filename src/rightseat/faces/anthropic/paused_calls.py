"""Approvals that a client decides by itself: the calls that it received as waiting, and its answers to them.

A client that knows server-side calls receives `pause_turn` with the pending call: sent back as it is, the message waits
again (`followed_runs`); a `tool_result` for the call is the decision.
"""

from collections.abc import Mapping, Sequence

import msgspec

from rightseat.core.approvals import APPROVAL
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.core.types import JsonValue
from rightseat.faces.anthropic.content_blocks import SERVER_CALL, CallDecision
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest

NO_QUESTION = "There is no open question about the call {id!r}: it was answered, it expired, or it never was."
OTHER_MODEL = "The call {id!r} waits in an answer of {agent!r}. Send that as the `model`."


class PausedCall(msgspec.Struct, frozen=True):
    """A call that a client received as waiting. It is an artifact of the thread, under the id that the client has."""

    thread_id: str
    run_id: str
    call_id: str
    name: str
    agent: str


class PausedCalls:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def keep(self, ask: Ask, run_id: str, calls: Mapping[str, tuple[str, str]]) -> bool:
        """Store the calls: the name and the client's id, by our id. False if the store keeps no files."""
        artifacts = self._runtime.artifacts
        if artifacts is None:
            return False
        owner = msgspec.structs.replace(ask, transient=False)
        for call_id, (name, shown_id) in calls.items():
            record = PausedCall(ask.thread_id, run_id, call_id, name, ask.agent)
            await artifacts.put(owner, shown_id, PRIVATE_MEDIA_TYPE, msgspec.json.encode(record), shown_id)
        return True

    async def find(self, id: str, principal: Principal, agent: str) -> PausedCall:
        """Raises `InvalidMessagesRequest`, in the same words for the calls of other users."""
        artifacts = self._runtime.artifacts
        found = (
            await artifacts.get(id, principal) if artifacts and id.startswith(SERVER_CALL) and "\0" not in id else None
        )
        if found is None or found.media_type != PRIVATE_MEDIA_TYPE or not principal.may_use(found.agent):
            raise unknown_question(id)
        paused = _decode(found.content)
        if paused.agent != agent:
            raise InvalidMessagesRequest(OTHER_MODEL.format(id=id[:100], agent=paused.agent))
        return paused

    async def pending(self, paused: PausedCall, principal: Principal) -> Sequence[Pending]:
        """The questions of the run that asked about the call; none once they were answered."""
        found = await self._runtime.pending(principal, paused.thread_id)
        mine = [one for one in found if one.run_id == paused.run_id]
        return mine if any(one.call and one.call.id == paused.call_id for one in mine) else ()

    async def abandon(self, id: str, principal: Principal, agent: str) -> None:
        """The client goes on without a decision: the question is closed."""
        try:
            paused = await self.find(id, principal, agent)
        except InvalidMessagesRequest:
            return
        if await self.pending(paused, principal):
            await self._runtime.close_questions(paused.thread_id, principal, agent)


_decode = msgspec.json.Decoder(PausedCall).decode


def unknown_question(id: str) -> InvalidMessagesRequest:
    return InvalidMessagesRequest(NO_QUESTION.format(id=id[:100]))


def build_answers(pending: Sequence[Pending], decisions: Mapping[str, CallDecision]) -> tuple[Answer, ...]:
    """`decisions` by the ids of our calls. A question without one is cancelled."""
    return tuple(build_answer(one, decisions.get(one.call.id) if one.call else None) for one in pending)


def build_answer(one: Pending, decision: CallDecision | None) -> Answer:
    """Only `approve` approves a call. The answer to any other question is the text itself."""
    if decision is None or (decision.is_error and one.interrupt.reason != APPROVAL):
        return Answer(one.interrupt.id, "cancelled")
    if one.interrupt.reason != APPROVAL:
        return Answer(one.interrupt.id, "resolved", decision.text)
    is_approved = decision.text.strip().lower() == "approve" and not decision.is_error
    payload: dict[str, JsonValue] = {"approved": is_approved}
    return Answer(one.interrupt.id, "resolved", payload)
