"""plugin.json and flow files as JSON Schema, for editors. They hold less than `loading` does, and nothing else."""

from typing import Any

from rightseat.plugins.charts.kinds import KINDS, SCALES
from rightseat.plugins.definition import BUILT_IN
from rightseat.plugins.loading import auth, flows, metadata, params, steps

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0}
_NAME: Schema = {"type": "string", "pattern": f"^{steps.NAME}$"}
_DESCRIPTION: Schema = {"type": "string", "minLength": 1, "maxLength": metadata.MOST_DESCRIPTION}

_PARAMS: dict[str, Schema] = {
    "endpoint": {**_TEXT, "description": "`METHOD /path` as in openapi.yaml, or an operationId."},
    "raw": {"type": "boolean", "description": "Do not mark data from outside as data."},
    "system_prompt": {**_TEXT, "description": "A template: {question}, {data}, {context} …"},
    "user_prompt": {**_TEXT, "description": "A template: {question}, {data}, {context} …"},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "max_tokens": {"type": "integer", "minimum": 1},
    "output_schema": {"type": "object", "description": "JSON Schema of the answer, which is read as JSON then."},
    "model": {**_TEXT, "description": "One of the operator's models, by its role."},
    "instruction": {**_TEXT, "description": "What is to be decided."},
    "votes": {"enum": [1, 3, 5]},
    "default": {**_TEXT, "description": "The step that is taken where nothing can be decided."},
    "choices": {
        "type": "array",
        "minItems": params.CHOICES[0],
        "maxItems": params.CHOICES[1],
        "items": {
            "type": "object",
            "required": ["step", "description"],
            "properties": {"step": _TEXT, "description": _TEXT, "when": _TEXT},
            "additionalProperties": False,
        },
    },
    "database": {**_TEXT, "description": "One of `databases` of plugin.json."},
    "max_rows": {"type": "integer", "minimum": 1},
    "timeout": _SECONDS,
    "type": {"enum": list(KINDS)},
    "x": _TEXT,
    "y": {"anyOf": [_TEXT, _TEXTS]},
    "stack": {"type": ["boolean", "string"]},
    "ring": {"type": "boolean"},
    "scale": {"enum": list(SCALES)},
    "title": _TEXT,
    "keys": {**_TEXTS, "minItems": 1, "description": "Paths such as items[*].name."},
    "missing": {"enum": [None, "null", "skip", "error"]},
}


def plugin() -> Schema:
    words: Schema = {
        "name": {"type": "string", "minLength": 1, "maxLength": metadata.MOST_NAME, "description": "What people read."},
        "description": {**_DESCRIPTION, "description": "What the plugin is chosen by: function, input, output."},
        "predefined_question": {"anyOf": [_TEXT, _TEXTS], "description": "Questions to begin with."},
    }
    fields: Schema = {
        "id": {"type": "string", "pattern": metadata.ID, "description": "The name of the folder."},
        **words,
        "automatic_flow": {"type": "boolean", "default": False, "description": "Make a flow of each operation."},
        "auth": {"anyOf": [_auth(), {"type": "array", "items": _auth()}]},
        "version": {"type": "string", "pattern": metadata.VERSION, "default": "0.0.0"},
        "i18n": {"type": "object", "additionalProperties": _closed(words)},
        "network": _closed({"allow_private": {"type": "array", "items": {**_TEXT, "pattern": metadata.HOST_PORT}}}),
        "databases": {
            "type": "object",
            "additionalProperties": _closed({"description": _TEXT, "catalog": _TEXT, "bundled": _TEXT}),
        },
    }
    whole = _closed({key: fields[key] for key in metadata.KNOWN}, ("id", "name", "description"))
    return {"$schema": DIALECT, "title": "plugin.json", **whole}


def flow() -> Schema:
    fields: Schema = {
        "name": _NAME,
        "description": _DESCRIPTION,
        "on_error": _call(named=False),
        "steps": {"type": "array", "minItems": 1, "items": _call(named=True)},
        "next_flow": _TEXTS,
        "max_steps": {"type": "integer", "minimum": 1, "default": 50},
        "timeout": {**_SECONDS, "default": 600},
        "answer": {"enum": list(flows.ANSWERS), "default": "auto"},
    }
    whole = _closed({key: fields[key] for key in flows.KNOWN}, ("name", "description", "steps"))
    return {"$schema": DIALECT, "title": "A flow", **whole}


def _auth() -> Schema:
    fields = {"type": {"enum": list(auth.TYPES)}, "args": {"type": "object", "additionalProperties": _TEXT}}
    return _closed(fields, ("type", "args"))


def _call(*, named: bool) -> Schema:
    fields: Schema = {
        "name": _NAME,
        "call_type": {
            "anyOf": [{"enum": list(BUILT_IN)}, {"type": "string", "pattern": r"^(lib\.)?[a-z][a-z0-9_]{0,62}$"}]
        },
        "params": {"type": ["object", "null"]},
        "next": {**_TEXT, "description": "The step that follows."},
        "dangerous": {"type": "boolean", "default": False, "description": "Ask before it is done."},
        "timeout": _SECONDS,
        "retry": _closed(
            {
                "times": {"type": "integer", "minimum": 0, "maximum": steps.MOST_RETRIES},
                "on": {"type": "array", "items": {"enum": [*steps.RETRIED, 429]}},
                "backoff": {"type": "number", "minimum": 0},
            }
        ),
        "args": {"type": "object", "description": "Values that the model cannot change."},
    }
    kept = steps.KNOWN if named else tuple(key for key in steps.KNOWN if key not in ("name", "next"))
    required = ("name", "call_type") if named else ("call_type",)
    whole = _closed({key: fields[key] for key in kept}, required)
    return {**whole, "allOf": [_params_of(call, known) for call, known in params.KNOWN.items()]}


def _params_of(call: str, known: tuple[str, ...]) -> Schema:
    inner = _closed({key: _PARAMS[key] for key in known})
    of_call = {"properties": {"call_type": {"const": call}}, "required": ["call_type"]}
    return {"if": of_call, "then": {"properties": {"params": inner}}}


def _closed(fields: Schema, required: tuple[str, ...] = ()) -> Schema:
    closed: Schema = {"type": "object", "properties": fields, "additionalProperties": False}
    return {**closed, "required": list(required)} if required else closed
