"""What every backend promises (`completion.backend`), held against servers that speak each one's own protocol."""

import asyncio

import pytest
from pydantic import SecretStr

from rightseat.concurrency import aclosing
from rightseat.core.errors import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelLoading,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
)
from rightseat.models.completion.backend import CompletionRequest, Constraint, End, TextPiece
from rightseat.models.completion.backends import AnyBackend
from rightseat.models.completion.grammar.nodes import Grammar, LiteralText
from tests.models.completion.backends.playing import HEAD, PLAYERS, Play, Played, answer, build
from tests.tcp import Script, Visit, chunked, playing

SAID = ["Grüße", " an", " \n😀"]
HELLO = CompletionRequest(prompt="Hi")


@pytest.fixture(params=sorted(PLAYERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def play(name: str) -> Play:
    return PLAYERS[name]


async def text_of(backend: AnyBackend, request: CompletionRequest = HELLO) -> tuple[str, End]:
    """Fails where `End` is not the last, or comes twice."""
    said: list[str] = []
    end: End | None = None
    async for piece in backend.generate(request):
        assert end is None
        match piece:
            case TextPiece(text=text):
                said.append(text)
            case End():
                end = piece
    assert end is not None
    return "".join(said), end


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_pieces_arrive_unchanged_and_the_end_has_the_stop_reason_and_the_usage(
    name: str, play: Play, reason: str
) -> None:
    played = play(SAID, reason)
    async with playing(played.script()) as server, build(name, server.url) as backend:
        said, end = await text_of(backend)

    assert said == "".join(SAID)
    assert (end.reason, end.input_tokens, end.output_tokens) == (reason, 9, 3)
    assert end.cached_tokens == 4


async def test_a_backend_describes_its_model_once(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as backend:
        described = await backend.describe()
        again = await backend.describe()

    assert described.context_window == 4096
    assert again is described


async def test_a_connection_serves_one_answer_after_another(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as backend:
        await text_of(backend)
        await text_of(backend)

    assert len(server.visits) == 1


async def test_what_is_asked_for_is_sent_and_nothing_else(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as backend:
        await text_of(backend, CompletionRequest(prompt="Hi", temperature=0.0, seed=7, stop=("END",), max_tokens=5))
        await text_of(backend, HELLO)

    asked, plain = played.asked
    assert all(value in asked.values() for value in ("Hi", 0.0, 7, 5, ["END"]))
    assert not {"temperature", "seed", "stop", "grammar", "structured_outputs"} & plain.keys()


async def test_when_its_reader_leaves_the_connection_is_closed_at_once(name: str, play: Play) -> None:
    whole = play(SAID, "stop")
    half = Played(whole.path, whole.stream[: len(whole.stream) // 2], whole.told, breaks=True)
    async with playing(half.script()) as server, build(name, server.url) as backend, asyncio.timeout(30):
        async with aclosing(backend.generate(HELLO)) as pieces:
            await anext(pieces)
        await server.visits[-1].gone()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"error": {"code": 400, "message": "no such thing"}}, ModelRefused),
        (404, {"error": "model 'm' not found"}, ModelRefused),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens"}}, ContextTooLong),
        (
            400,
            {"error": {"message": "request (9 tokens) exceeds", "type": "exceed_context_size_error"}},
            ContextTooLong,
        ),
        (401, {"error": {"message": "Invalid API Key"}}, ModelRefusedKey),
        (429, {"error": "server busy"}, ModelBusy),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, ModelLoading),
        (500, {"error": {"message": "boom"}}, ModelUnreachable),
    ],
)
async def test_a_refusal_raises_the_error_of_its_kind(
    name: str, play: Play, status: int, body: object, expected: type[ModelError]
) -> None:
    async with playing(refusing(play(SAID, "stop"), status, body)) as server, build(name, server.url) as backend:
        with pytest.raises(ModelError) as raised:
            await text_of(backend)

    assert type(raised.value) is expected


def refusing(played: Played, status: int, body: object) -> Script:
    async def script(visit: Visit) -> None:
        while True:
            request = await visit.request()
            path = request.line.split()[1]
            await visit.send(answer(status, body) if path == played.path else answer(200, played.told[path]))

    return script


async def test_a_backend_that_is_not_there_is_unreachable(name: str) -> None:
    async with build(name, "http://127.0.0.1:1") as backend:
        with pytest.raises(ModelUnreachable, match="Connection refused"):
            await text_of(backend)


async def test_a_truncated_response_is_an_error(name: str, play: Play) -> None:
    whole = play(SAID, "stop")

    async def script(visit: Visit) -> None:
        while True:
            path = (await visit.request()).line.split()[1]
            if path == whole.path:
                await visit.send(HEAD, whole.stream[:-60])
                return
            await visit.send(answer(200, whole.told[path]))

    async with playing(script) as server, build(name, server.url) as backend:
        with pytest.raises(ModelUnreachable):
            await text_of(backend)


@pytest.mark.parametrize("garbage", [b"", b"data: {not json\n\n", b"data: [1]\n\n", b"[]\n", b"\xff\xfe\n\n"])
async def test_an_answer_that_cannot_be_understood_is_no_answer(name: str, play: Play, garbage: bytes) -> None:
    whole = play(SAID, "stop")
    played = Played(whole.path, chunked(garbage) if garbage else chunked(), whole.told)
    async with playing(played.script()) as server, build(name, server.url) as backend:
        with pytest.raises(ModelUnreachable):
            await text_of(backend)


async def test_the_key_is_sent_and_never_revealed(name: str, play: Play, caplog: pytest.LogCaptureFixture) -> None:
    body = {"error": {"message": "sk-canary is not good"}}
    async with playing(refusing(play(SAID, "stop"), 400, body)) as server:
        async with build(name, server.url, api_key=SecretStr("sk-canary")) as backend:
            with pytest.raises(ModelRefused) as raised:
                await text_of(backend)

        assert server.requests[-1].header("authorization") == "Bearer sk-canary"
    assert "canary" not in raised.value.message + caplog.text


async def test_a_constraint_is_sent(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    constraint = Constraint(Grammar(LiteralText("yes"), {}))
    async with playing(played.script()) as server, build(name, server.url) as backend:
        await text_of(backend, CompletionRequest(prompt="Hi", constraint=constraint))

    assert "yes" in str(played.asked[0])
