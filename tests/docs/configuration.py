"""The tables of docs/reference/configuration.md and the schema of the file, made from the options in the code."""

import json
import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from rightseat import parts
from rightseat.config import schema
from rightseat.config.access import Access, ApiKey, Grant, Jwt, Oidc
from rightseat.config.shape import ConfigFile, HookNames, PriceOptions, Server
from rightseat.config.telemetry import Telemetry
from rightseat.config.webhook import WebhookOptions
from rightseat.egress.credentials.aws import AwsOptions
from rightseat.egress.credentials.entra import EntraOptions
from rightseat.egress.network import NetworkOptions, TlsOptions
from rightseat.faces.openbb.descriptors import Control, Offer
from rightseat.limits.options import LimitOptions
from rightseat.memory.run_memory import AgentMemory
from rightseat.models.completion.backends import options as backends
from rightseat.operations.memories import MemoryOptions
from tests.docs import configuration_schema

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"
PAGE = REFERENCE / "configuration.md"
SCHEMAS = (REFERENCE / "rightseat.schema.json", schema.FILE)
"""The same text: one file for the documentation, one in the package."""
KINDS: tuple[parts.PartKind, ...] = ("models", "toolboxes", "agents", "guards", "faces", "logs", "stores", "engines")

_TABLE = re.compile(r"(<!-- options: (\S+) -->\n\n)((?:\||No options)[^\n]*\n)*")


def generate() -> dict[Path, str]:
    return {PAGE: page(PAGE.read_text()), **dict.fromkeys(SCHEMAS, write_schema())}


def options() -> dict[str, type[BaseModel]]:
    """Everything that may be said, by where the page says it."""
    ours = {f"{kind}.{name}": (kind, name) for kind in KINDS for name in parts.builtin(kind)}
    found = {key: parts.options(parts.find(kind, name)) for key, (kind, name) in ours.items()}
    access: dict[str, type[BaseModel]] = {"access": Access, "access.keys": ApiKey, "access.jwt": Jwt}
    access |= {"access.oidc": Oidc, "access.oidc.grants": Grant}
    run = (backends.LlamaCppOptions, backends.VllmOptions)
    by = {f"models.completion.backend.{get_args(one.model_fields['type'].annotation)[0]}": one for one in run}
    inside: dict[str, type[BaseModel]] = {"faces.openbb.agents": Offer, "faces.openbb.agents.features": Control}
    inside |= {"models.anthropic.aws": AwsOptions, "models.openai.entra": EntraOptions}
    inside |= {"agents.loop.memory": AgentMemory}
    inside["tls"] = TlsOptions
    own: dict[str, type[BaseModel]] = {"file": ConfigFile, "server": Server, "telemetry": Telemetry, "hooks": HookNames}
    own |= {"memory": MemoryOptions}
    own["prices"] = PriceOptions
    own["limits"] = LimitOptions
    own["limits_webhook"] = WebhookOptions
    return {**own, **access, **found, **inside, **by}


def page(text: str) -> str:
    """The page with every table as the code has it."""
    known = options()
    return _TABLE.sub(lambda match: f"{match[1]}{table(known[match[2]])}\n", text)


def write_schema() -> str:
    return json.dumps(configuration_schema.build_schema(), indent=2) + "\n"


def described(text: str) -> set[str]:
    return {match[2] for match in _TABLE.finditer(text)}


def table(options: type[BaseModel]) -> str:
    said = configuration_schema.descriptions(options)
    fields = sorted(options.model_fields.items(), key=lambda field: field[0] in NetworkOptions.model_fields)
    rows = [row(name, field, said.get(name, "")) for name, field in fields]
    return "\n".join(["| key | value | default | |", "|---|---|---|---|", *rows]) if rows else "No options."


def row(name: str, field: FieldInfo, said: str) -> str:
    return f"| `{name}` | {kind(field.annotation)} | {default(field)} | {said} |".replace("  ", " ")


def default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if field.is_required():
        return "required"
    if value is None or value in ((), {}, []) or isinstance(value, BaseModel):
        return ""
    return f"`{value if isinstance(value, str | Path) else json.dumps(value)}`"


def kind(annotation: Any) -> str:
    inner = [arg for arg in get_args(annotation) if arg not in (NoneType, Ellipsis)]
    match get_origin(annotation) or annotation:
        case origin if origin in (Union, UnionType):
            return " or ".join(dict.fromkeys(kind(arg) for arg in inner))
        case origin if origin is Literal:
            return " or ".join(f"`{arg}`" for arg in inner)
        case origin if origin in (tuple, list):
            return "list" if inner == [Any] else f"list of {kind(inner[0])}"
        case origin if origin is dict or (isinstance(origin, type) and issubclass(origin, BaseModel)):
            return "mapping"
        case origin if hasattr(annotation, "__metadata__"):
            return kind(inner[0])
    names = {int: "whole number", float: "number", bool: "true or false"}
    return names.get(annotation, "text" if annotation in (str, SecretStr, Path) else "mapping")
