"""The operations on a chat: submit, regenerate, resume, stop and load. A chat is a thread with the client's id."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Ask, Context, Principal
from rightseat.core.errors import RightseatError, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.ids import new_id
from rightseat.core.log import Entry, Position
from rightseat.core.messages import Message, continue_messages
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunRow, Thread
from rightseat.faces._shared.artifact_links import files_url
from rightseat.faces._shared.lost_log import read_or_nothing
from rightseat.faces._shared.queued_start import stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import RunResponse
from rightseat.faces.ai_sdk.decoder import decode_chat, read_tools
from rightseat.faces.ai_sdk.encoder import UIStreamEncoder
from rightseat.faces.ai_sdk.history import write_reply_parts, write_ui_messages
from rightseat.faces.ai_sdk.reply import MessageGroup, find_reply_id, group_messages, run_of_reply
from rightseat.faces.ai_sdk.retraction import drop_retracted
from rightseat.faces.ai_sdk.turn import plan_turn
from rightseat.turns import take_turn

STREAM_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
}
VERSION_HEADER = "x-ai-sdk-version"
"""A client that sends `7` in it also receives chunks that AI SDK 6 does not know. No version sends it by itself."""


class ChatNotFound(RightseatError):
    code = "chat_not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such chat.")


class ChatOperations:
    """`headers` are forwarded. `path` is that of the face, below which files are served."""

    def __init__(
        self,
        runtime: Runtime,
        auth: RouteAuth,
        *,
        agent: str,
        headers: tuple[str, ...],
        keep_alive: float,
        path: str,
    ) -> None:
        self._runtime = runtime
        self._auth = auth
        self._agent = agent
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def submit(self, body: bytes, request: Request, principal: Principal) -> Response:
        """Start the run of a new question, an edited or regenerated one, or of results and answers."""
        self._auth.check_agent(principal, self._agent)
        chat, properties = decode_chat(body)
        await take_turn()
        thread = await self._find(chat.id, principal)
        pending = await self._runtime.pending(principal, chat.id) if thread else ()
        turn = plan_turn(chat, thread, pending)
        ask = Ask(
            messages=turn.messages,
            agent=self._agent,
            thread_id=chat.id,
            run_id=new_id("run") if turn.is_continued else run_of_reply(turn.reply_id),
            principal=principal,
            tools=read_tools(chat.tools),
            context=(Context("Instructions of the page", chat.system),) if chat.system else (),
            properties=properties,
            headers={name: value for name in self._headers if (value := request.headers.get(name)) is not None},
            answers=turn.answers,
            truncate_at=turn.truncate_at,
            face="ai_sdk",
        )

        def stream(ask: Ask) -> RunResponse:
            return self._stream(ask.run_id, self._encoder(request, turn.reply_id, thread, turn.reply))

        return await stream_started(self._runtime, request, ask, self._runtime.start(ask), stream)

    async def resume(self, body: bytes, request: Request, principal: Principal) -> Response:
        """Send the active run from its start to its end; 204 if there is none.

        The client builds the message of the run anew, so parts of earlier runs in the same message come first.
        """
        thread = await self._find(request.path_params["chat"], principal)
        run = find_active_run(thread)
        if thread is None or run is None:
            return Response(status_code=204)
        entries = await read_or_nothing(self._runtime, run.id)
        if entries and isinstance(entries[-1].event, RunFinished | RunFailed):
            return Response(status_code=204)  # it has just ended
        messages = add_new_messages(thread, entries)
        groups = group_messages(messages)
        group = groups[-1] if groups and groups[-1].is_reply else None
        reply_id = group.id if group else find_reply_id(messages) or run.client_run_id or run.id
        encoder = self._encoder(request, reply_id, thread, group, repeat=True)
        first = encoder.feed(drop_retracted(entries))
        after = str(Position(entries[-1].epoch, entries[-1].seq)) if entries else None
        return self._stream(run.id, encoder, first=first, after=after)

    async def stop(self, body: bytes, request: Request, principal: Principal) -> Response:
        chat = request.path_params["chat"]
        if await self._find(chat, principal) is None:
            raise ChatNotFound
        return json_response({"stopped": await self._runtime.stop(chat, principal)})

    async def load(self, body: bytes, request: Request, principal: Principal) -> Response:
        """The messages, with the question that an active run answers."""
        chat = request.path_params["chat"]
        thread = await self._find(chat, principal)
        if thread is None:
            raise ChatNotFound
        run = find_active_run(thread)
        messages = add_new_messages(thread, await read_or_nothing(self._runtime, run.id)) if run else thread.messages
        pending = await self._runtime.pending(principal, chat)
        is_waiting = bool(thread.runs) and thread.runs[-1].outcome in ("waiting", None)
        return json_response({"id": chat, "messages": write_ui_messages(messages, pending, is_waiting=is_waiting)})

    async def _find(self, chat: str, principal: Principal) -> Thread | None:
        """The thread, if it is the principal's and of an agent that the principal may use."""
        self._auth.check_agent(principal, self._agent)
        try:
            thread = await self._runtime.settled(chat, principal)
        except ThreadNotFound:
            return None
        is_allowed = thread is None or thread.summary is None or principal.may_use(thread.summary.agent)
        return thread if is_allowed else None

    def _encoder(
        self,
        request: Request,
        reply_id: str,
        thread: Thread | None,
        reply: MessageGroup | None,
        *,
        repeat: bool = False,
    ) -> UIStreamEncoder:
        return UIStreamEncoder(
            reply_id,
            reply=write_reply_parts(reply, (), is_open=True) if reply else (),
            repeat=repeat,
            state=thread.state if thread else None,
            files_url=files_url(request, self._path),
            can_reset=request.headers.get(VERSION_HEADER, "").partition(".")[0] == "7",
        )

    def _stream(
        self, run_id: str, encoder: UIStreamEncoder, *, first: bytes = b"", after: str | None = None
    ) -> RunResponse:
        """The run continues if its client disconnects: the page may have been reloaded."""
        return RunResponse(
            self._runtime,
            run_id,
            encoder.feed,
            headers=STREAM_HEADERS,
            first=first,
            after=after,
            cancel_on_disconnect=False,
            keep_alive=self._keep_alive,
        )


def find_active_run(thread: Thread | None) -> RunRow | None:
    return next((run for run in thread.runs if run.outcome is None), None) if thread else None


def add_new_messages(thread: Thread, entries: Sequence[Entry]) -> tuple[Message, ...]:
    """The thread's messages as its active run received them: the store has its new messages only after its end."""
    started = next((entry.event for entry in entries if isinstance(entry.event, RunStarted)), None)
    if started is None:
        return thread.messages
    return continue_messages(thread.messages, started.truncated_at, started.new_messages)
