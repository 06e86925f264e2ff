"""The smallest face: ask with a question, get the text of the answer."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import PlainTextResponse

from rightseat.core.ask import Ask
from rightseat.core.events import RunFailed, TextDelta
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.parts import AgentName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = "/acme"
    agent: AgentName | None = "default"
    agents: tuple[AgentName, ...] | None = None


def routes(runtime: Runtime, options: Options) -> APIRouter:
    router = APIRouter()

    @router.get(options.path)
    async def ask(question: str) -> PlainTextResponse:
        asked = await runtime.start(Ask(messages=(user(question),), agent=options.agent or "default"))
        said = ""
        async for entries in runtime.follow(asked.run_id):
            for entry in entries:
                match entry.event:
                    case TextDelta(text=text) | RunFailed(message=text):
                        said += text
        return PlainTextResponse(said)

    return router
