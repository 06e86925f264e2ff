"""What a remote endpoint offers."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightseat.core.errors import AgentUnreachable
from rightseat.core.values import JsonValue


class Action(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    parameters: Any = ()

    def schema(self) -> Mapping[str, JsonValue]:
        """Its parameters as JSON Schema."""
        return write_object(self.parameters if isinstance(self.parameters, list) else ())


class Member(msgspec.Struct, frozen=True):
    """An agent; `type` says how it answers. Some endpoints leave it out."""

    name: str
    description: str | None = None
    type: str | None = None


class Info(msgspec.Struct, frozen=True):
    actions: list[Action] = []
    agents: list[Member] = []
    sdkVersion: str | None = None

    def agent(self, name: str) -> Member | None:
        return next((one for one in self.agents if one.name == name), None)


def read_info(body: Any) -> Info:
    try:
        return msgspec.convert(body, Info)
    except msgspec.ValidationError as error:
        raise AgentUnreachable(f"The remote endpoint says what it offers in a way of its own: {error}.") from error


def write_object(parameters: Sequence[Any]) -> dict[str, Any]:
    known = [one for one in parameters if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return {
        "type": "object",
        "properties": {one["name"]: write_parameter(one) for one in known},
        "required": [one["name"] for one in known if one.get("required") is not False],
    }


def write_parameter(given: Mapping[str, Any]) -> dict[str, Any]:
    """`string[]` is a list of strings; an `object` has attributes, which are parameters again."""
    kind = str(given.get("type") or "string")
    inner = kind.removesuffix("[]")
    schema: dict[str, Any] = write_object(given.get("attributes") or ()) if inner == "object" else {"type": inner}
    if inner == "string" and isinstance(given.get("enum"), list):
        schema["enum"] = given["enum"]
    if kind != inner:
        schema = {"type": "array", "items": schema}
    return schema | ({"description": given["description"]} if given.get("description") else {})
