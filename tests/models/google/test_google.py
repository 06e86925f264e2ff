"""Gemini's wire, both ways, and held against google-genai. The recordings: tests/recordings/google/README.md."""

import json
import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import types

from rightseat import config
from rightseat.core.ask import Ask, NamedTool, Parameters, ToolChoice
from rightseat.core.errors import ConfigError, ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, File, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import CallChunk, Chunk, NoteChunk, Prompt, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.models.google import Google, Options
from rightseat.models.google.decoder import GeminiDecoder
from rightseat.models.google.encoder import SIGNATURES_LOST, SKIP_SIGNATURE, write_request
from tests.core.test_runtime import answer, running
from tests.models.anthropic.test_encoder import Box, one_after_another
from tests.models.asking import PROMPT, answer_of, asking, assert_cut_anywhere, failure_of
from tests.models.recorded import RECORDINGS, once, played, refusal
from tests.tcp import Script, Server

KEY = "AIza-test-0123456789"
SEARCH = Tool("search", "Find things.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = played("google", "text")
FILES = sorted((RECORDINGS / "google").glob("*.response.txt"))


def model_of(script: Script | bytes) -> AbstractAsyncContextManager[tuple[Google, Server]]:
    return asking(script, lambda url: Google("gemini-3.8-flash", api_key=KEY, base_url=f"{url}/v1"))


async def read(name: str) -> list[Chunk]:
    async with model_of(played("google", name)) as (model, _):
        return await answer_of(model)


async def failure(script: Script | bytes) -> tuple[list[Chunk], ModelError]:
    async with model_of(script) as (model, _):
        return await failure_of(model)


CHUNKS: dict[str, list[Chunk]] = {
    "text": [TextChunk("Hello"), TextChunk(" there, Grüße 👋🏽"), TextChunk("!"), StopChunk("stop"), UsageChunk(12, 9)],
    "signed-text": [TextChunk("Hello"), StopChunk("stop"), UsageChunk(12, 9)],
    "tool-call": [
        TextChunk("Let me look."),
        CallChunk(0, '{"city":"Oslo"}', "fc_1", "get_weather"),
        NoteChunk("kept", {"google": {"model": "gemini-3.8-flash", "calls": [["fc_1", "CiQBsignedAA"]]}}),
        StopChunk("tool_calls"),
        UsageChunk(12, 9),
    ],
    "parallel-tool-calls": [
        CallChunk(0, '{"city":"Oslo"}', "", "get_weather"),
        CallChunk(1, '{"city":"Rome"}', "", "get_weather"),
        NoteChunk("kept", {"google": {"model": "gemini-3.8-flash", "calls": [[None, "CiQBsignedAA"], [None, None]]}}),
        StopChunk("tool_calls"),
        UsageChunk(12, 9),
    ],
    "thinking": [
        ReasoningChunk("Let me think. "),
        ReasoningChunk("27 * 453."),
        TextChunk("12,231"),
        StopChunk("stop"),
        UsageChunk(12, 39),
    ],
    "max-tokens": [TextChunk("Once upon"), StopChunk("length"), UsageChunk(12, 9)],
    "safety": [
        TextChunk("Well"),
        NoteChunk("warning", "The provider ended the response early: SAFETY."),
        StopChunk("filtered"),
        UsageChunk(12, 9),
    ],
    "prompt-blocked": [
        NoteChunk("warning", "The provider blocked the prompt: PROHIBITED_CONTENT."),
        StopChunk("filtered"),
        UsageChunk(12, 0),
    ],
    "malformed-call": [
        NoteChunk(
            "warning",
            "The provider ended the response early: MALFORMED_FUNCTION_CALL, Malformed function call: print(x.",
        ),
        StopChunk("stop"),
        UsageChunk(12, 9),
    ],
}


@pytest.mark.parametrize("name", CHUNKS)
async def test_a_recorded_answer_becomes_chunks(name: str) -> None:
    assert await read(name) == CHUNKS[name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_lost_wherever_the_bytes_are_cut(path: Path) -> None:
    assert_cut_anywhere(path, lambda: GeminiDecoder("m"))


def test_cached_tokens_are_reported() -> None:
    usage = {"promptTokenCount": 12, "cachedContentTokenCount": 8, "candidatesTokenCount": 9}
    event = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}

    assert list(GeminiDecoder("m").read(json.dumps(event).encode())) == [StopChunk("stop"), UsageChunk(12, 9, 8)]


def test_the_reported_total_wins_over_its_parts() -> None:
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 9, "totalTokenCount": 50}
    event = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}

    assert list(GeminiDecoder("m").read(json.dumps(event).encode())) == [StopChunk("stop"), UsageChunk(12, 38)]


@pytest.mark.parametrize(("name", "kind"), [("error-mid-stream", ModelBusy), ("broken-off", ModelUnreachable)])
async def test_an_error_inside_a_response_comes_after_its_chunks(name: str, kind: type[ModelError]) -> None:
    chunks, error = await failure(once(played("google", name)))

    assert chunks == [TextChunk("Hel")]
    assert type(error) is kind


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        ("400 Bad Request", "API key not valid. Please pass a valid API key.", ModelRefusedKey),
        ("403 Forbidden", "Permission denied", ModelRefusedKey),
        ("404 Not Found", "models/gemini-0 is not found", ModelRefused),
        ("429 Too Many Requests", "You exceeded your current quota", ModelBusy),
        ("500 Internal Server Error", "An internal error has occurred", ModelUnreachable),
    ],
)
async def test_a_refusal_is_an_error_of_its_kind(status: str, said: str, kind: type[ModelError]) -> None:
    body = json.dumps({"error": {"code": int(status[:3]), "message": said, "status": "X"}})

    _, error = await failure(refusal(status, body))

    assert type(error) is kind


# What is sent


def request(prompt: Prompt, **options: Any) -> dict[str, Any]:
    whole = write_request(Options(**{"model": "gemini-3.8-flash"} | options), prompt)
    body: dict[str, Any] = json.loads(json.dumps(whole.body))
    return body | {"notes": whole.notes}


async def test_the_smallest_request() -> None:
    async with model_of(HI) as (model, server):
        _ = [chunk async for chunk in model.stream(PROMPT)]

    sent = server.requests[0]
    assert sent.line == "POST /v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse HTTP/1.1"
    assert sent.header("x-goog-api-key") == KEY
    assert sent.json == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def test_calls_without_their_signatures_are_marked_so_and_results_name_their_tool() -> None:
    called = Message("assistant", (Call("c1", "search", "{}"), Call("c2", "search", "{oops")))
    results = tuple(Result(id, "", "x", error) for id, error in (("c1", None), ("c2", "invalid_arguments")))
    messages = (user("Find"), called, *(Message("tool", (result,)) for result in results))

    asked = request(Prompt(messages))
    sent = asked["contents"]
    before = request(Prompt(messages), model="gemini-2.5-flash")
    older = before["contents"]

    assert sent[1]["parts"] == [
        {"functionCall": {"name": "search", "args": {}}, "thoughtSignature": SKIP_SIGNATURE},
        {"functionCall": {"name": "search", "args": {"broken_json": "{oops"}}},
    ]
    assert sent[2]["parts"] == [
        {"functionResponse": {"name": "search", "response": {"result": "x"}}},
        {"functionResponse": {"name": "search", "response": {"error": "x"}}},
    ]
    assert "thoughtSignature" not in older[1]["parts"][0]
    assert (asked["notes"], before["notes"]) == ([SIGNATURES_LOST], [])


async def test_signatures_and_ids_come_back_with_the_result_of_a_tool() -> None:
    async def weather(_: object) -> str:
        return "rain"

    tool = Tool("get_weather", "", {"type": "object"}, weather)
    script = one_after_another(played("google", "tool-call"), HI)
    async with (
        model_of(script) as (model, server),
        running(Loop(model, [Box(tool)], approval="never")) as runtime,
    ):
        await answer(runtime, Ask(messages=(user("Weather?"),), run_id="r"))

    _, said, result = server.requests[1].json["contents"]
    call = {"name": "get_weather", "args": {"city": "Oslo"}, "id": "fc_1"}
    assert said["parts"][1] == {"functionCall": call, "thoughtSignature": "CiQBsignedAA"}
    returned = {"name": "get_weather", "response": {"result": "rain"}, "id": "fc_1"}
    assert result["parts"] == [{"functionResponse": returned}]


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedTool("search"), {"mode": "ANY", "allowedFunctionNames": ["search"]}),
    ],
)
def test_which_tool(choice: ToolChoice, written: Any) -> None:
    sent = request(Prompt((user("Hi"),), (SEARCH,), Parameters(tool_choice=choice)))

    assert sent["toolConfig"] == {"functionCallingConfig": written}


def test_the_effort_of_a_client_is_a_level_of_models_that_have_levels() -> None:
    prompt = Prompt((user("Hi"),), (), Parameters(effort="max"))

    assert request(prompt, thinking="low")["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "HIGH"
    assert request(prompt, thinking=1024)["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 1024
    assert "thinkingConfig" not in request(prompt).get("generationConfig", {})


def test_settings_are_sent_and_unknown_ones_are_reported() -> None:
    parameters = Parameters(
        temperature=0.0, seed=0, logprobs=1, parallel_calls=False, response_schema={"type": "object"}
    )

    sent = request(Prompt((user("Hi"),), (), parameters), thinking="low", extra={"generationConfig": {"topK": 3}})

    assert sent["generationConfig"] == {
        "temperature": 0.0,
        "seed": 0,
        "responseMimeType": "application/json",
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        "topK": 3,
    }
    assert sent["notes"] == [
        f"Gemini does not support `{name}`, so it was not sent." for name in ("logprobs", "parallel_calls")
    ]


def test_google_cloud_needs_a_place() -> None:
    with pytest.raises(ConfigError, match="needs `region` and `project`"):
        config.parse("models: {default: {type: google, model: m, platform: vertex}}")


@pytest.mark.parametrize(("region", "host"), [("global", "aiplatform"), ("europe-west1", "europe-west1-aiplatform")])
def test_google_cloud_has_an_address_for_each_region(region: str, host: str) -> None:
    options = Options(model="m", platform="vertex", region=region, project="ours")

    assert options.address == f"https://{host}.googleapis.com/v1beta1"


# Beside google-genai


def sdk(server: Server) -> genai.Client:
    """With a transport of httpx's: else it takes aiohttp, in a way that warns."""
    more = {"transport": httpx.AsyncHTTPTransport()}
    return genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=server.url, async_client_args=more))


@pytest.mark.parametrize("name", [name for name in CHUNKS if name != "prompt-blocked"])
async def test_we_read_what_the_sdk_reads(name: str) -> None:
    async with model_of(played("google", name)) as (model, server), sdk(server).aio as client:
        asked = await client.models.generate_content_stream(model="gemini-3.8-flash", contents="Hi")
        theirs = [event async for event in asked]
        ours = [chunk async for chunk in model.stream(PROMPT)]

    candidates = [one for event in theirs for one in event.candidates or ()]
    parts = [part for one in candidates for part in (one.content.parts if one.content else None) or ()]
    assert text_of(ours, TextChunk) == "".join(part.text or "" for part in parts if not part.thought)
    assert text_of(ours, ReasoningChunk) == "".join(part.text or "" for part in parts if part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    mine = [(one.name, one.id, json.loads(one.arguments)) for one in ours if isinstance(one, CallChunk)]
    assert mine == [(call.name, call.id or "", call.args) for call in calls]


def text_of(chunks: list[Chunk], kind: type[TextChunk | ReasoningChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, kind))


async def test_the_same_conversation_becomes_the_same_request() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}
    shape: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    prompt = Prompt(
        (
            system("Be kind."),
            Message("user", (Text("What is it?"), Image("image/png", "iVBO"))),
            assistant("A cat."),
            Message("user", (File("document", "application/pdf", "", "https://example.com/a.pdf"),)),
        ),
        (Tool("search", "Find things.", schema),),
        Parameters(max_tokens=7, stop=("END",), top_p=0.5, tool_choice=NamedTool("search"), response_schema=shape),
    )
    async with model_of(HI) as (model, server), sdk(server).aio as client:
        _ = [chunk async for chunk in model.stream(prompt)]
        tool = types.FunctionDeclaration(name="search", description="Find things.", parameters_json_schema=schema)
        calling = types.FunctionCallingConfig(
            mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["search"]
        )
        contents: Any = [
            {"role": "user", "parts": [{"text": "What is it?"}, {"inline_data": PNG}]},
            {"role": "model", "parts": [{"text": "A cat."}]},
            {
                "role": "user",
                "parts": [
                    {"file_data": {"file_uri": "https://example.com/a.pdf", "mime_type": "application/pdf"}},
                ],
            },
        ]
        async for _ in await client.models.generate_content_stream(
            model="gemini-3.8-flash",
            contents=contents,
            config=types.GenerateContentConfig(
                system_instruction={"parts": [{"text": "Be kind."}]},
                max_output_tokens=7,
                stop_sequences=["END"],
                top_p=0.5,
                response_mime_type="application/json",
                response_json_schema=shape,
                tools=[types.Tool(function_declarations=[tool])],
                tool_config=types.ToolConfig(function_calling_config=calling),
            ),
        ):
            pass

    mine, its = server.requests
    assert alike(mine.json) == alike(its.json)
    assert mine.line == its.line


PNG = {"mime_type": "image/png", "data": b"\x89PN"}


def alike(body: dict[str, Any]) -> dict[str, Any]:
    """The SDK names a role for the instructions, which nobody reads, and spells some fields with underlines."""
    text = re.sub(r'"[a-z_]+":', lambda key: re.sub("_(.)", lambda match: match[1].upper(), key[0]), json.dumps(body))
    spelt: dict[str, Any] = json.loads(text)
    return spelt | {"systemInstruction": {"parts": body["systemInstruction"]["parts"]}}
