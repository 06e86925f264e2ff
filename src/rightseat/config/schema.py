"""The configuration file as JSON Schema, for editors: the top of the file, and the options of every part of ours."""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel

from rightseat import parts
from rightseat.config.access import Access, FaceAccess
from rightseat.config.shape import DEFAULT_TYPES, File, HookNames, Server
from rightseat.config.telemetry import Telemetry
from rightseat.parts import Kind

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FACE_ACCESS = "Who may use it: `keys` for who has one, `open` for anyone. Left out: `keys` where there are any."
VARIABLE = r"^\$\{.+\}$"


def whole() -> Schema:
    definitions: Schema = {}
    sections: dict[str, Schema] = {
        "models": {"type": "object", "additionalProperties": _one_of("models", definitions)},
        "toolboxes": {"type": "object", "additionalProperties": _one_of("toolboxes", definitions)},
        "agents": {"type": "object", "additionalProperties": _one_of("agents", definitions)},
        "guards": {"type": "array", "items": _one_of("guards", definitions)},
        "faces": {"type": "array", "items": _one_of("faces", definitions)},
        "server": _options(Server, "server", definitions),
        "access": _options(Access, "access", definitions),
        "log": _one_of("logs", definitions),
        "threads": _one_of("stores", definitions),
        "engine": _one_of("engines", definitions),
        "telemetry": _options(Telemetry, "telemetry", definitions),
        "hooks": _options(HookNames, "hooks", definitions),
    }
    said = descriptions(File)
    return {
        "$schema": DIALECT,
        "title": "rightseat.yaml",
        "type": ["object", "null"],
        "properties": {key: {"description": said[key]} | section for key, section in sections.items()},
        "additionalProperties": False,
        "$defs": definitions,
    }


def descriptions(options: type[BaseModel]) -> dict[str, str]:
    """What the source says about each field: the string below it. Options may be made from those of another class."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(options))).body
    found: dict[str, str] = {}
    for base in options.__bases__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= descriptions(base)
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for field, below in pairwise(statements):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[field.target.id] = inspect.cleandoc(text).replace("\n", " ")
    return found


def _one_of(kind: Kind, definitions: Schema) -> Schema:
    """One of our parts, or somebody else's, of which nothing is known here."""
    ours = [_part(kind, name, definitions) for name in parts.builtin(kind)]
    required = [] if kind in DEFAULT_TYPES else ["type"]
    other = {"type": "string", "not": {"enum": parts.builtin(kind)}}
    return {
        "anyOf": [*ours, {"type": "object", "properties": {"type": other}, "required": ["type"]}],
        "required": required,
    }


def _part(kind: Kind, name: str, definitions: Schema) -> Schema:
    key = f"{kind}.{name}"
    _options(parts.options(parts.find(kind, name)), key, definitions)
    definition = definitions[key]
    everywhere: Schema = {"type": {"const": name}}
    if kind == "faces":
        everywhere["access"] = {"enum": list(get_args(FaceAccess)), "description": FACE_ACCESS}
    definition["properties"] = {**everywhere, **definition.get("properties", {})}
    if DEFAULT_TYPES.get(kind) != name:
        definition["required"] = ["type", *definition.get("required", ())]
    return {"$ref": f"#/$defs/{key}"}


def _options(options: type[BaseModel], key: str, definitions: Schema) -> Schema:
    schema = options.model_json_schema(ref_template=f"#/$defs/{key}.{{model}}")
    for name, inner in schema.pop("$defs", {}).items():
        definitions[f"{key}.{name}"] = _with_variables(inner)
    said = descriptions(options)
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        field |= {"description": said[name]} if name in said else {}
    definitions[key] = _with_variables({**schema, "title": key})
    return {"$ref": f"#/$defs/{key}"}


def _with_variables(schema: Any) -> Any:
    """Where a number or a yes stands, a `${VARIABLE}` may stand too."""
    if isinstance(schema, list):
        return [_with_variables(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_variables(value) for key, value in schema.items()}
    if changed.get("type") in ("integer", "number", "boolean"):
        changed |= {"type": [changed["type"], "string"], "pattern": VARIABLE}
    return changed
