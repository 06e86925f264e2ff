"""What Workspace finds at `/agents.json`, and its clients of 2024 at `/copilots.json`."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rightseat.config import FaceAccess

FEATURES: Mapping[str, bool] = {
    "streaming": True,
    "file-upload": True,
    "widget-dashboard-select": True,
    "widget-dashboard-search": True,
    "widget-global-search": True,
    "generative-ui": True,
    "mcp-tools": True,
    "agent-orchestration": False,
}
"""What Workspace may do with an agent of ours. It takes some of them only if they are exactly `true`."""

SUGGESTIONS: Mapping[str, JsonValue] = {
    "label": "Follow-up questions",
    "type": "toggle",
    "default": False,
    "description": "Show questions that could be asked next.",
}


class Control(BaseModel):
    """A setting that the user sees under the chat."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    label: str = Field(min_length=1)
    """What it is called."""
    type: Literal["toggle", "text", "select"] = "toggle"
    """A switch, a line of text, or a choice."""
    default: bool | str | None = None
    """What it is before the user touches it."""
    description: str | None = None
    """What it does."""
    placeholder: str | None = None
    """What stands in an empty line of text."""
    options: tuple[dict[str, str], ...] | None = None
    """What may be chosen, each with `label` and `value`."""


class Offer(BaseModel):
    """How Workspace shows one agent, and what it may do with it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    name: str | None = Field(default=None, min_length=1)
    """What it is called. Left out: its name in the configuration."""
    description: str | None = Field(default=None, min_length=1)
    """What it is good for. Left out: what the agent itself says."""
    image: str | None = None
    """The address of a picture."""
    models: tuple[str, ...] = ()
    """Models that the user may choose from; the first answers where none is chosen. The agent's model must take them:
    see `client_models`."""
    features: dict[str, bool | Control] = Field(default_factory=dict)
    """What Workspace may do with it, by Workspace's names for it, beside or instead of what is on by itself."""
    access: FaceAccess | None = None
    """`keys`: this agent wants a key, even where the face is open."""

    @property
    def controls(self) -> dict[str, str]:
        """What the user may set that is not Workspace's or ours, with what each is called."""
        known = {*FEATURES, "feedback", "prompt-suggestions", "model"}
        own = {name: given for name, given in self.features.items() if name not in known}
        return {name: given.label for name, given in own.items() if isinstance(given, Control)}


def write_agent(id: str, offer: Offer, said: str, query: str, feedback: str | None) -> dict[str, JsonValue]:
    endpoints: dict[str, JsonValue] = {"query": query}
    if feedback:
        endpoints["feedback"] = feedback
    found = names(id, offer, said) | {"endpoints": endpoints, "features": dict(features(offer, feedback is not None))}
    return found | ({"image": offer.image} if offer.image else {})


def write_copilot(id: str, offer: Offer, said: str, query: str) -> dict[str, JsonValue]:
    flags: dict[str, JsonValue] = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    found = names(id, offer, said) | flags | {"endpoints": {"query": query}}
    return found | ({"image": offer.image} if offer.image else {})


def names(id: str, offer: Offer, said: str) -> dict[str, JsonValue]:
    name = offer.name or id
    return {"name": name, "description": offer.description or said or f"The agent {name}."}


def features(offer: Offer, feedback: bool) -> Iterable[tuple[str, JsonValue]]:
    yield from ((name, value) for name, value in FEATURES.items() if name not in offer.features)
    if feedback and "feedback" not in offer.features:
        yield "feedback", True
    if "prompt-suggestions" not in offer.features:
        yield "prompt-suggestions", dict(SUGGESTIONS)
    if offer.models and "model" not in offer.features:
        yield "model", picker(offer.models)
    for name, given in offer.features.items():
        yield name, given if isinstance(given, bool) else written(given)


def picker(models: tuple[str, ...]) -> JsonValue:
    return {
        "label": "Model",
        "type": "select",
        "default": models[0],
        "description": "Which model answers.",
        "options": [{"label": model, "value": model} for model in models],
    }


def written(control: Control) -> dict[str, Any]:
    return control.model_dump(exclude_none=True, mode="json")
