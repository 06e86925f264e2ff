"""Makes a case of the turns of a conversation."""

import base64
import binascii
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any

import msgspec

from rightseat.core.messages import File, Image, Message
from rightseat.core.types import JsonValue
from rightseat.evals.cases import Case, RecordedCall, ScorerSpec, Source
from rightseat.evals.changes import NOT_IN_CASE, apply_changes
from rightseat.evals.recorded_calls import RecordedTurn, read_turn
from rightseat.evals.redaction import Redaction
from rightseat.evals.sources import NotRecorded, PinnedTurns, TooLargeToPin
from rightseat.operations.recordings import RecordedAsk
from rightseat.operations.reruns import RunChanges

MAX_NAME_WORDS = 6
MAX_CASE_CHARS = 2_000_000
"""Finding personal data in them takes seconds, and a hundred megabytes of memory."""
REDACTED_FIELDS = ("ask", "history", "context", "parameters", "state", "recorded", "expected")
NOT_REPEATED = ("model", "cache_key")
"""Parameters of the client that are no part of a case: its variant decides the model."""


@dataclass(frozen=True, slots=True)
class PinOptions:
    """`wrong` says what should have happened. `judge` is the model that judges it. What happened in a run that `is_bad`
    is not expected, also without a text that says what should have. Nor is that of a run with `changes`, which has not
    happened."""

    name: str | None = None
    wrong: str | None = None
    consent: str | None = None
    keeps_personal_data: bool = False
    judge: str = "default"
    is_bad: bool = False
    changes: RunChanges | None = None


@dataclass(frozen=True, slots=True)
class PinnedCase:
    """A case with the content of the files that it names, and what it lacks."""

    case: Case
    files: Mapping[str, bytes]
    turns: int
    redacted: int
    notes: Sequence[str]


def build_case(conversation: PinnedTurns, options: PinOptions, redaction: Redaction | None) -> PinnedCase:
    """Without a `redaction`, a case that is never written. Raises `NotRecorded`, and `BadRequest` for the changes."""
    files, notes = dict[str, bytes](), list[str]()
    first = conversation.turns[0].runs[0]
    if not any(turn.question for turn in conversation.turns):
        raise NotRecorded(f"Run {first.run!r} has no question of a user.")
    after = [message for turn in conversation.turns for run in turn.runs for message in run.messages]
    read = [read_turn(turn.runs, (*after, *conversation.later)) for turn in conversation.turns]
    asks = [_write_question(turn.question, files, notes) for turn in conversation.turns]
    runs = [run for turn in conversation.turns for run in turn.runs]
    if any(run.ask is None for run in runs):
        notes.append("An earlier version stored a run without the tools and the context of its client.")
    recorded = [item for turn in read for item in turn.list_recorded()]
    notes += [note for turn in read for note in turn.notes]
    fields: dict[str, JsonValue] = {
        "ask": asks[0] if len(asks) == 1 else asks,
        "history": [
            {message.role: message.text}
            for message in conversation.history
            if message.role in ("user", "assistant", "system") and message.text
        ],
        **_write_asks([run.ask for run in runs if run.ask is not None]),
        "recorded": [item.model_dump(mode="json", exclude_defaults=True) for item in recorded],
        "expected": read[-1].answer or None,
    }
    if options.changes is not None:
        fields = apply_changes(fields, options.changes)
        if options.changes.instructions is not None or options.changes.model is not None:
            notes.append(NOT_IN_CASE)
    if (size := count_chars(list(fields.values()))) > MAX_CASE_CHARS:
        raise TooLargeToPin(
            f"Run {first.run!r} has {size:,} characters of text with what came before it; a case has at most "
            f"{MAX_CASE_CHARS:,}."
        )
    redacted = {
        name: redaction.redact_value(value) for name, value in fields.items() if redaction and name in REDACTED_FIELDS
    }
    source = Source(
        run=conversation.run,
        thread=first.thread,
        face=runs[-1].face,
        user=mark_user(first.owner, first.thread),
        redacted=not options.keeps_personal_data,
        consent=options.consent,
    )
    built: dict[str, Any] = fields | redacted
    case = Case.model_validate({"name": "case", "source": source, "agent": first.agent, **built})
    name = options.name or suggest_name(case.turns[0].text) or first.run
    return PinnedCase(
        case.model_copy(update={"name": name, "scorers": tuple(propose_scorers(case, read[-1], options))}),
        files,
        len(asks),
        redaction.values if redaction else 0,
        list(dict.fromkeys(notes)),
    )


def propose_scorers(case: Case, last: RecordedTurn, options: PinOptions) -> list[ScorerSpec]:
    """From what happened. What went wrong is not expected: its mend is judged."""
    if options.wrong:
        return [{"judge": {"rubric": options.wrong, "model": options.judge}}]
    if options.is_bad or options.changes is not None:
        return []
    proposed: list[ScorerSpec] = [{"outcome": last.outcome}]
    calls = [item for item in case.recorded if isinstance(item, RecordedCall)]
    if calls:
        expected: list[JsonValue] = [{"name": call.tool, "arguments": dict(call.arguments)} for call in calls]
        proposed.append({"tool_calls": {"expect": expected, "order": "in_order"}})
    return proposed


def count_chars(value: JsonValue) -> int:
    """The characters of all texts in a value."""
    match value:
        case str():
            return len(value)
        case list() | tuple():
            return sum(map(count_chars, value))
        case dict():
            return sum(len(key) + count_chars(item) for key, item in value.items())
    return 0


def mark_user(user: str, thread: str) -> str:
    """Tells whether a case is of this user, to whoever knows the user's id. Two threads give two marks."""
    key = sha256(thread.encode()).digest()
    return blake2b(user.encode(), key=key, digest_size=16).hexdigest()


def suggest_name(question: str) -> str:
    words = re.findall(r"\w+", question.casefold())[:MAX_NAME_WORDS]
    return "-".join(words)[:60]


def _write_question(messages: Sequence[Message], files: dict[str, bytes], notes: list[str]) -> JsonValue:
    text = "\n\n".join(message.text for message in messages if message.text)
    names: list[JsonValue] = []
    for part in (part for message in messages for part in message.parts if isinstance(part, Image | File)):
        try:
            data = base64.b64decode(part.data.partition("base64,")[2] or part.data)
        except binascii.Error:
            data = b""
        if not data:
            notes.append(
                f"The case lacks an attachment{f' at {part.url[:100]!r}' if part.url else ', which is empty'}."
            )
            continue
        name = f"{sha256(data).hexdigest()[:16]}{mimetypes.guess_extension(part.media_type) or '.bin'}"
        files[name] = data
        names.append(name)
    return {"text": text, "files": names} if names else text


def _write_asks(asks: Sequence[RecordedAsk]) -> dict[str, JsonValue]:
    """The tools of all asks; what else they have is that of the first."""
    if not asks:
        return {}
    tools = {tool.name: tool for ask in asks for tool in ask.tools}
    first = asks[0]
    return {
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in tools.values()
        ],
        "context": [msgspec.to_builtins(part) for part in first.context],
        "parameters": {name: value for name, value in first.parameters.items() if name not in NOT_REPEATED},
        "state": first.state,
    }
