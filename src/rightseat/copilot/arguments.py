"""The arguments of `Copilot` as keys of a configuration.

Every key of a configuration file is an argument with the same name and shape. `model`, `tools`, `instructions`,
`durable`, `database`, `redis`, `state_dir`, `public_url`, `allow_unauthenticated` and `path` are shorter forms of some.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from pydantic import BaseModel

from rightseat import config, parts
from rightseat.access.host_login import Authenticate
from rightseat.config import Access, LivePart, Server
from rightseat.config.evals import EvalOptions
from rightseat.config.shape import HookNames, PriceOptions
from rightseat.config.telemetry import Telemetry
from rightseat.config.webhook import WebhookOptions
from rightseat.copilot.agent_options import AgentOptions
from rightseat.core.agent import Agent
from rightseat.core.errors import ConfigError
from rightseat.core.guard import Guard
from rightseat.core.model import Model
from rightseat.core.tools import Tool, Toolbox
from rightseat.limits.options import LimitOptions
from rightseat.operations.memories import MemoryOptions
from rightseat.toolboxes.dependencies import Overrides
from rightseat.toolboxes.functions import Function, FunctionToolbox

FaceName = Literal[
    "ai_sdk", "anthropic", "console", "copilotkit", "mcp", "metrics", "openai", "openbb", "operator", "usage"
]
DEFAULT_MODEL = "default"
OWN_PATHS = {"ai_sdk": "/ai-sdk", "openbb": "/openbb"}
"""Beside the routes of an application these faces are not where a server of their own has them."""


class CopilotArguments(TypedDict, total=False):
    """The arguments of `Copilot`, for `Copilot.from_file`."""

    model: Model | str | None
    tools: Iterable[Tool | Function]
    instructions: str | None
    max_turns: int
    durable: bool
    path: str
    authenticate: Authenticate | None
    database: str | None
    redis: str | None
    state_dir: str | Path | None
    public_url: str | None
    allow_unauthenticated: bool
    models: Mapping[str, Model | str | Mapping[str, Any]] | None
    toolboxes: Mapping[str, Toolbox | Mapping[str, Any]] | None
    agents: Mapping[str, AgentOptions | Agent | Mapping[str, Any]] | None
    guards: Sequence[Guard | Mapping[str, Any]] | None
    faces: Sequence[FaceName | BaseModel | Mapping[str, Any]] | None
    server: Server | Mapping[str, Any] | None
    access: Access | Mapping[str, Any] | None
    log: Mapping[str, Any] | None
    threads: Mapping[str, Any] | None
    engine: Mapping[str, Any] | None
    telemetry: Telemetry | Mapping[str, Any] | None
    hooks: HookNames | Mapping[str, Any] | None
    prices: Mapping[str, PriceOptions | Mapping[str, float]] | None
    currency: str | None
    limits: Sequence[LimitOptions | Mapping[str, Any]] | None
    limits_reserve: Mapping[str, int] | None
    limits_webhook: WebhookOptions | Mapping[str, Any] | None
    timezone: str | None
    memory: MemoryOptions | Mapping[str, Any] | None
    evals: EvalOptions | Mapping[str, Any] | None


PLAIN_KEYS = (
    *("access", "log", "threads", "engine", "telemetry", "hooks", "prices", "currency"),
    *("limits", "limits_reserve", "limits_webhook", "timezone", "memory", "evals"),
)
"""Keys that are passed on as they are."""


@dataclass(slots=True)
class ConfigKeys:
    """`values` are the keys of the configuration. `missing` are environment variables that models need, by model."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def read_arguments(arguments: CopilotArguments, overrides: Overrides, *, has_file: bool) -> ConfigKeys:
    """Raises `ConfigError` for what is neither an object nor a mapping."""
    reader = ArgumentReader(overrides)
    keys = reader.keys
    for name in PLAIN_KEYS:
        if (value := arguments.get(name)) is not None:
            keys.values[name] = plain(value)
    reader.add_models(arguments)
    reader.add_agents(arguments, has_file=has_file)
    reader.add_storage(arguments)
    reader.add_server(arguments)
    reader.add_faces(arguments, has_file=has_file)
    if (guards := arguments.get("guards")) is not None:
        keys.values["guards"] = [plain(guard) if isinstance(guard, Mapping) else LivePart(guard) for guard in guards]
    reader.rename_prices()
    return keys


def plain(value: Any) -> Any:
    """Mappings and lists as YAML has them; pydantic models as they are, which the configuration accepts."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


class ArgumentReader:
    def __init__(self, overrides: Overrides) -> None:
        self.keys = ConfigKeys()
        self._overrides = overrides
        self._models: dict[str, Any] = {}
        self._names: dict[str, str] = {}  # of models that are written like "openai:gpt-4o-mini"
        self._live: list[tuple[object, str]] = []
        self._toolboxes: dict[str, Any] = {}

    def add_models(self, arguments: CopilotArguments) -> None:
        for name, model in (arguments.get("models") or {}).items():
            self._add_model(name, model)
        for name, toolbox in (arguments.get("toolboxes") or {}).items():
            self._toolboxes[name] = plain(toolbox) if isinstance(toolbox, Mapping) else LivePart(toolbox)

    def _add_model(self, name: str, model: object) -> None:
        if isinstance(model, Mapping):
            self._models[name] = plain(model)
        elif isinstance(model, str):
            named = config.read_model_name(model, os.environ)
            parts.find("models", named.spec["type"])
            self._models[name] = named.spec
            self._names[model] = name
            if named.missing:
                self.keys.missing[name] = named.missing
        elif callable(getattr(model, "stream", None)):
            self._models[name] = LivePart(model)
            self._live.append((model, name))
        else:
            raise ConfigError(
                f"The model {name!r} should be like 'openai:gpt-4o-mini', or an object with a method `stream`, not "
                f"{type(model).__name__}."
            )

    def _name_model(self, agent: str, model: Model | str) -> str:
        """The name under `models` of an agent's model, which is added there if it is new."""
        if isinstance(model, str):
            if model in self._models and ":" not in model:
                return model
            if model in self._names:
                return self._names[model]
        elif known := next((name for one, name in self._live if one is model), None):
            return known
        name = agent if agent not in self._models else f"{agent} model"
        self._add_model(name, model)
        return name

    def add_agents(self, arguments: CopilotArguments, *, has_file: bool) -> None:
        given = dict(arguments.get("agents") or {})
        agents: dict[str, Any] = {}
        model = arguments.get("model")
        if model is not None or (not given and not has_file):
            if "default" in given:
                raise ConfigError("There are two agents named 'default': the model's, and one in `agents`.")
            agents["default"] = self._describe_own(arguments, model)
        elif has_file and arguments.get("instructions") is not None:
            raise ConfigError("`instructions` belong to a `model`. Those of a file are in its `agents`.")
        for name, agent in given.items():
            agents[name] = self._describe(name, agent, is_durable=bool(arguments.get("durable")))
        if agents:
            self.keys.values["agents"] = agents
        if self._models:
            self.keys.values["models"] = self._models
        if self._toolboxes:
            self.keys.values["toolboxes"] = self._toolboxes

    def _describe_own(self, arguments: CopilotArguments, model: Model | str | None) -> dict[str, Any]:
        """The agent of the argument `model`. Without one, it has the model of a first start, or the only one."""
        name = DEFAULT_MODEL
        if model is not None:
            name = self._name_model(DEFAULT_MODEL, model)
        elif self._models and DEFAULT_MODEL not in self._models:
            name = next(iter(self._models))
        described: dict[str, Any] = {"type": "loop", "model": name, "max_turns": arguments.get("max_turns", 16)}
        if (instructions := arguments.get("instructions")) is not None:
            described["instructions"] = instructions
        if arguments.get("durable"):
            described["durable"] = True
        return described

    def _describe(self, name: str, agent: object, *, is_durable: bool) -> Any:
        if isinstance(agent, Mapping):
            return plain(agent)
        if not isinstance(agent, AgentOptions):
            if not callable(getattr(agent, "run", None)):
                raise ConfigError(f"The agent {name!r} should be an `Agent`, not {type(agent).__name__}.")
            return LivePart(agent)
        model = DEFAULT_MODEL if agent.model is None else self._name_model(name, agent.model)
        return {
            "type": "loop",
            "model": model,
            "instructions": agent.instructions,
            "description": agent.description,
            "max_turns": agent.max_turns,
            "agents": list(agent.agents),
            "approval": agent.approval,
            "durable": agent.durable or is_durable,
            "memory": None if agent.memory is None else plain(agent.memory),
            "toolboxes": [
                *self._tools_of(name, agent),
                *(self._name_toolbox(name, toolboxe) for toolboxe in agent.toolboxes),
            ],
        }

    def _tools_of(self, name: str, agent: AgentOptions) -> list[str]:
        if not agent.tools:
            return []
        toolbox = f"tools of {name}"
        functions = FunctionToolbox(agent.tools, f"the tools of the agent {name!r}", self._overrides)
        self._toolboxes[toolbox] = LivePart(functions)
        return [toolbox]

    def _name_toolbox(self, agent: str, toolbox: str | Toolbox) -> str:
        if isinstance(toolbox, str):
            return toolbox
        name = f"toolbox {len(self._toolboxes) + 1} of {agent}"
        self._toolboxes[name] = LivePart(toolbox)
        return name

    def add_storage(self, arguments: CopilotArguments) -> None:
        values = self.keys.values
        for name, section in describe_storage(arguments, has_durable=self._has_durable()).items():
            values.setdefault(name, section)

    def _has_durable(self) -> bool:
        agents = self.keys.values.get("agents", {}).values()
        return any(isinstance(agent, dict) and agent.get("durable") for agent in agents)

    def add_server(self, arguments: CopilotArguments) -> None:
        given = arguments.get("server")
        server = given.model_dump(exclude_unset=True) if isinstance(given, Server) else dict(given or {})
        if (folder := arguments.get("state_dir")) is not None:
            server["state_dir"] = str(folder)
        if (url := arguments.get("public_url")) is not None:
            server["public_url"] = url
        if arguments.get("allow_unauthenticated"):
            server["allow_unauthenticated"] = True
        if server:
            self.keys.values["server"] = server

    def add_faces(self, arguments: CopilotArguments, *, has_file: bool) -> None:
        faces = arguments.get("faces")
        if isinstance(faces, str):
            raise ConfigError(f"`faces` should be a list such as ['{faces}'].")
        path = arguments.get("path")
        if faces is None and has_file and path is None:
            return
        described = [describe_face(face) for face in (faces if faces is not None else ["copilotkit"])]
        types = [face["type"] for face in described]
        if "console" in types and "operator" not in types:
            described.append({"type": "operator"})
        agents = self.keys.values.get("agents", {})
        for face in described:
            if face["type"] == "copilotkit":
                if path is not None:
                    face.setdefault("path", path)
                if agents and "default" not in agents:
                    face.setdefault("agent", next(iter(agents)) if len(agents) == 1 else None)
        self.keys.values["faces"] = described

    def rename_prices(self) -> None:
        """Prices may name a model as the argument `model` does."""
        if prices := self.keys.values.get("prices"):
            self.keys.values["prices"] = {self._names.get(name, name): price for name, price in prices.items()}


def describe_face(face: object) -> dict[str, Any]:
    """By name, as an object of `rightseat.faces`, or as in a file."""
    if isinstance(face, str):
        parts.find("faces", face)
        return {"type": face, **({"path": OWN_PATHS[face]} if face in OWN_PATHS else {})}
    if isinstance(face, BaseModel):
        module = type(face).__module__
        type_name = module.removeprefix("rightseat.faces.")
        return {"type": type_name, **{name: getattr(face, name) for name in face.model_fields_set}}
    if isinstance(face, Mapping) and isinstance(face.get("type"), str):
        found: dict[str, Any] = plain(face)
        return found
    raise ConfigError(f"A face should be a name such as 'openai', or an object of `rightseat.faces`, not {face!r}.")


def describe_storage(arguments: CopilotArguments, *, has_durable: bool) -> dict[str, Any]:
    """The sections `threads`, `log` and `engine`. Without a database they are in files of `state_dir`."""
    database, redis = arguments.get("database"), arguments.get("redis")
    sections: dict[str, Any] = {}
    if database is None:
        sections |= {"engine": {"type": "dbos"}} if has_durable else {}
    elif database == "memory":
        if has_durable:
            raise ConfigError("`durable` runs need a database that outlives the process. Remove `database='memory'`.")
        sections |= {"threads": {"type": "memory"}, "log": {"type": "memory"}}
    elif database.partition("://")[0] in ("postgresql", "postgres"):
        sections |= {"threads": {"type": "sql", "url": database}, "log": {"type": "postgres", "url": database}}
        sections |= {"engine": {"type": "dbos", "url": database}} if has_durable else {}
    else:
        shown = database.partition("://")[0]
        raise ConfigError(
            f"`database` should be 'postgresql://user:password@host/name' or 'memory', not {shown!r}. Without it, "
            "threads are in a file of `state_dir`."
        )
    if redis is not None:
        sections["log"] = {"type": "redis", "url": redis}
    return sections
