"""The HTTP endpoints that OpenBB Workspace calls, one class per kind of route."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth, RouteEndpoint
from rightseat.core.ask import Principal
from rightseat.core.errors import AgentNotFound, RightseatError
from rightseat.core.ids import new_id
from rightseat.faces._shared.artifact_links import files_url
from rightseat.faces._shared.base_url import base_path, base_url
from rightseat.faces._shared.responses import BodyTooLarge, json_response, read_body
from rightseat.faces.openbb.descriptors import Offer, write_agent, write_copilot
from rightseat.faces.openbb.feedback import store_vote
from rightseat.faces.openbb.feedback_file import FeedbackFile
from rightseat.faces.openbb.query import QueryHandler
from rightseat.faces.openbb.request import parser
from rightseat.faces.openbb.request.types import ProtocolVersion
from rightseat.faces.openbb.response.events import chunk, event_response
from rightseat.operations.own_feedback import OwnFeedback

logger = logging.getLogger(__name__)

TRACE_HEADER = "x-trace-id"
MAX_FEEDBACK_BYTES = 2**20
DRAIN_FACTOR = 4
"""A request of up to this many times the maximum size is read to its end and discarded, so that the browser can
receive a readable response instead of a connection error."""


class ListedAgent(NamedTuple):
    """An agent listed for Workspace: its display options, its own description and the path of its endpoint."""

    name: str
    offer: Offer
    description: str
    path: str


class AgentsEndpoint:
    """`/agents.json`: the agents that the caller may use."""

    def __init__(self, listed_agents: Sequence[ListedAgent], auth: RouteAuth, feedback: str | None) -> None:
        self._agents = listed_agents
        self._auth = auth
        self._feedback = feedback

    async def __call__(self, request: Request, principal: Principal) -> Response:
        root = base_path(request)
        listed = [one._replace(path=root + one.path) for one in self._agents if self._auth.may_use(principal, one.name)]
        feedback = None if self._feedback is None else root + self._feedback
        return json_response({one.name: write_agent(*one, feedback) for one in listed})


class CopilotsEndpoint:
    """`/copilots.json`: the same for clients of 2024, which need absolute URLs."""

    def __init__(self, listed_agents: Sequence[ListedAgent], auth: RouteAuth) -> None:
        self._agents = listed_agents
        self._auth = auth

    async def __call__(self, request: Request, principal: Principal) -> Response:
        root = base_url(request)
        listed = [one._replace(path=root + one.path) for one in self._agents if self._auth.may_use(principal, one.name)]
        return json_response({one.name: write_copilot(*one) for one in listed})


class QueryEndpoint:
    """The endpoint of one agent. An unreadable request gets a JSON error; every other failure is shown as chat text."""

    def __init__(
        self,
        handler: QueryHandler,
        agent: str,
        max_body_bytes: int,
        headers: tuple[str, ...],
        auth: RouteAuth,
        path: str,
    ) -> None:
        self._handler = handler
        self._agent = agent
        self._max_body_bytes = max_body_bytes
        self._headers = headers  # names of forwarded headers
        self._auth = auth
        self._path = path  # of the face; files are served below it

    async def __call__(self, request: Request, principal: Principal) -> Response:
        chat_id = request.headers.get(TRACE_HEADER)
        trace_id = chat_id or new_id("chat")
        try:
            self._auth.check_agent(principal, self._agent)
            version: ProtocolVersion = (
                "new" if "agent" in request.path_params else "legacy"
            )  # clients of 2024 have no paths with an agent name
            query = parser.parse(await read_body(request, self._max_body_bytes), trace_id, version)
        except ClientDisconnect:
            return Response()  # the client has disconnected
        except BodyTooLarge as error:
            return await self._too_large(request, trace_id, error)
        except RightseatError as error:
            return error_response(error)
        headers = {name: value for name in self._headers if (value := request.headers.get(name)) is not None}
        files = files_url(request, self._path)
        return await self._handler.answer(query, principal, headers, files, interactive=bool(chat_id))

    async def _too_large(self, request: Request, trace_id: str, error: BodyTooLarge) -> Response:
        """Users can fix this, so it is shown in the chat, once the browser has sent the whole body."""
        logger.warning("chat %s: %s", trace_id, error)
        left = DRAIN_FACTOR * self._max_body_bytes
        async for piece in request.stream():
            left -= len(piece)
            if left < 0:
                return error_response(error)
        return event_response(
            [chunk(f"{error.message} Remove widgets or files that the question does not need.")], trace_id
        )


class NamedAgentEndpoint:
    """The endpoint of any agent, by the name at the end of its path.

    A name may contain any characters, also those with a meaning in route paths. `locked` agents require an API key even
    if the face does not.
    """

    def __init__(
        self, endpoints: Mapping[str, QueryEndpoint], locked: Mapping[str, RouteEndpoint], auth: RouteAuth
    ) -> None:
        self._endpoints = endpoints
        self._locked = locked
        self._auth = auth

    async def __call__(self, request: Request, principal: Principal) -> Response:
        name = request.path_params["agent"]
        if name in self._locked:
            return await self._locked[name](request)
        if name in self._endpoints:
            return await self._endpoints[name](request, principal)
        return error_response(
            AgentNotFound(name, [known for known in self._endpoints if self._auth.may_use(principal, known)])
        )


class FeedbackEndpoint:
    """The endpoint for user feedback. With a `file` it is appended there too."""

    def __init__(self, feedback: OwnFeedback, file: FeedbackFile | None) -> None:
        self._feedback = feedback
        self._file = file

    async def __call__(self, request: Request, principal: Principal) -> Response:
        try:
            body = await read_body(request, MAX_FEEDBACK_BYTES)
            await store_vote(self._feedback, self._file, principal, body, request.headers.get(TRACE_HEADER))
        except ClientDisconnect:
            return Response()
        except RightseatError as error:
            return error_response(error)
        return json_response({"status": "ok"})


def error_response(error: RightseatError) -> Response:
    return json_response({"error": error.code, "message": error.message, "detail": error.message}, error.status)
