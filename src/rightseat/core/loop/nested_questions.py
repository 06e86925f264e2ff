"""Questions about calls of an agent that is itself a tool, for example the approval of a sub-agent's tool.

The person sees the sub-agent's call. The memo of the interrupt holds what resuming needs: the call that asked the
sub-agent, and the sub-agent's conversation so far.
"""

import json
from collections.abc import Iterable

import msgspec

from rightseat.core.ask import Answer
from rightseat.core.events import Interrupt, RunFinished
from rightseat.core.messages import Call, Message
from rightseat.core.tools import Invocation
from rightseat.core.types import JsonValue

TAG = "nested_question"


class NestedQuestion(msgspec.Struct, frozen=True, tag_field="kind", tag=TAG):
    """`call` asked the agent, `messages` are the agent's own, and `memo` is the memo of the agent's interrupt."""

    call: Call
    messages: tuple[Message, ...] = ()
    memo: JsonValue = None


def enclose(
    finished: RunFinished, invocation: Invocation, name: str, messages: tuple[Message, ...] = ()
) -> RunFinished:
    """Add to the questions about the agent's calls the call `name` that asked the agent. Other questions stay."""
    call = Call(invocation.call_id, name, json.dumps(invocation.arguments))
    interrupts = tuple(one if one.call_id is None else _enclose_one(one, call, messages) for one in finished.interrupts)
    return msgspec.structs.replace(finished, interrupts=interrupts)


def enclosing_call(memo: JsonValue) -> Call | None:
    """The call that asked the agent whose question has this memo; None for other questions."""
    return question.call if (question := _read(memo)) else None


def unwrap(answer: Answer) -> Answer:
    """The answer as the agent receives it."""
    if question := _read(answer.memo):
        return msgspec.structs.replace(answer, memo=question.memo)
    return msgspec.structs.replace(answer, call=None)


def nested_messages(answers: Iterable[Answer]) -> tuple[Message, ...]:
    """The agent's messages when it asked."""
    questions = (_read(answer.memo) for answer in answers)
    return next((question.messages for question in questions if question), ())


def _enclose_one(interrupt: Interrupt, call: Call, messages: tuple[Message, ...]) -> Interrupt:
    memo = msgspec.to_builtins(NestedQuestion(call, messages, interrupt.memo))
    return msgspec.structs.replace(interrupt, memo=memo)


def _read(memo: JsonValue) -> NestedQuestion | None:
    if isinstance(memo, dict) and memo.get("kind") == TAG:
        return msgspec.convert(memo, NestedQuestion)
    return None
