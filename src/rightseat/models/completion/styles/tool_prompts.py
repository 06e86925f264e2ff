"""Formats tools for a prompt: as JSON Schemas, or as TypeScript, which is shorter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.styles.forms import dump_json


def to_function(tool: Tool) -> dict[str, Any]:
    """Return a tool in the format of OpenAI and most chat templates."""
    return {"type": "function", "function": describe(tool)}


def describe(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def format_json_tools(tools: Iterable[Tool]) -> list[str]:
    """Omit the wrapper around each tool, which only costs tokens."""
    return [dump_json(describe(tool)) for tool in tools]


def format_namespace(tools: Iterable[Tool]) -> str:
    """Return TypeScript in the form of Functionary's training."""
    lines = ["// Supported function definitions that should be called when necessary.", "namespace functions {", ""]
    for tool in tools:
        lines += [format_typescript(tool), ""]
    return "\n".join([*lines, "} // namespace functions"])


def format_typescript(tool: Tool) -> str:
    """`type get_weather = (_: {city: string, unit?: "celsius" | "fahrenheit"}) => any;` after its description."""
    comment = "".join(f"// {line}\n" for line in tool.description.splitlines() if line.strip())
    return f"{comment}type {tool.name} = (_: {_object(tool.parameters)}) => any;"


def _object(schema: Mapping[str, JsonValue]) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not properties:
        return "{}"
    needed = required if isinstance(required, list) else []
    described = any(isinstance(member, dict) and member.get("description") for member in properties.values())
    members = [_member(key, member, key in needed) for key, member in properties.items()]
    return "{\n" + "\n".join(members) + "\n}" if described else "{" + " ".join(members).removesuffix(",") + "}"


def _member(key: str, schema: JsonValue, needed: bool) -> str:
    description = schema.get("description") if isinstance(schema, dict) else None
    comment = f" // {' '.join(str(description).split())}" if description else ""
    return f"{key}{'' if needed else '?'}: {_type(schema)},{comment}"


def _type(schema: Any) -> str:
    match schema:
        case {"$ref": str(reference)}:
            return reference.rpartition("/")[2] or "object"
        case {"const": value}:
            return dump_json(value)
        case {"enum": [*values]}:
            return " | ".join(map(dump_json, values))
        case {"anyOf": [*options]} | {"oneOf": [*options]}:
            return " | ".join(dict.fromkeys(_type(option) for option in options))
        case {"type": [*kinds]}:
            return " | ".join(_type({**schema, "type": kind}) for kind in kinds)
        case {"type": "integer" | "number"}:
            return "number"
        case {"type": "string" | "boolean" | "null" as kind}:
            return str(kind)
        case {"type": "array"}:
            item = _type(schema.get("items", {}))
            return f"({item})[]" if " | " in item else f"{item}[]"
        case {"type": "object"} | {"properties": _}:
            return _object(schema)
    return "any"


def format_signatures(tools: Sequence[Tool], form: str) -> Iterator[str]:
    """Return one text per tool, in both forms with the description before the name."""
    if form == "typescript":
        return (format_typescript(tool) for tool in tools)
    return (dump_json({"description": tool.description, **describe(tool)}) for tool in tools)


def append_system_text(text: str, turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append the text to the system message, or add one."""
    if turns and turns[0]["role"] == "system":
        return [{"role": "system", "content": f"{turns[0]['content']}\n\n{text}"}, *turns[1:]]
    return [{"role": "system", "content": text}, *turns]
