"""Stored responses: retrieve, follow, list the input, cancel, delete."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import Delta, RunFailed, RunFinished
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.pieces_response import PiecesResponse
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import RunResponse
from rightseat.faces._shared.sealed_reasoning import Seal
from rightseat.faces.openai.encoder import EVENTS
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.encoder import ResponseEventEncoder
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.item_pages import PageQuery, collect_page
from rightseat.faces.openai.responses.response_record import ResponseRecord
from rightseat.faces.openai.responses.response_store import ResponseNotFound, ResponseStore, response_of_item

ReadAfter = Callable[[str], Awaitable[Sequence[Entry]]]
MAX_NUMBER_DIGITS = 12


class StoredResponses:
    """`path` is that of the face, below which files are served."""

    def __init__(self, runtime: Runtime, store: ResponseStore, seal: Seal, *, keep_alive: float, path: str) -> None:
        self._runtime = runtime
        self._store = store
        self._seal = seal
        self._keep_alive = keep_alive
        self._path = path

    async def retrieve(self, body: bytes, http: Request, principal: Principal) -> Response:
        record = await self._find(http, principal)
        if http.query_params.get("stream") == "true":
            return await self._follow(record, read_starting_after(http), http, principal)
        encoder = await self._store.load(record, principal, files_url(http, self._path))
        return json_response(encoder.response())

    async def _follow(self, record: ResponseRecord, after: int, http: Request, principal: Principal) -> Response:
        """The events after number `after`, to the end of the response."""
        linker = ArtifactLinker(files_url(http, self._path))
        encoder = ResponseEventEncoder(record, self._seal, after=after, is_immediate=True)
        entries = await self._store.entries(record, principal)
        if entries and isinstance(entries[-1].event, RunFinished | RunFailed):
            entries = await split_joined(entries, record, self._seal, after, self._read_after(record))
            shown = (one for entry in entries for one in linker.expand_entries((entry,)))
            return PiecesResponse(encoder.feed_pieces(shown), headers=EVENTS)
        return RunResponse(
            self._runtime,
            record.run_id,
            lambda entries: encoder.feed(linker.expand_entries(entries)),
            headers=EVENTS,
            keep_alive=self._keep_alive,
            cancel_on_disconnect=False,
        )

    def _read_after(self, record: ResponseRecord) -> ReadAfter:
        return lambda id: self._runtime.read(record.run_id, id)

    async def cancel(self, body: bytes, http: Request, principal: Principal) -> Response:
        record = await self._find(http, principal)
        if not record.background:
            text = "Only a response that was created with `background: true` can be cancelled."
            raise InvalidRequest(text, "response_id", "not_cancellable")
        await self._stop(record)
        return json_response((await self._store.load(record, principal)).response())

    async def _stop(self, record: ResponseRecord) -> None:
        """Cancel the run and wait for its end. A run that has ended stays as it is."""
        if await self._runtime.cancel(record.run_id):
            async with aclosing(self._runtime.follow(record.run_id)) as batches:
                async for _ in batches:
                    pass

    async def delete(self, body: bytes, http: Request, principal: Principal) -> Response:
        """Delete the thread too, unless other responses or a conversation still need it."""
        record = await self._find(http, principal)
        thread = await self._runtime.outline(record.thread_id, principal, is_settled=True)
        others = [one for _, one in await self._store.records_of(thread, principal)] if thread else []
        if record.conversation or any(one.id != record.id and not one.is_deleted for one in others):
            await self._stop(record)
            left = ResponseRecord(
                id=record.id, model=record.model, thread_id=record.thread_id, start=record.start, is_deleted=True
            )
            ask = Ask(messages=(), agent=record.model, thread_id=record.thread_id, principal=principal)
            await self._store.replace(left, ask)
        else:
            await self._runtime.delete(record.thread_id, principal)
        return json_response({"id": record.id, "object": "response", "deleted": True})

    async def list_input(self, body: bytes, http: Request, principal: Principal) -> Response:
        record = await self._find(http, principal)
        query = PageQuery.read(http)
        return json_response(await collect_page(self._all_input(record, query, principal), query))

    async def _all_input(self, record: ResponseRecord, query: PageQuery, principal: Principal) -> AsyncIterator[Item]:
        """The items of the responses before it, and its own input. One response is in memory at a time.

        Responses before the one that has the last item of the page before are left out.
        """
        chain = await self._list_chain(record, principal)
        if query.is_ascending:
            chain.reverse()
        last = f"resp_{response_of_item(query.after or '')[0]}"
        for id in chain[chain.index(last) if last in chain else 0 :]:
            turn = await self._items_in_chain(id, record, principal)
            for item in turn if query.is_ascending else reversed(turn):
                yield item

    async def _list_chain(self, record: ResponseRecord, principal: Principal) -> list[str]:
        """Its id, and those of the responses before it, the latest first, up to one that was deleted."""
        found = [record.id]
        while (previous := record.previous_response_id) is not None:
            try:
                record = await self._store.find(previous, principal)
            except ResponseNotFound:
                break
            found.append(record.id)
        return found

    async def _items_in_chain(self, id: str, last: ResponseRecord, principal: Principal) -> Sequence[Item]:
        if id == last.id:
            return last.input
        try:
            return await self._store.items_of(await self._store.find(id, principal), principal)
        except ResponseNotFound:
            return ()  # it was deleted meanwhile

    async def _find(self, http: Request, principal: Principal) -> ResponseRecord:
        return await self._store.find(http.path_params["response"], principal)


def read_starting_after(http: Request) -> int:
    """-1 if the client has no event yet."""
    text = http.query_params.get("starting_after")
    if text is None:
        return -1
    if not text.isascii() or not text.isdecimal() or len(text) > MAX_NUMBER_DIGITS:
        name = "starting_after"
        raise InvalidRequest(f"{name} is {text[:20]!r}; it must be the number of an event.", name)
    return int(text)


async def split_joined(
    entries: Sequence[Entry], record: ResponseRecord, seal: Seal, after: int, read_after: ReadAfter
) -> Sequence[Entry]:
    """Split the entry in which event number `after` is, if the log has joined deltas: the client has its first part."""
    probe, last_seq = ResponseEventEncoder(record, seal, writes=False), 0
    for place, entry in enumerate(entries):
        first, event = probe.next_number, entry.event
        probe.feed([entry])
        count, last_seq = entry.seq - last_seq, entry.seq
        if not isinstance(event, Delta) or count < 2 or not first <= after < probe.next_number - 1:
            continue
        cut = entry.seq - count + after + 1 - first
        rest = (await read_after(f"{entry.epoch}-{cut}"))[0].event
        if not isinstance(rest, Delta):
            break
        text = event.text[: len(event.text) - len(rest.text)]
        head = Entry(entry.epoch, cut, msgspec.structs.replace(event, text=text))
        return [*entries[:place], head, Entry(entry.epoch, entry.seq, rest), *entries[place + 1 :]]
    return entries
