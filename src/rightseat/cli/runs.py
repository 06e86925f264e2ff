"""`rightseat runs`: lists runs, and shows one with its events."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import assert_never

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.table import format_duration, format_table, format_time, print_rows
from rightseat.config import Config
from rightseat.core import events as e
from rightseat.core.errors import ConfigError, RunNotFound
from rightseat.core.log import Entry
from rightseat.core.run.durable import read_all_entries
from rightseat.core.stream import codec
from rightseat.operations.records import Page, RunQuery, RunRecord
from rightseat.text import truncate_with_length

MAX_SHOWN_CHARS = 400
HEADINGS = ("RUN", "THREAD", "AGENT", "FACE", "STARTED (UTC)", "DURATION", "TOKENS IN", "OUT", "OUTCOME")


@click.group()
def command() -> None:
    """List runs, or show one with its events.

    Servers may be running. Runs that are not stored are only in the server's log lines: those of OpenBB Workspace, of
    OpenAI clients and of plain chats in older CopilotKit clients.
    """


@command.command("list")
@setup.file_option
@click.option("--thread", help="Only the runs of this thread.")
@click.option("--agent", help="Only the runs of this agent.")
@click.option("--user", help="Only the runs of this user.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to list.")
@click.option("--after", help="Continue a list: the value that the list before ended with.")
@click.option("--json", "as_json", is_flag=True, help="Print each run as one JSON object per line.")
def list_(
    path: Path | None,
    thread: str | None,
    agent: str | None,
    user: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List stored runs, the newest first."""
    setup.set_up_logging()
    config = setup.load(path)
    query = RunQuery(thread=thread, agent=agent, user=user, after=after, limit=limit)
    page = asyncio.run(read_page(config, query))
    if_none = f"No run is stored in {setup.describe_store(config.threads)}."
    print_rows(page.rows, HEADINGS, list_cells, as_json, if_none)
    if page.next is not None:
        click.echo(f"There are older runs: --after {page.next}", err=True)


async def read_page(config: Config, query: RunQuery) -> Page[RunRecord]:
    async with users.opened_store(config) as store:
        return await store.records.runs(query)


def list_cells(run: RunRecord) -> list[str]:
    return [
        run.id,
        run.thread,
        run.agent,
        run.face or "-",
        format_time(run.started_at),
        format_duration(run.seconds),
        format_count(run.input_tokens),
        format_count(run.output_tokens),
        describe_outcome(run),
    ]


def format_count(tokens: int | None) -> str:
    return "-" if tokens is None else str(tokens)


def describe_outcome(run: RunRecord) -> str:
    """In the words of the log line that `core.run.report` writes."""
    match run.outcome:
        case None:
            return "running"
        case "done":
            return "finished"
        case "failed":
            return f"failed {run.code or ''}".rstrip()
        case "waiting" if run.is_waiting:
            return "waiting for approval"
        case "waiting":
            return "question answered or expired" if run.has_questions else "waiting for the client"
    return run.outcome


@command.command()
@click.argument("run", required=False)
@setup.file_option
@click.option("--last", is_flag=True, help="Show the newest stored run.")
@click.option("--json", "as_json", is_flag=True, help="Print the run and each event as one JSON object per line.")
def show(run: str | None, path: Path | None, last: bool, as_json: bool) -> None:
    """Show a run and its events.

    RUN is its id, as in the server's log and in `runs list`. The deltas of a text are printed as one line, with the id
    of the last one.
    """
    if (run is None) is not last:
        raise click.UsageError("Name a RUN, or use --last.")
    setup.set_up_logging()
    config = setup.load(path)
    record, entries = asyncio.run(read(config, run))
    if as_json:
        print_json(record, entries)
        return
    for line in (*(describe_record(record) if record else ()), *timeline(entries)):
        click.echo(line)
    if not entries:
        click.echo(f"Its events are not in the log: {explain_missing_events(config)}", err=True)


async def read(config: Config, id: str | None) -> tuple[RunRecord | None, Sequence[Entry]]:
    """A run that is only in the log has no record: a transient one, or one of a server with its threads in memory."""
    record = await find(config, id)
    if record is None and id is None:
        raise ConfigError(f"No run is stored in {setup.describe_store(config.threads)}.")
    run_id = record.id if record else str(id)
    async with users.opened_log(config) as log:
        entries = await read_all_entries(log, run_id)
    if not record and not entries:
        raise RunNotFound(run_id)
    return record, entries


async def find(config: Config, id: str | None) -> RunRecord | None:
    if id is not None and config.threads.type == "memory":
        return None
    async with users.opened_store(config) as store:
        if id is not None:
            return await store.records.run(id)
        newest = await store.records.runs(RunQuery(limit=1))
        return newest.rows[0] if newest.rows else None


def print_json(record: RunRecord | None, entries: Iterable[Entry]) -> None:
    if record:
        click.echo(msgspec.json.encode({"run": record}))
    for entry in entries:
        click.echo(msgspec.json.encode({"id": entry.id, "event": entry.event}))


def describe_record(run: RunRecord) -> Iterator[str]:
    tokens = f"{format_count(run.input_tokens)} in, {format_count(run.output_tokens)} out"
    values = {
        "run": run.id,
        "thread": run.thread,
        "user": run.user,
        "agent": run.agent,
        "face": run.face or "-",
        "started": f"{format_time(run.started_at)} UTC",
        "duration": format_duration(run.seconds),
        "tokens": tokens,
        "calls": f"{format_count(run.model_calls)} of models, {format_count(run.tool_calls)} of tools",
        "outcome": describe_outcome(run),
    }
    yield from format_table((), ([name, value] for name, value in values.items()))
    yield ""


def explain_missing_events(config: Config) -> str:
    if config.log.type == "memory":
        return "it is in the memory of the server."
    return "they expired, or the run has not begun."


def timeline(entries: Iterable[Entry]) -> Iterator[str]:
    """One line per event; the deltas of a text, of reasoning or of a tool call are one line, where it ends.

    So are the start and the end of a span.
    """
    pieces: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    spans: dict[str, e.SpanStarted] = {}
    depth = 0
    for entry in entries:
        event = entry.event
        depth -= isinstance(event, e.StepEnded)
        match event:
            case e.TextDelta(message_id=id, text=text) | e.ReasoningDelta(message_id=id, text=text):
                pieces.setdefault(id, []).append(text)
                continue
            case e.ToolCallDelta(call_id=id, text=text):
                pieces.setdefault(id, []).append(text)
                continue
            case e.ToolCallStarted(call_id=id, name=name):
                names[id] = name
                continue
            case e.SpanStarted(span=id):
                spans[id] = event
                continue
            case _:
                pass  # described below
        started = spans.pop(event.span, None) if isinstance(event, e.SpanEnded) else None
        line = describe_span(started, event) if started else describe_event(event, pieces, names)
        if line is not None:
            yield f"{entry.id:>8}  {'  ' * depth}{line}"
        depth += isinstance(event, e.StepStarted)


def describe_event(event: e.Event, pieces: dict[str, list[str]], names: dict[str, str]) -> str | None:
    match event:
        case e.RunStarted(run_id=run, thread_id=thread, agent=agent):
            return f"run {run} of {agent}, thread {thread}"
        case e.TextEnded(message_id=id, complete=is_complete):
            return f"text{describe_cut(is_complete)}: {shorten(''.join(pieces.pop(id, [])))}"
        case e.ReasoningEnded(message_id=id, complete=is_complete):
            return f"reasoning{describe_cut(is_complete)}: {shorten(''.join(pieces.pop(id, [])))}"
        case e.ToolCallEnded(call_id=id, complete=is_complete):
            return f"tool call{describe_cut(is_complete)} {names.get(id, '?')}({shorten(''.join(pieces.pop(id, [])))})"
        case e.ToolCallReturned(name=name, content=content, error=error):
            return f"{name} {'returned' if error is None else f'failed ({error})'}: {shorten(content)}"
        case e.StepStarted(name=name):
            return f"step {name}"
        case e.ModelResponseEnded(reason=reason, usage=usage):
            return f"the model response ended: {reason}{describe_usage(usage)}"
        case e.MessagesReplaced(earlier=earlier, messages=messages):
            return f"resumes from message {len(earlier) + len(messages)}; later messages are discarded"
        case e.RunFinished(outcome=outcome, interrupts=interrupts):
            questions = "".join(f"; asks: {one.message}" for one in interrupts)
            return f"run finished: {outcome}{questions}"
        case e.RunFailed(code=code, message=message):
            return f"run failed: {code}: {message}"
        case e.TextStarted() | e.ReasoningStarted() | e.ToolCallStarted() | e.SpanStarted() | e.StepEnded():
            return None  # its end, or the indentation, tells the same
        case e.TextDelta() | e.ReasoningDelta() | e.ToolCallDelta():
            return None  # in `pieces`
        case e.SpanEnded() | e.StateReplaced() | e.StateChanged() | e.Custom():
            return shorten(codec.encode(event).decode())
        case _:
            assert_never(event)


def describe_span(started: e.SpanStarted, ended: e.Event) -> str | None:
    if not isinstance(ended, e.SpanEnded):
        return None
    first = "" if ended.first is None else f", first chunk after {format_duration((ended.first - started.at) / 1000)}"
    failure = "" if ended.error is None else f", {ended.error}"
    seconds = format_duration((ended.at - started.at) / 1000)
    return f"{started.kind} {started.name} took {seconds}{first}{failure}"


def describe_usage(usage: e.Usage | None) -> str:
    return "" if usage is None else f", {usage.input_tokens} input tokens, {usage.output_tokens} output tokens"


def describe_cut(is_complete: bool) -> str:
    return "" if is_complete else " (cut off)"


def shorten(text: str) -> str:
    return truncate_with_length(text.replace("\r", "\\r").replace("\n", "\\n"), MAX_SHOWN_CHARS)
