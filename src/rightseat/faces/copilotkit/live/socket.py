"""One WebSocket of a page: joins, heartbeats, and its bounds.

A socket that breaks a bound is closed; nothing of that concerns other sockets. One that is idle has one task and no
timer of its own.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.faces.copilotkit.live.frames import PhoenixFrame, read_frame, write_event, write_reply
from rightseat.faces.copilotkit.live.payloads import LiveEvent
from rightseat.faces.copilotkit.live.topics import Channel
from rightseat.shared_timers import SharedTimers

logger = logging.getLogger(__name__)

MAX_JOINS = 50
MAX_FRAMES = 300
"""Within `SILENCE_S`. A page sends a heartbeat every 30 seconds."""
MAX_UNSENT = 1000
"""Frames that wait for a client that does not read. It is disconnected, and then joins again."""
MAX_UNSENT_REPLIES = 20
"""So many frames wait while more are read."""
SILENCE_S = 90.0
"""A page that has sent nothing for so long is gone."""
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013


class Owner(Protocol):
    """What a socket asks of the service that opened it."""

    def admit(self) -> Principal:
        """The user of the token, checked again. Raises a `RightseatError`."""
        ...

    def read_topic(self, topic: str) -> Channel | None:
        """None if the user may not join it."""
        ...

    def catch_up(self) -> None:
        """Send what has changed since the token was made."""
        ...


class ListSocket:
    def __init__(self, websocket: WebSocket, principal: Principal, timers: SharedTimers) -> None:
        self.principal = principal
        self._websocket = websocket
        self._timers = timers
        self._joined: dict[str, Channel] = {}
        self._joins = 0
        self._frames = 0  # in the current period
        self._unsent: deque[str] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._deadline: asyncio.Timeout | None = None
        self._end_code = POLICY_VIOLATION

    async def run(self, owner: Owner) -> None:
        """Until either side closes it."""
        timer = self._timers.add(self, SILENCE_S)
        try:
            async with asyncio.timeout(None) as self._deadline:
                await self._receive(owner)
        except TimeoutError:
            await self._close(self._end_code)
        finally:
            self._joined.clear()
            timer.discard(self)
            if self._sending is not None:
                self._sending.cancel()

    def on_time(self) -> None:
        if self._frames == 0:
            return self.end(TRY_AGAIN_LATER)
        self._frames = 0
        self._timers.add(self, SILENCE_S)
        return None

    def end(self, code: int = POLICY_VIOLATION) -> None:
        """Close it soon."""
        self._end_code = code
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time())

    def send_events(self, events: Sequence[LiveEvent]) -> None:
        for channel, event, payload in events:
            for topic, joined in self._joined.items():
                if joined == channel:
                    self._send(write_event(None, topic, event, payload))

    async def _receive(self, owner: Owner) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._frames += 1
            text = message.get("text")
            frame = read_frame(text) if text is not None else None
            if frame is None or self._frames > MAX_FRAMES:
                return await self._close(POLICY_VIOLATION)
            if frame.event == "phx_join":
                self._joins += 1
                if self._joins > MAX_JOINS:
                    return await self._close(POLICY_VIOLATION)
            self._answer(frame, owner)
            if len(self._unsent) > MAX_UNSENT_REPLIES and self._sending is not None:
                await asyncio.wait((self._sending,))

    def _answer(self, frame: PhoenixFrame, owner: Owner) -> None:
        match frame.event:
            case "phx_join":
                self._join(frame, owner)
            case "phx_leave":
                self._joined.pop(frame.topic, None)
                self._send(write_reply(frame, "ok"))
            case "heartbeat" if frame.topic == "phoenix":
                self._send(write_reply(frame, "ok"))
            case _:
                self._send(write_reply(frame, "error", "unmatched event"))

    def _join(self, frame: PhoenixFrame, owner: Owner) -> None:
        try:
            self.principal = owner.admit()
        except RightseatError as error:
            return self._send(write_reply(frame, "error", error.code))
        channel = owner.read_topic(frame.topic)
        if channel is None:
            return self._send(write_reply(frame, "error", "unauthorized"))
        self._joined[frame.topic] = channel
        self._send(write_reply(frame, "ok"))
        return owner.catch_up()

    def _send(self, text: str) -> None:
        if len(self._unsent) >= MAX_UNSENT:
            self._unsent.clear()
            return self.end(TRY_AGAIN_LATER)
        self._unsent.append(text)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return None

    async def _send_all(self) -> None:
        try:
            while self._unsent:
                await self._websocket.send_text(self._unsent.popleft())
        except (WebSocketDisconnect, RuntimeError, OSError):
            self._unsent.clear()  # the client is gone

    async def _close(self, code: int) -> None:
        try:
            await self._websocket.close(code)
        except (WebSocketDisconnect, RuntimeError, OSError):
            logger.debug("the client closed the socket first")
