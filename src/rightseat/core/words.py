"""What people could read of an event, wherever it stands in it."""

import json
import re
from collections.abc import Iterator
from typing import assert_never

from rightseat.core.ask import Ask
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.values import JsonValue

RANDOM = re.compile(
    r"(?:(?:msg|call|toolu|fc|run|thought|interrupt|result)[_-])?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:msg|call|toolu|fc|thought|interrupt)_[0-9A-Za-z]{16,40}"
)
"""Ids that somebody drew by lot: nothing is written in them."""


def texts_in(event: Event) -> Iterator[str]:
    """What people could read of an event that is no piece of a text or a call. Agents choose ids too."""
    match event:
        case TextStarted(message_id=id) | ThoughtStarted(message_id=id):
            yield from chosen(id)
        case CallReturned(call_id=id, name=name, content=content, error=error, message_id=message_id):
            yield from (*chosen(id), *chosen(message_id), name, error or "", content)
            yield from strings_in(read(content))
        case StateReplaced(state=value):
            yield from strings_in(value)
        case Custom(name=name, value=value):
            yield from (name, *keys_in(value))
        case StateChanged(patch=patch):
            yield from strings_in(patch)
        case StepStarted(name=name) | StepEnded(name=name):
            yield name
        case MessagesReplaced(earlier=earlier, messages=messages):
            for message in (*earlier, *messages):
                yield from (*chosen(message.id), *spoken(message), *strings_in(message.extra))
        case RunFinished(interrupts=interrupts, result=result):
            for one in interrupts:
                yield from (*chosen(one.id), one.reason, one.message, *strings_in(one.schema))
            yield from strings_in(result)
        case RunFailed(code=code, message=message):
            yield from (code, message)
        case TextDelta() | ThoughtDelta() | CallStarted() | CallDelta():
            pass  # judged as they are streamed (`core.guarding`)
        case TextEnded() | ThoughtEnded() | CallEnded():
            pass  # no text but an id that was judged at the start
        case AnswerEnded() | RunStarted():
            pass  # no text of an agent: the runtime writes `RunStarted`
        case _:
            assert_never(event)


def sent_with(ask: Ask) -> Iterator[str]:
    """What the client has said itself, word for word: to repeat it tells it nothing."""
    for message in ask.messages:
        yield message.text
        yield from (*spoken(message), *strings_in(message.extra))
    yield from strings_in(ask.state)


def chosen(id: str | None) -> Iterator[str]:
    if id and not RANDOM.fullmatch(id):
        yield id


def spoken(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text):
                yield text
            case Call(id=id, name=name, arguments=arguments):
                yield from (*chosen(id), name, arguments, *strings_in(read(arguments)))
            case Result(call_id=id, name=name, content=content, error=error):
                yield from (*chosen(id), name, error or "", content, *strings_in(read(content)))
            case Image(name=name, url=url) | File(name=name, url=url):
                yield from (name, url)
            case _:
                assert_never(part)


# Each of these keeps a list of what is left: where generators call each other, every text passes through all of them.


def pieces_in(value: JsonValue, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value that is no key, with the key that it stands under."""
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
    """Every text in a JSON value, its keys too."""
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


def read(text: str) -> JsonValue:
    """A text that may be JSON; None where it is not."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
