"""What a model is asked, so that it fills the slots: the schema as it sees it, and the prompts."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rightseat.core.values import JsonValue
from rightseat.plugins import prompting, shortening, templates
from rightseat.plugins.definition import Schema
from rightseat.plugins.loading.unrolling import unrolled
from rightseat.plugins.operations.checking import Flaw
from rightseat.plugins.scene import Scene
from rightseat.plugins.slots.form import Form
from rightseat.plugins.speaking import Wanted

RULES = """\
You fill in the parameters of a function. Answer with one JSON object that fits the schema, and nothing else.
Take values from the question, the context and the data only. Where they do not say a value, write null and never
invent one. Examples in the schema show the form of a value and are no values. Leave a parameter with a default null
unless the question asks for something else. Keep names as they are written, and do not translate them."""

SHARES = {"data": 0.5, "context": 0.25, "history": 0.15, "notes": 0.2}
"""Of the room that a model has, beside question and schema. Notes on the data are taken off first."""


def asked(form: Form, names: Iterable[str]) -> dict[str, JsonValue]:
    """The schema that the model sees. It can leave every value open, so that it need not invent one."""
    wanted = [name for name in form.properties if name in set(names)]
    properties: dict[str, JsonValue] = {name: open_to_null(form.of(name)) for name in wanted}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": list[JsonValue](wanted),
        "additionalProperties": False,
    }
    return unrolled(schema | ({"$defs": form.schema["$defs"]} if "$defs" in form.schema else {}))


def open_to_null(schema: Schema) -> dict[str, JsonValue]:
    said = schema.get("type")
    if "enum" not in schema and "const" not in schema and isinstance(said, str) and "$ref" not in schema:
        return {**schema, "type": [said, "null"]} if said != "null" else dict(schema)
    return {"anyOf": [dict(schema), {"type": "null"}]}


def question(name: str, description: str, schema: Schema, scene: Scene) -> Wanted:
    """The first call."""
    written = json.dumps(schema, ensure_ascii=False)
    parts = [
        f"Function: {description}" if description else "",
        f"Schema of its parameters:\n{written}",
        f"Time: {prompting.told_time(scene)}",
        f"Language: {scene.language}",
    ]
    room = shortening.room(scene.window) - shortening.size("\n".join([RULES, *parts, scene.question]))
    meanings, spent = prompting.response_notes(scene, outside(scene), int(max(room, 0) * SHARES["notes"]))
    texts, was_cut = known(scene, max(room - spent, 0))
    notes = [RULES, templates.UNTRUSTED, *([shortening.NOTE] if was_cut else []), *meanings]
    text = "\n\n".join(filter(None, [*parts, *texts, f"Question: {scene.question}"]))
    return Wanted(name, "\n".join(notes), text, schema, temperature=0.0)


def known(scene: Scene, room: int) -> tuple[list[str], bool]:
    """Context, history and data, each within its share; data is marked as such."""
    said = {"context": prompting.context(scene), "history": prompting.told_history(scene)}
    texts, was_cut = [], False
    for title, text in said.items():
        if text:
            short, is_cut = shortening.shorten(text, int(room * SHARES[title]))
            texts.append(f"{title.capitalize()}:\n{short}")
            was_cut |= is_cut
    given = outside(scene)
    for step, value in given.items():
        short, is_cut = shortening.shorten(value, int(room * SHARES["data"]) // len(given))
        texts.append(templates.wrapped(short, f"step:{step}"))
        was_cut |= is_cut
    return texts, was_cut


def outside(scene: Scene) -> Mapping[str, JsonValue]:
    """What earlier steps gave, by their names; the last of them is the data of now."""
    found = {name: result.output for name, result in scene.steps.items() if result.output is not None}
    if scene.data is not None:
        found.setdefault(scene.data_from or "data", scene.data)
    return found


def repair(first: Wanted, answer: str, flaws: Sequence[Flaw]) -> Wanted:
    """Another call, which shows what was wrong with the answer."""
    wrong = "\n".join(f"- {flaw.text}" for flaw in flaws)
    text = (
        f"{first.user}\n\nYour last answer was:\n{answer}\n\nIt is wrong:\n{wrong}\n\nAnswer again, with this mended."
    )
    return Wanted(first.name, first.system, text, first.schema, first.temperature, first.max_tokens, first.role)
