"""Responses that need no memory: text, tools of both sides, formats, reasoning, errors."""

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from rightseat.core.ask import NamedTool
from rightseat.core.errors import ModelUnreachable
from rightseat.core.messages import Call, File, Image, Result, Text
from rightseat.core.model import CallChunk, NoteChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from tests.conftest import Serve
from tests.faces.openai.responses.serving import DELETE, LOOKUP, WEATHER, client_of, events_of, storing

THOUGHT: ScriptedResponse = [
    ReasoningChunk("First "),
    ReasoningChunk("I think."),
    TextChunk("Done."),
    StopChunk("stop"),
]


def spoken(prompt: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


async def test_the_events_of_a_text_are_in_their_order_and_numbered_without_a_gap(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel([says("Hel", "lo")])), serve, tmp_path) as (_, plain):
        answer = await plain.post("/responses", json={"model": "bare", "input": "Hi", "stream": True})

    events = events_of(answer.text)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    final = events[-1]["response"]
    assert final["output"] == [events[-2]["item"]]
    assert final["output"][0]["content"][0]["text"] == "Hello"
    assert events[0]["response"]["output"] == []


async def test_a_response_holds_the_usage_of_all_its_model_calls(serve: Serve, tmp_path: Path) -> None:
    script = [[*calls("getWeather"), UsageChunk(7, 5, 3, 1, 2)], [*says("Warm."), UsageChunk(9, 4)]]
    async with client_of(storing(ScriptedModel(script), WEATHER), serve, tmp_path) as (client, _):
        response = await client.responses.create(model="helper", input="Hi")

    assert response.usage is not None
    assert response.usage.to_dict() == {
        "input_tokens": 16,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 25,
    }


async def test_a_tool_of_the_agent_is_an_mcp_call_between_two_messages(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([[TextChunk("Let me see. "), *calls("getWeather")], says("Warm.")])
    async with client_of(storing(model, WEATHER), serve, tmp_path) as (client, _):
        response = await client.responses.create(model="helper", input="Hi", store=False)

    assert [item.type for item in response.output] == ["message", "mcp_call", "message"]
    call = response.output[1]
    assert call.type == "mcp_call"
    assert (call.name, call.output, call.status) == ("getWeather", "21 degrees", "completed")


async def test_a_tool_of_the_client_is_a_function_call_whose_result_leads_on(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([calls("lookup", '{"q": 1}'), says("Found.")])
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        first = await client.responses.create(model="helper", input="Hi", tools=[LOOKUP], store=False)
        [call] = first.output
        assert call.type == "function_call"
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "42"}
        sent: Any = [{"role": "user", "content": "Hi"}, call.to_dict(), result]
        second = await client.responses.create(model="helper", input=sent, tools=[LOOKUP], store=False)

    assert second.output_text == "Found."
    parts = [part for message in model.prompts[-1].messages for part in message.parts]
    assert Call("call_1", "lookup", '{"q": 1}') in parts
    assert Result("call_1", "lookup", "42") in parts


async def test_images_of_a_tool_result_reach_the_model_in_a_message_of_the_user(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([says("A cat.")])
    items: Any = [
        {"role": "user", "content": "Look"},
        {"type": "function_call", "call_id": "c", "name": "view_image", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}],
        },
    ]
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        await client.responses.create(model="helper", input=items, store=False)

    last = model.prompts[-1].messages[-1]
    assert (last.role, last.parts) == ("user", (Text("The result of view_image:"), Image("image/png", "AAAA")))


async def test_a_call_of_an_unknown_tool_beside_one_of_the_clients_is_left_to_the_client(
    serve: Serve, tmp_path: Path
) -> None:
    both: ScriptedResponse = [
        CallChunk(0, "{}", "a", "lookup"),
        CallChunk(1, "{}", "b", "nowhere"),
        StopChunk("tool_calls"),
    ]
    model = ScriptedModel([both, says("Done.")])
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        first = await client.responses.create(model="helper", input="Hi", tools=[LOOKUP])
        results: Any = [{"type": "function_call_output", "call_id": id, "output": f"result {id}"} for id in "ab"]
        await client.responses.create(model="helper", input=results, tools=[LOOKUP], previous_response_id=first.id)

    assert [(item.type, item.to_dict()["call_id"]) for item in first.output] == [
        ("function_call", "a"),
        ("function_call", "b"),
    ]
    found = [part for message in model.prompts[-1].messages for part in message.parts if isinstance(part, Result)]
    assert [one.content for one in found] == ["result a", "result b"]


async def test_a_call_of_an_unknown_tool_alone_is_a_failed_call_of_the_server(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([calls("nowhere"), says("Sorry.")])
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        response = await client.responses.create(model="helper", input="Hi")

    call = response.output[0].to_dict()
    assert (call["type"], call["status"]) == ("mcp_call", "failed")
    assert response.output_text == "Sorry."


async def test_instructions_roles_and_attachments_reach_the_model(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([says("Yes.")])
    items: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello.", "annotations": []}]},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            ],
        },
    ]
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        await client.responses.create(model="bare", input=items, instructions="Top rule.", temperature=0.5)

    prompt = model.prompts[0]
    assert spoken(prompt) == [
        ("system", "Top rule."),
        ("system", "Be brief."),
        ("assistant", "Hello."),
        ("user", "Look"),
    ]
    assert prompt.messages[-1].parts[1:] == (
        Image("", "", "https://example.com/a.png"),
        File("document", "application/pdf", "AAAA", name="a.pdf"),
    )
    assert prompt.parameters.temperature == 0.5


async def test_a_schema_reaches_the_model_with_its_name(serve: Serve, tmp_path: Path) -> None:
    model, schema = ScriptedModel([says("{}")]), {"type": "object", "properties": {}}
    form: Any = {"format": {"type": "json_schema", "name": "Person", "schema": schema, "strict": True}}
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        response = await client.responses.create(model="bare", input="Hi", text=form)

    parameters = model.prompts[0].parameters
    assert (parameters.response_schema, parameters.response_name, parameters.response_strict) == (
        schema,
        "Person",
        True,
    )
    assert response.text is not None
    assert response.text.to_dict() == form


async def test_the_effort_reaches_the_model(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([says("Hi"), says("Hi"), says("Hi")])
    async with client_of(storing(model), serve, tmp_path) as (_, plain):
        sent = [{"model": "bare", "input": "Hi", "reasoning": {"effort": one}} for one in ("low", "none", "extreme")]
        responses = [await plain.post("/responses", json=body) for body in sent]

    assert [prompt.parameters.effort for prompt in model.prompts] == ["low", None, None]
    assert ["warnings" in response.json() for response in responses] == [False, False, True]


async def test_reasoning_is_an_item_before_the_message_and_its_summary_on_request(serve: Serve, tmp_path: Path) -> None:
    async with client_of(storing(ScriptedModel([THOUGHT])), serve, tmp_path) as (_, plain):
        body: Any = {"model": "bare", "input": "Hi", "stream": True}
        without = events_of((await plain.post("/responses", json=body)).text)
        summary = events_of((await plain.post("/responses", json={**body, "reasoning": {"summary": "auto"}})).text)

    def deltas(events: list[dict[str, Any]], kind: str) -> list[str]:
        return [event["delta"] for event in events if event["type"] == f"response.{kind}.delta"]

    assert deltas(without, "reasoning_text") == ["First ", "I think."]
    assert deltas(without, "reasoning_summary_text") == []
    assert deltas(summary, "reasoning_summary_text") == ["First ", "I think."]
    assert deltas(summary, "reasoning_text") == ["First I think."]
    item = summary[-1]["response"]["output"][0]
    assert (item["summary"][0]["text"], item["content"][0]["text"]) == ("First I think.", "First I think.")


async def test_sealed_provider_data_goes_back_to_the_model_and_a_changed_seal_is_refused(
    serve: Serve, tmp_path: Path
) -> None:
    kept: Any = {"anthropic": {"signature": "s3cret"}}
    model = ScriptedModel([[*THOUGHT[:-1], StopChunk("stop"), NoteChunk("kept", kept)], says("Again.")])
    sealed: Any = {"model": "bare", "store": False, "include": ["reasoning.encrypted_content"]}
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        first = await client.responses.create(**sealed, input="Hi")
        items = [item.to_dict() for item in first.output]
        turns: Any = [{"role": "user", "content": "Hi"}, *items, {"role": "user", "content": "More"}]
        await client.responses.create(**sealed, input=turns)
        turns[1] = items[0] | {"encrypted_content": items[0]["encrypted_content"][:-4] + "AAAA"}
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(**sealed, input=turns)

    assert [item["type"] for item in items] == ["reasoning", "message", "reasoning"]
    assert "s3cret" not in json.dumps(items)
    assert [message.extra for message in model.prompts[1].messages if message.role == "assistant"] == [kept]
    assert refused.value.code == "invalid_encrypted_content"


async def test_tools_of_unknown_types_are_left_out_with_a_warning(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([calls("inner")])
    inner = {"type": "function", "name": "inner", "parameters": {"type": "object", "properties": {}}}
    tools: Any = [{"type": "web_search"}, {"type": "namespace", "name": "space", "tools": [inner]}, LOOKUP]
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        raw = await client.responses.with_raw_response.create(model="helper", input="Hi", tools=tools)

    assert "web_search" in raw.headers["x-rightseat-warnings"]
    assert [tool.name for tool in model.prompts[0].tools] == ["lookup", "inner"]
    assert json.loads(raw.text)["output"][0]["namespace"] == "space"


@pytest.mark.parametrize(
    ("choice", "names", "chosen"),
    [
        ("required", ["lookup", "other"], "required"),
        ({"type": "function", "name": "other"}, ["lookup", "other"], NamedTool("other")),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "other"}]},
            ["other"],
            "auto",
        ),
        ({"type": "web_search"}, ["lookup", "other"], "auto"),
    ],
    ids=["required", "named", "allowed", "hosted"],
)
async def test_a_tool_choice_reaches_the_model(
    choice: Any, names: list[str], chosen: Any, serve: Serve, tmp_path: Path
) -> None:
    model = ScriptedModel([says("Hi.")])
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        tools: Any = [LOOKUP, LOOKUP | {"name": "other"}]
        await client.responses.create(model="helper", input="Hi", tools=tools, tool_choice=choice)

    prompt = model.prompts[0]
    assert ([tool.name for tool in prompt.tools], prompt.parameters.tool_choice) == (names, chosen)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": 7}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"type": "unheard_of"}]}, "input[0].type"),
        ({"input": [{"role": "wizard", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input[0].call_id"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0]"),
        ({"input": "x", "temperature": "hot"}, "temperature"),
        ({"input": "x", "max_output_tokens": 0}, "max_output_tokens"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools[0]"),
        ({"input": "x", "tools": [LOOKUP, LOOKUP]}, "tools[1]"),
        ({"input": "x", "tool_choice": "required"}, "tool_choice"),
        ({"input": "x", "text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"input": "x", "truncation": "auto"}, "truncation"),
        ({"input": "x", "prompt": {"id": "p"}}, "prompt"),
        ({"input": "x", "max_tool_calls": 3}, "max_tool_calls"),
        ({"input": "x", "metadata": {str(number): "x" for number in range(17)}}, "metadata"),
        ({"input": "x", "background": True}, "background"),
        ({"input": "x", "background": True, "store": False}, "background"),
        ({"input": "x", "conversation": "conv_1", "previous_response_id": "resp_1"}, "conversation"),
    ],
    ids=str,
)
async def test_an_invalid_request_is_refused_with_the_path_of_the_field(
    body: Any, param: str, serve: Serve, tmp_path: Path
) -> None:
    model = ScriptedModel([says("Hi.")])
    async with client_of(storing(model), serve, tmp_path) as (_, plain):
        answer = await plain.post("/responses", json={"model": "helper", **body})

    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param)
    assert set(error) == {"message", "type", "param", "code"}
    assert model.prompts == []


async def test_a_failure_before_the_first_output_is_a_status_and_a_later_one_ends_the_stream_as_failed(
    serve: Serve, tmp_path: Path
) -> None:
    model = ScriptedModel([[ModelUnreachable("No.")], [TextChunk("Half"), ModelUnreachable("No.")]])
    body = {"model": "bare", "input": "Hi", "stream": True}
    async with client_of(storing(model), serve, tmp_path) as (_, plain):
        early = await plain.post("/responses", json=body)
        late = events_of((await plain.post("/responses", json=body)).text)

    assert (early.status_code, early.json()["error"]["code"]) == (502, "model_unreachable")
    assert late[-1]["type"] == "response.failed"
    assert late[-1]["response"]["error"] == {"code": "server_error", "message": "No."}
    assert late[-2]["item"]["status"] == "incomplete"


async def test_a_response_that_the_token_limit_cut_off_is_incomplete(serve: Serve, tmp_path: Path) -> None:
    model = ScriptedModel([[TextChunk("Half"), StopChunk("length")]])
    async with client_of(storing(model), serve, tmp_path) as (client, _):
        response = await client.responses.create(model="bare", input="Hi", max_output_tokens=1)

    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


async def test_an_unstored_response_that_needs_an_approval_is_refused_with_the_cure(
    serve: Serve, tmp_path: Path
) -> None:
    model = ScriptedModel([calls("deleteFile", '{"path": "a"}')])
    async with client_of(storing(model, DELETE), serve, tmp_path) as (client, _):
        with pytest.raises(openai.PermissionDeniedError) as refused:
            await client.responses.create(model="helper", input="Hi", store=False)

    assert refused.value.code == "approval_required"
    assert "`store: true`" in refused.value.message
