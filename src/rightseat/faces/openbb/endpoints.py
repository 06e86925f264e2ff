"""What Workspace calls, one class for each kind of address."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.door import Door, Endpoint
from rightseat.core.ask import Principal
from rightseat.core.errors import AgentNotFound, RightseatError
from rightseat.core.ids import new_id
from rightseat.faces.answers import BodyTooLarge, answer, read_body
from rightseat.faces.openbb import reading
from rightseat.faces.openbb.answering import Answering
from rightseat.faces.openbb.asking import Era
from rightseat.faces.openbb.descriptors import Offer, write_agent, write_copilot
from rightseat.faces.openbb.events import chunk
from rightseat.faces.openbb.feedback import Feedback
from rightseat.faces.openbb.telling import told
from rightseat.faces.showing import base_of

logger = logging.getLogger(__name__)

TRACE = "x-trace-id"
LONGEST_FEEDBACK = 2**20
DRAINED = 4
"""So many times the largest request is read to its end, and thrown away, for the sake of an answer in words."""


class Here(NamedTuple):
    """An agent that Workspace may find: how it is offered, what it says of itself, and where it is asked."""

    name: str
    offer: Offer
    description: str
    path: str


class Agents:
    """`/agents.json`, with the agents that the caller may use."""

    def __init__(self, here: Sequence[Here], door: Door, feedback: str | None) -> None:
        self._here = here
        self._door = door
        self._feedback = feedback

    async def __call__(self, request: Request, principal: Principal) -> Response:
        listed = [one for one in self._here if self._door.may(principal, one.name)]
        return answer({one.name: write_agent(*one, self._feedback) for one in listed})


class Copilots:
    """`/copilots.json`, the same for clients of 2024: they want whole addresses."""

    def __init__(self, here: Sequence[Here], door: Door) -> None:
        self._here = here
        self._door = door

    async def __call__(self, request: Request, principal: Principal) -> Response:
        root = str(request.base_url).rstrip("/")
        listed = [one._replace(path=root + one.path) for one in self._here if self._door.may(principal, one.name)]
        return answer({one.name: write_copilot(*one) for one in listed})


class Asked:
    """The endpoint of one agent. What cannot be read at all is refused as JSON; all else is answered in words."""

    def __init__(
        self, answering: Answering, agent: str, most: int, headers: tuple[str, ...], door: Door, path: str
    ) -> None:
        self._answering = answering
        self._agent = agent
        self._most = most  # bytes of a request
        self._headers = headers  # those that are passed on
        self._door = door
        self._path = path  # of the face, below which files are fetched

    async def __call__(self, request: Request, principal: Principal) -> Response:
        named = request.headers.get(TRACE)
        trace_id = named or new_id("chat")
        try:
            self._door.check(principal, self._agent)
            era: Era = "new" if "agent" in request.path_params else "legacy"  # 2024 had no addresses with a name
            query = reading.read(await read_body(request, self._most), trace_id, era)
        except ClientDisconnect:
            return Response()  # for nobody
        except BodyTooLarge as error:
            return await self._too_large(request, trace_id, error)
        except RightseatError as error:
            return refuse(error)
        headers = {name: value for name in self._headers if (value := request.headers.get(name)) is not None}
        files = base_of(request, self._path)
        return await self._answering.answer(query, principal, headers, files, attended=bool(named))

    async def _too_large(self, request: Request, trace_id: str, error: BodyTooLarge) -> Response:
        """A user can do something about it, so it is said where users read: when the browser has sent all of it."""
        logger.warning("chat %s: %s", trace_id, error)
        left = DRAINED * self._most
        async for piece in request.stream():
            left -= len(piece)
            if left < 0:
                return refuse(error)
        return told([chunk(f"{error.message} Take away widgets or files that the question does not need.")], trace_id)


class Named:
    """The endpoint of any agent, by the name that its address ends in.

    A name may have any letters in it, also those that mean something in the path of a route. `locked` are those that
    want a key even where the face is open.
    """

    def __init__(self, asked: Mapping[str, Asked], locked: Mapping[str, Endpoint], door: Door) -> None:
        self._asked = asked
        self._locked = locked
        self._door = door

    async def __call__(self, request: Request, principal: Principal) -> Response:
        name = request.path_params["agent"]
        if name in self._locked:
            return await self._locked[name](request)
        if name in self._asked:
            return await self._asked[name](request, principal)
        return refuse(AgentNotFound(name, [known for known in self._asked if self._door.may(principal, known)]))


class Kept:
    """The endpoint for what users say of answers."""

    def __init__(self, feedback: Feedback) -> None:
        self._feedback = feedback

    async def __call__(self, request: Request, principal: Principal) -> Response:
        try:
            body = await read_body(request, LONGEST_FEEDBACK)
            await self._feedback.keep(body, request.headers.get(TRACE), principal.id)
        except ClientDisconnect:
            return Response()
        except RightseatError as error:
            return refuse(error)
        return answer({"status": "ok"})


def refuse(error: RightseatError) -> Response:
    return answer({"error": error.code, "message": error.message, "detail": error.message}, error.status)
