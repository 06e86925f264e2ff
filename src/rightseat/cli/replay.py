"""`rightseat replay`"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from rightseat.cli import start
from rightseat.config import Config
from rightseat.core import codec
from rightseat.core.errors import RunNotFound
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    ThoughtDelta,
    ThoughtEnded,
    Usage,
)
from rightseat.core.log import Entry
from rightseat.core.text import truncate_with_length

SHORT = 400  # characters of what a tool gave


@click.command()
@click.argument("run")
@start.file_option
@click.option("--json", "as_json", is_flag=True, help="Every event as it is in the log, one JSON object a line.")
def command(run: str, path: Path | None, as_json: bool) -> None:
    """Show a run as it happened, event by event.

    RUN is its id, as the server's log names it. Pieces of a text are shown together, under the id of the last.
    """
    start.set_up_logging()
    entries = asyncio.run(read(start.load(path), run))
    if as_json:
        for entry in entries:
            click.echo(msgspec.json.encode({"id": entry.id, "event": entry.event}))
        return
    for line in timeline(entries):
        click.echo(line)


async def read(config: Config, run: str) -> Sequence[Entry]:
    log: Any = config.log.module.build(config.log.options)
    async with AsyncExitStack() as stack:
        if isinstance(log, AbstractAsyncContextManager):
            await stack.enter_async_context(log)
        entries: Sequence[Entry] = await log.read(run)
    if not entries:
        raise RunNotFound(run)
    return entries


def timeline(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each event; the pieces of a text, a thought or a call in one, where it ends."""
    pieces: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    depth = 0
    for entry in entries:
        event = entry.event
        depth -= isinstance(event, StepEnded)
        match event:
            case TextDelta(message_id=id, text=text) | ThoughtDelta(message_id=id, text=text):
                pieces.setdefault(id, []).append(text)
                continue
            case CallDelta(call_id=id, text=text):
                pieces.setdefault(id, []).append(text)
                continue
            case CallStarted(call_id=id, name=name):
                names[id] = name
                continue
        said = told(event, pieces, names)
        if said is not None:
            yield f"{entry.id:>8}  {'  ' * depth}{said}"
        depth += isinstance(event, StepStarted)


def told(event: Event, pieces: dict[str, list[str]], names: dict[str, str]) -> str | None:
    match event:
        case RunStarted(run_id=run, thread_id=thread, agent=agent):
            return f"run {run} of {agent}, thread {thread}"
        case TextEnded(message_id=id, whole=whole):
            return f"says{cut(whole)}: {shortened(''.join(pieces.pop(id, [])))}"
        case ThoughtEnded(message_id=id, whole=whole):
            return f"thinks{cut(whole)}: {shortened(''.join(pieces.pop(id, [])))}"
        case CallEnded(call_id=id, whole=whole):
            return f"calls{cut(whole)} {names.get(id, '?')}({shortened(''.join(pieces.pop(id, [])))})"
        case CallReturned(name=name, content=content, error=error):
            return f"{name} {'gave' if error is None else f'failed ({error})'}: {shortened(content)}"
        case StepStarted(name=name):
            return f"step {name}"
        case AnswerEnded(reason=reason, usage=usage):
            return f"the model ends: {reason}{tokens(usage)}"
        case MessagesReplaced(earlier=earlier, messages=messages):
            return f"goes on from message {len(earlier) + len(messages)}: what was said behind it is taken back"
        case RunFinished(outcome=outcome, interrupts=interrupts):
            asked = "".join(f"; asks: {one.message}" for one in interrupts)
            return f"ends: {outcome}{asked}"
        case RunFailed(code=code, message=message):
            return f"fails: {code}: {message}"
    plain = codec.encode(event).decode()
    return None if type(event).__name__.endswith("Started") or isinstance(event, StepEnded) else shortened(plain)


def tokens(usage: Usage | None) -> str:
    return "" if usage is None else f", {usage.input_tokens} tokens read, {usage.output_tokens} written"


def cut(whole: bool) -> str:
    return "" if whole else " (cut off)"


def shortened(text: str) -> str:
    return truncate_with_length(text.replace("\r", "\\r").replace("\n", "\\n"), SHORT)
