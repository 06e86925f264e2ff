"""The prompts and the schema with which a model fills the arguments of a call."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Schema
from rightseat.plugins.expressions import prompts, templates, truncation
from rightseat.plugins.loading.deref import inline_references
from rightseat.plugins.model_calls import ModelRequest
from rightseat.plugins.operations.validation import SchemaViolation
from rightseat.plugins.scope import Scope
from rightseat.plugins.slots.form import SlotForm

RULES = """\
You fill in the parameters of a function. Answer with one JSON object that fits the schema, and nothing else.
Take values from the question, the context and the data only. Where they do not say a value, write null and never
invent one. Examples in the schema show the form of a value and are no values. Leave a parameter with a default null
unless the question asks for something else. Keep names as they are written, and do not translate them."""

SHARES = {"data": 0.5, "context": 0.25, "history": 0.15, "notes": 0.2}
"""Shares of the tokens left after question and schema. The notes are subtracted first."""


def build_schema(form: SlotForm, names: Iterable[str]) -> dict[str, JsonValue]:
    """The schema for the model. Every value may be null, so that the model need not invent one."""
    selected = [name for name in form.properties if name in set(names)]
    properties: dict[str, JsonValue] = {name: allow_null(form.property_schema(name)) for name in selected}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": list[JsonValue](selected),
        "additionalProperties": False,
    }
    return inline_references(schema | ({"$defs": form.schema["$defs"]} if "$defs" in form.schema else {}))


def allow_null(schema: Schema) -> dict[str, JsonValue]:
    kind = schema.get("type")
    if "enum" not in schema and "const" not in schema and isinstance(kind, str) and "$ref" not in schema:
        return {**schema, "type": [kind, "null"]} if kind != "null" else dict(schema)
    return {"anyOf": [dict(schema), {"type": "null"}]}


def build_request(name: str, description: str, schema: Schema, scope: Scope) -> ModelRequest:
    """The first request."""
    schema_text = json.dumps(schema, ensure_ascii=False)
    parts = [
        f"Function: {description}" if description else "",
        f"Schema of its parameters:\n{schema_text}",
        f"Time: {prompts.format_time(scope)}",
        f"Language: {scope.language}",
    ]
    budget = truncation.compute_byte_budget(scope.window) - truncation.count_bytes(
        "\n".join([RULES, *parts, scope.question])
    )
    meanings, spent = prompts.collect_response_notes(scope, step_outputs(scope), int(max(budget, 0) * SHARES["notes"]))
    texts, is_shortened = write_sources(scope, max(budget - spent, 0))
    notes = [RULES, templates.UNTRUSTED_NOTICE, *([truncation.TRUNCATION_NOTICE] if is_shortened else []), *meanings]
    text = "\n\n".join(filter(None, [*parts, *texts, f"Question: {scope.question}"]))
    return ModelRequest(name, "\n".join(notes), text, schema, temperature=0.0)


def write_sources(scope: Scope, budget: int) -> tuple[list[str], bool]:
    """Context, history and step outputs, each within its share; outputs are marked as data."""
    sources = {"context": prompts.format_context(scope), "history": prompts.format_history(scope)}
    texts, is_shortened = [], False
    for title, text in sources.items():
        if text:
            short, is_cut = truncation.truncate_value(text, int(budget * SHARES[title]))
            texts.append(f"{title.capitalize()}:\n{short}")
            is_shortened |= is_cut
    outputs = step_outputs(scope)
    for step, value in outputs.items():
        short, is_cut = truncation.truncate_value(value, int(budget * SHARES["data"]) // len(outputs))
        texts.append(templates.mark_untrusted(short, f"step:{step}"))
        is_shortened |= is_cut
    return texts, is_shortened


def step_outputs(scope: Scope) -> Mapping[str, JsonValue]:
    """The outputs of earlier steps by name, and the current data."""
    outputs = {name: result.output for name, result in scope.steps.items() if result.output is not None}
    if scope.data is not None:
        outputs.setdefault(scope.data_from or "data", scope.data)
    return outputs


def build_repair(first: ModelRequest, answer: str, violations: Sequence[SchemaViolation]) -> ModelRequest:
    """The first request again, with the last answer and its mistakes."""
    mistakes = "\n".join(f"- {violation.text}" for violation in violations)
    text = (
        f"{first.user}\n\nYour last answer was:\n{answer}\n\nIt has mistakes:\n{mistakes}\n\nAnswer again without them."
    )
    return replace(first, user=text, purpose="schema")
