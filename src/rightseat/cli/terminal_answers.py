"""Asks the person at the terminal to answer an interrupt."""

import json
import sys
from collections.abc import Mapping, Sequence

import click

from rightseat.cli.plain_text import remove_control_characters
from rightseat.core.approvals import APPROVAL
from rightseat.core.ask import Answer
from rightseat.core.errors import RightseatError
from rightseat.core.events import Interrupt
from rightseat.core.types import JsonValue


class FileRequired(RightseatError):
    """A form asks for a file, which a prompt cannot take."""


def is_attended() -> bool:
    """Whether a person can be asked: stdin and stdout are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def prompt_for_answer(interrupt: Interrupt) -> Answer:
    """Raises `click.Abort` if the person presses Ctrl-C or Ctrl-D."""
    payload: JsonValue
    if interrupt.reason == APPROVAL:
        payload = click.confirm(remove_control_characters(interrupt.message), err=True)
    else:
        click.echo(remove_control_characters(interrupt.message), err=True)
        payload = prompt_for_value("Answer", interrupt.schema)
    return Answer(interrupt.id, "resolved", payload, memo=interrupt.memo)


def prompt_for_value(name: str, schema: JsonValue, *, is_required: bool = True) -> JsonValue:
    """A value that fits a simple schema. An empty line leaves out a value that is not required."""
    label = write_label(name, schema)
    default = None if is_required else ""
    match schema:
        case {"properties": dict(properties), "required": list(required)}:
            return prompt_for_fields(properties, required)
        case {"properties": dict(properties)}:
            return prompt_for_fields(properties, list(properties))
        case {"type": "boolean"}:
            return click.confirm(label, err=True)
        case {"enum": [*values]}:
            known = {str(value): value for value in values}
            return known[click.prompt(label, type=click.Choice(list(known)), err=True)]
        case {"type": "integer" | "number" as kind} if is_required:
            return click.prompt(label, type=int if kind == "integer" else float, err=True)
        case {"type": "string"}:
            return str(click.prompt(label, default=default, show_default=False, err=True))
    return read_value(click.prompt(label, default=default, show_default=False, err=True))


def prompt_for_fields(properties: Mapping[str, JsonValue], required: Sequence[JsonValue]) -> dict[str, JsonValue]:
    if missing := [name for name, schema in properties.items() if requires_file(schema)]:
        raise FileRequired(f"{', '.join(missing)}: a file is required. Attach one with --file.")
    values = {name: prompt_for_value(name, schema, is_required=name in required) for name, schema in properties.items()}
    return {name: value for name, value in values.items() if name in required or value != ""}


def write_label(name: str, schema: JsonValue) -> str:
    described = schema.get("description") if isinstance(schema, dict) else None
    return remove_control_characters(f"{name} ({described})" if isinstance(described, str) else name)


def requires_file(schema: JsonValue) -> bool:
    """The schema of a file field allows nothing while no file is attached."""
    inner = schema.get("items", schema) if isinstance(schema, dict) else None
    return isinstance(inner, dict) and inner.get("not") == {}


def read_value(text: str) -> JsonValue:
    """Parses JSON values such as numbers; any other text is a string."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value
