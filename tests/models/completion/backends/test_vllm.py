"""What is particular to vLLM."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import ConfigError, ModelRefused
from rightseat.models.completion.backend import CompletionRequest, Constraint, Description, TextPiece
from rightseat.models.completion.backends import tokenizers, vllm
from rightseat.models.completion.continuation import SupportsTokenCount
from rightseat.models.completion.grammar.nodes import Grammar, LiteralText
from tests.models.completion.backends.playing import (
    Played,
    answer,
    build,
    completion,
    cut,
    event,
    play_vllm,
)
from tests.tcp import Visit, playing

YES = Grammar(LiteralText("yes"), {})


def test_vllm_gets_its_grammar_in_structured_outputs() -> None:
    body = vllm.write_request(
        CompletionRequest(prompt="<s>Hi", constraint=Constraint(YES)), Description(model="m", bos="<s>")
    )

    assert body["structured_outputs"] == {"grammar": 'root ::= "yes"\n'}
    assert body["add_special_tokens"] is False
    assert body["max_tokens"] is None  # as many as there is room for
    assert not any(key.startswith("guided") for key in body)


def test_vllm_leaves_out_no_control_token_that_is_wanted() -> None:
    plain = vllm.write_request(CompletionRequest(prompt="Hi"), Description())
    wanted = vllm.write_request(CompletionRequest(prompt="Hi", preserved=("<|python_tag|>",)), Description())

    assert (plain["skip_special_tokens"], wanted["skip_special_tokens"]) == (True, False)
    assert plain["add_special_tokens"] is True


async def test_vllm_logprobs_come_in_the_form_of_a_chat() -> None:
    logprobs = {"tokens": ["é"], "token_logprobs": [-0.5], "top_logprobs": [{"é": -0.5, "e": -1.0}], "text_offset": [0]}
    first = completion({"text": "é", "finish_reason": "stop", "stop_reason": "END", "logprobs": logprobs})
    played = Played("/v1/completions", cut(event(first) + b"data: [DONE]\n\n"), play_vllm(["x"], "stop").told)
    async with playing(played.script()) as server, build("vllm", server.url) as backend:
        piece, end = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi", logprobs=2))]

    assert isinstance(piece, TextPiece)
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


async def test_an_error_inside_a_response_of_vllm_is_reported() -> None:
    error = {"error": {"message": "grammar is wrong", "type": "BadRequestError", "code": 400}}
    stream = cut(event(error) + b"data: [DONE]\n\n")
    played = Played("/v1/completions", stream, play_vllm(["x"], "stop").told)
    async with playing(played.script()) as server, build("vllm", server.url) as backend:
        with pytest.raises(ModelRefused, match="grammar is wrong"):
            _ = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi"))]


def test_a_models_folder_has_its_template_and_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        '{"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}],'
        ' "bos_token": {"content": "<s>"}, "eos_token": "</s>"}'
    )
    described = tokenizers.describe(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("c")
    with_file = tokenizers.describe(tmp_path / "tokenizer_config.json")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("d")
    with_files = tokenizers.describe(tmp_path)

    assert (described.template, described.tool_template) == ("a", "b")
    assert (described.bos, described.eos) == ("<s>", "</s>")
    assert (with_file.template, with_file.tool_template) == ("c", "")
    assert (with_files.template, with_files.tool_template) == ("c", "d")


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_an_invalid_tokenizer_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(text)

    with pytest.raises(ConfigError, match="tokenizer_config"):
        tokenizers.describe(tmp_path)


async def counted(kind: str, said: bytes) -> tuple[int | None, Mapping[str, Any]]:
    """What a backend says of how many tokens a text has, and what it was asked."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(said)

    async with playing(script) as server, build(kind, server.url) as backend:
        assert isinstance(backend, SupportsTokenCount)
        count = await backend.count("Hello there")
        return count, server.requests[0].json


async def test_a_text_is_counted_without_what_begins_a_prompt() -> None:
    llama, asked_llama = await counted("llama_cpp", answer(200, {"tokens": [1, 2, 3]}))
    vllm_, asked_vllm = await counted("vllm", answer(200, {"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3]}))

    assert (llama, vllm_) == (3, 3)
    assert asked_llama == {"content": "Hello there", "add_special": False, "parse_special": True}
    assert asked_vllm == {"model": "m", "prompt": "Hello there", "add_special_tokens": False}


@pytest.mark.parametrize("kind", ["llama_cpp", "vllm"])
async def test_a_server_without_that_endpoint_does_not_count(kind: str) -> None:
    assert (await counted(kind, answer(404, {"error": "not found"})))[0] is None
