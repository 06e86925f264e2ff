"""What pydantic found wrong → words, with the place in the file."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from rightseat.config.document import Document, Path, Place, Problem
from rightseat.parts import hint

_PYDANTICS = frozenset(get_args(ErrorType))  # any other type of an error is that of a check of ours
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
    type(None): "nothing",
}


def explain(error: ValidationError, options: type[BaseModel], document: Document, above: Path) -> Iterator[Problem]:
    """`above` is the path of the value that was validated, which the error knows nothing of."""
    for detail in error.errors(include_url=False):
        path = _known(document, above, detail["loc"], options)
        yield Problem(_place(detail, path, document), _words(detail, path, options, document, above))


def name(path: Path) -> str:
    """`agents.default.tools[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")


def nearest(document: Document, path: Path) -> Place:
    """Where the path stands, or what it would stand in."""
    while path and path not in document.keys and path not in document.values:
        path = path[:-1]
    return document.keys.get(path) or document.values.get(path) or Place(1, 1)


def _known(document: Document, above: Path, below: Path, options: type[BaseModel]) -> Path:
    """Without the steps that pydantic adds for the branches of a union. A key that is missing is kept."""
    known = above
    for step in below[:-1]:
        known = (*known, step) if (*known, step) in document.values else known
    whole = (*known, *below[-1:])
    if whole in document.values or not below or str(below[-1]) in keys(options, below[:-1]):
        return whole
    return known


def _place(detail: ErrorDetails, path: Path, document: Document) -> Place:
    if detail["type"] in ("extra_forbidden", "missing"):
        return nearest(document, path)
    return document.values.get(path) or nearest(document, path)


def _words(detail: ErrorDetails, path: Path, options: type[BaseModel], document: Document, above: Path) -> str:
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
    said = _plain(detail["msg"])
    if said.endswith(".") or _is_of_all(detail):
        return f"{where}: {said.rstrip('.')}."
    return f"{where}: {said}, not {_came(detail, path, options, document, above)}."


def _is_of_all(detail: ErrorDetails) -> bool:
    """Is it about several keys together? What came is then the mapping around them, which says nothing."""
    return isinstance(detail["input"], dict) and (detail["type"] == "value_error" or detail["type"] not in _PYDANTICS)


def _plain(said: str) -> str:
    """Pydantic's words, in those of a file: there are lists and mappings in it, and no classes."""
    said = said.removeprefix("Value error, ").replace("Input should", "should").partition(" or instance of ")[0]
    return said.replace("tuple", "list").replace("dictionary", "mapping")


def _came(detail: ErrorDetails, path: Path, options: type[BaseModel], document: Document, above: Path) -> str:
    """What stands in the file; of a secret, or of more than a word or two, only what kind of thing it is."""
    value = detail["input"]
    if path in document.written:
        return repr(document.written[path])
    is_short = isinstance(value, str | int | float) and len(repr(value)) <= 60
    if detail["type"].endswith("_type") or not is_short or _is_secret(options, path[len(above) :]):
        return _KINDS.get(type(value), "this")
    return repr(value)


def keys(options: type[BaseModel], path: Path) -> list[str]:
    """What may be said at `path` below the options: the fields of the options, or of a model among them."""
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
    """Is it the branch that `type: step` chooses?"""
    field = branch.model_fields.get("type")
    return field is not None and step in get_args(field.annotation)


def _is_secret(options: type[BaseModel], path: Path) -> bool:
    """Is a secret at `path` below the options, or what a secret stands in?"""
    for step in path:
        field = options.model_fields.get(str(step))
        if field is None:
            continue  # the number of an item, or the branch of a union
        kinds = _kinds(field.annotation)
        if SecretStr in kinds:
            return True
        options = next(filter(_is_model, kinds), options)
    return False


def _kinds(annotation: Any) -> list[Any]:
    """The types that an annotation is made of, itself first."""
    return [annotation, *(kind for inner in get_args(annotation) for kind in _kinds(inner))]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
