"""The smallest face: ask with a question, get the text of the answer."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import RightseatError
from rightseat.core.events import RunFailed, TextDelta
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.parts import AgentName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = "/acme"
    agent: AgentName | None = "default"
    agents: tuple[AgentName, ...] | None = None


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    router = APIRouter()

    async def ask(request: Request, principal: Principal) -> Response:
        question = request.query_params.get("question")
        if question is None:
            return PlainTextResponse("What is the question?", 422)
        agent = options.agent or "default"
        asked = await runtime.start(Ask(messages=(user(question),), agent=agent, principal=principal))
        said = ""
        async for entries in runtime.follow(asked.run_id):
            for entry in entries:
                match entry.event:
                    case TextDelta(text=text) | RunFailed(message=text):
                        said += text
        return PlainTextResponse(said)

    router.add_route(options.path, auth.protect(ask, refuse), methods=["GET"])
    return router


def refuse(error: RightseatError) -> Response:
    return PlainTextResponse(error.message, error.status)
