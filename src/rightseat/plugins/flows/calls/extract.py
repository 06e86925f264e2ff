"""`extract`: takes values out of `data` by their paths, without a model."""

from collections import Counter

from rightseat.core.types import JsonValue
from rightseat.plugins import external_json
from rightseat.plugins.call_types import TEXTS, CallType, StepCall
from rightseat.plugins.definition import Step
from rightseat.plugins.expressions import paths
from rightseat.plugins.expressions.paths import InvalidPath, Missing, PathNotFound, ValuePath
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.results import StepFailed, StepResult


async def perform(context: StepContext) -> StepResult:
    keys = context.params.get("keys")
    texts = [str(key) for key in keys] if isinstance(keys, list) else []
    if "missing" in context.params and context.params["missing"] is None:
        missing: Missing = "null"  # YAML parses a bare `null` as None
    else:
        missing = read_missing(context.params.get("missing", "error"))
    output = extract_values(parse_json(context.scope.data), texts, missing)
    return StepResult(output, f"{len(output)} of {len(texts)} values extracted: {', '.join(output)}")


def read_missing(value: JsonValue) -> Missing:
    if value == "null":
        return "null"
    return "skip" if value == "skip" else "error"


def parse_json(data: JsonValue) -> JsonValue:
    """Parse a text as JSON; return it unchanged if it is none."""
    if not isinstance(data, str):
        return data
    try:
        return external_json.parse(data)
    except ValueError:
        return data


def extract_values(data: JsonValue, keys: list[str], missing: Missing) -> dict[str, JsonValue]:
    parsed = {key: parse_path(key) for key in dict.fromkeys(keys)}
    names = Counter(last_name(path) for path in parsed.values())
    output: dict[str, JsonValue] = {}
    for key, path in parsed.items():
        name = last_name(path)
        label = name if names[name] == 1 else key
        try:
            output[label] = paths.find(data, path, missing)
        except PathNotFound as error:
            if missing == "error":
                raise StepFailed("extract_missing", str(error)) from error
            if missing == "null":
                output[label] = None
    return output


def parse_path(key: str) -> ValuePath:
    try:
        return paths.parse(key)
    except InvalidPath as error:
        raise StepFailed("extract_missing", f"{key!r} is not a path: {error}") from error


def last_name(path: ValuePath) -> str:
    """The last key of a path; a path of indexes only is its own name."""
    named = [part.name for part in path if isinstance(part, paths.KeyPart)]
    return named[-1] if named else paths.format_path(path)


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    keys = fields.node.get("keys")
    if keys is None or not isinstance(keys.value, list) or not keys.value:
        report.add("E406", keys or fields.node, "`extract` needs `keys`, a list with at least one path.")
    for node in keys.elements() if keys else ():
        try:
            paths.parse(str(node.value))
        except InvalidPath as error:
            report.add("E409", node, f"the path {str(node.value)[:100]!r} cannot be read: {error}")
    missing = fields.node.get("missing")
    if missing is not None and missing.value not in (None, "null", "skip", "error"):
        fields.report_error(missing, "`missing` should be one of: null, skip, error.")


def label(step: Step) -> str:
    keys = step.params.get("keys")
    return ", ".join(map(str, keys)) if isinstance(keys, list) else ""


CALL = CallType(
    runner=StepCall(perform),
    calls_models_only=True,
    summary="Takes values out of `data` by their paths.",
    params={
        "keys": {**TEXTS, "minItems": 1, "description": "Paths such as items[*].name."},
        "missing": {"enum": [None, "null", "skip", "error"]},
    },
    check=check_params,
    label=label,
)
