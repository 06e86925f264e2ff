"""Turns pydantic's validation errors into messages with a position in the file."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from rightseat.config.document import ARGUMENT, KeyPath, Place, Problem, YamlDocument
from rightseat.parts import hint

_PYDANTIC_TYPES = frozenset(get_args(ErrorType))  # any other error type comes from a check of our own
_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
    type(None): "nothing",
}


def explain(
    error: ValidationError, options: type[BaseModel], document: YamlDocument, above: KeyPath
) -> Iterator[Problem]:
    """`above` is the path of the validated value, which the error does not contain."""
    for detail in error.errors(include_url=False):
        path = _document_path(document, above, detail["loc"], options)
        yield Problem(_place(detail, path, document), _message(detail, path, options, document, above))


def name(path: KeyPath) -> str:
    """`agents.default.tools[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")


def nearest(document: YamlDocument, path: KeyPath) -> Place:
    """The position of the path, or of its nearest existing parent."""
    if path and path[0] in document.arguments:
        return ARGUMENT
    while path and path not in document.keys and path not in document.values:
        path = path[:-1]
    return document.keys.get(path) or document.values.get(path) or Place(1, 1)


def _document_path(document: YamlDocument, above: KeyPath, below: KeyPath, options: type[BaseModel]) -> KeyPath:
    """The path without the steps that pydantic adds for branches of a union. A missing key is kept."""
    known = above
    for step in below[:-1]:
        known = (*known, step) if (*known, step) in document.values else known
    full = (*known, *below[-1:])
    if full in document.values or not below or str(below[-1]) in keys(options, below[:-1]):
        return full
    return known


def _place(detail: ErrorDetails, path: KeyPath, document: YamlDocument) -> Place:
    if detail["type"] in ("extra_forbidden", "missing"):
        return nearest(document, path)
    return document.values.get(path) or nearest(document, path)


def _message(
    detail: ErrorDetails, path: KeyPath, options: type[BaseModel], document: YamlDocument, above: KeyPath
) -> str:
    where = name(path)
    match detail["type"]:
        case "extra_forbidden":
            known = keys(options, detail["loc"][:-1])
            return f"{where}: unknown key.{hint(str(path[-1]), known)} Known: {', '.join(known)}."
        case "missing":
            return f"{where} is missing."
        case "union_tag_invalid":
            context = detail["ctx"]
            return f"{where}.type: should be {context['expected_tags']}, not {context['tag']!r}."
        case "unknown_name" | "bad_reference" | "access":
            return f"{where}: {detail['msg']}"
    message = _simplify(detail["msg"])
    if message.endswith(".") or _concerns_several_keys(detail):
        return f"{where}: {message.rstrip('.')}."
    return f"{where}: {message}, not {_format_input(detail, path, options, document, above)}."


def _concerns_several_keys(detail: ErrorDetails) -> bool:
    """Whether the input is the mapping around several keys, which is no use in a message."""
    return isinstance(detail["input"], dict) and (
        detail["type"] == "value_error" or detail["type"] not in _PYDANTIC_TYPES
    )


def _simplify(message: str) -> str:
    """Pydantic's message in the terms of YAML: lists and mappings instead of Python types."""
    message = message.removeprefix("Value error, ").replace("Input should", "should").partition(" or instance of ")[0]
    return message.replace("tuple", "list").replace("dictionary", "mapping")


def _format_input(
    detail: ErrorDetails, path: KeyPath, options: type[BaseModel], document: YamlDocument, above: KeyPath
) -> str:
    """The value in the file; for a secret or a long value only its type."""
    value = detail["input"]
    if path in document.written:
        return repr(document.written[path])
    is_short = isinstance(value, str | int | float) and len(repr(value)) <= 60
    if detail["type"].endswith("_type") or not is_short or _is_secret(options, path[len(above) :]):
        return _TYPE_NAMES.get(type(value), "this")
    return repr(value)


def keys(options: type[BaseModel], path: KeyPath) -> list[str]:
    """The allowed keys at `path` below the options: the fields of the options or of a nested model."""
    branches: list[type[BaseModel]] = []
    for step in path:
        inner = options.model_fields.get(str(step))
        if inner is not None:
            branches = [kind for kind in _kinds(inner.annotation) if _is_model(kind)]
            options = branches[0] if branches else options
        else:
            options = next((branch for branch in branches if _is_of_type(branch, step)), options)
    return sorted(options.model_fields)


def _is_of_type(branch: type[BaseModel], step: object) -> bool:
    """Whether `type: step` selects this branch of a union, or the step is the branch's name."""
    field = branch.model_fields.get("type")
    return step == branch.__name__ or (field is not None and step in get_args(field.annotation))


def _is_secret(options: type[BaseModel], path: KeyPath) -> bool:
    """Whether there is a secret at `path` below the options, or inside of it."""
    for step in path:
        field = options.model_fields.get(str(step))
        if field is None:
            continue  # the index of an item, or the branch of a union
        kinds = _kinds(field.annotation)
        if SecretStr in kinds:
            return True
        options = next(filter(_is_model, kinds), options)
    return False


def _kinds(annotation: Any) -> list[Any]:
    """The types in an annotation, itself first."""
    return [annotation, *(kind for inner in get_args(annotation) for kind in _kinds(inner))]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
