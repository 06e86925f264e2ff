"""The OpenAI face: responses, chat completions, embeddings, transcriptions, models and files."""

import time
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.egress.transcription import Options as Transcription
from rightseat.faces._shared import files
from rightseat.faces._shared.feedback import FeedbackEndpoints, RunFinder
from rightseat.faces._shared.handlers import BodyEndpoint, make_handler
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.responses import json_response
from rightseat.faces.openai.chat import Chat
from rightseat.faces.openai.embeddings import Embeddings
from rightseat.faces.openai.errors import ErrorResponse, explain_path, refuse
from rightseat.faces.openai.responses.routes import response_routes
from rightseat.faces.openai.transcriptions import Transcriptions
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.parts import StatePath


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/v1", pattern="^/")
    """The path of the client's `base_url`."""
    models: tuple[str, ...] | None = None
    """Agents and models that clients may list and use as their model. Unset: all."""
    headers: tuple[str, ...] = ()
    """Request headers that are forwarded to hooks, tools and agents."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request body, including images."""
    reasoning: Literal["reasoning_content", "content"] = "reasoning_content"
    """Where a chat completion has the model's reasoning: in a field of its own, or before the text in `content`, for
    clients that show nothing else."""
    transcription: Transcription | None = None
    """The server that transcribes recordings. Unset: they are rejected."""
    reasoning_key: StatePath = Path("reasoning.key")
    """The file with the key that seals the reasoning of responses for clients that keep conversations themselves, such
    as Codex. It is created when it is first needed. A relative path is relative to `server.state_dir`. Several servers
    behind one address need the same file."""
    conversation_quota_mb: float | None = Field(default=100.0, gt=0)
    """How many megabytes of items each user may store with `/conversations`, in all conversations together. What
    responses add to a conversation does not count: each is a request. `null`: no quota."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds without data before a stream sends a keep-alive comment, so that proxies keep it open. A stream also
    waits this long for its first data: a failure within this time is an HTTP status."""


def routes(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    fingerprint: str = "",
    feedback: OwnFeedback | None = None,
) -> APIRouter:
    router = APIRouter()
    since = int(time.time())
    names, max_bytes = ModelNames(runtime, options.models, auth, fingerprint), int(options.max_body_mb * 2**20)
    chat = Chat(
        runtime,
        names,
        headers=options.headers,
        keep_alive=options.keep_alive,
        path=options.path,
        shows_reasoning=options.reasoning == "content",
    )

    def add(path: str, method: str, endpoint: BodyEndpoint, *, forms: bool = False) -> None:
        handler = make_handler(endpoint, max_bytes, refuse, allow_forms=forms)
        router.add_route(options.path.rstrip("/") + path, auth.protect(handler, refuse), methods=[method])

    async def models(body: bytes, request: Request, principal: Principal) -> Response:
        listed = [describe_model(name, since) for name in names.list_names(principal)]
        return json_response({"object": "list", "data": listed})

    async def model(body: bytes, request: Request, principal: Principal) -> Response:
        name = request.path_params["model"]
        names.check(name, principal)
        return json_response(describe_model(name, since))

    async def file(body: bytes, request: Request, principal: Principal) -> Response:
        return await files.make_file_response(runtime, request.path_params["file"], principal)

    add("/chat/completions", "POST", chat.complete)
    responses = response_routes(
        runtime,
        names,
        headers=options.headers,
        keep_alive=options.keep_alive,
        path=options.path,
        key_file=options.reasoning_key,
        quota=None if options.conversation_quota_mb is None else int(options.conversation_quota_mb * 2**20),
        max_bytes=max_bytes,
    )
    for (method, path), endpoint in responses.items():
        add(path, method, endpoint)
    if feedback is not None:
        votes = FeedbackEndpoints(RunFinder(feedback), "openai")
        add("/feedback", "POST", votes.store)
        add("/feedback", "GET", votes.list)
    add("/embeddings", "POST", Embeddings(runtime, names).embed)
    transcriptions = Transcriptions(options.transcription, runtime)
    add("/audio/transcriptions", "POST", transcriptions.transcribe, forms=True)
    add("/files/{file}", "GET", file)
    add("/files/{file}/content", "GET", file)
    add("/models", "GET", models)
    add("/models/{model:path}", "GET", model)
    return router


def describe_model(name: str, since: int) -> dict[str, JsonValue]:
    return {"id": name, "object": "model", "created": since, "owned_by": "rightseat"}


def refuse_path(method: str, path: str, status: int, options: Options) -> Response:
    code = "method_not_allowed" if status == 405 else "not_found"
    return ErrorResponse(explain_path(method, path, options.path.rstrip("/"), status), status, code).response()
