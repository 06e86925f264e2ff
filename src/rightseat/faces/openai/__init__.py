"""OpenAI's API in front of any agent and any model: chat completions, and what its clients need beside them."""

import logging
from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.door import Door, Handler
from rightseat.core.ask import Principal
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.ids import new_id
from rightseat.core.runtime import Runtime
from rightseat.egress.transcription import Options as Transcription
from rightseat.faces import files
from rightseat.faces.answers import answer, read_body
from rightseat.faces.openai.chat import Chat
from rightseat.faces.openai.embeddings import Embeddings
from rightseat.faces.openai.failures import refuse
from rightseat.faces.openai.naming import Names
from rightseat.faces.openai.transcriptions import Transcriptions

logger = logging.getLogger(__name__)

Answering = Callable[[bytes, Request, Principal], Awaitable[Response]]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(default="/v1", pattern="^/")
    """The address: the client's `base_url`."""
    models: tuple[str, ...] | None = None
    """Agents and models that a client may name as its model, and finds listed. Unset: all of them."""
    headers: tuple[str, ...] = ()
    """Names of request headers that are passed on to hooks, tools and agents."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request that is taken; pictures travel inside it."""
    transcription: Transcription | None = None
    """Where recordings are transcribed; without it, they are refused."""
    keep_alive: float = Field(default=15.0, gt=0)
    """After how many seconds of silence a stream says that it is still there, so that proxies keep it. For as long, the
    beginning of an answer is waited for: what fails by then is an HTTP status."""


def routes(runtime: Runtime, options: Options, door: Door) -> APIRouter:
    router = APIRouter()
    names = Names(runtime, options.models, door)
    chat = Chat(runtime, names, headers=options.headers, keep_alive=options.keep_alive, path=options.path)

    def add(path: str, method: str, answering: Answering, *, forms: bool = False) -> None:
        handler = handling(answering, int(options.max_body_mb * 2**20), forms=forms)
        router.add_route(options.path.rstrip("/") + path, door.guard(handler, refuse), methods=[method])

    async def models(body: bytes, request: Request, principal: Principal) -> Response:
        return answer(names.listed(principal))

    async def model(body: bytes, request: Request, principal: Principal) -> Response:
        name = request.path_params["model"]
        names.check(name, principal)
        return answer(names.described(name))

    async def file(body: bytes, request: Request, principal: Principal) -> Response:
        return await files.fetch(runtime, request.path_params["file"], principal)

    add("/chat/completions", "POST", chat.complete)
    add("/embeddings", "POST", Embeddings(runtime, names).embed)
    transcriptions = Transcriptions(options.transcription, runtime.texts)
    add("/audio/transcriptions", "POST", transcriptions.transcribe, forms=True)
    add("/files/{file}", "GET", file)
    add("/files/{file}/content", "GET", file)
    add("/models", "GET", models)
    add("/models/{model:path}", "GET", model)
    return router


def handling(answering: Answering, most: int, *, forms: bool) -> Handler:
    """Reads the body, and puts what goes wrong into words."""

    async def handle(request: Request, principal: Principal) -> Response:
        try:
            body = await read_body(request, most, forms=forms) if request.method == "POST" else b""
            return await answering(body, request, principal)
        except ClientDisconnect:
            return Response()  # for nobody
        except RightseatError as error:
            return refuse(error)
        except Exception:
            id = new_id("request")
            logger.exception("%s: %s failed", id, request.url.path)
            return refuse(InternalError(id))

    return handle
