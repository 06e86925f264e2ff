"""What every engine promises (`completion.engine`), held against servers that speak each one's own protocol."""

import asyncio

import pytest
from pydantic import SecretStr

from rightseat.core.closing import closing
from rightseat.core.errors import (
    ModelBusy,
    ModelError,
    ModelLoading,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    PromptTooLong,
)
from rightseat.models.completion.engine import Constraint, End, Piece, Request
from rightseat.models.completion.engines import AnyEngine
from rightseat.models.completion.grammar.nodes import Grammar, Literal
from tests.models.completion.engines.playing import HEAD, PLAYERS, Play, Played, answer, build
from tests.tcp import Script, Visit, chunked, playing

SAID = ["Grüße", " an", " \n😀"]
HELLO = Request(prompt="Hi")


@pytest.fixture(params=sorted(PLAYERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def play(name: str) -> Play:
    return PLAYERS[name]


async def text_of(engine: AnyEngine, request: Request = HELLO) -> tuple[str, End]:
    """Fails where `End` is not the last, or comes twice."""
    said: list[str] = []
    end: End | None = None
    async for piece in engine.generate(request):
        assert end is None
        match piece:
            case Piece(text=text):
                said.append(text)
            case End():
                end = piece
    assert end is not None
    return "".join(said), end


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_pieces_come_as_they_were_said_and_the_end_says_why_and_what_it_cost(
    name: str, play: Play, reason: str
) -> None:
    played = play(SAID, reason)
    async with playing(played.script()) as server, build(name, server.url) as engine:
        said, end = await text_of(engine)

    assert said == "".join(SAID)
    assert (end.reason, end.input_tokens, end.output_tokens) == (reason, 9, 3)
    assert end.cached_tokens == 4


async def test_it_says_what_its_model_can_read(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as engine:
        described = await engine.describe()
        again = await engine.describe()

    assert described.context == 4096
    assert again is described


async def test_a_connection_serves_one_answer_after_another(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as engine:
        await text_of(engine)
        await text_of(engine)

    assert len(server.visits) == 1


async def test_what_is_asked_for_is_sent_and_nothing_else(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    async with playing(played.script()) as server, build(name, server.url) as engine:
        await text_of(engine, Request(prompt="Hi", temperature=0.0, seed=7, stop=("END",), max_tokens=5))
        await text_of(engine, HELLO)

    asked, plain = played.asked
    assert all(value in asked.values() for value in ("Hi", 0.0, 7, 5, ["END"]))
    assert not {"temperature", "seed", "stop", "grammar", "structured_outputs"} & plain.keys()


async def test_when_its_reader_leaves_the_connection_is_closed_at_once(name: str, play: Play) -> None:
    whole = play(SAID, "stop")
    half = Played(whole.path, whole.stream[: len(whole.stream) // 2], whole.told, breaks=True)
    async with playing(half.script()) as server, build(name, server.url) as engine, asyncio.timeout(5):
        async with closing(engine.generate(HELLO)) as pieces:
            await anext(pieces)
        await server.visits[-1].gone()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"error": {"code": 400, "message": "no such thing"}}, ModelRefused),
        (404, {"error": "model 'm' not found"}, ModelRefused),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens"}}, PromptTooLong),
        (400, {"error": {"message": "request (9 tokens) exceeds", "type": "exceed_context_size_error"}}, PromptTooLong),
        (401, {"error": {"message": "Invalid API Key"}}, ModelRefusedKey),
        (429, {"error": "server busy"}, ModelBusy),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, ModelLoading),
        (500, {"error": {"message": "boom"}}, ModelUnreachable),
    ],
)
async def test_a_refusal_says_what_it_is(
    name: str, play: Play, status: int, body: object, expected: type[ModelError]
) -> None:
    async with playing(refusing(play(SAID, "stop"), status, body)) as server, build(name, server.url) as engine:
        with pytest.raises(ModelError) as raised:
            await text_of(engine)

    assert type(raised.value) is expected


def refusing(played: Played, status: int, body: object) -> Script:
    async def script(visit: Visit) -> None:
        while True:
            request = await visit.request()
            path = request.line.split()[1]
            await visit.send(answer(status, body) if path == played.path else answer(200, played.told[path]))

    return script


async def test_an_engine_that_is_not_there_is_unreachable(name: str) -> None:
    async with build(name, "http://127.0.0.1:1") as engine:
        with pytest.raises(ModelUnreachable, match="takes no connection"):
            await text_of(engine)


async def test_an_answer_that_breaks_off_is_no_answer(name: str, play: Play) -> None:
    whole = play(SAID, "stop")

    async def script(visit: Visit) -> None:
        while True:
            path = (await visit.request()).line.split()[1]
            if path == whole.path:
                await visit.send(HEAD, whole.stream[:-60])
                return
            await visit.send(answer(200, whole.told[path]))

    async with playing(script) as server, build(name, server.url) as engine:
        with pytest.raises(ModelUnreachable):
            await text_of(engine)


@pytest.mark.parametrize("garbage", [b"", b"data: {not json\n\n", b"data: [1]\n\n", b"[]\n", b"\xff\xfe\n\n"])
async def test_an_answer_that_cannot_be_understood_is_no_answer(name: str, play: Play, garbage: bytes) -> None:
    whole = play(SAID, "stop")
    played = Played(whole.path, chunked(garbage) if garbage else chunked(), whole.told)
    async with playing(played.script()) as server, build(name, server.url) as engine:
        with pytest.raises(ModelUnreachable):
            await text_of(engine)


async def test_our_key_is_sent_and_never_told(name: str, play: Play, caplog: pytest.LogCaptureFixture) -> None:
    body = {"error": {"message": "sk-canary is not good"}}
    async with playing(refusing(play(SAID, "stop"), 400, body)) as server:
        async with build(name, server.url, api_key=SecretStr("sk-canary")) as engine:
            with pytest.raises(ModelRefused) as raised:
                await text_of(engine)

        assert server.requests[-1].header("authorization") == "Bearer sk-canary"
    assert "canary" not in raised.value.message + caplog.text


async def test_a_constraint_is_sent(name: str, play: Play) -> None:
    played = play(SAID, "stop")
    constraint = Constraint(Grammar(Literal("yes"), {}))
    async with playing(played.script()) as server, build(name, server.url) as engine:
        await text_of(engine, Request(prompt="Hi", constraint=constraint))

    assert "yes" in str(played.asked[0])
