"""How a question that was asked in the chat is answered there, and what such an answer means."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rightseat.core.approvals import APPROVAL
from rightseat.core.ask import Answer
from rightseat.core.calling import calls_in
from rightseat.core.errors import BadAsk
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call, Message
from rightseat.core.values import JsonValue

YES = frozenset({"allow", "approve", "approved", "yes", "y", "ok", "okay"})
NO = frozenset({"deny", "denied", "refuse", "reject", "no", "n"})
CANCEL = frozenset({"cancel", "stop", "never mind"})

MARK = "To answer, reply"
"""Begins what says how a question is answered: by it a question is known again in what the chat repeats."""
DECIDE = f"{MARK} **allow** or **deny**. Anything else is a new question, and nothing is done."
EDIT = (
    f"{MARK} **allow** or **deny**, or **edit** with what changes below it, a line each, as `name: value`. "
    "Anything else is a new question, and nothing is done."
)
ONE_VALUE = f"{MARK} with {{names}} and nothing else, or **cancel**."
VALUES = f"{MARK} with {{names}}, a line each, as `name: value`, or **cancel**."
ONE_OF = f"{MARK} {{choices}}."
ANYTHING = f"{MARK} with the answer and nothing else, or **cancel**."

PAIR = re.compile(r"(?:[-*]\s*)?`?([^\s:=`]+)`?\s*[:=](.*)")


@dataclass(frozen=True, slots=True)
class Waiting:
    """`messages` are those of the run that asks, with the calls that wait for the answer."""

    asked: tuple[Interrupt, ...]
    messages: tuple[Message, ...]

    def call_of(self, asked: Interrupt) -> Call | None:
        return next((one for one in calls_in(self.messages) if one.id == asked.call_id), None)


def how(asked: Sequence[Interrupt]) -> str | None:
    """What says how to answer; None where one message cannot answer all of them."""
    if all(map(is_leave, asked)):
        return EDIT if len(asked) == 1 and "arguments" in fields(asked[0]) else DECIDE
    if len(asked) > 1:
        return None
    if choices := choices_of(asked[0]):
        *first, last = [f"**{one}**" for one in choices]
        return ONE_OF.format(choices=f"{', '.join(first)} or {last}" if first else last)
    if names := ", ".join(f"`{name}`" for name in fields(asked[0])):
        return (ONE_VALUE if len(fields(asked[0])) == 1 else VALUES).format(names=names)
    return ANYTHING


def is_leave(asked: Interrupt) -> bool:
    """Is it whether something may be done?"""
    return asked.reason == APPROVAL


def fields(asked: Interrupt) -> Mapping[str, Any]:
    found = asked.schema.get("properties") if isinstance(asked.schema, dict) else None
    return found if isinstance(found, dict) else {}


def choices_of(asked: Interrupt) -> list[str]:
    found = asked.schema.get("enum") if isinstance(asked.schema, dict) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def read_reply(waiting: Waiting, text: str) -> tuple[Answer, ...] | None:
    """None where it answers nothing. Raises `BadAsk`."""
    if not all(map(is_leave, waiting.asked)):
        (asked,) = waiting.asked
        is_cancelled = plain(text) in CANCEL and plain(text) not in choices_of(asked)
        return (answer(waiting, asked, None if is_cancelled else read_value(asked, text)),)
    word = plain(text)
    if word in YES:
        return tuple(answer(waiting, one, decided(one, "allow", payload=True)) for one in waiting.asked)
    if word in NO:
        return tuple(answer(waiting, one, decided(one, "deny", payload=False)) for one in waiting.asked)
    head, _, rest = text.strip().partition("\n")
    if plain(head) == "edit" and len(waiting.asked) == 1 and "arguments" in fields(waiting.asked[0]):
        changes = {name: guessed(value) for name, value in pairs(rest).items()}
        if not changes:
            raise BadAsk(f"Nothing was said of what changes. {EDIT}")
        return (answer(waiting, waiting.asked[0], {"decision": "edit", "arguments": changes}),)
    return None


def decided(asked: Interrupt, word: str, *, payload: JsonValue) -> JsonValue:
    """As the question's schema has it: a flow has a field for the decision, a tool takes true or false."""
    return {"decision": word} if "decision" in fields(asked) else payload


def answer(waiting: Waiting, asked: Interrupt, payload: JsonValue) -> Answer:
    call = waiting.call_of(asked)
    status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
    return Answer(asked.id, status, payload, call, asked.memo, asked.reason, asked.subject)


def read_value(asked: Interrupt, text: str) -> JsonValue:
    known = fields(asked)
    if choices := choices_of(asked):
        if plain(text) not in choices:
            raise BadAsk(f"{text!r} is none of the answers. {how([asked])}")
        return plain(text)
    if not known:
        return guessed(text)
    given = pairs(text) if len(known) > 1 or pairs(text).keys() & known.keys() else {next(iter(known)): text.strip()}
    if not given:
        raise BadAsk(f"There is no line with a name and a value in it. {how([asked])}")
    if unknown := [name for name in given if name not in known]:
        raise BadAsk(f"{unknown[0]!r} is not asked for. {how([asked])}")
    return {name: typed(value, known[name]) for name, value in given.items()}


def pairs(text: str) -> dict[str, str]:
    """The lines `name: value`, or an object as JSON."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return {name: one if isinstance(one, str) else json.dumps(one) for name, one in whole.items()}
    found = (PAIR.fullmatch(line.strip()) for line in text.splitlines())
    return {one[1]: one[2].strip() for one in found if one}


def typed(text: str, schema: Any) -> JsonValue:
    """A text stays one where a text is asked for."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "string":
        return text
    if kind == "array" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")]
    return guessed(text)


def guessed(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text.strip()
    return found


def is_decision(text: str) -> bool:
    word = plain(text)
    return word in YES or word in NO or word.partition("\n")[0].strip() == "edit"


def plain(text: str) -> str:
    return text.strip().strip("*`'\".!").lower()
