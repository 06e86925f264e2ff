"""`extract`: some values out of `data`, by their paths. No model is asked."""

from collections import Counter

from rightseat.core.values import JsonValue
from rightseat.plugins import foreign, paths
from rightseat.plugins.call_types import TEXTS, CallType, Plain
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
from rightseat.plugins.paths import BadPath, Missing, NotThere, Path
from rightseat.plugins.results import Result, StepFailed


async def perform(turn: Turn) -> Result:
    keys = turn.params.get("keys")
    texts = [str(key) for key in keys] if isinstance(keys, list) else []
    if "missing" in turn.params and turn.params["missing"] is None:
        missing: Missing = "null"  # YAML reads a bare `null` as nothing
    else:
        missing = read_missing(turn.params.get("missing", "error"))
    output = taken(source(turn.scene.data), texts, missing)
    return Result(output, f"{len(output)} of {len(texts)} values taken: {', '.join(output)}")


def read_missing(value: JsonValue) -> Missing:
    if value == "null":
        return "null"
    return "skip" if value == "skip" else "error"


def source(data: JsonValue) -> JsonValue:
    """A text is read as JSON, once."""
    if not isinstance(data, str):
        return data
    try:
        return foreign.read(data)
    except ValueError:
        return data


def taken(data: JsonValue, keys: list[str], missing: Missing) -> dict[str, JsonValue]:
    wanted = list(dict.fromkeys(keys))
    parsed = {key: parse(key) for key in wanted}
    names = Counter(last_name(path) for path in parsed.values())
    output: dict[str, JsonValue] = {}
    for key, path in parsed.items():
        name = last_name(path)
        label = name if names[name] == 1 else key
        try:
            output[label] = paths.find(data, path, missing)
        except NotThere as error:
            if missing == "error":
                raise StepFailed("extract_missing", str(error)) from error
            if missing == "null":
                output[label] = None
    return output


def parse(key: str) -> Path:
    try:
        return paths.parse(key)
    except BadPath as error:
        raise StepFailed("extract_missing", f"{key!r} is not a path: {error}") from error


def last_name(path: Path) -> str:
    """The last name of a path; a path of numbers alone is its own name."""
    named = [part.name for part in path if isinstance(part, paths.Key)]
    return named[-1] if named else paths.written(path)


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    keys = fields.node.get("keys")
    if keys is None or not isinstance(keys.value, list) or not keys.value:
        notes.add("E406", keys or fields.node, "`extract` needs `keys`, a list with at least one path.")
    for node in keys.elements() if keys else ():
        try:
            paths.parse(str(node.value))
        except BadPath as error:
            notes.add("E409", node, f"the path {str(node.value)[:100]!r} cannot be read: {error}")
    missing = fields.node.get("missing")
    if missing is not None and missing.value not in (None, "null", "skip", "error"):
        fields.wrong(missing, "`missing` should be one of: null, skip, error.")


def label(step: Step) -> str:
    keys = step.params.get("keys")
    return ", ".join(map(str, keys)) if isinstance(keys, list) else ""


CALL = CallType(
    runner=Plain(perform),
    summary="Takes values out of `data` by their paths.",
    params={
        "keys": {**TEXTS, "minItems": 1, "description": "Paths such as items[*].name."},
        "missing": {"enum": [None, "null", "skip", "error"]},
    },
    check=check_params,
    label=label,
)
