"""Pages of conversations: whatever their size, order and beginning, together they are the whole list."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from rightseat.core.ask import Principal
from rightseat.core.messages import Message
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, says
from tests.conftest import Serve
from tests.faces.openai.responses.serving import client_of, storing

CALL: Any = {"type": "function_call", "call_id": "c", "name": "lookup", "arguments": "{}"}
RESULT: Any = {"type": "function_call_output", "call_id": "c", "output": "42"}
PICTURE: Any = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
SHOWN: Any = {"type": "function_call_output", "call_id": "c", "output": [PICTURE]}  # two messages


def said(text: str) -> Any:
    return {"type": "message", "role": "user", "content": text}


@asynccontextmanager
async def conversing(serve: Serve, folder: Path) -> AsyncIterator[tuple[openai.AsyncOpenAI, str, list[str], str]]:
    """A client, a conversation, the ids of its items, and a response in it."""
    model = ScriptedModel([says(f"Answer {number}.") for number in range(9)])
    async with client_of(storing(model), serve, folder) as (client, _):
        made = await client.conversations.create()
        one = await client.responses.create(model="bare", input="First", conversation=made.id)
        await client.conversations.items.create(made.id, items=[said("a"), CALL, SHOWN, said("b"), RESULT])
        for text in ("Second", "Third"):
            await client.responses.create(model="bare", input=[said(text)] * 3, conversation=made.id)
        await client.conversations.items.create(made.id, items=[said(f"{number}") for number in range(13)])
        await client.responses.create(model="bare", input="Last", conversation=made.id)
        ids = [item.id or "" async for item in client.conversations.items.list(made.id, order="asc", limit=100)]
        yield client, made.id, ids, one.id


async def test_pages_of_any_size_in_both_orders_are_the_whole_list(serve: Serve, tmp_path: Path) -> None:
    async with conversing(serve, tmp_path) as (client, id, ids, _):
        assert len(ids) == len(set(ids)) == 2 + 5 + 4 * 2 + 13 + 2
        for limit in (1, 2, 5, 20):
            forward = [item.id async for item in client.conversations.items.list(id, order="asc", limit=limit)]
            backward = [item.id async for item in client.conversations.items.list(id, order="desc", limit=limit)]
            assert forward == ids
            assert backward == ids[::-1]


async def test_a_page_begins_after_any_item_in_both_orders(serve: Serve, tmp_path: Path) -> None:
    async with conversing(serve, tmp_path) as (client, id, ids, _):
        for place, after in enumerate(ids):
            later = await client.conversations.items.list(id, order="asc", after=after, limit=2)
            earlier = await client.conversations.items.list(id, order="desc", after=after, limit=2)
            assert [item.id for item in later.data] == ids[place + 1 : place + 3]
            assert [item.id for item in earlier.data] == ids[:place][::-1][:2]


async def test_each_item_is_retrieved_by_its_id_and_only_from_its_conversation(serve: Serve, tmp_path: Path) -> None:
    async with conversing(serve, tmp_path) as (client, id, ids, _):
        other = await client.conversations.create()
        for item in ids:
            found = await client.conversations.items.retrieve(item, conversation_id=id)
            assert found.id == item
            with pytest.raises(openai.NotFoundError):
                await client.conversations.items.retrieve(item, conversation_id=other.id)


async def test_items_of_a_deleted_response_are_left_out(serve: Serve, tmp_path: Path) -> None:
    async with conversing(serve, tmp_path) as (client, id, ids, response):
        await client.responses.delete(response)

        later = [item.id async for item in client.conversations.items.list(id, order="asc", limit=3)]
        earlier = [item.id async for item in client.conversations.items.list(id, order="desc", limit=3)]
        assert (later, earlier) == (ids[2:], ids[:1:-1])


async def test_an_item_that_is_none_of_the_list_begins_no_page(serve: Serve, tmp_path: Path) -> None:
    async with conversing(serve, tmp_path) as (client, id, _, _):
        suffix = id.removeprefix("conv_")
        for after in (f"msg_{suffix}_c999", f"msg_{'0' * 32}_c1", f"msg_{'0' * 32}_0", "x"):
            with pytest.raises(openai.BadRequestError, match="is not an item of this list"):
                await client.conversations.items.list(id, after=after)


async def test_a_page_of_large_items_is_shorter_than_its_limit_and_the_next_one_goes_on(
    serve: Serve, tmp_path: Path
) -> None:
    async with client_of(storing(ScriptedModel([])), serve, tmp_path) as (client, _):
        made = await client.conversations.create()
        for letter in "abcd":
            await client.conversations.items.create(made.id, items=[said(letter * 3_000_000)])
        page = await client.conversations.items.list(made.id, order="asc")
        items: Any = [item async for item in page]

    assert (len(page.data), page.has_more) == (2, True)
    assert [item.content[0].text[0] for item in items] == [*"abcd"]


async def test_a_page_and_an_item_more_read_few_messages_of_a_long_conversation(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers: list[tuple[int, int]] = []
    read = MemoryThreads.read_messages

    async def count(self: MemoryThreads, thread: str, user: Principal, start: int, stop: int) -> Any:
        numbers.append((start, stop))
        return await read(self, thread, user, start, stop)

    def refuse(*_: object) -> tuple[Message, ...]:
        raise AssertionError("the whole thread was loaded")

    async with client_of(storing(ScriptedModel([])), serve, tmp_path) as (client, _):
        made = await client.conversations.create()
        await client.conversations.items.create(made.id, items=[said(f"{number}") for number in range(500)])
        monkeypatch.setattr(MemoryThreads, "read_messages", count)
        last = await client.conversations.items.list(made.id, limit=1)
        await client.conversations.items.list(made.id, limit=1, after=last.data[0].id or "")
        await client.conversations.items.create(made.id, items=[said("more")])

    assert sum(stop - start for start, stop in numbers) <= 30
