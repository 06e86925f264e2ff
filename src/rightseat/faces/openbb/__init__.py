"""OpenBB Workspace: `/agents.json` and `/copilots.json` say who is here, `/v1/query` answers, `/files` has files."""

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from rightseat.access.door import Door
from rightseat.access.pages import Pages
from rightseat.config import Origin
from rightseat.core.errors import ConfigError
from rightseat.core.runtime import Runtime
from rightseat.egress.addresses import Policy
from rightseat.faces.files import fetching
from rightseat.faces.openbb.answering import Answering, Limits
from rightseat.faces.openbb.descriptors import Offer
from rightseat.faces.openbb.endpoints import Agents, Asked, Copilots, Here, Kept, Named, refuse
from rightseat.faces.openbb.feedback import Feedback
from rightseat.faces.openbb.files import Library
from rightseat.faces.openbb.state import Seal
from rightseat.faces.openbb.toolbox import Sessions
from rightseat.parts import AgentName, StatePath

logger = logging.getLogger(__name__)

READERS = {"long tables": "duckdb", "PDF": "pypdfium2", "Excel": "openpyxl", "Word": "docx"}
"""What is read by a library that the extra `openbb` installs."""

WORKSPACE = "https://pro.openbb.co"
EXPOSED = ("X-Trace-Id", "X-Completion-Id")


def visited(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """What is neither a host nor a range is a wrong configuration, before the first file is fetched."""
    Policy(allow=addresses)
    return addresses


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)
    path: str = Field(default="/", pattern="^/")
    """What all addresses of the face begin with: the address that is given to Workspace."""
    agent: AgentName | None = None
    """Who answers at `/v1/query`. Left out: `default`, or the first of `agents`. All answer at `/v1/query/NAME`."""
    agents: dict[AgentName, Offer] | None = None
    """The agents that Workspace finds, and how it shows each. Left out: all that are configured."""
    origins: tuple[Origin, ...] | None = None
    """The web pages that may call. Left out: OpenBB's own Workspace, and pages of the user's own machine."""
    headers: tuple[str, ...] = ()
    """Names of request headers that are passed on to hooks, tools and agents."""
    max_body_mb: float = Field(default=32.0, gt=0)
    """The largest request that is taken: the data of widgets travels inside it, again with every question."""
    calls: int = Field(default=8, ge=1)
    """How many function calls one question may lead to; then the model has to answer with what it has."""
    requests: int = Field(default=32, ge=1)
    """How often the model may be asked for one question."""
    window: int = Field(default=32_768, ge=4096)
    """How many tokens the model can read at once: data that would take too much of it is kept as a table or cut."""
    addresses: Annotated[tuple[str, ...], AfterValidator(visited)] = ()
    """Addresses of your own network that files and pages may be fetched from: hosts, or ranges like `10.0.0.0/8`."""
    keep_alive: float = Field(default=15.0, gt=0)
    """After how many seconds of silence an answer says that it is still there, so that proxies keep it."""
    feedback: StatePath | None = Path("openbb-feedback.jsonl")
    """The file that keeps what users say of answers, a line each; `null` keeps nothing, and Workspace does not ask."""
    key: StatePath = Path("openbb.key")
    """The file with what signs the state that a browser carries for us; it is made when it is missing."""
    secret: SecretStr | None = Field(default=None, min_length=16)
    """Instead of a file: the same for servers that do not share a folder."""


def toolbox(options: Options) -> Sessions:
    return Sessions()


def user_records(options: Options) -> Feedback | None:
    return Feedback(options.feedback) if options.feedback else None


def pages(options: Options) -> Pages:
    if options.origins is None:
        return Pages((WORKSPACE,), this_machine=True, exposed=EXPOSED)
    return Pages(options.origins, exposed=EXPOSED)


def routes(runtime: Runtime, options: Options, door: Door, sessions: Sessions) -> APIRouter:
    warn_of_missing()
    offers = offered(runtime, options)
    base, first = options.path.rstrip("/"), main(offers, options.agent)
    paths = {name: f"{base}/v1/query" if name == first else f"{base}/v1/query/{quote(name)}" for name in offers}
    feedback = f"{base}/v1/feedback" if options.feedback else None
    here = [
        Here(name, offer, getattr(runtime.agents[name], "description", ""), paths[name])
        for name, offer in offers.items()
    ]
    asked = answerers(runtime, options, door, sessions, offers)
    locked = {name for name, offer in offers.items() if offer.access == "keys"}
    router = APIRouter()
    router.add_route(f"{base}/agents.json", door.guard(Agents(here, door, feedback), refuse), methods=["GET"])
    router.add_route(f"{base}/copilots.json", door.guard(Copilots(here, door), refuse), methods=["GET"])
    if options.feedback:
        router.add_route(f"{base}/v1/feedback", door.guard(Kept(Feedback(options.feedback)), refuse), methods=["POST"])
    router.add_route(f"{base}/files/{{file}}", door.guard(fetching(runtime, refuse), refuse), methods=["GET"])
    guarded = {name: door.guard(one, refuse, locked=name in locked) for name, one in asked.items()}
    named = Named(asked, {name: guarded[name] for name in locked}, door)
    router.add_route(f"{base}/v1/query/{{agent:path}}", door.guard(named, refuse), methods=["POST"])
    router.add_route(f"{base}/v1/query", guarded[first], methods=["POST"])
    return router


def answerers(
    runtime: Runtime, options: Options, door: Door, sessions: Sessions, offers: Mapping[str, Offer]
) -> dict[str, Asked]:
    """One for each agent; what reads files and what signs is shared."""
    seal = Seal(options.key, options.secret.get_secret_value() if options.secret else None)
    library = Library(options.addresses)
    found = {}
    for name, offer in offers.items():
        limits = Limits(
            calls=options.calls,
            requests=options.requests,
            window=options.window,
            keep_alive=options.keep_alive,
            models=offer.models,
            controls=offer.controls,
        )
        answering = Answering(runtime, name, sessions, library, seal, limits)
        most = int(options.max_body_mb * 2**20)
        found[name] = Asked(answering, name, most, options.headers, door, options.path)
    return found


def warn_of_missing() -> None:
    """Plain chat needs none of it; the operator should know before the first long table comes."""
    if missing := [name for name, module in READERS.items() if find_spec(module) is None]:
        logger.warning(
            "The face 'openbb' can answer, but not read %s: pip install 'rightseat[openbb]'.", ", ".join(missing)
        )


def offered(runtime: Runtime, options: Options) -> dict[str, Offer]:
    if options.agents is None:
        return {name: Offer() for name in runtime.agents}
    if not options.agents:
        raise ConfigError("The face 'openbb' offers no agent. Leave `agents` out to offer all.")
    return dict(options.agents)


def main(offers: dict[str, Offer], agent: str | None) -> str:
    """Who is at the address without a name."""
    if agent is None:
        return "default" if "default" in offers else next(iter(offers))
    if agent not in offers:
        raise ConfigError(f"The face 'openbb' has {agent!r} as its agent, but does not offer it: {', '.join(offers)}.")
    return agent
