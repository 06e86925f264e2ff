"""A conversation as models accept it.

Clients send what they have: a result whose call is gone, two results of one call, calls of one answer as messages of
their own, a call that nobody ran. Every provider refuses some of that, so it is mended here, once, for all of them.
"""

import logging
from collections.abc import Iterable, Sequence

import msgspec

from rightseat.core.messages import Call, Message, Result, Text
from rightseat.core.values import JsonValue

logger = logging.getLogger(__name__)

NOT_RUN = "There is no result: the call was not run."


def mended(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Each call with its one result right behind it; a call without one gets a result that says so."""
    messages = list(messages)
    results = _first_results(messages)
    mended: list[Message] = []
    for message in _joined(messages):
        mended.append(message)
        for call in (part for part in message.parts if isinstance(part, Call)):
            result = results.pop(call.id, None) or Result(call.id, call.name, NOT_RUN, "not_run")
            mended.append(Message("tool", (result,), id=f"result-{call.id}"))
    if results:
        logger.info("left out %d results whose calls are not in the conversation", len(results))
    return tuple(mended)


def is_returning(messages: Sequence[Message]) -> bool:
    """Does a client bring the results of calls that it has run?"""
    return bool(messages) and messages[-1].role == "tool"


def recalled(messages: Iterable[Message], known: Iterable[Message]) -> tuple[Message, ...]:
    """The messages of a client, with what a model's provider wants to see again and clients do not send back."""
    marked = [message for message in known if message.extra]
    kept = {part.id: message.extra for message in marked for part in message.parts if isinstance(part, Call)}
    return tuple(_with_extra(message, kept) if kept else message for message in messages)


def _with_extra(message: Message, kept: dict[str, JsonValue]) -> Message:
    """Of its calls the first that is known says it: what is kept is about an answer, and all of them are of one."""
    found = next((kept[part.id] for part in message.parts if isinstance(part, Call) and part.id in kept), None)
    return message if found is None else msgspec.structs.replace(message, extra=_both(found, message.extra))


def _both(one: JsonValue, other: JsonValue) -> JsonValue:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one or other


def _first_results(messages: Iterable[Message]) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result):
                results.setdefault(part.call_id, part)
    return results


def _joined(messages: Iterable[Message]) -> Iterable[Message]:
    """Without the results, and with the calls of one answer in one message."""
    open_message: Message | None = None
    for message in messages:
        if message.role == "assistant" and open_message and not any(isinstance(part, Text) for part in message.parts):
            parts, extra = open_message.parts + message.parts, _both(open_message.extra, message.extra)
            open_message = Message("assistant", parts, id=open_message.id, extra=extra)
            continue
        if open_message:
            yield open_message
            open_message = None
        if message.role == "assistant":
            open_message = message
        elif message.role != "tool":
            yield message
    if open_message:
        yield open_message
