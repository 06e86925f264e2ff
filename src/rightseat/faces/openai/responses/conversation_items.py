"""Reads the items of a conversation part by part, in either direction.

Items that clients added are messages of the thread, which have a number; a response is before the message whose number
is its `start`. Neither all messages nor more than one response are in memory at a time.
"""

import re
from collections.abc import AsyncIterator, Sequence

from rightseat.core.ask import Principal
from rightseat.core.messages import Message
from rightseat.core.runtime import Runtime
from rightseat.core.thread_parts import ThreadOutline
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.item_pages import PageQuery
from rightseat.faces.openai.responses.message_marks import read_mark
from rightseat.faces.openai.responses.response_record import ResponseRecord
from rightseat.faces.openai.responses.response_store import ResponseStore, response_id, response_of_item
from rightseat.wire.json_pieces import is_large

CONVERSATION_ITEM_ID = re.compile("[a-z]+_([0-9a-f]{32})_c([0-9]{1,9})")
"""The conversation, and a number that is not higher than that of the item's message."""
MIN_MESSAGES, MAX_MESSAGES = 4, 64
"""Read at a time: messages may have megabytes."""


class ConversationItems:
    def __init__(
        self, runtime: Runtime, responses: ResponseStore, outline: ThreadOutline, principal: Principal
    ) -> None:
        self._runtime = runtime
        self._responses = responses
        self._outline = outline
        self._principal = principal

    async def read(self, suffix: str, query: PageQuery) -> AsyncIterator[Item]:
        """In the order of the query. Begins with the item `query.after`, or at the first one if there is no such item.

        `suffix` is the part of the conversation's id that the ids of its items share.
        """
        read = self._read_forward if query.is_ascending else self._read_backward
        place, run = await self._find_start(suffix, query)
        async for item in read(place, run):
            yield item

    async def _find_start(self, suffix: str, query: PageQuery) -> tuple[int, int]:
        """The number of the message, and the place of the run, at which reading in the order of the query begins."""
        ids, after = [run.id for run in self._outline.runs], query.after or ""
        run_id = f"run_{response_of_item(after)[0]}"
        if run_id in ids:
            run = ids.index(run_id)
            record = await self._responses.find_any(response_id(run_id), self._principal)
            start = record.start if record is not None else 0
            return (start, run) if query.is_ascending else (start - 1, run)
        parsed = CONVERSATION_ITEM_ID.fullmatch(after)
        if parsed and parsed[1] == suffix:
            found = await find_place(self._runtime, self._outline, after, int(parsed[2]), self._principal)
            if found is not None:
                return (found[0], await self._skip_runs(found[0], is_ascending=query.is_ascending))
        return (0, 0) if query.is_ascending else (self._outline.message_count - 1, len(ids) - 1)

    async def _skip_runs(self, place: int, *, is_ascending: bool) -> int:
        """The first run, in this direction, whose response does not lie before the message."""
        count = len(self._outline.runs)
        for run in range(count) if is_ascending else reversed(range(count)):
            record = await self._response(run)
            if record is not None and (record.start > place if is_ascending else record.start <= place):
                return run
        return count if is_ascending else -1

    async def _read_forward(self, place: int, run: int) -> AsyncIterator[Item]:
        run, response = await self._next_response(run, 1)
        async for number, message in read_forward(self._runtime, self._outline, self._principal, place):
            while response is not None and response.start <= number:
                for item in await self._responses.items_of(response, self._principal):
                    yield item
                run, response = await self._next_response(run + 1, 1)
            if isinstance(mark := read_mark(message), dict):
                yield mark
        while response is not None:
            for item in await self._responses.items_of(response, self._principal):
                yield item
            run, response = await self._next_response(run + 1, 1)

    async def _read_backward(self, place: int, run: int) -> AsyncIterator[Item]:
        run, response = await self._next_response(run, -1)
        async for number, message in read_backward(self._runtime, self._outline, self._principal, place):
            while response is not None and response.start > number:
                for item in reversed(await self._responses.items_of(response, self._principal)):
                    yield item
                run, response = await self._next_response(run - 1, -1)
            if isinstance(mark := read_mark(message), dict):
                yield mark
        while response is not None:
            for item in reversed(await self._responses.items_of(response, self._principal)):
                yield item
            run, response = await self._next_response(run - 1, -1)

    async def _next_response(self, run: int, step: int) -> tuple[int, ResponseRecord | None]:
        """The first run from this one on that is a response."""
        while 0 <= run < len(self._outline.runs):
            if (record := await self._response(run)) is not None:
                return run, record
            run += step
        return run, None

    async def _response(self, run: int) -> ResponseRecord | None:
        return await self._responses.find_any(response_id(self._outline.runs[run].id), self._principal)


async def find_place(
    runtime: Runtime, outline: ThreadOutline, id: str, lowest: int, principal: Principal
) -> tuple[int, Item] | None:
    """The number of the message that a client's item is in, which is at least `lowest`, and the item."""
    async for number, message in read_forward(runtime, outline, principal, lowest):
        mark = read_mark(message)
        if not isinstance(mark, dict):
            continue
        if mark.get("id") == id:
            return number, mark
        parsed = CONVERSATION_ITEM_ID.fullmatch(str(mark.get("id")))
        if parsed and int(parsed[2]) > lowest:
            return None
    return None


async def read_forward(
    runtime: Runtime, outline: ThreadOutline, principal: Principal, start: int
) -> AsyncIterator[tuple[int, Message]]:
    """The messages with their numbers, from this one on."""
    count = MIN_MESSAGES
    while start < outline.message_count:
        stop = min(start + count, outline.message_count)
        messages = await runtime.messages(outline.id, principal, start, stop)
        for number, message in number_messages(start, messages):
            yield number, message
        start, count = stop, next_count(count, messages)


async def read_backward(
    runtime: Runtime, outline: ThreadOutline, principal: Principal, start: int
) -> AsyncIterator[tuple[int, Message]]:
    """The messages with their numbers, from this one to the first."""
    count, stop = MIN_MESSAGES, start + 1
    while stop > 0:
        first = max(stop - count, 0)
        messages = await runtime.messages(outline.id, principal, first, stop)
        for number, message in reversed(number_messages(first, messages)):
            yield number, message
        stop, count = first, next_count(count, messages)


def next_count(count: int, messages: Sequence[Message]) -> int:
    """How many messages are read next: more after small ones."""
    return MIN_MESSAGES if is_large(messages) else min(2 * count, MAX_MESSAGES)


def number_messages(first: int, messages: Sequence[Message]) -> list[tuple[int, Message]]:
    return list(enumerate(messages, first))
