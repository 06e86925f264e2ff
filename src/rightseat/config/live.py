"""Parts that an application has built itself, in the place of options in a configuration."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict

from rightseat.parts import PartKind

LIVE_TYPE = "python"
"""The `type` of such a part."""


@dataclass(frozen=True, slots=True)
class LivePart:
    """An object where a file has a mapping with a `type`: a model, an agent, a toolbox or a guard."""

    value: object


class LiveOptions(BaseModel):
    """What is known about the part: the name of its class."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    python: str


def describe_live(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def make_module(kind: PartKind, value: object) -> ModuleType:
    """A module as a part has one, whose `build` returns the object."""

    def build(options: LiveOptions) -> Any:
        return value

    def build_from_parts(options: LiveOptions, parts: object) -> Any:
        return value

    module = ModuleType(f"{__name__}.{kind}")
    module.__dict__["Options"] = LiveOptions
    module.__dict__["build"] = build_from_parts if kind in ("toolboxes", "agents", "guards") else build
    return module
