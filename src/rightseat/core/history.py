"""A conversation as models accept it.

Clients send what they have: a result whose call is gone, two results of one call, calls of one answer as messages of
their own, a call that nobody ran. Every provider refuses some of that, so it is mended here, once, for all of them.
"""

import logging
from collections.abc import Iterable

from rightseat.core.messages import Call, Message, Result, Text

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
            open_message = Message("assistant", open_message.parts + message.parts, id=open_message.id)
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
