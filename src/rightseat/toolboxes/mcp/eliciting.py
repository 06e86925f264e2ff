"""What an MCP server asks the person in the middle of a call.

Today's servers end the call with their questions and a state, and are called again with the answers. Older ones ask
while the call goes on, which no run can wait for: the call is cancelled, the person is asked, and the call is made
again with the answer ready, if it may be made twice. Else the question is declined, and the result says so.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import msgspec
from mcp.client import ClientRequestContext
from pydantic import JsonValue

from rightseat.core.ask import Answer
from rightseat.core.errors import RightseatError
from rightseat.core.events import Interrupt
from rightseat.core.ids import new_id

logger = logging.getLogger(__name__)

MEMO = "mcp"
CONFIRM: JsonValue = {"type": "boolean", "description": "Whether it was done."}


class Question(msgspec.Struct, frozen=True):
    """`key` is what the server calls it; without one, it was asked in the middle of the call."""

    message: str
    schema: Any = None
    key: str | None = None


class Reply(msgspec.Struct, frozen=True):
    question: Question
    action: str
    content: Any = None

    def result(self) -> types.ElicitResult:
        return types.ElicitResult.model_validate({"action": self.action, "content": self.content})


class Memo(msgspec.Struct, frozen=True):
    """What is kept with a question until it is answered."""

    question: Question
    state: str | None = None
    earlier: tuple[Reply, ...] = ()


class BadAnswer(RightseatError):
    code = "bad_answer"
    status = 400


@dataclass(slots=True)
class Conversation:
    """The questions of one call. `cancel` ends the call, where the person has to be asked first."""

    may_repeat: bool
    replies: tuple[Reply, ...] = ()
    asked: list[Question] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)
    request: "asyncio.Task[Any] | None" = None


CONVERSATION: ContextVar[Conversation | None] = ContextVar("mcp_conversation", default=None)
"""The SDK hears what comes on a request's own stream in the context of the request."""

OPEN: dict[int, list[Conversation]] = {}
"""By session: which calls go on at this moment, for transports that have one stream for all of them."""


async def answer(
    context: ClientRequestContext, params: types.ElicitRequestParams
) -> types.ElicitResult | types.ErrorData:
    """To a server that asks while a call goes on."""
    question = read_question(params)
    talk = CONVERSATION.get() or only(OPEN.get(id(context.session), ()))
    if talk is None:
        logger.warning("An MCP server asked a question that belongs to no call, and was declined: %s", question.message)
        return types.ElicitResult(action="decline")
    for reply in talk.replies:
        if reply.question == question:
            return reply.result()
    if talk.may_repeat and talk.request is not None:
        talk.asked.append(question)
        talk.request.cancel()
        return types.ElicitResult(action="cancel")
    talk.declined.append(question.message)
    return types.ElicitResult(action="decline")


def only(talks: Sequence[Conversation]) -> Conversation | None:
    return talks[0] if len(talks) == 1 else None


def read_question(params: types.ElicitRequestParams, key: str | None = None) -> Question:
    if isinstance(params, types.ElicitRequestURLParams):
        return Question(f"{params.message}\n{params.url}", CONFIRM, key)
    schema = params.model_dump(mode="json", by_alias=True, exclude_none=True)["requestedSchema"]
    return Question(params.message, schema, key)


def interrupts(questions: Sequence[Question], state: str | None, earlier: tuple[Reply, ...]) -> tuple[Interrupt, ...]:
    return tuple(
        Interrupt(
            new_id("interrupt"),
            "input_required",
            one.message,
            schema=one.schema,
            memo={MEMO: msgspec.to_builtins(Memo(one, state, earlier))},
        )
        for one in questions
    )


def read_answers(answers: Sequence[Answer]) -> tuple[tuple[Reply, ...], str | None]:
    """The replies to give, those of before among them, and the state to give back. Raises `BadAnswer`."""
    replies: list[Reply] = []
    state: str | None = None
    for one in answers:
        if not isinstance(one.memo, dict) or MEMO not in one.memo:
            continue
        memo = msgspec.convert(one.memo[MEMO], Memo)
        state = memo.state
        replies += [reply for reply in memo.earlier if reply not in replies]
        replies.append(read_reply(memo.question, one))
    return tuple(replies), state


def read_reply(question: Question, given: Answer) -> Reply:
    if given.status == "cancelled" or given.payload is False:
        return Reply(question, "cancel" if given.status == "cancelled" else "decline")
    if question.schema == CONFIRM:
        return Reply(question, "accept")
    return Reply(question, "accept", content_of(question, given.payload))


def content_of(question: Question, payload: JsonValue) -> dict[str, JsonValue]:
    """The fields that were asked for. A client that can only send text may send JSON, or the value of a sole field."""
    properties = list(question.schema.get("properties", {})) if isinstance(question.schema, dict) else []
    if isinstance(payload, str):
        try:
            read = json.loads(payload)
        except (ValueError, RecursionError):
            read = payload
        payload = read if isinstance(read, dict) else payload
    if isinstance(payload, dict):
        return payload
    if len(properties) == 1 and payload is not None:
        return {properties[0]: payload}
    if not properties:
        return {}
    raise BadAnswer(f"The answer should be an object with the fields {', '.join(properties)}.")
