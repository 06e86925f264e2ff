"""Stores conversations: a conversation is a thread, whose record is an artifact of it.

Items that a client adds are messages of the thread, and each carries its item. Items of responses come from the
responses.
"""

import re
import time
from collections.abc import Sequence

import msgspec

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import RightseatError
from rightseat.core.ids import new_id
from rightseat.core.messages import Message
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Thread
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.input_items import PREFIXES, DecodedInput, Item
from rightseat.faces.openai.responses.message_marks import MARK, read_mark
from rightseat.faces.openai.responses.response_store import ResponseStore

CONVERSATION_ID = re.compile("conv_[0-9a-f]{32}")
CONVERSATION_ITEM_ID = re.compile("[a-z]+_([0-9a-f]{32})_c[0-9]{1,9}")


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
        thread = await self._runtime.settled(record.thread_id, principal)
        if thread is None:
            raise ConversationNotFound(record.id)
        return thread

    async def append(self, record: ConversationRecord, decoded: DecodedInput, principal: Principal) -> list[Item]:
        """Returns the items with their ids. Raises `ThreadBusy` while a response is being added."""
        thread = await self.load_thread(record, principal)
        first = len(thread.messages)
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

    async def items(self, record: ConversationRecord, principal: Principal) -> list[Item]:
        """The oldest first: those that clients added, and the input and output of responses at their place."""
        thread = await self.load_thread(record, principal)
        responses = [one for _, one in await self._responses.records_of(thread, principal)]
        found: list[Item] = []
        for place, message in enumerate(thread.messages):
            while responses and responses[0].start <= place:
                found += await self._responses.items_of(responses.pop(0), principal)
            if isinstance(item := read_mark(message), dict):
                found.append(item)
        for response in responses:
            found += await self._responses.items_of(response, principal)
        return found

    async def find_item(self, id: str, principal: Principal) -> Item | None:
        """An item that a client added to any conversation of this principal."""
        parsed = CONVERSATION_ITEM_ID.fullmatch(id)
        thread = await self._runtime.thread(f"thread_{parsed[1]}", principal) if parsed else None
        marks = [read_mark(message) for message in thread.messages] if thread else []
        return next((mark for mark in marks if isinstance(mark, dict) and mark.get("id") == id), None)


def mark_item(message: Message, item: Item) -> Message:
    extra = message.extra if isinstance(message.extra, dict) else {}
    return msgspec.structs.replace(message, extra={**extra, MARK: item})


def write_ask(record: ConversationRecord, principal: Principal, messages: Sequence[Message] = ()) -> Ask:
    return Ask(messages=tuple(messages), agent=record.agent, thread_id=record.thread_id, principal=principal)
