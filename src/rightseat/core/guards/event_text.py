"""Extracts all texts of an event that a person could read, so that guards can check them."""

import json
import re
from collections.abc import Iterator
from typing import assert_never

from rightseat.core import events as e
from rightseat.core.ask import Ask
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.types import JsonValue

RANDOM_ID = re.compile(
    r"(?:(?:msg|call|toolu|fc|run|thought|interrupt|result)[_-])?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:msg|call|toolu|fc|thought|interrupt)_[0-9A-Za-z]{16,40}"
)
"""Random ids, which contain no readable text."""


def texts_in(event: e.Event) -> Iterator[str]:
    """The readable texts of an event, except text and call deltas. Ids count, because agents can choose them."""
    match event:
        case e.TextStarted(message_id=id) | e.ReasoningStarted(message_id=id):
            yield from readable_id(id)
        case e.ToolCallReturned(call_id=id, name=name, content=content, error=error, message_id=message_id):
            yield from (*readable_id(id), *readable_id(message_id), name, error or "", content)
            yield from strings_in(parse_json(content))
        case e.StateReplaced(state=value):
            yield from strings_in(value)
        case e.Custom(name=name, value=value):
            yield from (name, *keys_in(value))
        case e.StateChanged(patch=patch):
            yield from strings_in(patch)
        case e.StepStarted(name=name) | e.StepEnded(name=name):
            yield name
        case e.MessagesReplaced(earlier=earlier, messages=messages):
            for message in (*earlier, *messages):
                yield from (*readable_id(message.id), *message_texts(message), *strings_in(message.extra))
        case e.RunFinished(interrupts=interrupts, result=result, reason=reason):
            yield reason
            for interrupt in interrupts:
                yield from (*readable_id(interrupt.id), interrupt.reason, interrupt.title, interrupt.message)
                yield from strings_in(interrupt.schema)
                for text in interrupt.translations.values():
                    yield from (text.title, text.message)
            yield from strings_in(result)
        case e.RunFailed(code=code, message=message):
            yield from (code, message)
        case e.TextDelta() | e.ReasoningDelta() | e.ToolCallStarted() | e.ToolCallDelta():
            pass  # checked while they are streamed (`core.guards.pipeline`)
        case e.TextEnded() | e.ReasoningEnded() | e.ToolCallEnded():
            pass  # no text except an id that was checked at the start
        case e.ModelResponseEnded() | e.RunStarted() | e.SpanStarted() | e.SpanEnded():
            pass  # no text from an agent: the runtime writes `RunStarted` and spans
        case _:
            assert_never(event)


def client_texts(ask: Ask) -> Iterator[str]:
    """The texts that the client sent itself. Repeating them exactly reveals nothing to it."""
    for message in ask.messages:
        yield message.text
        yield from (*message_texts(message), *strings_in(message.extra))
    yield from strings_in(ask.state)


def readable_id(id: str | None) -> Iterator[str]:
    if id and not RANDOM_ID.fullmatch(id):
        yield id


def message_texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text):
                yield text
            case Call(id=id, name=name, arguments=arguments):
                yield from (*readable_id(id), name, arguments, *strings_in(parse_json(arguments)))
            case Result(call_id=id, name=name, content=content, error=error):
                yield from (*readable_id(id), name, error or "", content, *strings_in(parse_json(content)))
            case Image(name=name, url=url) | File(name=name, url=url):
                yield from (name, url)
            case _:
                assert_never(part)


# These use a stack instead of recursive generators, in which every text passes through each level.


def keyed_strings(value: JsonValue, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string value in a JSON value, with its nearest key."""
    left = [(key, value)]
    while left:
        key, one = left.pop()
        if isinstance(one, str):
            yield key, one
        elif isinstance(one, list):
            left += [(key, item) for item in reversed(one)]
        elif isinstance(one, dict):
            left += [(name, item) for name, item in reversed(one.items())]


def keys_in(value: JsonValue) -> Iterator[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += reversed(one)
        elif isinstance(one, dict):
            yield from one
            left += reversed(one.values())


def strings_in(value: JsonValue) -> Iterator[str]:
    """Every string in a JSON value, including keys."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            left += reversed(one)
        elif isinstance(one, dict):
            for name, item in reversed(one.items()):
                left += (item, name)


def parse_json(text: str) -> JsonValue:
    """Parse a text that may be JSON; None if it is not."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
