"""The OpenBB Workspace face: `/agents.json` and `/copilots.json` list agents, `/v1/query` runs them, `/files` serves
files."""

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from rightseat.access.origins import AllowedOrigins
from rightseat.access.route_auth import RouteAuth
from rightseat.config import Origin
from rightseat.core.errors import ConfigError
from rightseat.core.runtime import Runtime
from rightseat.egress.addresses import AddressPolicy
from rightseat.faces._shared.files import make_file_handler
from rightseat.faces.openbb.descriptors import Offer
from rightseat.faces.openbb.endpoints import (
    AgentsEndpoint,
    CopilotsEndpoint,
    FeedbackEndpoint,
    ListedAgent,
    NamedAgentEndpoint,
    QueryEndpoint,
    error_response,
)
from rightseat.faces.openbb.feedback_file import FeedbackFile
from rightseat.faces.openbb.prompt.files import FileService
from rightseat.faces.openbb.query import QueryHandler, QueryLimits
from rightseat.faces.openbb.request.state import StateSigner
from rightseat.faces.openbb.toolbox import SessionToolbox
from rightseat.installation import install_command
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.parts import AgentName, StatePath

logger = logging.getLogger(__name__)

READER_PACKAGES = {"long tables": "duckdb", "PDF": "pypdfium2", "Excel": "openpyxl", "Word": "docx"}
"""Formats that need a package of the extra `openbb`, and the module of that package."""

WORKSPACE = "https://pro.openbb.co"
EXPOSED_HEADERS = ("X-Trace-Id", "X-Completion-Id")


def check_hosts(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Reject invalid hosts and ranges when the configuration is loaded, not when the first file is fetched."""
    AddressPolicy(allow=addresses)
    return addresses


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)
    path: str = Field(default="/", pattern="^/")
    """The path prefix of all routes of this face. Its URL is the backend URL to enter in Workspace."""
    agent: AgentName | None = None
    """The agent served at `/v1/query`. Default: `default`, or the first of `agents`. Every agent is also served at
    `/v1/query/NAME`."""
    agents: dict[AgentName, Offer] | None = None
    """The agents listed for Workspace, and how Workspace shows each. Default: all configured agents."""
    origins: tuple[Origin, ...] | None = None
    """Allowed web origins. Default: OpenBB Workspace (`https://pro.openbb.co`) and pages on localhost."""
    headers: tuple[str, ...] = ()
    """Names of request headers that are forwarded to hooks, tools and agents."""
    max_body_mb: float = Field(default=32.0, gt=0)
    """Maximum request size in MB. Workspace sends the data of widgets again with every question."""
    max_function_calls: int = Field(default=8, ge=1)
    """Maximum function calls per question; then the model must answer with the data it has."""
    max_model_calls: int = Field(default=32, ge=1)
    """Maximum model calls per question."""
    context_window: int = Field(default=32_768, ge=4096)
    """Context window of the model, in tokens. Data that would use too much of it is stored as a table or truncated."""
    allow_private_hosts: Annotated[tuple[str, ...], AfterValidator(check_hosts)] = ()
    """Hosts or ranges (`10.0.0.0/8`) of private networks from which files and pages may be fetched."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds without an event after which a response sends a keep-alive comment, so that proxies do not close it."""
    feedback: bool = True
    """Whether Workspace offers thumbs up and down. The votes are stored beside the threads."""
    feedback_file: StatePath | None = Field(
        default=Path("openbb-feedback.jsonl"),
        deprecated="votes are stored beside the threads, and `rightseat feedback` prints them. To disable them, use "
        "`feedback: false` instead.",
    )
    """A file to which votes are appended too, one JSON object per line. `null`: feedback is disabled in Workspace."""
    key_file: StatePath = Path("openbb.key")
    """The file of the key that signs the state carried by the browser. It is created if missing."""
    secret: SecretStr | None = Field(default=None, min_length=16)
    """The signing key itself, in place of `key_file`, for replicas that do not share a folder."""


def toolbox(options: Options) -> SessionToolbox:
    return SessionToolbox()


def user_records(options: Options) -> FeedbackFile | None:
    """Also for the file of an earlier version, to which nothing is appended any more."""
    path = find_feedback_path(options)
    return FeedbackFile(path) if path else None


def find_feedback_path(options: Options) -> Path | None:
    """`feedback_file` without the warning, which is for those who set it."""
    path: Path | None = vars(options)["feedback_file"]
    return path


def find_appended_file(options: Options) -> FeedbackFile | None:
    path = find_feedback_path(options) if "feedback_file" in options.model_fields_set else None
    return FeedbackFile(path) if path else None


def allowed_origins(options: Options) -> AllowedOrigins:
    if options.origins is None:
        return AllowedOrigins((WORKSPACE,), allow_local=True, exposed_headers=EXPOSED_HEADERS)
    return AllowedOrigins(options.origins, exposed_headers=EXPOSED_HEADERS)


def routes(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    sessions: SessionToolbox,
    feedback: OwnFeedback | None = None,
) -> APIRouter:
    warn_about_missing_readers()
    offers = read_offers(runtime, options)
    base, first = options.path.rstrip("/"), main_agent(offers, options.agent)
    paths = {name: f"{base}/v1/query" if name == first else f"{base}/v1/query/{quote(name)}" for name in offers}
    has_feedback = options.feedback and find_feedback_path(options) is not None and feedback is not None
    feedback_path = f"{base}/v1/feedback" if has_feedback else None
    listed_agents = [
        ListedAgent(name, offer, getattr(runtime.agents[name], "description", ""), paths[name])
        for name, offer in offers.items()
    ]
    endpoints = build_endpoints(runtime, options, auth, sessions, offers)
    locked = {name for name, offer in offers.items() if offer.access == "keys"}
    router = APIRouter()
    router.add_route(
        f"{base}/agents.json",
        auth.protect(AgentsEndpoint(listed_agents, auth, feedback_path), error_response),
        methods=["GET"],
    )
    router.add_route(
        f"{base}/copilots.json", auth.protect(CopilotsEndpoint(listed_agents, auth), error_response), methods=["GET"]
    )
    if feedback_path is not None and feedback is not None:
        votes = FeedbackEndpoint(feedback, find_appended_file(options))
        router.add_route(feedback_path, auth.protect(votes, error_response), methods=["POST"])
    router.add_route(
        f"{base}/files/{{file}}",
        auth.protect(make_file_handler(runtime, error_response), error_response),
        methods=["GET"],
    )
    guarded = {
        name: auth.protect(one, error_response, requires_credential=name in locked) for name, one in endpoints.items()
    }
    named_endpoint = NamedAgentEndpoint(endpoints, {name: guarded[name] for name in locked}, auth)
    router.add_route(f"{base}/v1/query/{{agent:path}}", auth.protect(named_endpoint, error_response), methods=["POST"])
    router.add_route(f"{base}/v1/query", guarded[first], methods=["POST"])
    return router


def build_endpoints(
    runtime: Runtime, options: Options, auth: RouteAuth, sessions: SessionToolbox, offers: Mapping[str, Offer]
) -> dict[str, QueryEndpoint]:
    """Build one endpoint per agent. All share the file service and the signer."""
    signer = StateSigner(options.key_file, options.secret.get_secret_value() if options.secret else None)
    files = FileService(options.allow_private_hosts)
    found = {}
    for name, offer in offers.items():
        limits = QueryLimits(
            max_function_calls=options.max_function_calls,
            max_model_calls=options.max_model_calls,
            context_window=options.context_window,
            keep_alive=options.keep_alive,
            models=offer.models,
            controls=offer.controls,
        )
        handler = QueryHandler(runtime, name, sessions, files, signer, limits)
        max_body_bytes = int(options.max_body_mb * 2**20)
        found[name] = QueryEndpoint(handler, name, max_body_bytes, options.headers, auth, options.path)
    return found


def warn_about_missing_readers() -> None:
    """Plain chat works without these packages, so their absence is a warning at startup."""
    if missing := [name for name, module in READER_PACKAGES.items() if find_spec(module) is None]:
        logger.warning(
            "The face 'openbb' cannot read %s, because packages are missing: %s",
            ", ".join(missing),
            install_command("openbb"),
        )


def read_offers(runtime: Runtime, options: Options) -> dict[str, Offer]:
    if options.agents is None:
        return {name: Offer() for name in runtime.agents}
    if not options.agents:
        raise ConfigError("`agents` of the face 'openbb' is empty. Remove it to serve all agents.")
    return dict(options.agents)


def main_agent(offers: dict[str, Offer], agent: str | None) -> str:
    """Return the agent served at `/v1/query`, the path without a name."""
    if agent is None:
        return "default" if "default" in offers else next(iter(offers))
    if agent not in offers:
        raise ConfigError(f"The face 'openbb' has `agent: {agent}`, which is not in `agents`: {', '.join(offers)}.")
    return agent
