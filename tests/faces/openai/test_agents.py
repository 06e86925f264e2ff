"""Agents and models behind the face: who answers, whose tools are run by whom, and what a client may name."""

import json
from typing import Any

import openai
import pytest

from rightseat.config import Access
from rightseat.core.errors import ConfigError
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.toolset import with_approval
from rightseat.core.model import CallChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Invocation, Tool
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.openai.serving import HI, app, chunks, deltas, post, runtime, sdk, visiting

ran: list[str] = []


async def look(invocation: Invocation) -> str:
    ran.append(invocation.call_id)
    return "It is 4 °C."


WEATHER = Tool("weather", "The weather.", {"type": "object"}, look)
DRAW: Any = {"type": "function", "function": {"name": "draw"}}
KEYS = Access.model_validate(
    {
        "keys": [
            {"name": "alice", "key": "key-alice"},
            {"name": "bob", "key": "key-bob", "scopes": ["openai:agent"]},
        ]
    }
)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def agent(*answers: ScriptedResponse, tool: Tool = WEATHER) -> Loop:
    return Loop(ScriptedModel(answers), [FunctionToolbox([tool])], instructions="Be kind.")


async def test_an_agents_own_tools_are_run_behind_the_face(serve: Serve) -> None:
    first: ScriptedResponse = [
        TextChunk("I look."),
        CallChunk(0, "{}", "c1", "weather"),
        StopChunk("tool_calls"),
        UsageChunk(5, 2, 0, 4),
    ]
    second: ScriptedResponse = [TextChunk("Cold."), StopChunk("stop"), UsageChunk(9, 3, 4, 1)]
    async with serve(app(runtime(agent=agent(first, second)))) as url:
        whole = (await post(url, model="agent")).json()
        streamed = await post(url, model="agent", stream=True)

    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "I look.\n\nCold.", "refusal": None}
    assert whole["choices"][0]["finish_reason"] == "stop"
    assert whole["usage"] == {
        "prompt_tokens": 14,
        "completion_tokens": 5,
        "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5},
    }
    assert ran == ["c1", "c1"]
    assert "".join(delta.get("content", "") for delta in deltas(streamed.content)) == "I look.\n\nCold."
    assert not any("tool_calls" in delta for delta in deltas(streamed.content))


async def test_the_clients_own_tools_are_the_clients_to_run(serve: Serve) -> None:
    async with serve(app(runtime(agent=agent(calls("draw", '{"x":1}'))))) as url:
        answer = (await post(url, model="agent", tools=[DRAW])).json()

    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert call == {"id": "call_1", "type": "function", "function": {"name": "draw", "arguments": '{"x":1}'}}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["choices"][0]["message"]["content"] is None
    assert ran == []


async def test_calls_of_both_kinds_in_one_response_are_reported(serve: Serve) -> None:
    both: ScriptedResponse = [
        CallChunk(0, "{}", "c1", "weather"),
        CallChunk(1, "{}", "c2", "draw"),
        StopChunk("tool_calls"),
    ]
    async with serve(app(runtime(agent=agent(both)))) as url:
        answer = (await post(url, model="agent", tools=[DRAW])).json()

    assert [call["id"] for call in answer["choices"][0]["message"]["tool_calls"]] == ["c2"]
    assert "weather" in answer["warnings"][0]
    assert ran == ["c1"]


async def test_a_tool_of_the_client_cannot_take_the_place_of_the_agents(serve: Serve) -> None:
    stolen: Any = {"type": "function", "function": {"name": "weather"}}
    async with serve(app(runtime(agent=agent(calls("weather"), says("Cold."))))) as url:
        answer = await post(url, model="agent", tools=[stolen], stream=True)

    *_, last = chunks(answer.content)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert not any("tool_calls" in delta for delta in deltas(answer.content))
    assert "'weather'" in last["warnings"][0]
    assert ran == ["call_1"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_that_needs_a_persons_leave_is_an_error_and_is_not_run(serve: Serve, stream: bool) -> None:
    async with serve(app(runtime(agent=agent(calls("weather"), tool=with_approval(WEATHER, "always"))))) as url:
        answer = await post(url, model="agent", stream=stream)

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "approval_required"
    assert answer.json()["error"]["message"] == (
        "weather needs approval and was not run: this protocol cannot ask a person, but CopilotKit's can. "
        "To run weather without approval, write `approval: never` for the agent, or `read_only_tools: [weather]` for "
        "the MCP server if it only reads."
    )
    assert ran == []


async def test_a_model_by_itself_has_no_instructions_and_is_asked_once(serve: Serve) -> None:
    model = ScriptedModel([calls("made_up")])
    async with serve(app(runtime(model))) as url:
        answer = (await post(url)).json()

    assert [message.role for message in model.prompts[0].messages] == ["user"]
    assert len(model.prompts) == 1
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert "made_up" in answer["warnings"][0]


async def test_a_call_that_an_agent_has_repaired_needs_no_word(serve: Serve) -> None:
    async with serve(app(runtime(agent=agent(calls("made_up"), says("Never mind."))))) as url:
        answer = (await post(url, model="agent")).json()

    assert answer["choices"][0]["message"]["content"] == "Never mind."
    assert "warnings" not in answer


async def test_of_one_name_the_agent_answers(serve: Serve) -> None:
    async with serve(app(runtime(says("the model"), bare=agent(says("the agent"))))) as url:
        answer = (await post(url)).json()
        async with sdk(url) as client:
            listed = [model.id async for model in client.models.list()]

    assert answer["choices"][0]["message"]["content"] == "the agent"
    assert listed == ["bare"]


# Names


async def test_agents_and_models_are_listed_and_found_by_name(serve: Serve) -> None:
    here = runtime(models={"org/model": ScriptedModel([says("Hi")])}, agent=agent(says("Hi")))
    async with serve(app(here)) as url, sdk(url) as client:
        listed = [model.id async for model in client.models.list()]
        found = await client.models.retrieve("org/model")
        with pytest.raises(openai.NotFoundError, match="'nobody' is not an agent"):
            await client.models.retrieve("nobody")

    assert listed == ["agent", "bare", "org/model"]
    assert (found.id, found.object, found.owned_by) == ("org/model", "model", "rightseat")
    assert found.created > 1_700_000_000


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_is_not_there_is_not_found(serve: Serve, stream: bool) -> None:
    async with serve(app(runtime(agent=agent(says("Hi"))))) as url:
        answer = await post(url, model="nobody", stream=stream)

    assert answer.status_code == 404
    told = answer.json()["error"]
    assert (told["code"], told["param"], told["type"]) == ("model_not_found", "model", "not_found_error")
    assert "'nobody'" in told["message"]
    assert "bare" not in told["message"]


@pytest.mark.parametrize("named", [{"model": "gpt-3.5-turbo"}, {"model": None}, {}], ids=["another", "null", "none"])
@pytest.mark.parametrize("stream", [False, True])
async def test_where_there_is_one_model_any_name_or_none_means_it(
    serve: Serve, named: dict[str, str | None], stream: bool
) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "stream": stream, **named}
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post("/chat/completions", json=body)

    (warning,) = json.loads(answer.headers["x-rightseat-warnings"])
    found = chunks(answer.content)[-1] if stream else answer.json()
    assert answer.status_code == 200
    assert "'bare' is used" in warning
    assert ("'gpt-3.5-turbo'" in warning) == bool(named.get("model"))
    assert (found["model"], found["warnings"]) == ("bare", [warning])


async def test_the_name_of_the_one_model_brings_no_warning(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url)

    assert answer.status_code == 200
    assert "x-rightseat-warnings" not in answer.headers


async def test_a_listed_model_is_meant_by_its_own_name_only(serve: Serve) -> None:
    """An operator who lists names has said that no others will do."""
    async with serve(app(runtime(), models=("bare",))) as url:
        answer = await post(url, model="nobody")

    assert answer.status_code == 404


async def test_a_key_for_another_model_does_not_reach_the_only_one(serve: Serve) -> None:
    async with serve(app(runtime(), access=KEYS)) as url, visiting(url, authorization="Bearer key-bob") as client:
        answer = await client.post("/chat/completions", json={"model": "agent", "messages": HI})

    assert answer.status_code == 403


async def test_a_face_may_offer_some_names_only(serve: Serve) -> None:
    async with serve(app(runtime(agent=agent(says("Hi"))), models=("agent",))) as url, sdk(url) as client:
        listed = [model.id async for model in client.models.list()]
        hidden, shown = await post(url), await post(url, model="agent")

    assert listed == ["agent"]
    assert (hidden.status_code, shown.status_code) == (404, 200)


def test_an_unknown_name_cannot_be_offered() -> None:
    with pytest.raises(ConfigError, match="'agnet', which is neither an agent nor a model"):
        app(runtime(agent=agent(says("Hi"))), models=("agnet",))


# Keys


async def test_a_key_reaches_what_it_is_for_and_sees_nothing_else(serve: Serve) -> None:
    async with serve(app(runtime(agent=agent(says("Hi"))), access=KEYS)) as url:
        async with sdk(url, "key-bob") as bob:
            assert [model.id async for model in bob.models.list()] == ["agent"]
        async with visiting(url, authorization="Bearer key-bob") as client:
            body = {"messages": [{"role": "user", "content": "Hi"}]}
            statuses = [
                (await client.post("/chat/completions", json={"model": name, **body})).status_code
                for name in ("agent", "bare", "nobody")
            ]

    assert statuses == [200, 403, 403]


async def test_without_a_key_openais_own_client_gets_an_authentication_error(serve: Serve) -> None:
    async with serve(app(runtime(), access=KEYS)) as url, sdk(url, "sk-wrong") as client:
        with pytest.raises(openai.AuthenticationError) as refused:
            await client.models.list()

    assert refused.value.code == "invalid_api_key"
    assert refused.value.response.headers["www-authenticate"] == "Bearer"
