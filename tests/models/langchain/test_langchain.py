"""LangChain's chat models, of any kind. What all models must do is in tests/contracts/test_models.py."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from rightseat import app, config
from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import ConfigError, ModelBusy, ModelUnreachable
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import CallChunk, Chunk, NoteChunk, Prompt, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.models.langchain.model import LangChain, map_exception, write_messages

PROMPT = Prompt((user("Hi"),))


class Whole(BaseChatModel):
    """Knows neither asyncio nor streams."""

    answer: AIMessage
    seen: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append((messages, stop, kwargs))
        return ChatResult(generations=[ChatGeneration(message=self.answer)])


class Pieces(Whole):
    """Streams, without asyncio."""

    answer: AIMessage = AIMessage("")
    pieces: list[AIMessageChunk]
    failure: Exception | None = None

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.seen.append((messages, stop, kwargs))
        for piece in self.pieces:
            yield ChatGenerationChunk(message=piece)
        if self.failure:
            raise self.failure


class Busy(Exception):
    status_code = 429


async def collect(model: LangChain, prompt: Prompt = PROMPT) -> list[Chunk]:
    return [chunk async for chunk in model.stream(prompt) if chunk != TextChunk("")]


async def test_a_model_that_knows_neither_asyncio_nor_streams_answers() -> None:
    call: Any = {"name": "search", "args": {"q": 1}, "id": "c1"}
    cached = {"cache_read": 2, "cache_creation": 1}
    usage: Any = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8, "input_token_details": cached}
    model = Whole(answer=AIMessage("Hello", tool_calls=[call], usage_metadata=usage))

    assert await collect(LangChain(model)) == [
        TextChunk("Hello"),
        CallChunk(0, '{"q":1}', "c1", "search"),
        StopChunk("tool_calls"),
        UsageChunk(3, 5, 2, 1),
    ]


async def test_a_sync_stream_with_blocks_and_calls_side_by_side_is_read() -> None:
    def piece(index: int, args: str, id: str | None = None, name: str | None = None) -> Any:
        return {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"}

    thought: Any = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hel"}]
    model = Pieces(
        pieces=[
            AIMessageChunk(content=thought),
            AIMessageChunk(content="lo"),
            AIMessageChunk(content="", tool_call_chunks=[piece(5, "", "c1", "a"), piece(7, "", "c2", "b")]),
            AIMessageChunk(content="", tool_call_chunks=[piece(7, "{}"), piece(5, "[]")]),
            AIMessageChunk(content="", response_metadata={"finish_reason": "length"}),
        ]
    )

    assert await collect(LangChain(model)) == [
        ReasoningChunk("Hm."),
        TextChunk("Hel"),
        TextChunk("lo"),
        CallChunk(0, "", "c1", "a"),
        CallChunk(1, "", "c2", "b"),
        CallChunk(1, "{}"),
        CallChunk(0, "[]"),
        StopChunk("length"),
    ]


async def test_omitted_output_is_reported_once() -> None:
    cited: Any = [{"type": "text", "text": "Hi", "annotations": [{"type": "citation", "url": "https://a"}]}]
    drawn: Any = [{"type": "image", "url": "https://a/b.png"}, {"type": "thinking", "signature": "x"}]
    model = Pieces(pieces=[AIMessageChunk(content=blocks) for blocks in (cited, drawn, drawn, [{"type": "tool_use"}])])

    assert await collect(LangChain(model)) == [
        TextChunk("Hi"),
        NoteChunk("warning", "The response contains 'citations', which is not shown."),
        NoteChunk("warning", "The response contains 'image', which is not shown."),
        StopChunk("stop"),
    ]


async def test_a_summary_of_reasoning_is_reasoning() -> None:
    summary: Any = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}]

    assert await collect(LangChain(Pieces(pieces=[AIMessageChunk(content=summary)]))) == [
        ReasoningChunk("Hm."),
        StopChunk("stop"),
    ]


async def test_a_call_with_broken_arguments_is_not_lost() -> None:
    broken: Any = {"type": "invalid_tool_call", "name": "search", "args": "{oops", "id": "c1", "error": "no JSON"}

    assert await collect(LangChain(Whole(answer=AIMessage("", invalid_tool_calls=[broken])))) == [
        CallChunk(0, "{oops", "c1", "search"),
        StopChunk("tool_calls"),
    ]


async def test_an_error_of_the_package_of_the_provider_becomes_a_model_error() -> None:
    with pytest.raises(ModelBusy):
        await collect(LangChain(Pieces(pieces=[AIMessageChunk(content="Hi")], failure=Busy("slow down"))))


async def test_words_of_an_unknown_error_are_in_the_debug_log_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rightseat")
    failing = Pieces(pieces=[AIMessageChunk(content="Hi")], failure=RuntimeError("the key sk-123456 broke"))

    with pytest.raises(ModelUnreachable) as caught:
        await collect(LangChain(failing, secrets=("sk-123456",)))

    assert "RuntimeError" in caught.value.message
    assert "broke" not in caught.value.message
    assert "the key [key] broke" in caplog.text
    assert all("broke" not in one.getMessage() for one in caplog.records if one.levelno > logging.DEBUG)


def test_a_status_is_found_where_packages_keep_it() -> None:
    class Theirs(Exception):
        response = type("Response", (), {"status_code": 401})()

    assert map_exception(Theirs()).code == "model_refused_key"


async def test_a_model_without_tools_responds_with_a_warning() -> None:
    prompt = Prompt((user("Hi"),), (Tool("search", "", {}),), Parameters(tool_choice=NamedTool("search")))

    first, *_ = await collect(LangChain(Whole(answer=AIMessage("Hello"))), prompt)

    assert first == NoteChunk("warning", "This LangChain model does not support tools, so it got none.")


async def test_parameters_that_the_model_does_not_accept_are_reported() -> None:
    model = Whole(answer=AIMessage("Hello"), seen=[])
    parameters = Parameters(temperature=0.0, seed=3, stop=("END",))

    first, *_ = await collect(LangChain(model, ("temperature",)), Prompt((user("Hi"),), (), parameters))

    [(_, stop, given)] = model.seen
    assert (stop, given["temperature"]) == (["END"], 0.0)
    assert "seed" not in given
    assert isinstance(first, NoteChunk)
    assert str(first.value).startswith("`seed` was not sent")


def test_a_conversation_is_written_in_langchains_messages() -> None:
    called = Message("assistant", (Text("I look."), Call("c1", "search", '{"q": 1}')))
    shown = Message("user", (Text("What?"), Image("image/png", "iVBO")))

    failed = Message("tool", (Result("c1", "search", "no", "failed"),))

    written = write_messages((system("Be kind."), shown, called, failed, assistant("Well.")))

    assert [message.type for message in written] == ["system", "human", "ai", "tool", "ai"]
    assert written[1].content[1] == {"type": "image", "base64": "iVBO", "mime_type": "image/png"}
    said, result = written[2], written[3]
    assert isinstance(said, AIMessage)
    assert said.tool_calls[0]["args"] == {"q": 1}
    assert getattr(result, "status", None) == "error"


def ready() -> BaseChatModel:
    return Whole(answer=AIMessage("Hello"))


MADE = ready()


@pytest.mark.parametrize("name", ["ready", "MADE"])
def test_a_model_of_yours_is_named_in_the_configuration(name: str) -> None:
    text = f"models: {{default: {{type: langchain, object: 'tests.models.langchain.test_langchain:{name}'}}}}"

    assert isinstance(app.assemble(config.parse(text)).runtime.models["default"], LangChain)


def test_a_model_is_made_by_its_name() -> None:
    text = "models: {default: {type: langchain, model: 'openai:gpt-4o-mini', api_key: sk-123456789}}"

    assert isinstance(app.assemble(config.parse(text)).runtime.models["default"], LangChain)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("type: langchain", "either `model` or `object`"),
        ("type: langchain, model: 'mistralai:x'", "not installed"),
        ("type: langchain, model: 'nobody:x'", "LangChain cannot make the model 'nobody:x'"),
    ],
)
def test_a_model_that_cannot_be_built_is_refused_with_the_reason(said: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        app.assemble(config.parse(f"models: {{default: {{{said}}}}}"))
