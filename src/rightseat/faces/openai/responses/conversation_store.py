"""Stores conversations: a conversation is a thread, whose record is an artifact of it.

Items that a client adds are messages of the thread, and each carries its item. Items of responses come from the
responses.
"""

import re
import time
from collections.abc import AsyncIterator, Sequence

import msgspec

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import RightseatError
from rightseat.core.ids import new_id
from rightseat.core.messages import Message
from rightseat.core.runtime import Runtime
from rightseat.core.thread_parts import ThreadOutline
from rightseat.core.threads import Thread
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.conversation_items import (
    CONVERSATION_ITEM_ID,
    ConversationItems,
    find_place,
    read_forward,
)
from rightseat.faces.openai.responses.input_items import PREFIXES, DecodedInput, Item, calls_of
from rightseat.faces.openai.responses.item_pages import PageQuery
from rightseat.faces.openai.responses.message_marks import MARK
from rightseat.faces.openai.responses.response_store import ResponseStore, response_id, response_of_item

CONVERSATION_ID = re.compile("conv_[0-9a-f]{32}")


class ConversationNotFound(RightseatError):
    code = "conversation_not_found"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"Conversation with id '{id[:100]}' not found.")


class ConversationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`agent` is the agent of its thread."""

    id: str
    agent: str
    created_at: int
    metadata: dict[str, str]

    @property
    def suffix(self) -> str:
        return self.id.removeprefix("conv_")

    @property
    def thread_id(self) -> str:
        return f"thread_{self.suffix}"


_decode = msgspec.json.Decoder(ConversationRecord).decode


class ConversationStore:
    def __init__(self, runtime: Runtime, responses: ResponseStore, quota: int | None = None) -> None:
        self._runtime = runtime
        self._quota = quota
        self._responses = responses

    async def create(self, agent: str, metadata: dict[str, str], principal: Principal) -> ConversationRecord:
        if not self._responses.is_available:
            text = "This server stores no conversations: its thread store does not keep artifacts."
            raise InvalidRequest(text, None, "not_supported")
        record = ConversationRecord(id=new_id("conv"), agent=agent, created_at=int(time.time()), metadata=metadata)
        await self._runtime.threads.append_messages(write_ask(record, principal), self._quota)
        await self.save(record, principal)
        return record

    async def save(self, record: ConversationRecord, principal: Principal) -> None:
        if self._runtime.artifacts is not None:
            ask, content = write_ask(record, principal), msgspec.json.encode(record)
            await self._runtime.artifacts.put(ask, record.id, PRIVATE_MEDIA_TYPE, content, record.id)

    async def find(self, id: str, principal: Principal) -> ConversationRecord:
        """Raises `ConversationNotFound`, for the conversations of other users too."""
        artifacts = self._runtime.artifacts
        found = await artifacts.get(id, principal) if artifacts and CONVERSATION_ID.fullmatch(id) else None
        if found is None or found.media_type != PRIVATE_MEDIA_TYPE or not principal.may_use(found.agent):
            raise ConversationNotFound(id)
        return _decode(found.content)

    async def load_thread(self, record: ConversationRecord, principal: Principal) -> Thread:
        """With all messages, for a response that continues the conversation."""
        thread = await self._runtime.settled(record.thread_id, principal)
        if thread is None:
            raise ConversationNotFound(record.id)
        return thread

    async def _outline(self, record: ConversationRecord, principal: Principal) -> ThreadOutline:
        outline = await self._runtime.outline(record.thread_id, principal, is_settled=True)
        if outline is None:
            raise ConversationNotFound(record.id)
        return outline

    async def append(self, record: ConversationRecord, decoded: DecodedInput, principal: Principal) -> list[Item]:
        """Returns the items with their ids. Raises `ThreadBusy` while a response is being added."""
        first = (await self._outline(record, principal)).message_count
        items: list[Item] = []
        messages: list[Message] = []
        starts = [0, *decoded.ends][: len(decoded.ends)]
        for number, (item, start, end) in enumerate(zip(decoded.items, starts, decoded.ends, strict=True)):
            id = f"{PREFIXES.get(item['type'], 'item')}_{record.suffix}_c{first + number}"
            items.append({**item, "id": id})
            own = decoded.messages[start:end] or [Message("assistant", ())]
            messages += [mark_item(own[0], items[-1]), *own[1:]]
        await self._runtime.threads.append_messages(write_ask(record, principal, messages), self._quota)
        return items

    async def find_calls(self, record: ConversationRecord, principal: Principal) -> dict[str, str]:
        """The calls in the conversation: id → tool."""
        outline, found = await self._outline(record, principal), dict[str, str]()
        async for _, message in read_forward(self._runtime, outline, principal, 0):
            found |= calls_of((message,))
        return found

    async def items(self, record: ConversationRecord, query: PageQuery, principal: Principal) -> AsyncIterator[Item]:
        """In the order of the query, from the last item of the page before on: those that clients added, and the input
        and output of responses at their place."""
        outline = await self._outline(record, principal)
        items = ConversationItems(self._runtime, self._responses, outline, principal)
        async for item in items.read(record.suffix, query):
            yield item

    async def find_item_in(self, record: ConversationRecord, id: str, principal: Principal) -> Item | None:
        """An item of this conversation."""
        if parsed := CONVERSATION_ITEM_ID.fullmatch(id):
            return await self.find_item(id, principal) if parsed[1] == record.suffix else None
        outline = await self._outline(record, principal)
        run_id = f"run_{response_of_item(id)[0]}"
        response = await self._responses.find_any(response_id(run_id), principal)
        if response is None or all(run.id != run_id for run in outline.runs):
            return None
        items = await self._responses.items_of(response, principal)
        return next((item for item in items if item["id"] == id), None)

    async def find_item(self, id: str, principal: Principal) -> Item | None:
        """An item that a client added to any conversation of this principal."""
        parsed = CONVERSATION_ITEM_ID.fullmatch(id)
        outline = await self._runtime.outline(f"thread_{parsed[1]}", principal) if parsed else None
        if parsed is None or outline is None:
            return None
        found = await find_place(self._runtime, outline, id, int(parsed[2]), principal)
        return found[1] if found else None


def mark_item(message: Message, item: Item) -> Message:
    extra = message.extra if isinstance(message.extra, dict) else {}
    return msgspec.structs.replace(message, extra={**extra, MARK: item})


def write_ask(record: ConversationRecord, principal: Principal, messages: Sequence[Message] = ()) -> Ask:
    return Ask(messages=tuple(messages), agent=record.agent, thread_id=record.thread_id, principal=principal)
