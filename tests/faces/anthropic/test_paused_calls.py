"""Calls of an agent that a person has to approve: decided in the console, by the client, or by nobody."""

import asyncio
from typing import Any

import pytest

from rightseat.config import Access
from rightseat.core.ask import ANYONE, Answer, Ask, Principal
from rightseat.core.model import UsageChunk
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.testing import ScriptedModel, calls, says
from tests.conditions import until
from tests.conftest import Serve
from tests.faces.anthropic.serving import app, asks, create, send, stream
from tests.faces.openai.responses.serving import DELETE, storing

MCP = {"anthropic-beta": "mcp-client-2025-11-20"}
QUESTION: Any = [{"role": "user", "content": "Delete it"}]
KEYS: Any = {"keys": [{"name": "alice", "key": "key-alice"}, {"name": "bob", "key": "key-bob"}]}


def asking(*after: str) -> Runtime:
    """An agent `helper` that wants to delete a file, and then says these."""
    return storing(ScriptedModel([calls("deleteFile", '{"path": "a.txt"}'), *map(says, after)]), DELETE)


async def pause(url: str, headers: dict[str, str] = MCP) -> dict[str, Any]:
    return await create(url, QUESTION, model="helper", headers=headers)


async def send_back(
    url: str, paused: dict[str, Any], *decisions: Any, headers: dict[str, str] = MCP, **more: Any
) -> Any:
    messages = [*QUESTION, {"role": "assistant", "content": paused["content"]}]
    if decisions:
        messages.append({"role": "user", "content": list(decisions)})
    return await send(url, body=asks(messages, model="helper", **more), headers=headers)


def decide(paused: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    [use] = [block for block in paused["content"] if block["type"] == "mcp_tool_use"]
    return {"type": "tool_result", "tool_use_id": use["id"], "content": text, **more}


async def approve_in_console(runtime: Runtime, principal: Principal = ANYONE) -> None:
    """As the console does once it has the question."""
    found: list[Pending] = []

    async def is_asked() -> bool:
        found[:] = await runtime.pending(principal)
        return bool(found)

    await until(is_asked)
    [one] = found
    thread = await runtime.thread(one.thread_id, principal)
    assert thread is not None
    answers = (Answer(one.interrupt.id, "resolved", {"approved": True}),)
    await runtime.start(
        Ask(messages=thread.messages, agent=one.agent, thread_id=one.thread_id, principal=principal, answers=answers)
    )


async def test_a_decision_in_the_console_goes_on_in_the_same_message(serve: Serve) -> None:
    runtime = asking("Done.")
    async with serve(app(runtime)) as url:
        streaming = asyncio.create_task(stream(url, QUESTION, model="helper"))
        await approve_in_console(runtime)
        events = await streaming

    text = "".join(event["delta"]["text"] for event in events if event.get("delta", {}).get("type") == "text_delta")
    assert (text, events[-2]["delta"]["stop_reason"]) == ("Done.", "end_turn")


async def test_without_a_decision_the_question_is_words_and_closed(serve: Serve) -> None:
    runtime = asking()
    async with serve(app(runtime, approval_wait=0.05)) as url:
        message = await create(url, QUESTION, model="helper")

    [block] = message["content"]
    assert (block["type"], message["stop_reason"]) == ("text", "end_turn")
    assert block["text"].startswith("deleteFile needs approval and was not run: Delete the file?")
    assert (await runtime.pending(ANYONE), await runtime.threads.list(ANYONE)) == ([], [])


async def test_a_client_that_knows_such_calls_decides_once(serve: Serve) -> None:
    runtime = asking("Done.")
    async with serve(app(runtime, approval_wait=0)) as url:
        paused = await pause(url)
        done = (await send_back(url, paused, decide(paused, "approve"))).json()
        again = await send_back(url, paused, decide(paused, "approve"))

    assert [block["type"] for block in paused["content"]] == ["mcp_tool_use", "text"]
    assert (paused["stop_reason"], done["stop_reason"]) == ("pause_turn", "end_turn")
    result, text = done["content"]
    assert (result["type"], result["tool_use_id"]) == ("mcp_tool_result", paused["content"][0]["id"])
    assert (result["content"][0]["text"], text["text"]) == ("a.txt is deleted.", "Done.")
    assert (again.status_code, again.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(("text", "more"), [("deny", {}), ("approve", {"is_error": True}), ("well, perhaps", {})])
async def test_anything_but_approve_denies(serve: Serve, text: str, more: Any) -> None:
    async with serve(app(asking("I did not."), approval_wait=0)) as url:
        paused = await pause(url)
        done = (await send_back(url, paused, decide(paused, text, **more))).json()

    assert done["content"][0]["is_error"] is True
    assert done["content"][1]["text"] == "I did not."


async def test_changed_arguments_do_not_count(serve: Serve) -> None:
    async with serve(app(asking("Done."), approval_wait=0)) as url:
        paused = await pause(url)
        paused["content"][0]["input"] = {"path": "other.txt"}
        done = (await send_back(url, paused, decide(paused, "approve"))).json()

    assert done["content"][0]["content"][0]["text"] == "a.txt is deleted."


async def test_a_message_that_is_sent_back_as_it_is_waits_again_and_follows_the_decision(serve: Serve) -> None:
    runtime = asking("Done.")
    async with serve(app(runtime, approval_wait=0)) as url:
        paused = await pause(url)
        again = (await send_back(url, paused)).json()
        await approve_in_console(runtime)
        followed = (await send_back(url, again)).json()

    assert (again["stop_reason"], again["content"][0]) == ("pause_turn", paused["content"][0])
    assert [block["type"] for block in followed["content"]] == ["mcp_tool_result", "text"]


async def test_a_conversation_that_goes_on_closes_the_question(serve: Serve) -> None:
    runtime = asking("As you like.")
    async with serve(app(runtime, approval_wait=0)) as url:
        paused = await pause(url)
        other = (await send_back(url, paused, {"type": "text", "text": "Leave it"})).json()

    assert other["content"][0]["text"] == "As you like."
    assert await runtime.pending(ANYONE) == []


async def test_the_call_of_another_user_and_one_that_never_was_are_refused_in_the_same_words(serve: Serve) -> None:
    runtime = asking("Done.")
    bob, alice = MCP | {"x-api-key": "key-bob"}, MCP | {"x-api-key": "key-alice"}
    async with serve(app(runtime, access=Access.model_validate(KEYS), approval_wait=0)) as url:
        paused = await pause(url, bob)
        [use, _] = paused["content"]
        made: Any = {"content": [use | {"id": "mcptoolu_never"}]}
        found = [
            await send_back(url, {"content": [use]}, decide(paused, "approve"), headers=alice),
            await send_back(url, made, decide(made, "approve"), headers=alice),
            await send_back(url, made, headers=alice),
        ]
        own = await send_back(url, paused, decide(paused, "approve"), headers=bob)

    words = {one.json()["error"]["message"].replace(use["id"], "mcptoolu_never") for one in found}
    assert ([one.status_code for one in found], len(words), own.status_code) == ([400] * 3, 1, 200)


async def test_a_client_that_leaves_while_it_waits_closes_the_question(serve: Serve) -> None:
    runtime = asking()
    async with serve(app(runtime)) as url:
        leaving = asyncio.create_task(send(url, body=asks(QUESTION, model="helper", stream=True)))

        async def is_asked() -> bool:
            return bool(await runtime.pending(ANYONE))

        async def is_closed() -> bool:
            return not await runtime.pending(ANYONE)

        await until(is_asked)
        leaving.cancel()
        await until(is_closed)


def goes_on(paused: dict[str, Any]) -> Any:
    return {"type": "continue", "previous_message_id": paused["id"]}


async def test_a_thread_that_waits_is_resumed_without_messages_and_decided_with_one(serve: Serve) -> None:
    async with serve(app(asking("Done."), approval_wait=0)) as url:
        paused = await create(url, QUESTION, model="helper", headers=MCP, thread={"type": "create"})
        again = await create(url, [], model="helper", headers=MCP, thread=goes_on(paused))
        decision = [{"role": "user", "content": [decide(again, "approve")]}]
        done = await create(url, decision, model="helper", headers=MCP, thread=goes_on(paused))

    assert (paused["stop_reason"], again["stop_reason"], done["stop_reason"]) == (
        "pause_turn",
        "pause_turn",
        "end_turn",
    )
    assert done["content"][-1]["text"] == "Done."


async def test_a_thread_goes_on_after_a_question_that_nobody_answered(serve: Serve) -> None:
    async with serve(app(asking("As you like."), approval_wait=0)) as url:
        asked = await create(url, QUESTION, model="helper", thread={"type": "create"})
        other = await create(url, "Leave it", model="helper", thread=goes_on(asked))

    assert other["content"][0]["text"] == "As you like."


async def test_usage_is_that_of_both_runs(serve: Serve) -> None:
    model = ScriptedModel(
        [[*calls("deleteFile", '{"path": "a.txt"}'), UsageChunk(70, 5)], [*says("Done."), UsageChunk(90, 3)]]
    )
    runtime = storing(model, DELETE)
    async with serve(app(runtime)) as url:
        streaming = asyncio.create_task(create(url, QUESTION, model="helper"))
        await approve_in_console(runtime)
        usage = (await streaming)["usage"]

    assert (usage["input_tokens"], usage["output_tokens"]) == (160, 8)
