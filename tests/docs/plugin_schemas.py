"""plugin.json and flow files as JSON Schema, for editors. They hold less than `loading` does, and nothing else."""

from typing import Any

from rightseat.plugins.call_types import SECONDS, TEXT, TEXTS, CallType, call_types
from rightseat.plugins.loading import auth, flows, metadata, steps

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAME: Schema = {"type": "string", "pattern": f"^{steps.NAME_PATTERN}$"}
_DESCRIPTION: Schema = {"type": "string", "minLength": 1, "maxLength": metadata.MAX_DESCRIPTION_CHARS}


def plugin() -> Schema:
    words: Schema = {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": metadata.MAX_NAME_CHARS,
            "description": "What people read.",
        },
        "description": {**_DESCRIPTION, "description": "What the plugin is chosen by: function, input, output."},
        "predefined_question": {"anyOf": [TEXT, TEXTS], "description": "Questions to begin with."},
    }
    fields: Schema = {
        "id": {"type": "string", "pattern": metadata.ID_PATTERN, "description": "The name of the folder."},
        **words,
        "automatic_flow": {"type": "boolean", "default": False, "description": "Make a flow of each operation."},
        "auth": {"anyOf": [_auth(), {"type": "array", "items": _auth()}]},
        "version": {"type": "string", "pattern": metadata.VERSION_PATTERN, "default": "0.0.0"},
        "i18n": {"type": "object", "additionalProperties": _closed(words)},
        "network": _closed(
            {"allow_private": {"type": "array", "items": {**TEXT, "pattern": metadata.HOST_PORT_PATTERN}}}
        ),
        "databases": {
            "type": "object",
            "additionalProperties": _closed({"description": TEXT, "catalog": TEXT, "bundled": TEXT}),
        },
    }
    whole = _closed({key: fields[key] for key in metadata.KNOWN_KEYS}, ("id", "name", "description"))
    return {"$schema": DIALECT, "title": "plugin.json", **whole}


def flow() -> Schema:
    fields: Schema = {
        "name": _NAME,
        "description": _DESCRIPTION,
        "on_error": _call(named=False),
        "steps": {"type": "array", "minItems": 1, "items": _call(named=True)},
        "next_flow": TEXTS,
        "max_steps": {"type": "integer", "minimum": 1, "default": 50},
        "timeout": {**SECONDS, "default": 600},
        "answer": {"enum": list(flows.ANSWER_MODES), "default": "auto"},
    }
    whole = _closed({key: fields[key] for key in flows.KNOWN_KEYS}, ("name", "description", "steps"))
    return {"$schema": DIALECT, "title": "A flow", **whole}


def _auth() -> Schema:
    fields = {"type": {"enum": list(auth.TYPES)}, "args": {"type": "object", "additionalProperties": TEXT}}
    return _closed(fields, ("type", "args"))


def _call(*, named: bool) -> Schema:
    fields: Schema = {
        "name": _NAME,
        "call_type": {
            "anyOf": [{"enum": list(call_types())}, {"type": "string", "pattern": r"^(lib\.)?[a-z][a-z0-9_]{0,62}$"}]
        },
        "params": {"type": ["object", "null"]},
        "next": {**TEXT, "description": "The step that follows."},
        "dangerous": {"type": "boolean", "default": False, "description": "Ask before it is done."},
        "timeout": SECONDS,
        "retry": _closed(
            {
                "times": {"type": "integer", "minimum": 0, "maximum": steps.MAX_RETRIES},
                "on": {"type": "array", "items": {"enum": [*steps.RETRY_CAUSES, 429]}},
                "backoff": {"type": "number", "minimum": 0},
            }
        ),
        "args": {"type": "object", "description": "Values that the model cannot change."},
    }
    kept = steps.KNOWN_KEYS if named else tuple(key for key in steps.KNOWN_KEYS if key not in ("name", "next"))
    required = ("name", "call_type") if named else ("call_type",)
    whole = _closed({key: fields[key] for key in kept}, required)
    return {**whole, "allOf": [_params_of(name, call) for name, call in call_types().items()]}


def _params_of(name: str, call: CallType) -> Schema:
    inner = _closed(dict(call.params))
    of_call = {"properties": {"call_type": {"const": name}}, "required": ["call_type"]}
    return {"if": of_call, "then": {"properties": {"params": inner}}}


def _closed(fields: Schema, required: tuple[str, ...] = ()) -> Schema:
    closed: Schema = {"type": "object", "properties": fields, "additionalProperties": False}
    return {**closed, "required": list(required)} if required else closed
