"""llama-server's own words: what it is sent, and what it says of itself."""

import pytest

from rightseat.core.errors import ModelUnreachable
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import CompletionRequest, Constraint, End, TextPiece, Trigger
from rightseat.models.completion.backends.llama_cpp import LlamaCpp, read_props, write_request
from rightseat.models.completion.grammar.nodes import Grammar, LiteralText
from tests.models.completion.backends.playing import PROPS, Played, answer, cut, event, play_llama_cpp
from tests.tcp import Visit, playing

YES = Grammar(LiteralText("yes"), {})

STAND_IN = (
    "{%- for message in messages -%}\n  {{- '<|im_start|>' + message.role + '\n' + message.content + "
    "'<|im_end|>\n' -}}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n  {{- '<|im_start|>assistant\n' -}}\n"
    "{%- endif -%}"
)
"""What b10434 shows for a model without a template."""


def test_a_plain_request_holds_the_model_to_nothing() -> None:
    body = write_request(CompletionRequest(prompt="Hi"))

    assert body == {"prompt": "Hi", "stream": True, "cache_prompt": True, "return_progress": True, "n_predict": -1}


def test_a_grammar_without_triggers_holds_from_the_first_token_on() -> None:
    body = write_request(
        CompletionRequest(prompt="", constraint=Constraint(YES, preserved=("<a>",)), preserved=("<a>", "<b>"))
    )

    assert '"yes"' in str(body["grammar"])
    assert "grammar_lazy" not in body
    assert "grammar_triggers" not in body
    assert body["preserved_tokens"] == ["<a>", "<b>"]


def test_triggers_are_objects_with_a_number_for_their_kind() -> None:
    triggers = (Trigger("word", "<tool_call>"), Trigger("pattern", r"\{"))
    body = write_request(CompletionRequest(prompt="", constraint=Constraint(YES, triggers)))

    assert body["grammar_lazy"] is True
    assert body["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}, {"type": 2, "value": r"\{"}]


def test_a_grammar_for_llguidance_is_only_sent_where_the_backend_has_it() -> None:
    request = CompletionRequest(prompt="", constraint=Constraint(YES))

    assert not str(write_request(request)["grammar"]).startswith("%llguidance")
    assert str(write_request(request, has_llguidance=True)["grammar"]).count("%llguidance") == 1


def test_what_a_build_leaves_out_stays_unknown() -> None:
    assert read_props({"chat_template": None, "total_slots": "x", "default_generation_settings": []}).slots == 1
    assert read_props("nonsense").context_window is None


def test_props_describe_the_model() -> None:
    described = read_props(PROPS)

    assert (described.model, described.context_window, described.slots) == ("m.gguf", 4096, 2)
    assert described.template == PROPS["chat_template"]
    assert (described.bos, described.eos, described.caps) == ("<s>", "</s>", {"supports_tools": True})


def test_props_may_have_a_second_template_for_tools() -> None:
    described = read_props(PROPS | {"chat_template_tool_use": "{{ tools }}"})

    assert (described.template, described.tool_template) == (PROPS["chat_template"], "{{ tools }}")
    assert described.for_tools().caps == {}


async def test_a_first_token_that_the_backend_adds_is_not_sent_twice() -> None:
    played = play_llama_cpp(["x"], "stop")
    played.told = {**played.told, "/tokenize": {"tokens": [1]}}
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        _ = [piece async for piece in backend.generate(CompletionRequest(prompt="<s>Hi"))]

    assert played.asked[0]["prompt"] == "Hi"


async def test_a_first_token_that_the_backend_does_not_add_is_sent() -> None:
    played = play_llama_cpp(["x"], "stop")
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        _ = [piece async for piece in backend.generate(CompletionRequest(prompt="<s>Hi"))]

    assert played.asked[0]["prompt"] == "<s>Hi"


@pytest.mark.parametrize(("tokens", "template"), [(1, STAND_IN), (3, "")])
async def test_the_template_that_stands_in_for_none_is_used_only_if_the_model_knows_its_marks(
    tokens: int, template: str
) -> None:
    async def script(visit: Visit) -> None:
        while True:
            request = await visit.request()
            if request.line.split()[1] == "/props":
                await visit.send(answer(200, PROPS | {"chat_template": STAND_IN}))
            else:
                await visit.send(answer(200, {"tokens": [5] * tokens if request.json["content"] else []}))

    async with playing(script) as server, LlamaCpp(server.url) as backend:
        described = await backend.describe()

    assert described.template == template


async def test_an_address_may_have_a_path() -> None:
    played = play_llama_cpp(["x"], "stop")
    played.path = "/models/a/completion"
    played.told = {f"/models/a{path}": said for path, said in played.told.items()}
    async with playing(played.script()) as server, LlamaCpp(f"{server.url}/models/a") as backend:
        said = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi"))]

    assert said[0] == TextPiece("x")


async def test_after_the_backend_broke_off_it_is_asked_again_what_it_has() -> None:
    broken = Played("/completion", cut(event({"content": "x", "stop": False})), play_llama_cpp([], "stop").told)
    async with playing(broken.script()) as server, LlamaCpp(server.url) as backend:
        first = await backend.describe()
        with pytest.raises(ModelUnreachable):
            _ = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi"))]
        again = await backend.describe()

    assert again is not first


async def test_a_backend_with_another_model_is_asked_again_what_it_has() -> None:
    played = play_llama_cpp(["x"], "stop")
    played.told = {**played.told, "/props": PROPS | {"model_alias": "another.gguf"}}
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        first = await backend.describe()
        _ = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi"))]
        again = await backend.describe()

    assert again is not first


async def test_a_backend_that_does_not_respond_times_out() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.gone()

    async with playing(script) as server, LlamaCpp(server.url) as backend:
        with pytest.raises(ModelUnreachable, match=r"sent no response within 0\.1 s"):
            await backend.client.fetch_json("/props", timeout_s=0.1)


async def test_an_error_in_the_middle_of_a_response_is_reported() -> None:
    error = {"error": {"code": 500, "message": "Unexpected empty grammar stack", "type": "server_error"}}
    stream = cut(event({"content": "x", "stop": False}) + event(error))
    played = Played("/completion", stream, play_llama_cpp([], "stop").told)
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        with pytest.raises(ModelUnreachable, match="HTTP 500"):
            _ = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi"))]


async def test_without_likely_ones_the_logprobs_are_of_the_chosen_tokens_alone() -> None:
    token = {"id": 5, "token": "x", "bytes": [120], "logprob": -0.5}
    stream = cut(
        event({"content": "x", "stop": False, "completion_probabilities": [{**token, "top_logprobs": [token]}]})
        + event({"content": "", "stop": True, "stop_type": "eos"})
    )
    played = Played("/completion", stream, play_llama_cpp([], "stop").told)
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        piece, _ = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi", logprobs=0))]

    assert piece == TextPiece("x", ({"token": "x", "logprob": -0.5, "bytes": [120], "top_logprobs": []},))
    assert played.asked[0]["n_probs"] == 1


async def test_logprobs_are_in_the_form_of_openai() -> None:
    token = {"id": 5, "token": "x", "bytes": [120], "logprob": -0.5}
    probabilities = [{**token, "top_logprobs": [token]}]
    last = {"content": "", "stop": True, "stop_type": "word", "stopping_word": "END", "tokens_predicted": 1}
    stream = cut(event({"content": "x", "stop": False, "completion_probabilities": probabilities}) + event(last))
    played = Played("/completion", stream, play_llama_cpp([], "stop").told)
    async with playing(played.script()) as server, LlamaCpp(server.url) as backend:
        piece, end = [piece async for piece in backend.generate(CompletionRequest(prompt="Hi", logprobs=1))]

    plain: dict[str, JsonValue] = {"token": "x", "logprob": -0.5, "bytes": [120]}
    assert piece == TextPiece("x", ({**plain, "top_logprobs": [plain]},))
    assert isinstance(end, End)
    assert end.stop == "END"
    assert played.asked[0]["n_probs"] == 1
