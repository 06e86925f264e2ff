"""Fills the slots of an operation: what is fixed, what a person gave, what a model finds, what is left as default.

    filled = await fill(plugin, operation, step.args, scene, speaker, name=step.name)

A model is asked once, and up to twice more with what was wrong. What is missing even then is the caller's to ask for:
`Filled.missing` is the schema of it, and `fill(…, given=answers, earlier=filled)` goes on from there.
"""

from collections.abc import Mapping, Sequence

import msgspec

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.operations.checking import Flaw, flaws
from rightseat.plugins.results import Origin, Usage
from rightseat.plugins.scene import Scene, Upload
from rightseat.plugins.slots import asking
from rightseat.plugins.slots.form import Form, determined, fitted, form_of, of_schema
from rightseat.plugins.slots.grounding import Sources, is_example
from rightseat.plugins.speaking import Said, Speaker, Wanted

REPAIRS = 2


class Filled(msgspec.Struct, frozen=True, omit_defaults=True):
    """`missing` is the schema of what a person must give, None where nothing is missing; `problems` say what is wrong.

    `files` are the files that the arguments name, by the names that they use.
    """

    arguments: dict[str, JsonValue]
    origins: dict[str, Origin]
    missing: dict[str, JsonValue] | None = None
    problems: dict[str, str] = {}
    files: dict[str, Upload] = {}
    usage: Usage = Usage()


async def fill(
    plugin: Plugin,
    operation: Operation,
    args: Mapping[str, JsonValue],
    scene: Scene,
    speaker: Speaker,
    *,
    name: str = "",
    given: Mapping[str, JsonValue] | None = None,
    earlier: Filled | None = None,
) -> Filled:
    """Raises `StepFailed`: the model's server fails, or `args` names what the operation does not take."""
    form = form_of(plugin, operation, scene)
    filling = _Filling(form, scene, name or operation.name, described(operation))
    return await filling.run(args, given or {}, earlier, speaker)


def described(operation: Operation) -> str:
    if not operation.request_description:
        return operation.description
    return f"{operation.description}\nIts request body: {operation.request_description}".strip()


async def complete(
    schema: Schema,
    args: Mapping[str, JsonValue],
    scene: Scene,
    speaker: Speaker,
    *,
    name: str,
    description: str = "",
    given: Mapping[str, JsonValue] | None = None,
    earlier: Filled | None = None,
) -> Filled:
    """The same, for anything that says in one object schema what it takes."""
    return await _Filling(of_schema(schema), scene, name, description).run(args, given or {}, earlier, speaker)


def check(plugin: Plugin, operation: Operation, arguments: Mapping[str, JsonValue], scene: Scene) -> dict[str, str]:
    """What is wrong with arguments that somebody has changed, by their names."""
    return by_name(flaws(form_of(plugin, operation, scene).schema, dict(arguments)))


class _Filling:
    """One run through the slots of one call."""

    def __init__(self, form: Form, scene: Scene, name: str, description: str) -> None:
        self._form = form
        self._scene = scene
        self._name = name
        self._description = description
        self._sources = Sources.of(scene, form.files)
        self._values: dict[str, JsonValue] = {}
        self._origins: dict[str, Origin] = {}
        self._usage = Usage()

    async def run(
        self, args: Mapping[str, JsonValue], given: Mapping[str, JsonValue], earlier: Filled | None, speaker: Speaker
    ) -> Filled:
        if earlier is not None and (strange := sorted(given.keys() - self._form.properties.keys())):
            return self._refused(earlier, strange)
        if earlier is not None:
            self._values |= earlier.arguments
            self._origins |= earlier.origins
        self._set(determined(self._form), "default")
        self._set(fitted(self._form, given, self._name), "user")
        asked = given.keys() & asked_for(earlier)
        self._set(fitted(self._form, {name: args[name] for name in args if name not in asked}, self._name), "args")
        left = [] if earlier is not None else self._open()
        wrong = await self._ask(left, speaker) if left else []
        self._set(self._defaults(), "default")
        return self._filled([*wrong, *self._flaws()])

    def _refused(self, earlier: Filled, strange: Sequence[str]) -> Filled:
        """What a person typed into fields that there are not: nothing of it is taken, and the same is asked again."""
        known = ", ".join(name for name in self._form.properties if name not in self._form.hidden)
        wrong = {name: f"there is no field {name!r}; the fields are: {known}" for name in strange}
        asked = {name: text for name, text in earlier.problems.items() if not name or name in self._form.properties}
        return msgspec.structs.replace(earlier, problems=asked | wrong, usage=Usage())

    def _set(self, values: Mapping[str, JsonValue], origin: Origin) -> None:
        for name, value in values.items():
            self._values[name] = value
            self._origins[name] = origin

    def _open(self) -> list[str]:
        """What a model is asked for: not what is known, hidden, or a file where the conversation has none."""
        closed = set(self._values) | self._form.hidden | (set() if self._form.files else self._form.file_fields)
        return [name for name in self._form.properties if name not in closed]

    async def _ask(self, names: Sequence[str], speaker: Speaker) -> list[Flaw]:
        """Ask once, and again with what was wrong. What is still wrong is left out of the values, and told."""
        fixed = dict(self._values)
        first = asking.question(self._name, self._description, asking.asked(self._form, names), self._scene)
        wanted, wrong = first, list[Flaw]()
        for _ in range(1 + REPAIRS):
            said = await self._say(wanted, speaker)
            self._values = dict(fixed)
            wrong = self._take(said, names)
            if not wrong:
                break
            wanted = asking.repair(first, said.text, wrong)
        left = [flaw for flaw in wrong if flaw.path and str(flaw.path[0]) in self._values]
        for name in of(left):
            self._values.pop(name, None)
        return left

    async def _say(self, wanted: Wanted, speaker: Speaker) -> Said:
        said = await speaker.say(wanted)
        self._usage = Usage(
            self._usage.input_tokens + said.usage.input_tokens,
            self._usage.output_tokens + said.usage.output_tokens,
            self._usage.milliseconds + said.usage.milliseconds,
        )
        return said

    def _take(self, said: Said, names: Sequence[str]) -> list[Flaw]:
        """Take what fits, and say what does not. A value that is null was not said, which is no mistake."""
        try:
            answer = said.value()
        except ValueError:
            return [Flaw((), "the answer is no JSON")]
        if not isinstance(answer, dict):
            return [Flaw((), "the answer is no JSON object")]
        for name in names:
            value = answer.get(name)
            if value is None or (is_example(self._form.of(name), value) and not self._sources.has(value)):
                continue
            self._values[name] = value
            self._origins[name] = self._origin(name, value)
        self._keep_null(answer, names)
        unknown = {name for name in names if name in answer and name not in self._values}
        return [flaw for flaw in self._flaws() if is_mistake(flaw, names, unknown)]

    def _keep_null(self, answer: Mapping[str, JsonValue], names: Sequence[str]) -> None:
        """A required value may be null where its own schema says so."""
        for name in names:
            is_said = name in answer and answer[name] is None and name in self._form.required
            if is_said and allows_null(self._form.of(name), self._form.schema.get("$defs")):
                self._values[name] = None
                self._origins[name] = "ungrounded"

    def _origin(self, name: str, value: JsonValue) -> Origin:
        found = self._sources.origin(value)
        schema = self._form.of(name)
        if found == "ungrounded" and "default" in schema and schema["default"] == value:
            return "default"
        return found

    def _defaults(self) -> dict[str, JsonValue]:
        """Of what has no value yet. What is hidden is left out, unless it must be there."""
        shown = [name for name in self._form.properties if name not in self._form.hidden or name in self._form.required]
        unsaid = set(self._values) if self._form.loose & set(self._values) else set(self._values) | self._form.loose
        schemas = {name: self._form.of(name) for name in shown if name not in unsaid}
        return {name: schema["default"] for name, schema in schemas.items() if "default" in schema}

    def _flaws(self) -> list[Flaw]:
        return flaws(self._form.schema, self._values | self._defaults())

    def _filled(self, wrong: Sequence[Flaw]) -> Filled:
        problems = by_name(wrong)
        values = {name: value for name, value in self._values.items() if name not in problems}
        used = [label for name in self._form.file_fields for label in labels(values.get(name))]
        return Filled(
            values,
            {name: self._origins[name] for name in values},
            missing_part(self._form, problems) if problems else None,
            problems,
            {label: self._form.files[label] for label in used if label in self._form.files},
            self._usage,
        )


def asked_for(earlier: Filled | None) -> set[str]:
    """What a person was asked for. Nobody else's word goes above what the flow fixes."""
    properties = (earlier.missing or {}).get("properties") if earlier is not None else None
    return set(properties) if isinstance(properties, dict) else set()


def is_mistake(flaw: Flaw, names: Sequence[str], excused: set[str]) -> bool:
    """Can the model mend it? Not what is fixed, and not what it says that it does not know."""
    name = str(flaw.path[0]) if flaw.path else ""
    return name in names and name not in excused if name else True


def of(flaws: Sequence[Flaw]) -> set[str]:
    return {str(flaw.path[0]) for flaw in flaws}


def allows_null(schema: Schema, defs: JsonValue) -> bool:
    return not flaws({**schema, "$defs": defs} if defs else schema, None)


def by_name(flaws: Sequence[Flaw]) -> dict[str, str]:
    """The first problem of each value; the name is empty for one of the whole."""
    found: dict[str, str] = {}
    for flaw in flaws:
        found.setdefault(str(flaw.path[0]) if flaw.path else "", flaw.text)
    return found


def missing_part(form: Form, problems: Mapping[str, str]) -> dict[str, JsonValue]:
    """The schema of what a person must give; of all, where something is wrong with the whole."""
    names = [name for name in form.properties if name in problems or "" in problems]
    required: list[JsonValue] = [name for name in names if name in form.required or name in problems]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {name: form.of(name) for name in names},
        "required": required,
        "additionalProperties": False,
    }
    return schema | ({"$defs": form.schema["$defs"]} if "$defs" in form.schema else {})


def labels(value: JsonValue) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [label for label in found if isinstance(label, str)]
