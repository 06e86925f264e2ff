"""`/conversations`: creates, changes and deletes conversations, and lists and adds their items."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import QuotaExceeded, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces._shared.sealed_reasoning import Sealer
from rightseat.faces.openai.decoder import explain_decode_error
from rightseat.faces.openai.responses.conversation_store import ConversationRecord, ConversationStore
from rightseat.faces.openai.responses.decoder import Metadata
from rightseat.faces.openai.responses.input_items import Item, decode_input, has_outputs
from rightseat.faces.openai.responses.item_pages import PageQuery, collect_page, write_page


class NoSuchItem(RightseatError):
    code = "item_not_found"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"Item with id '{id[:100]}' not found in this conversation.")


class ConversationBody(msgspec.Struct):
    items: list[msgspec.Raw] | None = None
    metadata: Metadata | None = None


class Conversations:
    def __init__(self, runtime: Runtime, names: ModelNames, store: ConversationStore, sealer: Sealer) -> None:
        self._runtime = runtime
        self._names = names
        self._store = store
        self._sealer = sealer

    async def create(self, body: bytes, http: Request, principal: Principal) -> Response:
        given, warnings = read_conversation(body), list[str]()
        decoded = decode_input(given.items, warnings, self._sealer.unseal, param="items")
        agent = self._first_agent(principal)
        async with self._admit(agent, principal):
            record = await self._store.create(agent, given.metadata or {}, principal)
            try:
                await self._store.append(record, decoded, principal)
            except QuotaExceeded:
                await self._runtime.delete(record.thread_id, principal)  # the client never learns its id
                raise
        return json_response(write_conversation(record), headers=warnings_header(warnings))

    def _admit(self, agent: str, principal: Principal) -> AbstractAsyncContextManager[None]:
        """What stores something counts as a request."""
        return self._runtime.admission.admit_request(principal, agent, "conversations")

    def _first_agent(self, principal: Principal) -> str:
        """The agent of the thread until a response names another."""
        return next(iter(self._names.list_names(principal)), "default")

    async def _append(
        self, record: ConversationRecord, given: ConversationBody, principal: Principal, warnings: list[str]
    ) -> list[Item]:
        calls = await self._store.find_calls(record, principal) if has_outputs(given.items) else None
        decoded = decode_input(given.items, warnings, self._sealer.unseal, calls=calls, param="items")
        return await self._store.append(record, decoded, principal)

    async def retrieve(self, body: bytes, http: Request, principal: Principal) -> Response:
        return json_response(write_conversation(await self._find(http, principal)))

    async def update(self, body: bytes, http: Request, principal: Principal) -> Response:
        given, record = read_conversation(body), await self._find(http, principal)
        record = msgspec.structs.replace(record, metadata=given.metadata or {})
        async with self._admit(record.agent, principal):
            await self._store.save(record, principal)
        return json_response(write_conversation(record))

    async def delete(self, body: bytes, http: Request, principal: Principal) -> Response:
        record = await self._find(http, principal)
        await self._runtime.delete(record.thread_id, principal)
        return json_response({"id": record.id, "object": "conversation.deleted", "deleted": True})

    async def list_items(self, body: bytes, http: Request, principal: Principal) -> Response:
        record, query = await self._find(http, principal), PageQuery.read(http)
        return json_response(await collect_page(self._store.items(record, query, principal), query))

    async def add_items(self, body: bytes, http: Request, principal: Principal) -> Response:
        given, warnings = read_conversation(body), list[str]()
        record = await self._find(http, principal)
        async with self._admit(record.agent, principal):
            items = await self._append(record, given, principal, warnings)
        return json_response(write_page(items), headers=warnings_header(warnings))

    async def retrieve_item(self, body: bytes, http: Request, principal: Principal) -> Response:
        record, id = await self._find(http, principal), http.path_params["item"]
        found = await self._store.find_item_in(record, id, principal)
        if found is None:
            raise NoSuchItem(id)
        return json_response(found)

    async def _find(self, http: Request, principal: Principal) -> ConversationRecord:
        return await self._store.find(http.path_params["conversation"], principal)


def read_conversation(body: bytes) -> ConversationBody:
    try:
        return msgspec.json.decode(body or b"{}", type=ConversationBody)
    except JSON_ERRORS as error:
        raise explain_decode_error(error) from error


def write_conversation(record: ConversationRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "object": "conversation",
        "created_at": record.created_at,
        "metadata": record.metadata,
    }
