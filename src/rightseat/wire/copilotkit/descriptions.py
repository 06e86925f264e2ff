"""Decodes the list of actions and agents that a CopilotKit remote endpoint offers."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightseat.core.errors import AgentUnreachable, tell_operator
from rightseat.core.types import JsonValue


class Action(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    parameters: Any = ()

    def schema(self) -> Mapping[str, JsonValue]:
        """Return the parameters as JSON Schema."""
        return write_object(self.parameters if isinstance(self.parameters, list) else ())


class AgentDescription(msgspec.Struct, frozen=True):
    """An agent. `type` determines the format of its response; some endpoints omit it."""

    name: str
    description: str | None = None
    type: str | None = None


class EndpointInfo(msgspec.Struct, frozen=True):
    actions: list[Action] = []
    agents: list[AgentDescription] = []
    sdkVersion: str | None = None

    def agent(self, name: str) -> AgentDescription | None:
        return next((one for one in self.agents if one.name == name), None)


def read_info(body: Any, url: str) -> EndpointInfo:
    try:
        return msgspec.convert(body, EndpointInfo)
    except msgspec.ValidationError as error:
        raise tell_operator(
            AgentUnreachable(
                f"The remote endpoint sent an invalid list of actions and agents: {error}. "
                "Check that `url` is the address of a CopilotKit remote endpoint."
            ),
            url,
        ) from error


def write_object(parameters: Sequence[Any]) -> dict[str, Any]:
    known = [one for one in parameters if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return {
        "type": "object",
        "properties": {one["name"]: write_parameter(one) for one in known},
        "required": [one["name"] for one in known if one.get("required") is not False],
    }


def write_parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """`string[]` is a list of strings. The attributes of an `object` are parameters themselves."""
    kind = str(parameter.get("type") or "string")
    inner = kind.removesuffix("[]")
    schema: dict[str, Any] = write_object(parameter.get("attributes") or ()) if inner == "object" else {"type": inner}
    if inner == "string" and isinstance(parameter.get("enum"), list):
        schema["enum"] = parameter["enum"]
    if kind != inner:
        schema = {"type": "array", "items": schema}
    return schema | ({"description": parameter["description"]} if parameter.get("description") else {})
