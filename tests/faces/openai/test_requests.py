"""What a client may send, and what it is told of the rest."""

import json
from typing import Any

import pytest

from rightseat.core.messages import File, Image, Text
from rightseat.testing import ScriptedModel, says
from tests.conftest import Serve
from tests.faces.openai.serving import HI, app, post, runtime, visiting

TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
PIXEL = "iVBORw0KGgo="


def named(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


def said(*parts: Any) -> Any:
    return [{"role": "user", "content": [*parts]}]


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "messages is a text": ({"messages": "Hi"}, "messages", "expected array"),
    "no messages": ({"messages": []}, "messages", "is empty"),
    "a role": ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role", "'wizard'"),
    "a message without a role": ({"messages": [{"content": "x"}]}, "messages[0]", "role"),
    "no content": ({"messages": [{"role": "user"}]}, "messages[0].content", "missing"),
    "a part": ({"messages": said({"type": "video"})}, "messages[0].content[0]", "'video'"),
    "a part without its text": ({"messages": said({"type": "text"})}, "messages[0].content[0]", "'text'"),
    "an image elsewhere": (
        {"messages": said({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})},
        "messages[0].content[0]",
        "data:, http:// or https://",
    ),
    "an image at no address": (
        {"messages": said({"type": "image_url", "image_url": {"url": "http://[::1"}})},
        "messages[0].content[0]",
        "Invalid IPv6 URL",
    ),
    "an image that is none": (
        {"messages": said({"type": "image_url", "image_url": {"url": "data:image/png;base64,#"}})},
        "messages[0].content[0]",
        "not valid base64",
    ),
    "an image that is not base64": (
        {"messages": said({"type": "image_url", "image_url": {"url": "data:image/png,x"}})},
        "messages[0].content[0]",
        "data:<type>;base64,<data>",
    ),
    "an image of the system": (
        {"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}, *HI]},
        "messages[0].content",
        "text only",
    ),
    "a result of no call": (
        {"messages": [*HI, {"role": "tool", "tool_call_id": "c9", "content": "x"}]},
        "messages[1].tool_call_id",
        "'c9'",
    ),
    "a call of the user's": (
        {"messages": [{"role": "user", "content": "x", "tool_calls": [CALL]}]},
        "messages[0].tool_calls",
        "only the assistant",
    ),
    "a call of another kind": (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "custom"}]}]},
        "messages[0].tool_calls",
        "'custom'",
    ),
    "a function call of old": (
        {"messages": [{"role": "assistant", "function_call": {"name": "x"}}]},
        "messages[0].function_call",
        "tool_calls",
    ),
    "tools is an object": ({"tools": {"a": 1}}, "tools", "expected array"),
    "a tool of another kind": ({"tools": [{"type": "custom"}]}, "tools[0]", "'custom'"),
    "a tool without a name": ({"tools": [named("")]}, "tools[0].function.name", "1 to 128"),
    "a tool's name with spaces": ({"tools": [named("a b")]}, "tools[0].function.name", "'a b'"),
    "parameters that are no object": (
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": [1]}}]},
        "tools[0].function.parameters",
        "expected object",
    ),
    "two tools of one name": ({"tools": [TOOL, TOOL]}, "tools[1]", "Two tools are named 'look'"),
    "an unknown choice": ({"tools": [TOOL], "tool_choice": "sometimes"}, "tool_choice", "'sometimes'"),
    "a choice of another kind": ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice", "allowed"),
    "a choice that is not there": ({"tools": [TOOL], "tool_choice": named("jump")}, "tool_choice", "'jump'"),
    "required without tools": ({"tool_choice": "required"}, "tool_choice", "no `tools`"),
    "temperature": ({"temperature": "hot"}, "temperature", "expected float"),
    "too hot": ({"temperature": 2.1}, "temperature", "<= 2"),
    "max_tokens": ({"max_tokens": -5}, "max_tokens", ">= 1"),
    "max_completion_tokens": ({"max_completion_tokens": 0}, "max_completion_tokens", ">= 1"),
    "top_p": ({"top_p": 2}, "top_p", "<= 1"),
    "stop": ({"stop": 3}, "stop", "expected"),
    "stream": ({"stream": "yes"}, "stream", "expected bool"),
    "an empty stop word": ({"stop": ["END", ""]}, "stop", "empty"),
    "top_logprobs alone": ({"top_logprobs": 3}, "top_logprobs", "logprobs: true"),
    "a format": ({"response_format": {"type": "xml"}}, "response_format", "'xml'"),
    "a format without a schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        "response_format",
        "schema` is missing",
    ),
    "n": ({"n": 2}, "n", "must be 1"),
    "audio": ({"audio": {"voice": "alloy"}}, "audio", "only returns text"),
    "modalities": ({"modalities": ["text", "audio"]}, "modalities", "only returns text"),
    "functions": ({"functions": []}, "functions", "send `tools`"),
    "function_call": ({"function_call": "auto"}, "function_call", "tool_choice"),
    "web search": ({"web_search_options": {}}, "web_search_options", "search"),
    "grammar": ({"grammar": 'root ::= "x"'}, "grammar", "grammar"),
    "a grammar that is none": ({"grammar": {"x": 1}}, "grammar", "grammar"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_request_is_refused_by_the_name_of_what_is_wrong(serve: Serve, case: str, stream: bool) -> None:
    body, param, words = WRONG[case]
    model = ScriptedModel([says("Hi")])
    async with serve(app(runtime(model))) as url:
        answer = await post(url, **{"stream": stream, **body})

    told = answer.json()["error"]
    assert answer.status_code == 400
    assert (told["param"], told["type"]) == (param, "invalid_request_error")
    assert words in told["message"]
    assert model.prompts == []


async def test_a_request_without_a_model_is_refused(serve: Serve) -> None:
    both = runtime(models={"other": ScriptedModel([says("Hi")])})
    async with serve(app(both)) as url, visiting(url) as client:
        answer = await client.post("/chat/completions", json={"messages": HI})

    told = answer.json()["error"]
    assert (answer.status_code, told["param"]) == (400, "model")
    assert "`model` is missing" in told["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"model": "bare", ' + b"[" * 100_000,
        b'{"model":"bare","messages":[{"role":"user","content":"x"}],"tools":[' + b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
    ids=["empty", "half", "list", "not UTF-8", "deep and broken", "deep"],
)
async def test_an_invalid_request_is_refused(serve: Serve, body: bytes) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post("/chat/completions", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


async def test_a_request_that_is_too_large_is_refused(serve: Serve) -> None:
    async with serve(app(runtime(), max_body_mb=1 / 64)) as url:
        answer = await post(url, messages=[{"role": "user", "content": "x" * 20_000}])

    assert answer.status_code == 413
    assert answer.json()["error"] == {
        "message": "The request is too large: the limit is 0.015625 MB.",
        "type": "invalid_request_error",
        "param": None,
        "code": "body_too_large",
    }


async def test_a_page_in_a_browser_may_use_openais_own_client(serve: Serve) -> None:
    asked = {
        "origin": "http://localhost:3000",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang,x-stainless-retry-count",
    }
    async with serve(app(runtime())) as url, visiting(url) as client:
        leave = await client.options("/chat/completions", headers=asked)
        body = {"model": "bare", "messages": HI, "unknown": 1}
        answer = await client.post("/chat/completions", json=body, headers={"origin": "http://localhost:3000"})

    assert leave.status_code == 200
    assert answer.headers["access-control-expose-headers"] == "x-rightseat-warnings, x-request-id, www-authenticate"


async def test_a_body_that_is_not_json_is_refused(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        body = json.dumps({"model": "bare", "messages": HI})
        answer = await client.post("/chat/completions", content=body, headers={"content-type": "text/plain"})

    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "not_json"


async def test_pictures_and_files_reach_the_model(serve: Serve) -> None:
    model = ScriptedModel([says("Nice.")])
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "auto"}},
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"}},
    ]
    async with serve(app(runtime(model))) as url:
        answer = await post(url, messages=said(*parts))

    assert "warnings" not in answer.json()
    assert model.prompts[0].messages[0].parts == (
        Text("Look"),
        Image("image/png", PIXEL),
        Image("", "", "https://example.com/a.png"),
        File("audio", "audio/wav", PIXEL),
        File("document", "application/pdf", PIXEL, name="a.pdf"),
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"logit_bias": {"1": 5}}, "'logit_bias'"),
        ({"reasoning_effort": "high"}, "'reasoning_effort'"),
        ({"chat_template_kwargs": {"x": 1}}, "'chat_template_kwargs'"),
        ({"messages": [{"role": "user", "content": "x", "name": "Ann"}]}, "`name`"),
        (
            {"messages": said({"type": "image_url", "image_url": {"url": "https://e.org/a", "detail": "high"}})},
            "`detail`",
        ),
    ],
)
async def test_ignored_fields_that_would_change_the_response_are_reported(
    serve: Serve, fields: dict[str, Any], words: str
) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, **fields)

    (warning,) = answer.json()["warnings"]
    assert words in warning


async def test_what_is_left_out_and_changes_nothing_is_not_worth_a_word(serve: Serve) -> None:
    harmless: dict[str, Any] = {
        "user": "u",
        "service_tier": "auto",
        "store": False,
        "prompt_cache_key": "k",
        "n": 1,
        "modalities": ["text"],
        "logit_bias": None,
        "grammar": None,
        "stream_options": {"include_obfuscation": False},
    }
    async with serve(app(runtime())) as url:
        answer = await post(url, **harmless)

    assert answer.status_code == 200
    assert "warnings" not in answer.json()


async def test_the_cache_key_reaches_the_model(serve: Serve) -> None:
    model = ScriptedModel([says("Hi."), says("Hi.")])
    async with serve(app(runtime(models={"bare": model}))) as url:
        await post(url, prompt_cache_key="k")
        await post(url, "/responses", model="bare", input="Hi", prompt_cache_key="r")

    assert [prompt.parameters.cache_key for prompt in model.prompts] == ["k", "r"]


async def test_headers_that_are_passed_on_reach_the_hooks(serve: Serve) -> None:
    here = runtime()
    seen: list[dict[str, str]] = []

    async def look(ask: Any) -> None:
        seen.append(dict(ask.headers))

    here.hooks.before_request.append(look)
    async with (
        serve(app(here, headers=("x-tenant",))) as url,
        visiting(url, **{"x-tenant": "a", "x-other": "b"}) as client,
    ):
        await client.post("/chat/completions", json={"model": "bare", "messages": HI})

    assert seen == [{"x-tenant": "a"}]
