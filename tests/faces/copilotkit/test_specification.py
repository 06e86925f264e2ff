"""The GraphQL operations of the CopilotRuntime specification, as printed there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, build_schema

from rightseat.core.loop.agent_loop import Loop
from rightseat.faces.copilotkit.graphql.schema import schema
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.copilotkit.serving import app, post, runtime

SAMPLES = Path(__file__).parents[2] / "recordings" / "copilotruntime-specification"
PRINTED = (SAMPLES / "mutation.txt").read_text()
CORRECTIONS = json.loads((SAMPLES / "corrections.json").read_text())
OPERATIONS = json.loads((SAMPLES / "operations.json").read_text())
TYPES = build_schema(schema.as_str()).type_map
WHEN = "2026-01-01T00:00:00.000Z"


def corrected() -> str:
    text = PRINTED
    for one in CORRECTIONS:
        assert one["printed"] in text
        text = text.replace(one["printed"], one["runs"])
    return text


def interfaces() -> list[tuple[str, str]]:
    """Each interface of an input with each of its fields."""
    printed = (SAMPLES / "inputs.txt").read_text()
    found = re.findall(r"^interface (\w+) \{\n(.*?)^\}", printed, re.MULTILINE | re.DOTALL)
    return [(name, field) for name, body in found for field in re.findall(r"^  (\w+)\??:", body, re.MULTILINE)]


def message(id: str, **said: Any) -> dict[str, Any]:
    return {"id": id, "createdAt": WHEN, **said}


DATA: dict[str, Any] = {
    "metadata": {"requestType": "Chat"},
    "threadId": "t-1",
    "runId": "r-1",
    "messages": [
        message("u-1", textMessage={"content": "What is this?", "role": "user"}),
        message("i-1", imageMessage={"format": "png", "bytes": "iVBORw0KGgo=", "role": "user"}),
        message("m-1", textMessage={"content": "Let me see.", "role": "assistant"}),
        message("c-1", actionExecutionMessage={"name": "look", "arguments": "{}", "parentMessageId": "m-1"}),
        message("r-1", resultMessage={"actionExecutionId": "c-1", "actionName": "look", "result": "a cat"}),
        message(
            "s-1",
            agentStateMessage={
                "threadId": "t-1",
                "agentName": "researcher",
                "role": "assistant",
                "state": '{"seen": 1}',
                "running": False,
                "nodeName": "__end__",
                "runId": "r-0",
                "active": False,
            },
        ),
        message("u-2", textMessage={"content": "Name it.", "role": "user"}),
    ],
    "frontend": {
        "toDeprecate_fullContext": "",
        "url": "http://localhost:3000/",
        "actions": [
            {"name": "show", "description": "Show it.", "jsonSchema": '{"type": "object"}', "available": "enabled"}
        ],
    },
    "forwardedParameters": {"model": "m", "temperature": 0, "maxTokens": 64},
    "agentSession": {"agentName": "researcher", "threadId": "t-1", "nodeName": "__end__"},
    "agentState": {"agentName": "researcher", "state": '{"seen": 1}'},
    "agentStates": [{"agentName": "researcher", "state": '{"seen": 1}'}],
    "extensions": {"openaiAssistantAPI": {"runId": "a", "threadId": "b"}},
    "metaEvents": [],
}


def name_of(cat: str) -> str:
    """The name of a cat."""
    return f"{cat} is Tom"


def body(query: str, **data: Any) -> dict[str, Any]:
    return {"query": query, "variables": {"data": DATA | data, "properties": {"tenant": "acme"}}}


@pytest.mark.parametrize(("type_name", "field"), interfaces())
def test_every_input_of_the_specification_is_in_the_schema(type_name: str, field: str) -> None:
    found = TYPES[type_name]

    assert isinstance(found, GraphQLInputObjectType)
    assert field in found.fields


async def test_the_mutation_as_printed_is_answered_with_what_is_wrong_in_it(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, body(PRINTED))

    assert answer.status_code == 200
    assert [error["message"] for error in answer.json()["errors"]] == [
        "Cannot query field 'type' on type 'SuccessResponseStatus'.",
        "Unknown type 'UnknownErrorResponse'.",
    ]


async def test_the_mutation_runs_with_all_inputs_and_gives_all_that_it_selects(serve: Serve) -> None:
    model = ScriptedModel([calls("name_of", '{"cat": "the cat"}'), says("It is ", "Tom.")])
    served = runtime(researcher=Loop(model, [FunctionToolbox([name_of])]))

    async with serve(app(served)) as url:
        response = (await post(url, body(corrected()))).json()["data"]["generateCopilotResponse"]

    call, result, text = response.pop("messages")
    assert response == {
        "threadId": "t-1",
        "runId": "r-1",
        "status": {"__typename": "SuccessResponseStatus", "code": "Success"},
        "extensions": {},  # of which it selects nothing
        "metaEvents": [],
    }
    assert (call["name"], "".join(call["arguments"])) == ("name_of", '{"cat": "the cat"}')
    assert (result["actionExecutionId"], result["actionName"], result["result"]) == (
        call["id"],
        "name_of",
        "the cat is Tom",
    )
    assert ("".join(text["content"]), text["role"]) == ("It is Tom.", "assistant")
    assert {one["status"]["__typename"] for one in (call, result, text)} == {"SuccessMessageStatus"}
    asked = model.prompts[0]
    assert [one.role for one in asked.messages] == ["user", "user", "assistant", "tool", "user"]
    assert (asked.parameters.model, asked.parameters.temperature, asked.parameters.max_tokens) == ("m", 0, 64)
    assert {tool.name for tool in asked.tools} == {"name_of", "show"}


async def test_a_failed_run_is_reported_in_the_mutation(serve: Serve) -> None:
    async with serve(app(runtime(researcher=Loop(ScriptedModel([[ValueError("secret")]]))))) as url:
        response = (await post(url, body(corrected()))).json()["data"]["generateCopilotResponse"]

    assert response["status"]["__typename"] == "FailedResponseStatus"
    assert (response["status"]["code"], response["status"]["reason"]) == ("Failed", "UNKNOWN_ERROR")
    assert "secret" not in json.dumps(response)


async def test_the_queries_list_agents_and_load_what_the_mutation_kept(serve: Serve) -> None:
    async with serve(app(runtime(researcher=Loop(ScriptedModel([says("Tom.")]))))) as url:
        await post(url, body(corrected()))
        agents = (await post(url, {"query": OPERATIONS["availableAgents"]})).json()["data"]
        wanted = {"data": {"agentName": "researcher", "threadId": "t-1"}}
        state = (await post(url, {"query": OPERATIONS["loadAgentState"], "variables": wanted})).json()["data"]

    assert [one["name"] for one in agents["availableAgents"]["agents"]] == ["researcher"]
    loaded = state["loadAgentState"]
    assert (loaded["threadId"], loaded["threadExists"], json.loads(loaded["state"])) == ("t-1", True, {"seen": 1})
    assert [one["id"] for one in json.loads(loaded["messages"])][:3] == ["u-1", "m-1", "c-1"]
