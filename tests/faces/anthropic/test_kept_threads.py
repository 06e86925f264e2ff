"""Conversations that the server keeps: `thread` of a request, and the sessions of Claude Code."""

import json
from typing import Any

import pytest

from rightseat.config import Access
from rightseat.core.ask import ANYONE
from rightseat.core.errors import ModelUnreachable
from rightseat.core.messages import Call, Message, Result, Text, assistant, user
from rightseat.core.model import TextChunk
from rightseat.core.runtime import Runtime
from rightseat.faces.anthropic.kept_threads import reuse_messages
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from tests.conftest import Serve
from tests.faces.anthropic.serving import LOOKUP, app, asks, create, send
from tests.faces.openai.responses.serving import WEATHER, storing

CREATE: Any = {"type": "create"}
SESSION = {"x-claude-code-session-id": "5b1c8f1e"}
KEYS: Any = {"keys": [{"name": "alice", "key": "key-alice"}, {"name": "bob", "key": "key-bob"}]}


def goes_on(message: dict[str, Any]) -> Any:
    return {"type": "continue", "previous_message_id": message["id"]}


def seen(model: ScriptedModel, at: int = -1) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in model.prompts[at].messages]


async def stored(runtime: Runtime) -> list[list[str]]:
    """The texts of each thread, the oldest first."""
    threads = [await runtime.threads.load(one.id, ANYONE) for one in await runtime.threads.list(ANYONE)]
    return [[message.text for message in thread.messages] for thread in reversed(threads) if thread]


async def test_a_reply_is_continued_with_its_history_its_system_prompt_and_its_tools(serve: Serve) -> None:
    model = ScriptedModel([says("One."), says("Two."), says("Three.")])
    async with serve(app(storing(model))) as url:
        first = await create(url, "A", system="Be brief.", tools=[LOOKUP], thread=CREATE)
        second = await create(url, "B", thread=goes_on(first))
        await create(url, "C", system="Rhyme.", thread=goes_on(second))

    assert seen(model, 1) == [("system", "Be brief."), ("user", "A"), ("assistant", "One."), ("user", "B")]
    assert [tool.name for tool in model.prompts[2].tools] == ["lookup"]
    assert seen(model, 2)[0] == ("system", "Rhyme.")
    assert [text for _, text in seen(model, 2)[1:]] == ["A", "One.", "B", "Two.", "C"]


async def test_results_of_a_kept_call_are_taken_without_the_call(serve: Serve) -> None:
    model = ScriptedModel([calls("lookup", '{"q": "a"}'), says("Found.")])
    async with serve(app(storing(model))) as url:
        first = await create(url, "A", tools=[LOOKUP], thread=CREATE)
        result = {"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "it"}
        await create(url, [{"role": "user", "content": [result]}], thread=goes_on(first))

    assert [message.role for message in model.prompts[1].messages] == ["user", "assistant", "tool"]


async def test_a_reply_that_is_continued_twice_branches(serve: Serve) -> None:
    model = ScriptedModel([says("One."), says("Two."), says("Three."), says("Four.")])
    runtime = storing(model)
    async with serve(app(runtime)) as url:
        first = await create(url, "A", thread=CREATE)
        await create(url, "B", thread=goes_on(first))
        branch = await create(url, "C", thread=goes_on(first))
        await create(url, "D", thread=goes_on(branch))

    assert await stored(runtime) == [["A", "One.", "B", "Two."], ["A", "One.", "C", "Three.", "D", "Four."]]


async def test_a_failed_turn_is_not_kept(serve: Serve) -> None:
    model = ScriptedModel([says("One."), [ModelUnreachable("It is gone.")], says("Two.")])
    runtime = storing(model)
    async with serve(app(runtime)) as url:
        first = await create(url, "A", thread=CREATE)
        failed = await send(url, body=asks("B", thread=goes_on(first)))
        await create(url, "C", thread=goes_on(first))

    assert failed.status_code >= 500
    assert await stored(runtime) == [["A", "One.", "C", "Two."]]


@pytest.mark.parametrize("id", ["msg_never", "msg_" + "0" * 32, "", "x\0", "resp_1"])
async def test_a_reply_that_is_not_there_is_refused_with_the_code_of_the_sdks(serve: Serve, id: str) -> None:
    async with serve(app(storing(ScriptedModel([])))) as url:
        refused = await send(url, body=asks(thread={"type": "continue", "previous_message_id": id}))

    assert refused.status_code == 404
    assert refused.json()["error"]["details"] == {"error_code": "thread_not_found"}


async def test_another_users_reply_is_refused_in_the_same_words(serve: Serve) -> None:
    runtime = storing(ScriptedModel([says("One.")]))
    async with serve(app(runtime, access=Access.model_validate(KEYS))) as url:
        mine = await create(url, "A", thread=CREATE, headers={"x-api-key": "key-alice"})
        theirs, never = [
            (await send(url, body=asks(thread=goes_on({"id": id})), headers={"x-api-key": "key-bob"})).json()["error"]
            for id in (mine["id"], "msg_" + "0" * 32)
        ]

    assert theirs["message"].replace(mine["id"], "") == never["message"].replace("msg_" + "0" * 32, "")


async def test_without_thread_nothing_is_stored(serve: Serve) -> None:
    runtime = storing(ScriptedModel([says("One.")]))
    async with serve(app(runtime)) as url:
        plain = await create(url, "A")
        refused = await send(url, body=asks(thread=goes_on(plain)))

    assert (await stored(runtime), refused.status_code) == ([], 404)


async def test_a_session_of_claude_code_is_one_thread(serve: Serve) -> None:
    runtime = storing(ScriptedModel([says("One."), says("Two."), says("Three.")]))
    ours = {"metadata": {"user_id": json.dumps({"session_id": "5b1c8f1e"})}}
    async with serve(app(runtime)) as url:
        asked: Any = [{"role": "user", "content": "A"}]
        first = await create(url, asked, headers=SESSION)
        asked += [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": "B"}]
        await create(url, asked, **ours)
        edited = [*asked[:2], {"role": "user", "content": "C"}]
        await create(url, edited, headers=SESSION)

    assert await stored(runtime) == [["A", "One.", "C", "Three."]]


async def test_a_session_keeps_the_calls_that_the_client_does_not_see(serve: Serve) -> None:
    looks: ScriptedResponse = [TextChunk("I look. "), *calls("getWeather", '{"city": "Oslo"}')]
    model = ScriptedModel([looks, says("4 °C."), says("Bye.")])
    runtime = storing(model, WEATHER)
    async with serve(app(runtime)) as url:
        asked: Any = [{"role": "user", "content": "A"}]
        first = await create(url, asked, model="helper", headers=SESSION)
        asked += [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": "B"}]
        await create(url, asked, model="helper", headers=SESSION)

    assert [message.role for message in model.prompts[2].messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert len((await stored(runtime))[0]) == 6


async def test_sessions_are_not_stored_where_the_operator_says_so(serve: Serve) -> None:
    runtime = storing(ScriptedModel([says("One.")]))
    async with serve(app(runtime, sessions=False)) as url:
        await create(url, "A", headers=SESSION)

    assert await stored(runtime) == []


def test_messages_of_a_session_are_reused_up_to_the_first_that_differs() -> None:
    called = Message("assistant", (Call("c1", "f", "{}"),))
    returned = Message("tool", (Result("c1", "f", "x"),))
    known = (user("A"), assistant("B"), user("C"), called, returned, assistant("D"))
    given = (user("A"), Message("assistant", (Text("B "),)), user("C"), assistant("D"), user("E"))

    same, gone = reuse_messages(given, known)
    other, from_there = reuse_messages((user("A"), assistant("X"), user("C")), known)

    assert ([message.id for message in same[:-1]], gone) == ([message.id for message in known], None)
    assert ([message.text for message in other], from_there) == (["A", "X", "C"], known[1].id)
