"""Fills the arguments of an operation from fixed values, a person's entries, a model and defaults.

    filled = await fill_operation(plugin, operation, step.args, scope, model, name=step.name)

The model is called once, and up to twice more with its mistakes. The caller asks a person for arguments that are still
missing: `FilledSlots.missing` is their schema, and `fill_operation(…, form_values=entries, previous=filled)` continues.
"""

from collections.abc import Mapping, Sequence

import msgspec

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.model_calls import ModelCaller, ModelRequest, ModelResponse
from rightseat.plugins.operations.validation import SchemaViolation, find_violations
from rightseat.plugins.results import StepUsage, ValueOrigin
from rightseat.plugins.scope import Scope, Upload
from rightseat.plugins.slots import prompts
from rightseat.plugins.slots.form import SlotForm, convert_values, find_constants, form_of_operation, form_of_schema
from rightseat.plugins.slots.provenance import ValueSources, is_example

MAX_REPAIRS = 2


class FilledSlots(msgspec.Struct, frozen=True, omit_defaults=True):
    """`missing` is the schema of the arguments that a person must give, None if complete; `problems` are by name.

    `files` are the files that the arguments refer to, by the label used there.
    """

    arguments: dict[str, JsonValue]
    origins: dict[str, ValueOrigin]
    missing: dict[str, JsonValue] | None = None
    problems: dict[str, str] = {}
    files: dict[str, Upload] = {}
    usage: StepUsage = StepUsage()


async def fill_operation(
    plugin: Plugin,
    operation: Operation,
    args: Mapping[str, JsonValue],
    scope: Scope,
    model: ModelCaller,
    *,
    name: str = "",
    form_values: Mapping[str, JsonValue] | None = None,
    previous: FilledSlots | None = None,
) -> FilledSlots:
    """Raises `StepFailed`: the model call fails, or `args` has a name that the operation does not take."""
    form = form_of_operation(plugin, operation, scope)
    filler = _SlotFiller(form, scope, name or operation.name, describe(operation))
    return await filler.run(args, form_values or {}, previous, model)


def describe(operation: Operation) -> str:
    if not operation.request_description:
        return operation.description
    return f"{operation.description}\nIts request body: {operation.request_description}".strip()


async def fill_schema(
    schema: Schema,
    args: Mapping[str, JsonValue],
    scope: Scope,
    model: ModelCaller,
    *,
    name: str,
    description: str = "",
    form_values: Mapping[str, JsonValue] | None = None,
    previous: FilledSlots | None = None,
) -> FilledSlots:
    """Fill the arguments of anything that describes them in one object schema."""
    filler = _SlotFiller(form_of_schema(schema), scope, name, description)
    return await filler.run(args, form_values or {}, previous, model)


def check_arguments(
    plugin: Plugin, operation: Operation, arguments: Mapping[str, JsonValue], scope: Scope
) -> dict[str, str]:
    """Return the problems of edited arguments, by name."""
    return group_by_name(find_violations(form_of_operation(plugin, operation, scope).schema, dict(arguments)))


class _SlotFiller:
    """Fills the slots of one call."""

    def __init__(self, form: SlotForm, scope: Scope, name: str, description: str) -> None:
        self._form = form
        self._scope = scope
        self._name = name
        self._description = description
        self._sources = ValueSources.from_scope(scope, form.files)
        self._values: dict[str, JsonValue] = {}
        self._origins: dict[str, ValueOrigin] = {}
        self._usage = StepUsage()

    async def run(
        self,
        args: Mapping[str, JsonValue],
        form_values: Mapping[str, JsonValue],
        previous: FilledSlots | None,
        model: ModelCaller,
    ) -> FilledSlots:
        if previous is not None and (unknown := sorted(form_values.keys() - self._form.properties.keys())):
            return self._refuse(previous, unknown)
        if previous is not None:
            self._values |= previous.arguments
            self._origins |= previous.origins
        self._set(find_constants(self._form), "default")
        self._set(convert_values(self._form, form_values, self._name), "user")
        overridden = form_values.keys() & missing_names(previous)
        fixed = {name: value for name, value in args.items() if name not in overridden}
        self._set(convert_values(self._form, fixed, self._name), "args")
        open_names = [] if previous is not None else self._open_names()
        problems = await self._ask_model(open_names, model) if open_names else []
        self._set(self._defaults(), "default")
        return self._build([*problems, *self._problems()])

    def _refuse(self, previous: FilledSlots, unknown: Sequence[str]) -> FilledSlots:
        """Entries in unknown fields: none of the form is used, and the question is repeated."""
        fields = ", ".join(name for name in self._form.properties if name not in self._form.hidden)
        problems = {name: text for name, text in previous.problems.items() if not name or name in self._form.properties}
        problems |= {name: f"there is no field {name!r}; the fields are: {fields}" for name in unknown}
        return msgspec.structs.replace(previous, problems=problems, usage=StepUsage())

    def _set(self, values: Mapping[str, JsonValue], origin: ValueOrigin) -> None:
        for name, value in values.items():
            self._values[name] = value
            self._origins[name] = origin

    def _open_names(self) -> list[str]:
        """Names for the model to fill: not those with a value, hidden ones, or files if the conversation has none."""
        closed = set(self._values) | self._form.hidden | (set() if self._form.files else self._form.file_fields)
        return [name for name in self._form.properties if name not in closed]

    async def _ask_model(self, names: Sequence[str], model: ModelCaller) -> list[SchemaViolation]:
        """Call the model, then again with its mistakes. Values that stay wrong are dropped and returned as problems."""
        fixed = dict(self._values)
        schema = prompts.build_schema(self._form, names)
        first = prompts.build_request(self._name, self._description, schema, self._scope)
        request, problems = first, list[SchemaViolation]()
        for _ in range(1 + MAX_REPAIRS):
            response = await self._call(request, model)
            self._values = dict(fixed)
            problems = self._read_values(response, names)
            if not problems:
                break
            request = prompts.build_repair(first, response.text, problems)
        invalid = [flaw for flaw in problems if flaw.path and str(flaw.path[0]) in self._values]
        for name in {str(flaw.path[0]) for flaw in invalid}:
            self._values.pop(name, None)
        return invalid

    async def _call(self, request: ModelRequest, model: ModelCaller) -> ModelResponse:
        response = await model.call(request)
        self._usage = StepUsage(
            self._usage.input_tokens + response.usage.input_tokens,
            self._usage.output_tokens + response.usage.output_tokens,
            self._usage.milliseconds + response.usage.milliseconds,
        )
        return response

    def _read_values(self, response: ModelResponse, names: Sequence[str]) -> list[SchemaViolation]:
        """Set the values and return their problems. Null means that the model found no value, which is no mistake."""
        try:
            values = response.value()
        except ValueError:
            return [SchemaViolation((), "the answer is not JSON")]
        if not isinstance(values, dict):
            return [SchemaViolation((), "the answer is not a JSON object")]
        for name in names:
            value = values.get(name)
            if value is None or (is_example(self._form.property_schema(name), value) and not self._sources.has(value)):
                continue
            self._values[name] = value
            self._origins[name] = self._origin(name, value)
        self._set_nulls(values, names)
        not_found = {name for name in names if name in values and name not in self._values}
        return [flaw for flaw in self._problems() if is_repairable(flaw, names, not_found)]

    def _set_nulls(self, values: Mapping[str, JsonValue], names: Sequence[str]) -> None:
        """Keep null for a required value whose schema allows it."""
        for name in names:
            is_null = name in values and values[name] is None and name in self._form.required
            if is_null and allows_null(self._form.property_schema(name), self._form.schema.get("$defs")):
                self._values[name] = None
                self._origins[name] = "ungrounded"

    def _origin(self, name: str, value: JsonValue) -> ValueOrigin:
        found = self._sources.origin(value)
        schema = self._form.property_schema(name)
        if found == "ungrounded" and "default" in schema and schema["default"] == value:
            return "default"
        return found

    def _defaults(self) -> dict[str, JsonValue]:
        """Defaults of unset values. Hidden ones are set only if required; those of an unused optional body never."""
        form = self._form
        shown = [name for name in form.properties if name not in form.hidden or name in form.required]
        is_body_used = bool(form.optional_body & set(self._values))
        skipped = set(self._values) if is_body_used else set(self._values) | form.optional_body
        schemas = {name: form.property_schema(name) for name in shown if name not in skipped}
        return {name: schema["default"] for name, schema in schemas.items() if "default" in schema}

    def _problems(self) -> list[SchemaViolation]:
        return find_violations(self._form.schema, self._values | self._defaults())

    def _build(self, found: Sequence[SchemaViolation]) -> FilledSlots:
        problems = group_by_name(found)
        values = {name: value for name, value in self._values.items() if name not in problems}
        used = [label for name in self._form.file_fields for label in read_labels(values.get(name))]
        return FilledSlots(
            values,
            {name: self._origins[name] for name in values},
            build_missing_schema(self._form, problems) if problems else None,
            problems,
            {label: self._form.files[label] for label in used if label in self._form.files},
            self._usage,
        )


def missing_names(previous: FilledSlots | None) -> set[str]:
    """The arguments that the last question asked for: only these may override fixed values of the flow."""
    properties = (previous.missing or {}).get("properties") if previous is not None else None
    return set(properties) if isinstance(properties, dict) else set()


def is_repairable(flaw: SchemaViolation, names: Sequence[str], not_found: set[str]) -> bool:
    """Can the model repair it? Not if the value is fixed, or if the model reported that it found none."""
    name = str(flaw.path[0]) if flaw.path else ""
    return name in names and name not in not_found if name else True


def allows_null(schema: Schema, defs: JsonValue) -> bool:
    return not find_violations({**schema, "$defs": defs} if defs else schema, None)


def group_by_name(found: Sequence[SchemaViolation]) -> dict[str, str]:
    """The first problem of each argument; the name is empty for a problem of all arguments together."""
    problems: dict[str, str] = {}
    for flaw in found:
        problems.setdefault(str(flaw.path[0]) if flaw.path else "", flaw.text)
    return problems


def build_missing_schema(form: SlotForm, problems: Mapping[str, str]) -> dict[str, JsonValue]:
    """The schema of the arguments to ask for; all of them if a problem concerns them together."""
    names = [name for name in form.properties if name in problems or "" in problems]
    required: list[JsonValue] = [name for name in names if name in form.required or name in problems]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {name: form.property_schema(name) for name in names},
        "required": required,
        "additionalProperties": False,
    }
    return schema | ({"$defs": form.schema["$defs"]} if "$defs" in form.schema else {})


def read_labels(value: JsonValue) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [label for label in values if isinstance(label, str)]
