"""Tools as text for a prompt: as JSON schemas, or as TypeScript, which is shorter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue
from rightseat.models.completion.styles.spelling import spell


def function(tool: Tool) -> dict[str, Any]:
    """A tool as OpenAI and most chat templates write it."""
    return {"type": "function", "function": describe(tool)}


def describe(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def json_tools(tools: Iterable[Tool]) -> list[str]:
    """Without the wrapper around each: it says nothing, and takes tokens."""
    return [spell(describe(tool)) for tool in tools]


def namespace(tools: Iterable[Tool]) -> str:
    """TypeScript, as Functionary knows it."""
    lines = ["// Supported function definitions that should be called when necessary.", "namespace functions {", ""]
    for tool in tools:
        lines += [typescript(tool), ""]
    return "\n".join([*lines, "} // namespace functions"])


def typescript(tool: Tool) -> str:
    """`type get_weather = (_: {city: string, unit?: "celsius" | "fahrenheit"}) => any;` behind what it is for."""
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
            return spell(value)
        case {"enum": [*values]}:
            return " | ".join(map(spell, values))
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


def signatures(tools: Sequence[Tool], form: str) -> Iterator[str]:
    """One text for each tool, in either form what it is for before its name."""
    if form == "typescript":
        return (typescript(tool) for tool in tools)
    return (spell({"description": tool.description, **describe(tool)}) for tool in tools)


def introduce(text: str, turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns, with this at the end of the first system turn."""
    if turns and turns[0]["role"] == "system":
        return [{"role": "system", "content": f"{turns[0]['content']}\n\n{text}"}, *turns[1:]]
    return [{"role": "system", "content": text}, *turns]
