"""Builds the JSON Schema of the configuration file, with the options of every built-in part."""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel

from rightseat import parts
from rightseat.config.access import Access, FaceAccess
from rightseat.config.evals import EvalOptions
from rightseat.config.shape import DEFAULT_TYPES, ConfigFile, HookNames, PriceOptions, Server
from rightseat.config.telemetry import Telemetry
from rightseat.config.webhook import WebhookOptions
from rightseat.limits.options import LimitOptions
from rightseat.operations.memories import MemoryOptions
from rightseat.parts import PartKind

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FACE_ACCESS = (
    "Access to the face: `keys` requires a key, `open` allows every client. Default: `keys` if keys are configured."
)
VARIABLE = r"^\$\{.+\}$"


def build_schema() -> Schema:
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
        "prices": {"type": "object", "additionalProperties": _options(PriceOptions, "prices", definitions)},
        "currency": {"type": "string", "default": ConfigFile.model_fields["currency"].default},
        "limits": {"type": "array", "items": _options(LimitOptions, "limits", definitions)},
        "limits_reserve": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "limits_webhook": _options(WebhookOptions, "limits_webhook", definitions),
        "timezone": {"type": "string", "default": ConfigFile.model_fields["timezone"].default},
        "memory": _options(MemoryOptions, "memory", definitions),
        "evals": _options(EvalOptions, "evals", definitions),
    }
    texts = descriptions(ConfigFile)
    return {
        "$schema": DIALECT,
        "title": "rightseat.yaml",
        "type": ["object", "null"],
        "properties": {key: {"description": texts[key]} | section for key, section in sections.items()},
        "additionalProperties": False,
        "$defs": definitions,
    }


def descriptions(options: type[BaseModel]) -> dict[str, str]:
    """The docstring below each field in the source, including those of base classes."""
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


def _one_of(kind: PartKind, definitions: Schema) -> Schema:
    """A built-in part, or a third-party one with unknown options."""
    built_in = [_part(kind, name, definitions) for name in parts.builtin(kind)]
    required = [] if kind in DEFAULT_TYPES else ["type"]
    other = {"type": "string", "not": {"enum": parts.builtin(kind)}}
    return {
        "anyOf": [*built_in, {"type": "object", "properties": {"type": other}, "required": ["type"]}],
        "required": required,
    }


def _part(kind: PartKind, name: str, definitions: Schema) -> Schema:
    key = f"{kind}.{name}"
    _options(parts.options(parts.find(kind, name)), key, definitions)
    definition = definitions[key]
    shared: Schema = {"type": {"const": name}}
    if kind == "faces":
        shared["access"] = {"enum": list(get_args(FaceAccess)), "description": FACE_ACCESS}
    definition["properties"] = {**shared, **definition.get("properties", {})}
    if DEFAULT_TYPES.get(kind) != name:
        definition["required"] = ["type", *definition.get("required", ())]
    return {"$ref": f"#/$defs/{key}"}


def _options(options: type[BaseModel], key: str, definitions: Schema) -> Schema:
    schema = options.model_json_schema(ref_template=f"#/$defs/{key}.{{model}}")
    for name, inner in schema.pop("$defs", {}).items():
        definitions[f"{key}.{name}"] = _with_variables(inner)
    texts = descriptions(options)
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        field |= {"description": texts[name]} if name in texts else {}
    definitions[key] = _with_variables({**schema, "title": key})
    return {"$ref": f"#/$defs/{key}"}


def _with_variables(schema: Any) -> Any:
    """Allow a `${VARIABLE}` for numbers and booleans."""
    if isinstance(schema, list):
        return [_with_variables(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_variables(value) for key, value in schema.items()}
    if changed.get("type") in ("integer", "number", "boolean"):
        changed |= {"type": [changed["type"], "string"], "pattern": VARIABLE}
    return changed
