"""How whole answers are read: thoughts, text and calls, in the order in which most models say them."""

from collections.abc import Callable, Sequence

import msgspec

from rightseat.models.completion.reading.reader import Reader, misfit
from rightseat.models.completion.reading.source import Reading

FENCES = ("```json", "```tool_call", "```tool_code")
NAMES = ("name", "function", "tool_name", "tool")
ARGUMENTS = ("arguments", "parameters", "args")


def read_thought(reader: Reader) -> Reading[None]:
    """`<think>…</think>`, where the answer begins with it."""
    source = reader.source
    anchor = yield from _look(reader)
    if not (yield from source.literal("<think>")):
        source.at, source.held = anchor, False
        return
    source.held = False
    yield from source.spaces()
    yield from source.until("</think>", reader.think)
    yield from source.spaces()


def read_calls(reader: Reader, mark: str, read: Callable[[Reader], Reading[None]]) -> Reading[None]:
    """Thought, text, and calls that begin with `mark`; and calls in another form that cannot be meant otherwise."""
    yield from read_thought(reader)
    yield from read_bare(reader)
    marks = (mark, *FENCES) if reader.schemas else ()
    while (found := (yield from reader.text(*marks))) is not None:
        if found == mark:
            yield from read(reader)
        else:
            yield from read_fenced(reader, found)


def read_bare(reader: Reader) -> Reading[None]:
    """A call as bare JSON, with which the answer begins. Anything else is left to be read as text."""
    source = reader.source
    anchor = yield from _look(reader)
    call = (yield from _read_call(reader)) if reader.schemas else None
    if call is None:
        source.at = anchor
    source.held = False
    if call is not None:
        reader.call(*call)


def read_fenced(reader: Reader, fence: str) -> Reading[None]:
    """A call in a fence that was passed over already; without one the fence is text as it came."""
    source = reader.source
    source.held, anchor, dropped = True, source.at, reader.dropped
    yield from source.spaces()
    call = yield from _read_call(reader)
    if call is not None:
        yield from source.spaces()
        yield from source.literal("```")
        source.held = False
        reader.call(*call)
        return
    source.at, source.held = anchor, False
    reader.say(dropped + fence)


def _look(reader: Reader) -> Reading[int]:
    """Pass over white space, holding it; and say where that began."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    return anchor


def _read_call(reader: Reader) -> Reading[tuple[str, str] | None]:
    """The name and the arguments of a call as JSON. None as soon as it cannot be one, or where it does not fit."""
    source = reader.source
    if not (yield from source.literal("{")):
        return None
    name = yield from _read_member(reader, NAMES)
    if not name:
        return None
    tool = yield from source.string()
    if tool is None or tool not in reader.schemas:
        return None
    yield from source.spaces()
    if not (yield from source.literal(",")) or not (yield from _read_member(reader, ARGUMENTS)):
        return None
    parts: list[str] = []
    if not (yield from source.value(parts.append, only="{")):
        return None
    yield from source.spaces()
    if not (yield from source.literal("}")):
        return None
    arguments = "".join(parts)
    return None if misfit(arguments, reader.check(tool)) else (tool, _tight(arguments))


def _read_member(reader: Reader, keys: Sequence[str]) -> Reading[bool]:
    """One of these keys, up to its value."""
    source = reader.source
    yield from source.spaces()
    key = yield from source.string()
    yield from source.spaces()
    if key not in keys or not (yield from source.literal(":")):
        return False
    yield from source.spaces()
    return True


def _tight(arguments: str) -> str:
    """Without the line breaks of a fence."""
    return msgspec.json.format(arguments, indent=0) if "\n" in arguments else arguments
