"""Parses whole responses: reasoning, text and calls, in the order in which most models write them."""

from collections.abc import Callable, Sequence

import msgspec

from rightseat.models.completion.parsing.reader import Reader, find_mismatch
from rightseat.models.completion.parsing.source import Reading

FENCES = ("```json", "```tool_call", "```tool_code")
NAMES = ("name", "function", "tool_name", "tool")
ARGUMENTS = ("arguments", "parameters", "args")


def read_reasoning(reader: Reader) -> Reading[None]:
    """Read `<think>…</think>` at the start of a response."""
    source = reader.source
    anchor = yield from _peek(reader)
    if not (yield from source.literal("<think>")):
        source.at, source.held = anchor, False
        return
    source.held = False
    yield from source.spaces()
    yield from source.until("</think>", reader.add_reasoning)
    yield from source.spaces()


def read_calls(reader: Reader, mark: str, read: Callable[[Reader], Reading[None]]) -> Reading[None]:
    """Read reasoning, text, and calls that start with `mark` or have another unambiguous form."""
    yield from read_reasoning(reader)
    yield from read_bare(reader)
    marks = (mark, *FENCES) if reader.schemas else ()
    while (found := (yield from reader.read_text(*marks))) is not None:
        if found == mark:
            yield from read(reader)
        else:
            yield from read_fenced(reader, found)


def read_bare(reader: Reader) -> Reading[None]:
    """Read a call as bare JSON at the start of a response. Anything else stays unread."""
    source = reader.source
    anchor = yield from _peek(reader)
    call = (yield from _read_call(reader)) if reader.schemas else None
    if call is None:
        source.at = anchor
    source.held = False
    if call is not None:
        reader.add_call(*call)


def read_fenced(reader: Reader, fence: str) -> Reading[None]:
    """Read a call behind a fence that was skipped already; without a call the fence is text."""
    source = reader.source
    source.held, anchor, dropped = True, source.at, reader.dropped
    yield from source.spaces()
    call = yield from _read_call(reader)
    if call is not None:
        yield from source.spaces()
        yield from source.literal("```")
        source.held = False
        reader.add_call(*call)
        return
    source.at, source.held = anchor, False
    reader.add_text(dropped + fence)


def _peek(reader: Reader) -> Reading[int]:
    """Skip white space while buffering it; return where it began."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    return anchor


def _read_call(reader: Reader) -> Reading[tuple[str, str] | None]:
    """Return the name and arguments of a call as JSON; None as soon as it cannot be a valid one."""
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
    return None if find_mismatch(arguments, reader.check(tool)) else (tool, _on_one_line(arguments))


def _read_member(reader: Reader, keys: Sequence[str]) -> Reading[bool]:
    """Read one of these keys, up to its value."""
    source = reader.source
    yield from source.spaces()
    key = yield from source.string()
    yield from source.spaces()
    if key not in keys or not (yield from source.literal(":")):
        return False
    yield from source.spaces()
    return True


def _on_one_line(arguments: str) -> str:
    """Remove line breaks."""
    return msgspec.json.format(arguments, indent=0) if "\n" in arguments else arguments
