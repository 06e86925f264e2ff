"""Serves GraphQL over HTTP to CopilotKit clients up to 1.10.6.

Responses to operations always have status 200, because the clients discard the body of a 4xx and its error message.
"""

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
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
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.queued_start import start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import (
    KEEP_ALIVE_COMMENT,
    DisconnectWatcher,
    RunResponse,
    incomplete_run_failure,
)
from rightseat.faces.copilotkit.graphql import failures
from rightseat.faces.copilotkit.graphql.arguments import MutationArguments, read_arguments, read_variables
from rightseat.faces.copilotkit.graphql.body_encoder import GraphQLBodyEncoder
from rightseat.faces.copilotkit.graphql.context import ResolverContext, SchemaContext
from rightseat.faces.copilotkit.graphql.decoder import read_ask
from rightseat.faces.copilotkit.graphql.documents import Document, Documents, InvalidDocument
from rightseat.faces.copilotkit.graphql.encoder import PatchEncoder, Shape
from rightseat.faces.copilotkit.graphql.inputs import CloudInput, GenerateCopilotResponseInput
from rightseat.faces.copilotkit.graphql.meta import read_answers
from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.faces.copilotkit.graphql.query_errors import write_invalid, write_query_error
from rightseat.faces.copilotkit.graphql.request import GraphQLRequest
from rightseat.faces.copilotkit.graphql.schema import schema
from rightseat.faces.copilotkit.graphql.values import Value
from rightseat.limits.read_limits import pace_body
from rightseat.wire import multipart

DENSE_CHARACTERS, CHARACTERS_PER_CONTAINER = 6000, 2
"""Parsing and validating two characters of a document takes up to 20 us, as an object of a body does. A document may
have 2,000 tokens (`documents.MAX_TOKENS`), which need no more characters than that."""
SPARSE_CHARACTERS_PER_CONTAINER = 50
"""Of a document that is longer: blanks, comments, long texts and numbers, which take 0.4 us each."""
CLOUD_KEY = "x-copilotcloud-public-api-key"
MULTIPART = {"content-type": multipart.CONTENT_TYPE, "cache-control": "no-cache", "x-accel-buffering": "no"}
EVENTS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}


class GraphQL:
    """Handles the GraphQL operations of one face."""

    def __init__(
        self,
        context: SchemaContext,
        *,
        introspection: bool,
        headers: tuple[str, ...],
        keep_alive: float,
        path: str | None,
    ) -> None:
        self._context = context
        self._documents = Documents(introspection=introspection)
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def answer(
        self, operation: GraphQLRequest, request: Request, principal: Principal, *, only_queries: bool = False
    ) -> Response:
        if not self._documents.has_mutation(operation.query, operation.operationName):
            await pace_body(weigh_document(operation.query))
        try:
            document = self._documents.read(operation.query, operation.operationName)
            if not document.is_mutation:
                return await self._query(document, operation, request, principal)
            if only_queries:
                body = write_invalid([GraphQLError("A mutation is sent by POST, never by GET.")])
                return json_response(body, 405, headers={"allow": "POST"})
            return await self._mutate(document, bytes(operation.variables), request, principal)
        except InvalidDocument as invalid:
            return json_response(write_invalid(invalid.errors))

    async def _query(
        self, document: Document, operation: GraphQLRequest, request: Request, principal: Principal
    ) -> Response:
        result = await schema.execute(
            operation.query,
            read_variables(document, bytes(operation.variables)),
            context_value=ResolverContext(self._context, principal, self._forwarded_headers(request)),
            operation_name=operation.operationName,
        )
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = [write_query_error(error) for error in result.errors]
        return json_response(body, content_type=json_type(request.headers.get("accept", "")))

    async def _mutate(self, document: Document, variables: bytes, request: Request, principal: Principal) -> Response:
        arguments, values = read_arguments(document, variables)
        key, selection = document.key, document.selection(values)
        wanted, echo = choose_delivery(request.headers.get("accept", "*/*")), write_echo(arguments.data)
        shape = Shape.of(key, selection) if wanted != "json" else None
        runtime = self._context.runtime
        try:
            ask = await self._read_ask(arguments, request, principal)
            if shape is not None:
                stream = partial(self._stream, shape, wanted=wanted, request=request, echo=echo)
                comment = KEEP_ALIVE_COMMENT if wanted == "events" else multipart.IGNORED_LINE
                return await stream_started(runtime, request, ask, runtime.start(ask), stream, comment)
            ask = await start_connected(runtime, request, runtime.start(ask))
        except RightseatError as error:
            return json_response(failures.write_refusal(failures.kind_of(error.code), error.message, key))
        return await self._respond(key, selection, ask, request, echo)

    async def _read_ask(self, arguments: MutationArguments, request: Request, principal: Principal) -> Ask:
        topics = read_topics(arguments.data.cloud, request, self._context.runtime)
        data, runtime = arguments.data, self._context.runtime
        ask = read_ask(data, arguments.properties, self._forwarded_headers(request), self._context.default, principal)
        ask = msgspec.structs.replace(ask, topics=topics)
        if data.agentSession is None:
            self._context.auth.check_agent(principal, ask.agent)
            return ask
        ask = msgspec.structs.replace(ask, agent=await self._context.resolve_agent(ask))
        if data.metaEvents:
            pending = await runtime.pending(principal, ask.thread_id)
            ask = msgspec.structs.replace(ask, answers=read_answers(data.metaEvents, pending))
        return ask

    def _forwarded_headers(self, request: Request) -> dict[str, str]:
        return {name: value for name in self._headers if (value := request.headers.get(name)) is not None}

    def _linker(self, request: Request) -> ArtifactLinker:
        return ArtifactLinker(None if self._path is None else files_url(request, self._path))

    def _stream(self, shape: Shape, ask: Ask, *, wanted: str, request: Request, echo: Value) -> RunResponse:
        patches = PatchEncoder(shape, ask.thread_id, ask.run_id, client_agent_name(ask), ask.state, echo)
        runtime, linker = self._context.runtime, self._linker(request)

        def feed(entries: Sequence[Entry]) -> bytes | None:
            return patches.feed(events_of(linker.expand_entries(entries)))

        if wanted == "events":
            return RunResponse(
                runtime,
                ask.run_id,
                lambda entries: (payload := feed(entries)) and frame_event(payload),
                headers=EVENTS,
                first=b":\n\n" + frame_event(patches.begin()),
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

    async def _respond(self, key: str, selection: Selection, ask: Ask, request: Request, echo: Value) -> Response:
        encoder = GraphQLBodyEncoder(key, selection, ask.thread_id, ask.run_id, client_agent_name(ask), ask.state, echo)
        runtime, linker = self._context.runtime, self._linker(request)
        async with (
            DisconnectWatcher(runtime, ask.run_id, request.receive),
            aclosing(runtime.follow(ask.run_id)) as batches,
        ):
            async for entries in batches:
                encoder.feed(events_of(linker.expand_entries(entries)))
        if not encoder.is_over:
            encoder.feed([incomplete_run_failure(ask.run_id)])
        return Response(encoder.body(), media_type=json_type(request.headers.get("accept", "")))


def weigh_document(text: str) -> int:
    """What it takes to read a document, as a number of JSON objects."""
    dense = min(len(text), DENSE_CHARACTERS)
    return dense // CHARACTERS_PER_CONTAINER + (len(text) - dense) // SPARSE_CHARACTERS_PER_CONTAINER


def write_echo(data: GenerateCopilotResponseInput) -> Value:
    """Return the fields that the response repeats. CopilotKit clients send them again with their next request."""
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


def client_agent_name(ask: Ask) -> str:
    """Return the client's name of the agent, which for a member of an agent group is the member's name."""
    return ask.agent.rpartition("/")[2]


def choose_delivery(accept: str) -> Literal["multipart", "events", "json"]:
    """Return how to send an incremental response. A client that accepts both formats gets multipart."""
    if "multipart/mixed" in accept or "*/*" in accept:
        return "multipart"
    return "events" if "text/event-stream" in accept else "json"


def json_type(accept: str) -> str:
    modern = "application/graphql-response+json"
    return modern if modern in accept else "application/json"


def events_of(entries: Sequence[Entry]) -> list[Event]:
    return [entry.event for entry in entries]


def frame_event(payload: bytes) -> bytes:
    return b"event: next\ndata: %b\n\n" % payload


def read_topics(cloud: CloudInput | None, request: Request, runtime: Runtime) -> Topics | None:
    """Return the allowed and denied topics. Fails if the client requests a check that the server does not have."""
    if cloud is None:
        return None
    key = request.headers.get(CLOUD_KEY)
    if not key:
        raise failures.MissingCloudKey("X-CopilotCloud-Public-API-Key header is required")
    if cloud.guardrails is None:
        return None
    if not runtime.checks_topics:
        raise failures.NoGuardrails(
            "The request asks for guardrails, but this server has none that judge topics: `guards` of its "
            "configuration needs one of the type copilotkit or judge. Nothing was sent to the model."
        )
    rules = cloud.guardrails.inputValidationRules
    return Topics(tuple(rules.allowList or ()), tuple(rules.denyList or ()), key)
