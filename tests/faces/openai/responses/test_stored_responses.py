"""Stored responses: chains, branches, references, approvals, resumed streams, conversations, deletion."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from rightseat.core.ask import ANYONE
from rightseat.core.loop import Loop
from rightseat.core.model import Prompt, TextChunk
from rightseat.faces.openai.responses import item_references
from rightseat.logs.memory import MemoryLog
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from tests.conftest import Serve
from tests.faces.openai.responses.serving import DELETE, LOOKUP, WEATHER, client_of, events_of, storing
from tests.faces.openai.serving import Prompted

ASKED = calls("deleteFile", '{"path": "report.txt"}')
NOBODYS = f"resp_{'0' * 32}"


def echo(prompt: Prompt) -> ScriptedResponse:
    """Says what it was sent."""
    return says(" | ".join(f"{message.role}={message.text}" for message in prompt.messages))


async def test_a_response_continues_the_thread_of_the_previous_one_and_a_second_one_branches(
    serve: Serve, tmp_path: Path
) -> None:
    runtime = storing(ScriptedModel(echo))
    async with client_of(runtime, serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One", instructions="Old rule.")
        two = await client.responses.create(model="bare", input="Two", previous_response_id=one.id, instructions="New.")
        fork = await client.responses.create(model="bare", input="Fork", previous_response_id=one.id)

    said = "system=Old rule. | user=One"
    assert two.output_text == f"system=New. | user=One | assistant={said} | user=Two"
    assert fork.output_text == f"user=One | assistant={said} | user=Fork"
    threads = [await runtime.thread(row.id, ANYONE) for row in await runtime.threads.list(ANYONE)]
    assert sorted(len(thread.runs) for thread in threads if thread) == [1, 2]


async def test_two_continuations_at_once_both_run(serve: Serve, tmp_path: Path) -> None:
    model = Prompted()
    async with client_of(storing(ScriptedModel(echo), slow=Loop(model)), serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One")
        first = asyncio.create_task(
            client.responses.create(model="slow", input="Two", previous_response_id=one.id, timeout=60)
        )
        await model.asked.wait()
        second = await client.responses.create(model="bare", input="Three", previous_response_id=one.id)
        model.pieces.put_nowait(TextChunk("Late."))
        model.pieces.put_nowait(None)

        assert (await first).output_text == "Late."
        assert second.output_text.endswith("user=Three")


async def test_a_retrieved_response_is_the_created_one_until_it_is_deleted(serve: Serve, tmp_path: Path) -> None:
    runtime = storing(ScriptedModel([calls("getWeather"), says("Warm.")]), WEATHER)
    async with client_of(runtime, serve, tmp_path) as (client, _):
        made = await client.responses.create(model="helper", input="Hi", metadata={"a": "b"})

        assert (await client.responses.retrieve(made.id)).to_dict() == made.to_dict()
        await client.responses.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(made.id)

    assert await runtime.threads.list(ANYONE) == []


async def test_a_deleted_response_that_others_continue_leaves_their_conversation(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One")
        two = await client.responses.create(model="bare", input="Two", previous_response_id=one.id)
        await client.responses.delete(one.id)

        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(one.id)
        with pytest.raises(openai.BadRequestError, match="Previous response with id"):
            await client.responses.create(model="bare", input="x", previous_response_id=one.id)
        three = await client.responses.create(model="bare", input="Three", previous_response_id=two.id)
        assert three.output_text.startswith("user=One | ")


async def test_an_unstored_response_is_not_kept(serve: Serve, tmp_path: Path) -> None:
    runtime = storing(ScriptedModel(echo))
    async with client_of(runtime, serve, tmp_path) as (client, _):
        made = await client.responses.create(model="bare", input="One", store=False)

        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(made.id)
        reference: Any = [{"type": "item_reference", "id": made.output[0].id}]
        with pytest.raises(openai.NotFoundError, match="Items are not persisted"):
            await client.responses.create(model="bare", input=reference)

    assert await runtime.threads.list(ANYONE) == []


async def test_items_are_found_again_by_their_ids(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One")
        [said] = (await client.responses.input_items.list(one.id)).data
        items: Any = [{"type": "item_reference", "id": id} for id in (said.id, one.output[0].id)]
        two = await client.responses.create(model="bare", input=[*items, {"role": "user", "content": "Two"}])

    assert two.output_text == "user=One | assistant=user=One | user=Two"


async def test_an_item_that_is_referred_to_twice_is_refused_and_the_second_place_is_named(
    serve: Serve, tmp_path: Path
) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One")
        items: Any = [{"type": "item_reference", "id": one.output[0].id}] * 1000

        with pytest.raises(
            openai.BadRequestError, match=r"input\[1\] refers to .* again. Refer to each item once"
        ) as told:
            await client.responses.create(model="bare", input=items)
    assert (told.value.code, told.value.param) == ("repeated_item_reference", "input[1]")


async def test_more_than_1000_references_are_refused_before_any_item_is_read(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        items: Any = [{"type": "item_reference", "id": f"msg_{number}"} for number in range(1001)]

        with pytest.raises(
            openai.BadRequestError, match=r"1,001 item references; the limit is 1,000\. Send `previous_"
        ):
            await client.responses.create(model="bare", input=items)


async def test_items_that_are_referred_to_count_as_if_the_client_had_sent_them(serve: Serve, tmp_path: Path) -> None:
    runtime = storing(ScriptedModel([says("x" * 50_000)] * 3))
    async with client_of(runtime, serve, tmp_path, max_body_mb=0.125) as (client, _):
        made = [await client.responses.create(model="bare", input="One") for _ in range(3)]
        items: Any = [{"type": "item_reference", "id": one.output[0].id} for one in made]

        with pytest.raises(
            openai.APIStatusError, match=r"more than 0.125 MB, the limit of a request.*`max_body_mb`"
        ) as told:
            await client.responses.create(model="bare", input=items)
        conversation = await client.conversations.create(items=[{"role": "user", "content": "y" * 50_000}])
        [added] = (await client.conversations.items.list(conversation.id)).data
        with pytest.raises(openai.BadRequestError, match="A conversation stores items"):
            await client.conversations.items.create(conversation.id, items=items[:1])
        mixed: Any = [*items[:2], {"type": "item_reference", "id": added.id}]
        with pytest.raises(openai.APIStatusError, match=r"more than 0\.125 MB"):
            await client.responses.create(model="bare", input=mixed)
    assert told.value.status_code == 413


async def test_items_that_are_referred_to_wait_for_their_turn_like_a_body_with_them(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paced: list[int] = []
    received: list[int] = []

    async def pace(containers: int) -> None:
        paced.append(containers)

    monkeypatch.setattr(item_references, "pace_body", pace)
    monkeypatch.setattr(item_references, "receive_bytes", received.append)
    async with client_of(storing(ScriptedModel([says("x" * 700_000)] * 5)), serve, tmp_path) as (client, _):
        made = [await client.responses.create(model="bare", input="One") for _ in range(4)]
        items: Any = [{"type": "item_reference", "id": one.output[0].id} for one in made]
        await client.responses.create(model="bare", input=items)

    assert len(paced) == 2
    assert all(1_367 <= containers < 1_400 for containers in paced)  # 1.4 MB, in kilobytes
    assert len(received) == 4


async def test_input_items_are_listed_in_pages_with_those_of_earlier_responses(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel([says("Yes.")])), serve, tmp_path) as (client, _):
        one = await client.responses.create(model="bare", input="One")
        two = await client.responses.create(model="bare", input="Two", previous_response_id=one.id)
        page = await client.responses.input_items.list(two.id, limit=2)
        every = [item.to_dict() async for item in client.responses.input_items.list(two.id, limit=2, order="asc")]

    assert page.has_more
    assert [item["content"][0]["text"] for item in every] == ["One", "Yes.", "Two"]  # type: ignore[index]  # messages


async def test_an_approval_is_asked_for_and_believed_once(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([ASKED, says("Done."), says("Again.")])
    async with client_of(storing(model, DELETE), serve, tmp_path) as (client, _):
        asked = await client.responses.create(model="helper", input="Hi")
        [request] = asked.output
        yes: Any = [{"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}]
        done = await client.responses.create(model="helper", input=yes, previous_response_id=asked.id)
        again: list[Any] = [{"previous_response_id": asked.id}, {}]
        for more in again:
            with pytest.raises(openai.BadRequestError, match="no open approval request"):
                await client.responses.create(model="helper", input=yes, **more)

    assert (request.type, asked.status) == ("mcp_approval_request", "completed")
    call = done.output[0].to_dict()
    assert (call["output"], call["approval_request_id"]) == ("report.txt is deleted.", request.id)
    assert done.output_text == "Done."


async def test_a_denied_call_is_not_run_and_the_model_receives_the_denial(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([ASKED, says("Sorry.")])
    async with client_of(storing(model, DELETE), serve, tmp_path) as (client, _):
        asked = await client.responses.create(model="helper", input="Hi")
        reference: Any = {"type": "item_reference", "id": asked.output[0].id}
        no: Any = {"type": "mcp_approval_response", "approval_request_id": asked.output[0].id, "approve": False}
        sent: Any = [{"role": "user", "content": "Hi"}, reference, no]
        denied = await client.responses.create(model="helper", input=sent)

    call = denied.output[0].to_dict()
    assert (call["status"], call["output"]) == ("failed", None)
    results = [message.parts for message in model.prompts[-1].messages if message.role == "tool"]
    assert len(results) == 1
    assert "denied" in str(results)
    assert [message.text for message in model.prompts[-1].messages if message.role == "user"] == ["Hi"]


async def test_an_approval_needs_the_model_that_asked(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel([ASKED]), DELETE), serve, tmp_path) as (client, _):
        asked = await client.responses.create(model="helper", input="Hi")
        yes: Any = [{"type": "mcp_approval_response", "approval_request_id": asked.output[0].id, "approve": True}]

        with pytest.raises(openai.BadRequestError, match="belongs to a response of 'helper'"):
            await client.responses.create(model="bare", input=yes, previous_response_id=asked.id)


@pytest.mark.parametrize("is_compacted", [False, True], ids=["as written", "compacted"])
async def test_a_stream_resumes_after_any_event(is_compacted: bool, serve: Serve, tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log.db", compact_after_seconds=0)
    model = ScriptedModel([[TextChunk("Look. "), *calls("lookup", '{"q": 1}')], says("One ", "two ", "three")])
    async with log, client_of(storing(model, log=log), serve, tmp_path) as (_, plain):
        body = {"model": "helper", "input": "Hi", "stream": True, "tools": [LOOKUP]}
        for _ in range(2):
            whole = events_of((await plain.post("/responses", json=body)).text)
            id = whole[0]["response"]["id"]
            if is_compacted:
                while await log.compact():
                    pass
            for after in range(-1, len(whole)):
                query = {"stream": "true"} | ({"starting_after": str(after)} if after >= 0 else {})
                answer = (await plain.get(f"/responses/{id}", params=query)).text
                rest = events_of(answer) if answer else []

                assert [one["sequence_number"] for one in rest][-1:] == ([len(whole) - 1] if rest else [])
                assert all(one["sequence_number"] > after for one in rest)
                assert joined(whole[: after + 1]) + joined(rest) == joined(whole)
                assert rest[-1:] == whole[after + 1 :][-1:]


def joined(events: list[dict[str, Any]]) -> str:
    return "".join(str(event.get("delta", "")) for event in events)


async def test_an_output_is_restored_from_the_thread_if_the_log_is_gone(serve: Serve, tmp_path: Path) -> None:
    log = MemoryLog()
    async with client_of(storing(ScriptedModel([says("Hel", "lo")]), log=log), serve, tmp_path) as (client, _):
        made = await client.responses.create(model="bare", input="Hi")
        await log.delete([f"run_{made.id.removeprefix('resp_')}"])
        found = await client.responses.retrieve(made.id)

    assert (found.status, found.output_text) == ("completed", "Hello")


async def test_an_approval_is_believed_after_the_log_is_gone(serve: Serve, tmp_path: Path) -> None:
    log = MemoryLog()
    runtime = storing(ScriptedModel([ASKED, says("Done.")]), DELETE, log=log)
    async with client_of(runtime, serve, tmp_path) as (client, _):
        asked = await client.responses.create(model="helper", input="Hi")
        await log.delete([f"run_{asked.id.removeprefix('resp_')}"])
        yes: Any = [{"type": "mcp_approval_response", "approval_request_id": asked.output[0].id, "approve": True}]
        done = await client.responses.create(model="helper", input=yes, previous_response_id=asked.id)

    assert done.output_text == "Done."


async def test_a_disconnected_client_cancels_its_response(serve: Serve, tmp_path: Path) -> None:
    model = Prompted()
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        async with await client.responses.create(model="bare", input="Hi", stream=True) as stream:
            model.pieces.put_nowait(TextChunk("Hi"))
            first = await anext(aiter(stream))
        async with asyncio.timeout(60):
            await model.left.wait()
            while (found := await client.responses.retrieve(first.response.id)).status == "in_progress":  # type: ignore[union-attr]  # it is `created`
                pass

    assert found.status == "cancelled"


async def test_a_foreground_response_cannot_be_cancelled(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        made = await client.responses.create(model="bare", input="Hi")

        with pytest.raises(openai.BadRequestError, match="background"):
            await client.responses.cancel(made.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.cancel(NOBODYS)


async def test_a_conversation_has_the_items_of_the_client_and_of_its_responses(serve: Serve, tmp_path: Path) -> None:
    runtime = storing(ScriptedModel(echo))
    call: Any = {"type": "function_call", "call_id": "c", "name": "lookup", "arguments": "{}"}
    result: Any = {"type": "function_call_output", "call_id": "c", "output": "42"}
    thought: Any = {"type": "reasoning", "summary": []}
    async with client_of(runtime, serve, tmp_path) as (client, _):
        made = await client.conversations.create(items=[{"role": "user", "content": "One"}], metadata={"a": "b"})
        await client.conversations.items.create(made.id, items=[thought, call, result])
        one = await client.responses.create(model="bare", input="Two", conversation=made.id)
        await client.conversations.items.create(made.id, items=[{"role": "user", "content": "Three"}])
        items = [item async for item in client.conversations.items.list(made.id, order="asc")]
        found = await client.conversations.items.retrieve(items[0].id or "", conversation_id=made.id)
        changed = await client.conversations.update(made.id, metadata={"a": "c"})
        again: Any = [{"type": "item_reference", "id": items[0].id}]
        referred = await client.responses.create(model="bare", input=again)
        await client.conversations.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(one.id)
        with pytest.raises(openai.NotFoundError, match="Conversation with id"):
            await client.responses.create(model="bare", input="x", conversation=made.id)

    assert one.output_text == "user=One | assistant= | tool= | user=Two"
    kinds = ["message", "reasoning", "function_call", "function_call_output", "message", "message", "message"]
    assert [item.type for item in items] == kinds
    assert found == items[0]
    assert changed.metadata == {"a": "c"}
    assert referred.output_text == "user=One"


async def test_a_conversation_can_begin_empty(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel(echo)), serve, tmp_path) as (client, _):
        made = await client.conversations.create()
        none = [item async for item in client.conversations.items.list(made.id)]
        response = await client.responses.create(model="bare", input="One", conversation=made.id)

    assert none == []
    assert response.output_text == "user=One"


async def test_a_store_without_artifacts_keeps_no_response_and_says_so(serve: Serve, tmp_path: Path) -> None:
    runtime = storing(ScriptedModel(echo))
    runtime.artifacts = None
    async with client_of(runtime, serve, tmp_path) as (client, _):
        made = await client.responses.create(model="bare", input="Hi", store=True)

    assert made.store is False  # type: ignore[attr-defined]  # the SDK keeps fields that its type does not have
    assert "does not store responses" in made.warnings[0]  # type: ignore[attr-defined]  # likewise
