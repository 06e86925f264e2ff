"""MCP elicitation: questions of a server to the user during a tool call.

Current servers end the call with questions and a state, and are called again with the replies. Older servers ask during
the call, for which a run cannot wait: the call is cancelled, the user is asked, and the call is repeated with the reply
if that is safe. Otherwise the question is declined, and the result reports it.
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


class ElicitationQuestion(msgspec.Struct, frozen=True):
    """`key` is the server's id of the question; None if it was asked during the call."""

    message: str
    schema: Any = None
    key: str | None = None


class ElicitationReply(msgspec.Struct, frozen=True):
    question: ElicitationQuestion
    action: str
    content: Any = None

    def result(self) -> types.ElicitResult:
        return types.ElicitResult.model_validate({"action": self.action, "content": self.content})


class ElicitationMemo(msgspec.Struct, frozen=True):
    """Stored with an interrupt until it is answered."""

    question: ElicitationQuestion
    state: str | None = None
    earlier: tuple[ElicitationReply, ...] = ()


class BadAnswer(RightseatError):
    code = "bad_answer"
    status = 400


@dataclass(slots=True)
class CallElicitation:
    """The questions of one call. Cancelling `request` ends the call, if the user must be asked first."""

    may_repeat: bool
    replies: tuple[ElicitationReply, ...] = ()
    questions: list[ElicitationQuestion] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)
    request: "asyncio.Task[Any] | None" = None


CURRENT_ELICITATION: ContextVar[CallElicitation | None] = ContextVar("mcp_conversation", default=None)
"""The SDK handles messages on a request's own stream in the context of the request."""

ELICITATIONS_BY_SESSION: dict[int, list[CallElicitation]] = {}
"""Running calls by session, for transports with one stream for all calls."""


async def answer_elicitation(
    context: ClientRequestContext, params: types.ElicitRequestParams
) -> types.ElicitResult | types.ErrorData:
    """Reply to a server that asks during a call."""
    question = read_question(params)
    elicitation = CURRENT_ELICITATION.get() or get_only(ELICITATIONS_BY_SESSION.get(id(context.session), ()))
    if elicitation is None:
        logger.warning("Declined a question of an MCP server that belongs to no call: %s", question.message)
        return types.ElicitResult(action="decline")
    for reply in elicitation.replies:
        if reply.question == question:
            return reply.result()
    if elicitation.may_repeat and elicitation.request is not None:
        elicitation.questions.append(question)
        elicitation.request.cancel()
        return types.ElicitResult(action="cancel")
    elicitation.declined.append(question.message)
    return types.ElicitResult(action="decline")


def get_only(elicitations: Sequence[CallElicitation]) -> CallElicitation | None:
    return elicitations[0] if len(elicitations) == 1 else None


def read_question(params: types.ElicitRequestParams, key: str | None = None) -> ElicitationQuestion:
    if isinstance(params, types.ElicitRequestURLParams):
        return ElicitationQuestion(f"{params.message}\n{params.url}", CONFIRM, key)
    schema = params.model_dump(mode="json", by_alias=True, exclude_none=True)["requestedSchema"]
    return ElicitationQuestion(params.message, schema, key)


def make_interrupts(
    questions: Sequence[ElicitationQuestion], state: str | None, earlier: tuple[ElicitationReply, ...]
) -> tuple[Interrupt, ...]:
    return tuple(
        Interrupt(
            new_id("interrupt"),
            "input_required",
            one.message,
            schema=one.schema,
            memo={MEMO: msgspec.to_builtins(ElicitationMemo(one, state, earlier))},
        )
        for one in questions
    )


def read_answers(answers: Sequence[Answer]) -> tuple[tuple[ElicitationReply, ...], str | None]:
    """The replies to send, including earlier ones, and the state to return. Raise `BadAnswer`."""
    replies: list[ElicitationReply] = []
    state: str | None = None
    for one in answers:
        if not isinstance(one.memo, dict) or MEMO not in one.memo:
            continue
        memo = msgspec.convert(one.memo[MEMO], ElicitationMemo)
        state = memo.state
        replies += [reply for reply in memo.earlier if reply not in replies]
        replies.append(read_reply(memo.question, one))
    return tuple(replies), state


def read_reply(question: ElicitationQuestion, answer: Answer) -> ElicitationReply:
    if answer.status == "cancelled" or answer.payload is False:
        return ElicitationReply(question, "cancel" if answer.status == "cancelled" else "decline")
    if question.schema == CONFIRM:
        return ElicitationReply(question, "accept")
    return ElicitationReply(question, "accept", content_of(question, answer.payload))


def content_of(question: ElicitationQuestion, payload: JsonValue) -> dict[str, JsonValue]:
    """The requested fields. A text-only client may send JSON, or the value of a single field."""
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
