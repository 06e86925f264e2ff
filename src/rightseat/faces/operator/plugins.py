"""Plugins for their authors: reports, files, drafts, dry runs, test cases, and saving where it is switched on.

Plugins are not narrowed by agent, so the rights must be for all agents.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rightseat.concurrency import aclosing
from rightseat.core.admission import RunSlot
from rightseat.core.ask import Ask
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.events import Event, RunFailed
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Text
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.stream import codec
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.plugin_operations import MAX_ID_CHARS, PluginOperations
from rightseat.operations.workbench import DryAnswer, FlowNotRunnable

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
MAX_QUESTION_CHARS = 20_000
MAX_ANSWERS = 20
DRY_RUN_TIMEOUT_S = 300.0
PLAIN_HEADERS = {"x-content-type-options": "nosniff", "content-security-policy": "sandbox; default-src 'none'"}


class EditingOff(RightseatError):
    code = "editing_off"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "Saving is switched off on this server. Set `edit: true` of the face `operator`, or use `serve --edit`; "
            "both need keys in `access`."
        )


class EtagMissing(RightseatError):
    code = "etag_missing"
    status = 428

    def __init__(self) -> None:
        super().__init__(
            "Send the ETag of the file that you have read in the header `If-Match`. For a new file, send "
            "`If-None-Match: *`."
        )


class Draft(msgspec.Struct):
    plugin: str
    files: Mapping[str, str] = {}


class DryRun(msgspec.Struct):
    """`model` is one of the configuration; without it, that of the toolbox is used. `answers` are those to what the
    flow asks, in its order; it ends at the first question without one."""

    plugin: str
    flow: str
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_QUESTION_CHARS)]
    files: Mapping[str, str] = {}
    model: str | None = None
    answers: Annotated[Sequence[DryAnswer], msgspec.Meta(max_length=MAX_ANSWERS)] = ()


class NewText(msgspec.Struct):
    text: str


class NewPluginBody(msgspec.Struct):
    """`openapi` is the text of a document in JSON or YAML; without it a starter plugin is created."""

    id: Annotated[str, msgspec.Meta(max_length=MAX_ID_CHARS)]
    openapi: str | None = None


class PluginRoutes:
    """`is_editing`: authors may save files."""

    def __init__(self, runtime: Runtime, plugins: PluginOperations, *, is_editing: bool) -> None:
        self._runtime = runtime
        self._plugins = plugins
        self._is_editing = is_editing

    def routes(self) -> Routes:
        return {
            ("GET", "plugins"): self.list,
            ("POST", "plugins"): self.create,
            ("GET", "plugins/{plugin}"): self.show,
            ("GET", "plugins/{plugin}/files/{path:path}"): self.read,
            ("PUT", "plugins/{plugin}/files/{path:path}"): self.save,
            ("POST", "drafts/check"): self.check,
            ("POST", "drafts/try"): self.try_flow,
            ("POST", "drafts/cases"): self.cases,
        }

    async def list(self, request: OperatorRequest) -> Response:
        return json_response(await self._plugins.list_reports(request.operator))

    async def show(self, request: OperatorRequest) -> Response:
        return json_response(await self._plugins.report(request.operator, request.id("plugin")))

    async def read(self, request: OperatorRequest) -> Response:
        """The text of a file, with its ETag."""
        found = await self._plugins.read_file(request.operator, request.id("plugin"), request.id("path"))
        headers = {**PLAIN_HEADERS, "etag": f'"{found.etag}"', "x-editable": "1" if found.editable else "0"}
        return Response(found.text, headers=headers, media_type="text/plain; charset=utf-8")

    async def check(self, request: OperatorRequest) -> Response:
        request.operator.check_all("author")
        draft = request.read(Draft)
        return json_response(await self._plugins.check(request.operator, draft.plugin, draft.files))

    async def cases(self, request: OperatorRequest) -> Response:
        request.operator.check_all("author")
        draft = request.read(Draft)
        return json_response(await self._plugins.run_cases(request.operator, draft.plugin, draft.files))

    async def try_flow(self, request: OperatorRequest) -> Response:
        """The events of the dry run as they come, one JSON object for each line. It ends with its client.

        The run has no thread and no log, so it cannot be followed by another request.
        """
        request.operator.check_all("author")
        wanted = request.read(DryRun)
        model = self._model(wanted.model)
        events = await self._plugins.try_flow(
            request.operator, wanted.plugin, wanted.files, wanted.flow, wanted.question, model, wanted.answers
        )
        ask = Ask(messages=(Message("user", (Text(wanted.question),)),), agent="", principal=request.principal)
        slot = await self._runtime.admission.admit(ask)
        slot.activate()
        try:
            first = await anext(events)  # errors in the draft become the status of the response
        except BaseException:
            slot.release()
            raise
        return DryRunResponse(first, events, slot)

    async def save(self, request: OperatorRequest) -> Response:
        """Saves a file and loads its plugin anew. `?force=1` saves a file that has errors."""
        self._check_editing(request)
        etag, text = read_precondition(request.http.headers), request.read(NewText).text
        is_forced = request.http.query_params.get("force") == "1"
        saved = await self._plugins.save_file(
            request.operator, request.id("plugin"), request.id("path"), text, etag, allow_errors=is_forced
        )
        return json_response(saved.plugin, headers={"etag": f'"{saved.etag}"'})

    async def create(self, request: OperatorRequest) -> Response:
        """Creates a plugin, and loads it."""
        self._check_editing(request)
        wanted = request.read(NewPluginBody)
        return json_response(await self._plugins.create_plugin(request.operator, wanted.id, wanted.openapi), status=201)

    def _check_editing(self, request: OperatorRequest) -> None:
        """Raises `InsufficientScope` and `EditingOff`."""
        request.operator.check_all("author")
        if not self._is_editing:
            raise EditingOff

    def _model(self, name: str | None) -> Model | None:
        if name is None:
            return None
        if name not in self._runtime.models:
            known = ", ".join(self._runtime.models) or "none"
            raise FlowNotRunnable(f"No model is named {name[:100]!r}. Configured: {known}.")
        return self._runtime.models[name]


class DryRunResponse(StreamingResponse):
    """Writes the events, and frees everything when it ends, also if the client is gone before the first byte."""

    def __init__(self, first: Event, events: AsyncIterator[Event], slot: RunSlot) -> None:
        super().__init__(write_events(first, events), media_type=NDJSON)
        self._events = events
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            self._slot.release()


async def write_events(first: Event, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """The last line is `RunFailed` if the run fails or takes too long: the status was sent before."""
    deadline = asyncio.get_running_loop().time() + DRY_RUN_TIMEOUT_S
    event: Event | None = first
    try:
        while event is not None:
            yield codec.encode(event) + b"\n"
            async with asyncio.timeout_at(deadline):
                event = await anext(events, None)
    except TimeoutError:
        yield write_failure("dry_run_timeout", f"The dry run was stopped after {DRY_RUN_TIMEOUT_S:g} seconds.")
    except RightseatError as error:
        yield write_failure(error.code, error.message)
    except Exception:
        failure = InternalError(new_id("request"))
        logger.exception("%s: a dry run failed", failure.message)
        yield write_failure(failure.code, failure.message)


def read_precondition(headers: Headers) -> str | None:
    """The ETag of the file that a request replaces, None for a new file. Raises `EtagMissing`."""
    if headers.get("if-none-match", "").strip() == "*":
        return None
    etag = headers.get("if-match")
    if etag is None:
        raise EtagMissing
    return etag.strip().strip('"')


def write_failure(code: str, message: str) -> bytes:
    return codec.encode(RunFailed(code, message)) + b"\n"
