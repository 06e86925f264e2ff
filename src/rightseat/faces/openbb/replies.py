"""Parses replies to approvals and questions that were asked in the chat, and writes the hints how to reply."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rightseat.core.approvals import APPROVAL
from rightseat.core.ask import Answer
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt
from rightseat.core.loop.tool_calls import calls_in
from rightseat.core.messages import Call, Message
from rightseat.core.types import JsonValue

YES = frozenset({"allow", "approve", "approved", "yes", "y", "ok", "okay"})
NO = frozenset({"deny", "denied", "refuse", "reject", "no", "n"})
CANCEL = frozenset({"cancel", "stop", "never mind"})

REPLY_MARK = "To answer, reply"
"""Start of every reply hint. It identifies a question in the history that the client sends back."""
DECIDE = f"{REPLY_MARK} **allow** or **deny**. Anything else is treated as a new question, and nothing is done."
EDIT = (
    f"{REPLY_MARK} **allow** or **deny**, or **edit** followed by the changes, one `name: value` per line. "
    "Anything else is treated as a new question, and nothing is done."
)
ONE_VALUE = f"{REPLY_MARK} with {{names}} and nothing else, or **cancel**."
VALUES = f"{REPLY_MARK} with {{names}}, one `name: value` per line, or **cancel**."
ONE_OF = f"{REPLY_MARK} {{choices}}."
ANYTHING = f"{REPLY_MARK} with the answer and nothing else, or **cancel**."

PAIR = re.compile(r"(?:[-*]\s*)?`?([^\s:=`]+)`?\s*[:=](.*)")


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """`messages` are those of the interrupted run, including the calls that wait for the reply."""

    interrupts: tuple[Interrupt, ...]
    messages: tuple[Message, ...]

    def call_of(self, interrupt: Interrupt) -> Call | None:
        return next((one for one in calls_in(self.messages) if one.id == interrupt.call_id), None)


def reply_hint(interrupts: Sequence[Interrupt]) -> str | None:
    """The hint how to reply; None if one message cannot answer all interrupts."""
    if all(map(is_approval, interrupts)):
        return EDIT if len(interrupts) == 1 and "arguments" in schema_fields(interrupts[0]) else DECIDE
    if len(interrupts) > 1:
        return None
    if choices := choices_of(interrupts[0]):
        *first, last = [f"**{one}**" for one in choices]
        return ONE_OF.format(choices=f"{', '.join(first)} or {last}" if first else last)
    if names := ", ".join(f"`{name}`" for name in schema_fields(interrupts[0])):
        return (ONE_VALUE if len(schema_fields(interrupts[0])) == 1 else VALUES).format(names=names)
    return ANYTHING


def is_approval(interrupt: Interrupt) -> bool:
    """Whether the interrupt asks for approval."""
    return interrupt.reason == APPROVAL


def schema_fields(interrupt: Interrupt) -> Mapping[str, Any]:
    found = interrupt.schema.get("properties") if isinstance(interrupt.schema, dict) else None
    return found if isinstance(found, dict) else {}


def choices_of(interrupt: Interrupt) -> list[str]:
    found = interrupt.schema.get("enum") if isinstance(interrupt.schema, dict) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def read_reply(pending: PendingQuestion, text: str) -> tuple[Answer, ...] | None:
    """Return None if the text is not a reply. Raise `BadRequest` if it is an invalid one."""
    if not all(map(is_approval, pending.interrupts)):
        (interrupt,) = pending.interrupts
        is_cancelled = normalize(text) in CANCEL and normalize(text) not in choices_of(interrupt)
        return (make_answer(pending, interrupt, None if is_cancelled else read_value(interrupt, text)),)
    word = normalize(text)
    if word in YES:
        return tuple(
            make_answer(pending, interrupt, decision_payload(interrupt, "allow", payload=True))
            for interrupt in pending.interrupts
        )
    if word in NO:
        return tuple(
            make_answer(pending, interrupt, decision_payload(interrupt, "deny", payload=False))
            for interrupt in pending.interrupts
        )
    head, _, rest = text.strip().partition("\n")
    if (
        normalize(head) == "edit"
        and len(pending.interrupts) == 1
        and "arguments" in schema_fields(pending.interrupts[0])
    ):
        changes = {name: parse_value(value) for name, value in read_pairs(rest).items()}
        if not changes:
            raise BadRequest(f"There are no changes below **edit**. {EDIT}")
        return (make_answer(pending, pending.interrupts[0], {"decision": "edit", "arguments": changes}),)
    return None


def decision_payload(interrupt: Interrupt, word: str, *, payload: JsonValue) -> JsonValue:
    """The payload by the interrupt's schema: flows have a `decision` field, tools take true or false."""
    return {"decision": word} if "decision" in schema_fields(interrupt) else payload


def make_answer(pending: PendingQuestion, interrupt: Interrupt, payload: JsonValue) -> Answer:
    call = pending.call_of(interrupt)
    status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
    return Answer(interrupt.id, status, payload, call, interrupt.memo, interrupt.reason, interrupt.subject)


def read_value(interrupt: Interrupt, text: str) -> JsonValue:
    known = schema_fields(interrupt)
    if choices := choices_of(interrupt):
        if normalize(text) not in choices:
            raise BadRequest(f"{text!r} is not one of the choices. {reply_hint([interrupt])}")
        return normalize(text)
    if not known:
        return parse_value(text)
    values = (
        read_pairs(text)
        if len(known) > 1 or read_pairs(text).keys() & known.keys()
        else {next(iter(known)): text.strip()}
    )
    if not values:
        raise BadRequest(f"No line has a name and a value. {reply_hint([interrupt])}")
    if unknown := [name for name in values if name not in known]:
        raise BadRequest(f"{unknown[0]!r} is not one of the fields. {reply_hint([interrupt])}")
    return {name: parse_typed(value, known[name]) for name, value in values.items()}


def read_pairs(text: str) -> dict[str, str]:
    """Parse lines `name: value`, or a JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return {name: one if isinstance(one, str) else json.dumps(one) for name, one in document.items()}
    found = (PAIR.fullmatch(line.strip()) for line in text.splitlines())
    return {one[1]: one[2].strip() for one in found if one}


def parse_typed(text: str, schema: Any) -> JsonValue:
    """Parse a value by its schema. Strings are kept as they are."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "string":
        return text
    if kind == "array" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")]
    return parse_value(text)


def parse_value(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text.strip()
    return found


def is_decision(text: str) -> bool:
    word = normalize(text)
    return word in YES or word in NO or word.partition("\n")[0].strip() == "edit"


def normalize(text: str) -> str:
    return text.strip().strip("*`'\".!").lower()
