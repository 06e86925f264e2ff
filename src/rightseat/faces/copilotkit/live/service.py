"""Tokens and sockets of one face: who may open one, and how many."""

import logging
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from starlette.responses import Response
from starlette.websockets import WebSocket

from rightseat.access.authorization import AuthorizationEnded, RightsChanged, Watch
from rightseat.access.key_files import load_or_create_key
from rightseat.access.route_auth import RouteAuth
from rightseat.access.sessions import SessionClaims
from rightseat.core.ask import Principal
from rightseat.core.errors import KeysUnconfirmed, RightseatError, SessionsUnconfirmed
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.base_url import base_url
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.socket_token import hide_token
from rightseat.faces.copilotkit.current.routing import OperationRequest, Routes
from rightseat.faces.copilotkit.live.payloads import AgentNames
from rightseat.faces.copilotkit.live.socket import POLICY_VIOLATION, ListSocket
from rightseat.faces.copilotkit.live.source import ListSource
from rightseat.faces.copilotkit.live.topics import Channel, LiveTokens, missed_since
from rightseat.faces.copilotkit.live.user import UserLists
from rightseat.operations.changes import LiveChanges
from rightseat.operations.own_memories import OwnMemories
from rightseat.outages import OutageLog

logger = logging.getLogger(__name__)

CHECKS_PER_EXPIRY = 60
"""A socket is checked twice a second: at once whether any key has changed, and so often whether its own has expired."""


class LiveLists:
    """`key_file` has the key that signs tokens. `agents` are the clients' agent names."""

    def __init__(
        self,
        runtime: Runtime,
        changes: LiveChanges,
        auth: RouteAuth,
        agents: Callable[[], AgentNames],
        memories: OwnMemories | None,
        *,
        path: str,
        key_file: Path,
        max_sockets_per_user: int,
    ) -> None:
        self._runtime = runtime
        self._changes = changes
        self._auth = auth
        self._agents = agents
        self._memories = memories
        self._path = path.rstrip("/")
        self._key_file = key_file
        self._max_sockets = max_sockets_per_user
        self._users: dict[str, UserLists] = {}
        self._outage = OutageLog("the store for open lists", logger)

    @property
    def route(self) -> str:
        return f"{self._path}/client/websocket"

    @cached_property
    def tokens(self) -> LiveTokens:
        """Raises `ConfigError` if the file cannot be created."""
        return LiveTokens(load_or_create_key(self._key_file), "open" if self._auth.is_open else "keys")

    @cached_property
    def _source(self) -> ListSource:
        return ListSource(self._runtime, self._changes, self._memories, self._agents())

    def routes(self) -> Routes:
        return {("POST", "threads/subscribe"): self.subscribe}

    async def subscribe(self, request: OperationRequest) -> Response:
        return json_response({"joinToken": await self.open_token(request)})

    async def open_token(self, request: OperationRequest) -> str:
        return await self._auth.open_socket_session(request.http, self.tokens.sessions)

    def write_code(self, principal: Principal) -> str:
        return self.tokens.write_code(principal.id)

    def describe(self, request: OperationRequest) -> dict[str, dict[str, str]]:
        """What `/info` has. The client appends `/websocket` to the URL."""
        return {"intelligence": {"wsUrl": f"ws{base_url(request.http).removeprefix('http')}{self._path}/client"}}

    async def serve(self, websocket: WebSocket) -> None:
        token = hide_token(websocket.scope)
        try:
            claims = self.tokens.read(token)
            principal = self._auth.resume_socket_session(claims, self.tokens.sessions)
        except RightseatError as error:
            logger.info("refused a WebSocket: %s", error)
            return await websocket.close(POLICY_VIOLATION)
        user = self._users.get(principal.id)
        if user is not None and len(user.sockets) >= self._max_sockets:
            logger.info("refused a WebSocket of %r, which has %d open", principal.id, len(user.sockets))
            return await websocket.close(POLICY_VIOLATION)
        await self._serve(websocket, principal, claims)

    async def _serve(self, websocket: WebSocket, principal: Principal, claims: SessionClaims) -> None:
        user = self._users.get(principal.id)
        if user is None:
            user = self._users[principal.id] = UserLists(self._source, self._outage)
            self._changes.subscribe(principal.id, user.receive)
        socket = ListSocket(websocket, principal, self._runtime.timers)
        user.sockets.add(socket)
        try:
            await websocket.accept()
            await self._run(socket, OpenedSocket(self, user, socket, claims))
        finally:
            user.remove(socket)
            if not user.sockets and self._users.pop(principal.id, None) is not None:
                self._changes.unsubscribe(principal.id, user.receive)
                await user.close()

    async def _run(self, socket: ListSocket, owner: "OpenedSocket") -> None:
        """A socket ends when its key is revoked. It outlives its token: the page could not get another one."""
        if (open_requests := self._auth.open_requests) is None:
            return await socket.run(owner)
        try:
            await Watch(owner.check, open_requests).do(socket.run(owner))
        except AuthorizationEnded as end:
            logger.info("closed a WebSocket: %s", end.problem)

    @property
    def keys_revision(self) -> int:
        return self._auth.keys_revision

    def admit(self, claims: SessionClaims) -> Principal:
        return self._auth.resume_socket_session(claims, self.tokens.sessions)

    def has_memory(self, principal: Principal) -> bool:
        return self._memories is not None and self._memories.have_agent(principal, self._agents().values())


class OpenedSocket:
    """A socket with the token that opened it."""

    def __init__(self, lists: LiveLists, user: UserLists, socket: ListSocket, claims: SessionClaims) -> None:
        self._lists = lists
        self._user = user
        self._socket = socket
        self._claims = claims
        self._revision = lists.keys_revision
        self._unchecked = 0

    def admit(self) -> Principal:
        """Raises a `RightseatError`."""
        self._lists.tokens.sessions.check_end(self._claims)
        return self._lists.admit(self._claims)

    def check(self) -> None:
        """Raises `Unauthenticated` if the key is gone or has other rights. While that is not known, nothing ends."""
        revision = self._lists.keys_revision
        self._unchecked += 1
        if revision == self._revision and self._unchecked < CHECKS_PER_EXPIRY:
            return
        self._revision, self._unchecked = revision, 0
        try:
            now = self._lists.admit(self._claims)
        except (KeysUnconfirmed, SessionsUnconfirmed):
            return
        if (now.id, now.agents) != (self._socket.principal.id, self._socket.principal.agents):
            raise RightsChanged

    def read_topic(self, topic: str) -> Channel | None:
        principal = self._socket.principal
        channel = self._lists.tokens.read_topic(topic, principal.id)
        return None if channel == "memories" and not self._lists.has_memory(principal) else channel

    def catch_up(self) -> None:
        self._user.catch_up(self._socket, missed_since(self._claims))
