"""What is particular to vLLM, SGLang and Ollama."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import BadAsk, ConfigError, ModelRefused, ModelUnreachable
from rightseat.core.values import JsonValue
from rightseat.models.completion.continuing import Counting
from rightseat.models.completion.engine import Constraint, Description, Piece, Request
from rightseat.models.completion.engines import Ollama, Sglang, ollama, sglang, tokenizers, vllm
from rightseat.models.completion.engines.options import OllamaOptions, SglangOptions
from rightseat.models.completion.grammar.nodes import Grammar, Literal
from tests.models.completion.engines.playing import (
    Played,
    answer,
    build,
    completion,
    cut,
    event,
    play_ollama,
    play_sglang,
    play_vllm,
)
from tests.tcp import Visit, playing

YES = Grammar(Literal("yes"), {})


def test_vllm_gets_its_grammar_in_structured_outputs() -> None:
    body = vllm.write_request(Request(prompt="<s>Hi", constraint=Constraint(YES)), Description(model="m", bos="<s>"))

    assert body["structured_outputs"] == {"grammar": 'root ::= "yes"\n'}
    assert body["add_special_tokens"] is False
    assert body["max_tokens"] is None  # as many as there is room for
    assert not any(key.startswith("guided") for key in body)


def test_vllm_leaves_out_no_control_token_that_is_wanted() -> None:
    plain = vllm.write_request(Request(prompt="Hi"), Description())
    wanted = vllm.write_request(Request(prompt="Hi", preserved=("<|python_tag|>",)), Description())

    assert (plain["skip_special_tokens"], wanted["skip_special_tokens"]) == (True, False)
    assert plain["add_special_tokens"] is True


async def test_vllm_logprobs_come_in_the_form_of_a_chat() -> None:
    logprobs = {"tokens": ["é"], "token_logprobs": [-0.5], "top_logprobs": [{"é": -0.5, "e": -1.0}], "text_offset": [0]}
    first = completion({"text": "é", "finish_reason": "stop", "stop_reason": "END", "logprobs": logprobs})
    played = Played("/v1/completions", cut(event(first) + b"data: [DONE]\n\n"), play_vllm(["x"], "stop").told)
    async with playing(played.script()) as server, build("vllm", server.url) as engine:
        piece, end = [piece async for piece in engine.generate(Request(prompt="Hi", logprobs=2))]

    assert isinstance(piece, Piece)
    assert piece.logprobs == (
        {
            "token": "é",
            "logprob": -0.5,
            "bytes": [195, 169],
            "top_logprobs": [
                {"token": "é", "logprob": -0.5, "bytes": [195, 169]},
                {"token": "e", "logprob": -1.0, "bytes": [101]},
            ],
        },
    )
    assert getattr(end, "stop", None) == "END"


async def test_vllm_tells_an_error_inside_its_answer() -> None:
    error = {"error": {"message": "grammar is wrong", "type": "BadRequestError", "code": 400}}
    stream = cut(event(error) + b"data: [DONE]\n\n")
    played = Played("/v1/completions", stream, play_vllm(["x"], "stop").told)
    async with playing(played.script()) as server, build("vllm", server.url) as engine:
        with pytest.raises(ModelRefused, match="grammar is wrong"):
            _ = [piece async for piece in engine.generate(Request(prompt="Hi"))]


def test_sglang_gets_its_grammar_with_the_sampling() -> None:
    request = Request(prompt="<s>Hi", constraint=Constraint(YES), seed=3)
    body = sglang.write_request(request, Description(bos="<s>"))

    assert body["text"] == "Hi"
    assert body["sampling_params"] == {
        "ebnf": 'root ::= "yes"\n',
        "sampling_seed": 3,
        "max_new_tokens": None,
        "skip_special_tokens": True,
    }


async def test_sglang_may_send_only_what_is_new() -> None:
    played = play_sglang(["a", "aa"], "stop")
    finish = {"finish_reason": {"type": "stop", "matched": "END"}, "prompt_tokens": 9, "completion_tokens": 2}
    played.stream = cut(event({"text": "a"}) + event({"text": "aa", "meta_info": finish}) + b"data: [DONE]\n\n")
    played.told = {"/get_server_info": {"stream_output": True}}
    async with playing(played.script()) as server, Sglang(SglangOptions(type="sglang", url=server.url)) as engine:
        *pieces, end = [piece async for piece in engine.generate(Request(prompt="Hi"))]

    assert pieces == [Piece("a"), Piece("aa")]
    assert getattr(end, "stop", None) == "END"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"text": "other"}, ModelUnreachable),
        ({"error": {"message": "no", "code": 400}}, ModelRefused),
        ({"text": "ab", "meta_info": {"finish_reason": {"type": "abort", "message": "no"}}}, ModelUnreachable),
    ],
)
async def test_sglang_tells_what_goes_wrong_inside_its_answer(last: object, expected: type[Exception]) -> None:
    played = play_sglang(["a"], "stop")
    played.stream = cut(event({"text": "a"}) + event(last))
    async with playing(played.script()) as server, Sglang(SglangOptions(type="sglang", url=server.url)) as engine:
        with pytest.raises(expected):
            _ = [piece async for piece in engine.generate(Request(prompt="Hi"))]


@pytest.mark.parametrize("name", ["sglang", "ollama"])
async def test_logprobs_that_cannot_be_had_are_refused(name: str) -> None:
    engine: Sglang | Ollama
    if name == "sglang":
        engine = Sglang(SglangOptions(type="sglang", url="http://127.0.0.1:1"))
    else:
        engine = Ollama(OllamaOptions(type="ollama", model="m"))
    async with engine:
        with pytest.raises(BadAsk, match="logprobs"):
            _ = [piece async for piece in engine.generate(Request(prompt="Hi", logprobs=1))]


def test_ollama_is_held_to_a_schema_and_refuses_what_is_none() -> None:
    body = ollama.write_request("m", Request(prompt="Hi", constraint=Constraint(YES, schema={"const": "yes"})))

    assert body["format"] == {"const": "yes"}
    assert body["raw"] is True
    with pytest.raises(ModelRefused, match="style: generic"):
        ollama.write_request("m", Request(prompt="Hi", constraint=Constraint(YES)))


def test_a_schema_for_ollama_has_an_end_to_every_text() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"q": {"type": "string"}}}
    body = ollama.write_request("m", Request(prompt="Hi", constraint=Constraint(YES, schema=schema)))

    sent = body["format"]
    assert isinstance(sent, dict)
    assert sent["properties"]["q"]["maxLength"] > 0
    assert sent["additionalProperties"] is False


async def test_ollama_tells_an_error_inside_its_answer() -> None:
    played = Played("/api/generate", cut(b'{"error":"llama runner has died"}\n'), play_ollama(["x"], "stop").told)
    async with playing(played.script()) as server, build("ollama", server.url) as engine:
        with pytest.raises(ModelUnreachable):
            _ = [piece async for piece in engine.generate(Request(prompt="Hi"))]


def test_a_models_folder_has_its_template_and_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        '{"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}],'
        ' "bos_token": {"content": "<s>"}, "eos_token": "</s>"}'
    )
    described = tokenizers.describe(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("c")

    assert (described.template, described.bos, described.eos) == ("b", "<s>", "</s>")
    assert tokenizers.describe(tmp_path / "tokenizer_config.json").template == "c"


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_file_that_is_no_tokenizer_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(text)

    with pytest.raises(ConfigError, match="tokenizer_config"):
        tokenizers.describe(tmp_path)


async def counted(kind: str, said: bytes) -> tuple[int | None, Mapping[str, Any]]:
    """What an engine says of how many tokens a text has, and what it was asked."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(said)

    async with playing(script) as server, build(kind, server.url) as engine:
        assert isinstance(engine, Counting)
        count = await engine.count("Hello there")
        return count, server.requests[0].json


async def test_llama_cpp_vllm_and_sglang_count_a_text_without_what_begins_a_prompt() -> None:
    llama, asked_llama = await counted("llama_cpp", answer(200, {"tokens": [1, 2, 3]}))
    said = answer(200, {"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3]})
    vllm_, asked_vllm = await counted("vllm", said)
    sglang_, asked_sglang = await counted("sglang", said)

    assert (llama, vllm_, sglang_) == (3, 3, 3)
    assert asked_llama == {"content": "Hello there", "add_special": False, "parse_special": True}
    assert asked_vllm == {"model": "m", "prompt": "Hello there", "add_special_tokens": False}
    assert asked_sglang == {"prompt": "Hello there", "add_special_tokens": False}


@pytest.mark.parametrize("kind", ["llama_cpp", "vllm", "sglang"])
async def test_a_server_without_that_endpoint_does_not_count(kind: str) -> None:
    assert (await counted(kind, answer(404, {"error": "not found"})))[0] is None


def test_ollama_does_not_count() -> None:
    assert not isinstance(build("ollama", "http://127.0.0.1:1"), Counting)
