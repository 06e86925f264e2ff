"""GraphQL over HTTP, as CopilotKit's clients up to 1.10.6 speak it.

A request for an operation is always answered with 200: the clients drop the body of any 4xx, and with it the reason.
"""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Literal

import msgspec
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal, Topics
from rightseat.core.errors import RightseatError
from rightseat.core.events import Event
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.faces.answers import answer
from rightseat.faces.copilotkit.graphql import failures
from rightseat.faces.copilotkit.graphql.arguments import Arguments, read_arguments, read_variables
from rightseat.faces.copilotkit.graphql.documents import Document, Documents, Invalid
from rightseat.faces.copilotkit.graphql.inputs import CloudInput, GenerateCopilotResponseInput
from rightseat.faces.copilotkit.graphql.meta import read_answers
from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.faces.copilotkit.graphql.reading import read_ask
from rightseat.faces.copilotkit.graphql.schema import Desk, Visit, schema
from rightseat.faces.copilotkit.graphql.values import Value
from rightseat.faces.copilotkit.graphql.writing import Patches, Shape, Whole
from rightseat.faces.showing import Showing, base_of
from rightseat.faces.streaming import RunResponse, Watch, broken_off
from rightseat.wire import multipart

CLOUD_KEY = "x-copilotcloud-public-api-key"
MULTIPART = {"content-type": multipart.CONTENT_TYPE, "cache-control": "no-cache"}
EVENTS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


class Operation(msgspec.Struct):
    """The body of a GraphQL request."""

    query: str
    variables: msgspec.Raw = msgspec.Raw(b"null")
    operationName: str | None = None


class GraphQL:
    """Answers operations for one address."""

    def __init__(
        self, desk: Desk, *, introspection: bool, headers: tuple[str, ...], keep_alive: float, path: str | None
    ) -> None:
        self._desk = desk
        self._documents = Documents(introspection=introspection)
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def answer(
        self, operation: Operation, request: Request, principal: Principal, *, only_queries: bool = False
    ) -> Response:
        try:
            document = self._documents.read(operation.query, operation.operationName)
            if not document.is_mutation:
                return await self._query(document, operation, request, principal)
            if only_queries:
                body = failures.invalid([GraphQLError("A mutation is sent by POST, never by GET.")])
                return answer(body, 405, headers={"allow": "POST"})
            return await self._mutate(document, bytes(operation.variables), request, principal)
        except Invalid as invalid:
            return answer(failures.invalid(invalid.errors))

    async def _query(
        self, document: Document, operation: Operation, request: Request, principal: Principal
    ) -> Response:
        result = await schema.execute(
            operation.query,
            read_variables(document, bytes(operation.variables)),
            context_value=Visit(self._desk, principal, self._passed_on(request)),
            operation_name=operation.operationName,
        )
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = [failures.explained(error) for error in result.errors]
        return answer(body, content_type=json_type(request.headers.get("accept", "")))

    async def _mutate(self, document: Document, variables: bytes, request: Request, principal: Principal) -> Response:
        arguments, values = read_arguments(document, variables)
        key, selection = document.key, document.selection(values)
        try:
            ask = await self._start(arguments, request, principal)
        except RightseatError as error:
            return answer(failures.refused(failures.kind_of(error.code), error.message, key))
        wanted = delivery(request.headers.get("accept", "*/*"))
        shape = Shape.of(key, selection) if wanted != "json" else None
        if shape is None:
            return await self._whole(key, selection, ask, request, write_echo(arguments.data))
        return self._stream(shape, ask, wanted, request, write_echo(arguments.data))

    async def _start(self, arguments: Arguments, request: Request, principal: Principal) -> Ask:
        topics = read_topics(arguments.data.cloud, request, self._desk.runtime)
        data, runtime = arguments.data, self._desk.runtime
        ask = read_ask(data, arguments.properties, self._passed_on(request), self._desk.default, principal)
        ask = msgspec.structs.replace(ask, topics=topics)
        if data.agentSession is None:
            self._desk.door.check(principal, ask.agent)
            return await runtime.start(ask)
        ask = msgspec.structs.replace(ask, agent=await self._desk.offered(ask))
        if data.metaEvents:
            pending = await runtime.pending(principal, ask.thread_id)
            ask = msgspec.structs.replace(ask, answers=read_answers(data.metaEvents, pending))
        return await runtime.start(ask)

    def _passed_on(self, request: Request) -> dict[str, str]:
        return {name: value for name in self._headers if (value := request.headers.get(name)) is not None}

    def _showing(self, request: Request) -> Showing:
        return Showing(None if self._path is None else base_of(request, self._path))

    def _stream(self, shape: Shape, ask: Ask, wanted: str, request: Request, echo: Value) -> Response:
        patches = Patches(shape, ask.thread_id, ask.run_id, name_of(ask), ask.state, echo)
        runtime, showing = self._desk.runtime, self._showing(request)

        def feed(entries: Sequence[Entry]) -> bytes | None:
            return patches.feed(events_of(showing.entries(entries)))

        if wanted == "events":
            return RunResponse(
                runtime,
                ask.run_id,
                lambda entries: (payload := feed(entries)) and event(payload),
                headers=EVENTS,
                first=b":\n\n" + event(patches.begin()),
                last=b"event: complete\ndata:\n\n",
                keep_alive=self._keep_alive,
            )
        return RunResponse(
            runtime,
            ask.run_id,
            lambda entries: (payload := feed(entries)) and multipart.part(payload),
            headers=MULTIPART,
            first=multipart.PREAMBLE + multipart.part(patches.begin()),
            last=multipart.END,
        )

    async def _whole(self, key: str, selection: Selection, ask: Ask, request: Request, echo: Value) -> Response:
        whole = Whole(key, selection, ask.thread_id, ask.run_id, name_of(ask), ask.state, echo)
        runtime, showing = self._desk.runtime, self._showing(request)
        async with Watch(runtime, ask.run_id, request.receive), aclosing(runtime.follow(ask.run_id)) as batches:
            async for entries in batches:
                whole.feed(events_of(showing.entries(entries)))
        if not whole.is_over:
            whole.feed([broken_off(ask.run_id)])
        return Response(whole.body(), media_type=json_type(request.headers.get("accept", "")))


def write_echo(data: GenerateCopilotResponseInput) -> Value:
    """What the client gets back as it sent it. The real clients keep both, and send them with their next request."""
    assistant = data.extensions.openaiAssistantAPI if data.extensions else None
    echoed: Value = {"runId": data.runId or None}
    if assistant is not None:
        api = {
            "__typename": "OpenAIApiAssistantAPIResponse",
            "runId": assistant.runId,
            "threadId": assistant.threadId,
        }
        echoed["extensions"] = {"__typename": "ExtensionsResponse", "openaiAssistantAPI": api}
    return echoed


def name_of(ask: Ask) -> str:
    """What the client calls the agent: one of a part that stands for several has a name of its own."""
    return ask.agent.rpartition("/")[2]


def delivery(accept: str) -> Literal["multipart", "events", "json"]:
    """How the client takes a growing answer. One that takes both gets parts, as it always did."""
    if "multipart/mixed" in accept or "*/*" in accept:
        return "multipart"
    return "events" if "text/event-stream" in accept else "json"


def json_type(accept: str) -> str:
    modern = "application/graphql-response+json"
    return modern if modern in accept else "application/json"


def events_of(entries: Sequence[Entry]) -> list[Event]:
    return [entry.event for entry in entries]


def event(payload: bytes) -> bytes:
    return b"event: next\ndata: %b\n\n" % payload


def read_topics(cloud: CloudInput | None, request: Request, runtime: Runtime) -> Topics | None:
    """What the question is to be held to. A client that wants it checked must not get an answer that was not."""
    if cloud is None:
        return None
    key = request.headers.get(CLOUD_KEY)
    if not key:
        raise failures.MissingCloudKey("X-CopilotCloud-Public-API-Key header is required")
    if cloud.guardrails is None:
        return None
    if not runtime.judges_topics:
        raise failures.NoGuardrails(
            "The request asks for guardrails, but this server has none that judge topics: `guards` of its "
            "configuration needs one of the type copilotkit or judge. Nothing was sent to the model."
        )
    rules = cloud.guardrails.inputValidationRules
    return Topics(tuple(rules.allowList or ()), tuple(rules.denyList or ()), key)
