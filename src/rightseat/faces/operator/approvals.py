"""Questions of runs to a person, and the answers."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from starlette.responses import Response

from rightseat.core.ask import Answer, Ask
from rightseat.core.errors import BadRequest, RightseatError, ThreadBusy
from rightseat.core.events import ApprovalText
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.faces._shared.queued_start import start_connected
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_owner
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.run_line import StartedRun
from rightseat.operations.audit_lines import write_line
from rightseat.operations.records import Question
from rightseat.operations.service import Operations


class Decision(msgspec.Struct):
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


class ApprovalCall(msgspec.Struct, frozen=True):
    """`arguments` are JSON."""

    id: str
    name: str
    arguments: str


class ApprovalLine(msgspec.Struct, frozen=True):
    """A question that waits for a person. `title` is a heading, `translations` has both texts in other languages.
    `schema` is the JSON Schema of its answer, `about` what it is about.

    `answered_in` is the run that continues with an answer: such a question is listed until that run ends, and
    accepts no second answer.
    """

    id: str
    thread: str
    run: str
    agent: str
    owner: str
    reason: str
    title: str
    message: str
    translations: Mapping[str, ApprovalText]
    schema: JsonValue
    expires_at: str | None
    call: ApprovalCall | None
    about: JsonValue
    asked_at: str | None
    answered_in: str | None


class AnsweredElsewhere(RightseatError):
    code = "answered_elsewhere"
    status = 409

    def __init__(self) -> None:
        super().__init__("This question was answered just now, or its thread is busy with another run.")


class ApprovalRoutes:
    def __init__(self, runtime: Runtime, operations: Operations) -> None:
        self._runtime = runtime
        self._operations = operations

    def routes(self) -> Routes:
        return {("GET", "approvals"): self.list, ("POST", "approvals/{interrupt:path}"): self.decide}

    async def list(self, request: OperatorRequest) -> Response:
        """The questions of the user. `owner` names another user, or all (`*`), which needs the right `act`."""
        found = await self._operations.list_questions(request.operator, read_owner(request))
        return json_response([describe_approval(approval) for approval in found])

    async def decide(self, request: OperatorRequest) -> Response:
        """The run that asked continues in a new run of its thread, as that of its owner."""
        decision = request.read(Decision)
        found, question = await self._operations.find_question(request.operator, request.id("interrupt"))
        answer = Answer(question.interrupt.id, decision.status, decision.payload)
        if not found.is_own:
            answer = msgspec.structs.replace(answer, by=request.principal.id)
        ask = Ask(
            messages=found.thread.messages,
            agent=question.agent,
            thread_id=question.thread_id,
            principal=found.principal,
            answers=(answer,),
            face="operator",
        )
        try:
            await start_connected(self._runtime, request.http, self._runtime.start(ask))
        except ThreadBusy:
            raise AnsweredElsewhere from None
        except BadRequest:
            # raises if it was answered meanwhile
            await self._operations.find_question(request.operator, question.interrupt.id)
            raise
        if not found.is_own:
            write_line("%s answered question %s of %s", request.principal.id, question.interrupt.id, found.principal.id)
        return json_response(StartedRun(ask.thread_id, ask.run_id), 202)


def describe_approval(question: Question, *, has_words: bool = True) -> ApprovalLine:
    """Without `has_words` it has neither the text of the question nor the arguments of the call."""
    one = question.pending
    interrupt = one.interrupt
    call = ApprovalCall(one.call.id, one.call.name, one.call.arguments) if one.call and has_words else None
    return ApprovalLine(
        id=interrupt.id,
        thread=one.thread_id,
        run=one.run_id,
        agent=one.agent,
        owner=question.user,
        reason=interrupt.reason if has_words else "",
        message=interrupt.message if has_words else "",
        title=interrupt.title if has_words else "",
        translations=interrupt.translations if has_words else {},
        schema=interrupt.schema if has_words else None,
        expires_at=interrupt.expires_at,
        call=call,
        about=interrupt.subject,
        asked_at=question.asked_at,
        answered_in=question.answered_in,
    )
