"""Agent descriptors for OpenBB Workspace: `/agents.json`, and `/copilots.json` for clients of 2024."""

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
"""Default features of an agent. Workspace accepts some of them only as exactly `true`."""

SUGGESTIONS: Mapping[str, JsonValue] = {
    "label": "Follow-up questions",
    "type": "toggle",
    "default": False,
    "description": "Suggest questions to ask next.",
}


class Control(BaseModel):
    """A setting that Workspace shows below the chat."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    label: str = Field(min_length=1)
    """Its label."""
    type: Literal["toggle", "text", "select"] = "toggle"
    """The kind of input."""
    default: bool | str | None = None
    """Its initial value."""
    description: str | None = None
    """Its help text."""
    placeholder: str | None = None
    """Placeholder of an empty text input."""
    options: tuple[dict[str, str], ...] | None = None
    """Choices of a `select`, each with `label` and `value`."""


class Offer(BaseModel):
    """How Workspace shows an agent, and the features it enables."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    name: str | None = Field(default=None, min_length=1)
    """Display name. Default: its name in the configuration."""
    description: str | None = Field(default=None, min_length=1)
    """Description. Default: the agent's own."""
    image: str | None = None
    """URL of an image."""
    models: tuple[str, ...] = ()
    """Models to choose from; the first is the default. The agent's model must allow them, see `client_models`."""
    features: dict[str, bool | Control] = Field(default_factory=dict)
    """Workspace features by Workspace's names. They extend or override the defaults."""
    access: FaceAccess | None = None
    """`keys`: this agent requires an API key even if the face does not."""

    @property
    def controls(self) -> dict[str, str]:
        """Labels of the custom settings, by name: neither Workspace's nor built in."""
        known = {*FEATURES, "feedback", "prompt-suggestions", "model"}
        custom = {name: feature for name, feature in self.features.items() if name not in known}
        return {name: feature.label for name, feature in custom.items() if isinstance(feature, Control)}


def write_agent(
    id: str, offer: Offer, description: str, query_path: str, feedback_path: str | None
) -> dict[str, JsonValue]:
    endpoints: dict[str, JsonValue] = {"query": query_path}
    if feedback_path:
        endpoints["feedback"] = feedback_path
    features = dict(write_features(offer, feedback_path is not None))
    agent = write_names(id, offer, description) | {"endpoints": endpoints, "features": features}
    return agent | ({"image": offer.image} if offer.image else {})


def write_copilot(id: str, offer: Offer, description: str, query_path: str) -> dict[str, JsonValue]:
    flags: dict[str, JsonValue] = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    copilot = write_names(id, offer, description) | flags | {"endpoints": {"query": query_path}}
    return copilot | ({"image": offer.image} if offer.image else {})


def write_names(id: str, offer: Offer, description: str) -> dict[str, JsonValue]:
    name = offer.name or id
    return {"name": name, "description": offer.description or description or f"The agent {name}."}


def write_features(offer: Offer, has_feedback: bool) -> Iterable[tuple[str, JsonValue]]:
    yield from ((name, value) for name, value in FEATURES.items() if name not in offer.features)
    if has_feedback and "feedback" not in offer.features:
        yield "feedback", True
    if "prompt-suggestions" not in offer.features:
        yield "prompt-suggestions", dict(SUGGESTIONS)
    if offer.models and "model" not in offer.features:
        yield "model", write_model_select(offer.models)
    for name, feature in offer.features.items():
        yield name, feature if isinstance(feature, bool) else write_control(feature)


def write_model_select(models: tuple[str, ...]) -> JsonValue:
    return {
        "label": "Model",
        "type": "select",
        "default": models[0],
        "description": "The model that answers.",
        "options": [{"label": model, "value": model} for model in models],
    }


def write_control(control: Control) -> dict[str, Any]:
    return control.model_dump(exclude_none=True, mode="json")
