"""Finds stored responses, their items and their conversations.

A response is a run in a thread of its user. Its record is an artifact of that thread, which no client can download and
which is deleted with the thread. Its output is encoded from the log of the run. The ids of items contain the id of
their response, so that an item is found by its id alone.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from rightseat.core import events as e
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import RightseatError, RunNotFound
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Message, Result, Text
from rightseat.core.runtime import Runtime
from rightseat.core.thread_parts import ThreadOutline
from rightseat.core.threads import RunRow, Thread
from rightseat.faces._shared.artifact_links import ArtifactLinker
from rightseat.faces._shared.lost_log import final_event, read_entries
from rightseat.faces._shared.sealed_reasoning import Seal
from rightseat.faces.openai.responses.encoder import ResponseEventEncoder
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.response_record import ResponseRecord

RESPONSE_ID = re.compile("resp_[0-9a-f]{32}")
ITEM_ID = re.compile("([a-z]+)_([0-9a-f]{32})_(i?)([0-9a-f]{1,32})")
"""Type, response, whether it is input, and a number or the key of an interrupt."""

_decode = msgspec.json.Decoder(ResponseRecord).decode


class ResponseNotFound(RightseatError):
    code = "response_not_found"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"Response with id '{id[:100]}' not found.")


class ResponseStore:
    def __init__(self, runtime: Runtime, seal: Seal) -> None:
        self._runtime = runtime
        self._seal = seal

    @property
    def is_available(self) -> bool:
        """A thread store of one's own need not store artifacts."""
        return self._runtime.artifacts is not None

    async def replace(self, record: ResponseRecord, ask: Ask) -> None:
        if self._runtime.artifacts is not None:
            one = write_artifact(record)
            await self._runtime.artifacts.put(ask, one.name, one.media_type, one.content, one.id)

    async def find(self, id: str, principal: Principal) -> ResponseRecord:
        """Raises `ResponseNotFound`, for the responses of other users too."""
        record = await self.find_any(id, principal)
        if record is None or record.is_deleted:
            raise ResponseNotFound(id)
        return record

    async def find_any(self, id: str, principal: Principal) -> ResponseRecord | None:
        artifacts = self._runtime.artifacts
        found = await artifacts.get(id, principal) if artifacts and RESPONSE_ID.fullmatch(id) else None
        if found is None or found.media_type != PRIVATE_MEDIA_TYPE or not principal.may_use(found.agent):
            return None
        return _decode(found.content)

    async def records_of(self, thread: ThreadOutline, principal: Principal) -> list[tuple[RunRow, ResponseRecord]]:
        """The runs of a thread that are responses, in their order, with those that were deleted."""
        found = [(run, await self.find_any(response_id(run.id), principal)) for run in thread.runs]
        return [(run, record) for run, record in found if record is not None]

    async def history(self, record: ResponseRecord, thread: Thread, principal: Principal) -> tuple[Message, ...]:
        """The messages of the thread up to the end of a response."""
        ids = [run.id for run in thread.runs]
        later = ids[ids.index(record.run_id) + 1 :]
        for run_id in later:
            if (following := await self.find_any(response_id(run_id), principal)) is not None:
                return thread.messages[: following.start]
        return thread.messages

    async def load(
        self, record: ResponseRecord, principal: Principal, files_url: str | None = None
    ) -> ResponseEventEncoder:
        """The response as of now."""
        encoder = ResponseEventEncoder(record, self._seal, writes=False)
        encoder.feed(ArtifactLinker(files_url).expand_entries(await self.entries(record, principal)))
        return encoder

    async def entries(self, record: ResponseRecord, principal: Principal) -> Sequence[Entry]:
        try:
            return await read_entries(self._runtime, record.run_id)
        except RunNotFound:
            return await self._restore(record, principal)

    async def _restore(self, record: ResponseRecord, principal: Principal) -> Sequence[Entry]:
        """For a response whose log has expired or was lost: its output as far as the thread has it."""
        thread = await self._runtime.settled(record.thread_id, principal)
        run = next((one for one in thread.runs if one.id == record.run_id), None) if thread else None
        if thread is None or run is None or run.outcome is None:
            return ()
        messages = (await self.history(record, thread, principal))[record.start :]
        events: list[e.Event] = [e.RunStarted(run.id, thread.id, run.agent)]
        for message in messages:
            events += replay_message(message)
        events.append(final_event(run))
        return [Entry(run.epoch, 0, event) for event in events]

    async def items_of(self, record: ResponseRecord, principal: Principal) -> list[Item]:
        """Its input and output; nothing of a deleted response."""
        if record.is_deleted:
            return []
        return [*record.input, *(await self.load(record, principal)).output]

    async def find_items(self, id: str, principal: Principal, known: "ResponseItems") -> "ResponseItems":
        """The items of the response that has the item with this id, or `known` if these are they; none if no response
        of this principal has it."""
        parsed = ITEM_ID.fullmatch(id)
        if parsed is None:
            return ResponseItems()
        if parsed[1] == "mcpr" and await self._find_kept(f"resp_{parsed[2]}", principal):
            return ResponseItems(items={id: {"id": id, "type": "mcp_approval_request"}})  # the store has what it asks
        if known.response_id == f"resp_{parsed[2]}" and known.is_input == bool(parsed[3]):
            return known
        record = await self._find_kept(f"resp_{parsed[2]}", principal)
        if record is None:
            return ResponseItems()
        items = record.input if parsed[3] else (await self.load(record, principal)).output
        return ResponseItems(record.id, bool(parsed[3]), {item["id"]: item for item in items})

    async def _find_kept(self, id: str, principal: Principal) -> ResponseRecord | None:
        record = await self.find_any(id, principal)
        return None if record is None or record.is_deleted else record


def response_of_item(id: str) -> tuple[str, str]:
    """The response of an item, and whether it is in its input, in a form that sorts."""
    parsed = ITEM_ID.fullmatch(id)
    return (parsed[2], parsed[3]) if parsed else ("", "")


class ResponseItems(msgspec.Struct, frozen=True):
    """The input or the output of a response by the ids of its items; of no response, if `response_id` is empty."""

    response_id: str = ""
    is_input: bool = False
    items: Mapping[str, Item] = msgspec.field(default_factory=dict)


def write_artifact(record: ResponseRecord) -> StoredArtifact:
    """The record as it is stored, together with the claim of its run."""
    return StoredArtifact(record.id, record.model, record.id, PRIVATE_MEDIA_TYPE, msgspec.json.encode(record))


def response_id(run_id: str) -> str:
    return f"resp_{run_id.removeprefix('run_')}"


def replay_message(message: Message) -> list[e.Event]:
    """The events of a message that a run added to its thread."""
    events: list[e.Event] = []
    if message.role not in ("assistant", "tool"):
        return events
    for part in message.parts:
        match part:
            case Text(text=text):
                events += (e.TextStarted(message.id), e.TextDelta(message.id, text), e.TextEnded(message.id))
            case Call(id=id, name=name, arguments=arguments):
                events += (e.ToolCallStarted(id, name), e.ToolCallDelta(id, arguments), e.ToolCallEnded(id))
            case Result():
                events.append(e.ToolCallReturned(part.call_id, part.name, part.content, part.error))
    return events
