"""OpenBB Workspace: `/agents.json` and `/copilots.json` say who is here, `/v1/query` answers."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.door import Door
from rightseat.access.pages import Pages
from rightseat.config import Origin
from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.ids import new_id
from rightseat.core.runtime import Runtime
from rightseat.faces.answers import answer, read_body
from rightseat.faces.openbb import reading
from rightseat.faces.openbb.answering import Answering, Limits
from rightseat.faces.openbb.descriptors import Offer, write_agent, write_copilot
from rightseat.faces.openbb.desk import Desks
from rightseat.faces.openbb.feedback import Feedback
from rightseat.faces.openbb.files import Library
from rightseat.faces.openbb.state import Seal
from rightseat.parts import AgentName, StatePath

WORKSPACE = "https://pro.openbb.co"
TRACE = "x-trace-id"
LONGEST_FEEDBACK = 2**20
EXPOSED = ("X-Trace-Id", "X-Completion-Id")


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
    addresses: tuple[str, ...] = ()
    """Addresses of your own network that files and pages may be fetched from: hosts, or ranges like `10.0.0.0/8`."""
    keep_alive: float = Field(default=15.0, gt=0)
    """After how many seconds of silence an answer says that it is still there, so that proxies keep it."""
    feedback: StatePath | None = Path("openbb-feedback.jsonl")
    """The file that keeps what users say of answers, a line each; `null` keeps nothing, and Workspace does not ask."""
    key: StatePath = Path("openbb.key")
    """The file with what signs the state that a browser carries for us; it is made when it is missing."""
    secret: SecretStr | None = Field(default=None, min_length=16)
    """Instead of a file: the same for servers that do not share a folder."""


def toolbox(options: Options) -> Desks:
    return Desks()


def pages(options: Options) -> Pages:
    if options.origins is None:
        return Pages((WORKSPACE,), this_machine=True, exposed=EXPOSED)
    return Pages(options.origins, exposed=EXPOSED)


def routes(runtime: Runtime, options: Options, door: Door, desks: Desks) -> APIRouter:
    router = APIRouter()
    base = options.path.rstrip("/")
    offers = offered(runtime, options)
    first = main(offers, options.agent)
    seal = Seal(options.key, options.secret.get_secret_value() if options.secret else None)
    library = Library(options.addresses)
    paths = {name: f"{base}/v1/query" if name == first else f"{base}/v1/query/{quote(name)}" for name in offers}

    asks = f"{base}/v1/feedback" if options.feedback else None

    def shown(principal: Principal) -> Iterator[tuple[str, Offer, str]]:
        for name, offer in offers.items():
            if door.may(principal, name):
                yield name, offer, getattr(runtime.agents[name], "description", "")

    async def agents(request: Request, principal: Principal) -> Response:
        listed = shown(principal)
        return answer({name: write_agent(name, offer, said, paths[name], asks) for name, offer, said in listed})

    async def copilots(request: Request, principal: Principal) -> Response:
        listed, root = shown(principal), str(request.base_url).rstrip("/")
        return answer({name: write_copilot(name, offer, said, root + paths[name]) for name, offer, said in listed})

    router.add_route(f"{base}/agents.json", door.guard(agents, refuse), methods=["GET"])
    router.add_route(f"{base}/copilots.json", door.guard(copilots, refuse), methods=["GET"])
    if options.feedback:
        kept = Kept(Feedback(options.feedback))
        router.add_route(f"{base}/v1/feedback", door.guard(kept, refuse), methods=["POST"])
    for name, offer in offers.items():
        limits = Limits(
            calls=options.calls,
            requests=options.requests,
            window=options.window,
            keep_alive=options.keep_alive,
            models=offer.models,
            controls=offer.controls,
        )
        asked = Asked(Answering(runtime, name, desks, library, seal, limits), name, options, door)
        guarded = door.guard(asked, refuse, locked=offer.access == "keys")
        router.add_route(f"{base}/v1/query/{name}", guarded, methods=["POST"])
        if name == first:
            router.add_route(f"{base}/v1/query", guarded, methods=["POST"])
    return router


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


class Asked:
    """The endpoint of one agent. What cannot be read at all is refused as JSON; all else is answered in words."""

    def __init__(self, answering: Answering, agent: str, options: Options, door: Door) -> None:
        self._answering = answering
        self._agent = agent
        self._most = int(options.max_body_mb * 2**20)
        self._headers = options.headers
        self._door = door

    async def __call__(self, request: Request, principal: Principal) -> Response:
        try:
            self._door.check(principal, self._agent)
            body = await read_body(request, self._most)
            query = reading.read(body, request.headers.get(TRACE) or new_id("chat"))
        except ClientDisconnect:
            return Response()  # for nobody
        except RightseatError as error:
            return refuse(error)
        headers = {name: value for name in self._headers if (value := request.headers.get(name)) is not None}
        return await self._answering.answer(query, principal, headers)


class Kept:
    """The endpoint for what users say of answers."""

    def __init__(self, feedback: Feedback) -> None:
        self._feedback = feedback

    async def __call__(self, request: Request, principal: Principal) -> Response:
        try:
            await self._feedback.keep(await read_body(request, LONGEST_FEEDBACK), request.headers.get(TRACE))
        except ClientDisconnect:
            return Response()
        except RightseatError as error:
            return refuse(error)
        return answer({"status": "ok"})


def refuse(error: RightseatError) -> Response:
    return answer({"error": error.code, "message": error.message, "detail": error.message}, error.status)
