"""Repairs a client's conversation so that every model provider accepts it.

Clients send results without their calls, two results for one call, the calls of one response as separate messages, and
calls that were never run. Every provider rejects some of these, so they are repaired here, once, for all providers.
"""

import logging
from collections.abc import Iterable, Sequence

import msgspec

from rightseat.core.messages import Call, Message, Result, Text
from rightseat.core.types import JsonValue

logger = logging.getLogger(__name__)

NOT_RUN = "No result: the call was not run."


def repair_history(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Put exactly one result directly after each call; a call without a result gets the `not_run` error as result."""
    messages = list(messages)
    results = _first_results(messages)
    repaired: list[Message] = []
    for message in _joined(messages):
        repaired.append(message)
        for call in (part for part in message.parts if isinstance(part, Call)):
            result = results.pop(call.id, None) or Result(call.id, call.name, NOT_RUN, "not_run")
            repaired.append(Message("tool", (result,), id=f"result-{call.id}"))
    if results:
        logger.info("omitted %d tool results whose calls are not in the conversation", len(results))
    return tuple(repaired)


def has_tool_results(messages: Sequence[Message]) -> bool:
    """Whether the client sends the results of calls that it has run."""
    return bool(messages) and messages[-1].role == "tool"


def restore_provider_data(messages: Iterable[Message], known: Iterable[Message]) -> tuple[Message, ...]:
    """Add the provider's data from the known messages, which the provider requires and clients do not send back."""
    marked = [message for message in known if message.extra]
    kept = {part.id: message.extra for message in marked for part in message.parts if isinstance(part, Call)}
    return tuple(_with_extra(message, kept) if kept else message for message in messages)


def _with_extra(message: Message, kept: dict[str, JsonValue]) -> Message:
    """Add the data of the message's first known call: the data belongs to a response, which all its calls share."""
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
    """Drop the results, and merge the calls of one response into one message."""
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
