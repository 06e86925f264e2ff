"""Converts messages to LangChain's and its response chunks to `Chunk`s."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rightseat.concurrency import aclosing
from rightseat.core.ask import NamedTool, Parameters, ToolChoice
from rightseat.core.errors import ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Result
from rightseat.core.model import (
    CallChunk,
    Chunk,
    NoteChunk,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
    count_output,
)
from rightseat.egress.deadlines import Deadlines, Timeouts, has_content, model_timeout
from rightseat.egress.redaction import Redactor
from rightseat.wire.openai_chat import write_format, write_tool

logger = logging.getLogger(__name__)

SETTINGS = ("temperature", "max_tokens", "top_p", "seed", "presence_penalty", "frequency_penalty", "logprobs")
REASONS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "safety": "filtered",
    "refusal": "filtered",
    "prohibited_content": "filtered",
    "recitation": "filtered",
}


CALL_BLOCKS = {"tool_call", "tool_call_chunk", "invalid_tool_call", "tool_use", "input_json_delta", "function_call"}
"""Content blocks that repeat the tool calls of the same chunk."""


class LangChain:
    """`LangChain(ChatMistralAI(…))` in Python. `accepts` are the request parameters that the model supports."""

    def __init__(
        self,
        model: Any,
        accepts: Sequence[str] = (),
        secrets: Iterable[str] = (),
        timeouts: Timeouts = Timeouts(),  # noqa: B008
        name: str = "",
    ) -> None:
        self.model = model
        self._accepts = accepts
        self._redactor = Redactor("[key]", secrets)
        self._timeouts = timeouts
        self._timeout = model_timeout(f"The LangChain model {name or type(model).__name__!r}", timeouts)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        notes: list[str] = []
        arguments = write_arguments(prompt.parameters, self._accepts, notes)
        model = bind(self.model, prompt, self._accepts, notes)
        for note in notes:
            yield NoteChunk("warning", note)
        reader = LangChainDecoder()
        try:
            with Deadlines(self._timeouts, self._timeout) as deadlines:
                async with aclosing(model.astream(write_messages(prompt.messages), **arguments)) as chunks:
                    async for chunk in chunks:
                        deadlines.pause()
                        has_progress = False
                        for read in reader.read(chunk):
                            has_progress = has_progress or has_content(read)
                            yield read
                        deadlines.resume(has_progress)
        except ModelError:
            raise
        except Exception as error:  # whatever the provider's own package raises
            logger.warning("the LangChain model failed: %s", type(error).__name__)
            logger.debug(
                "the LangChain model failed: %s", self._redactor.redact_text(str(error))
            )  # it may repeat the prompt
            raise map_exception(error) from None
        for read in reader.end():
            yield read


def bind(model: Any, prompt: Prompt, accepts: Sequence[str], notes: list[str]) -> Any:
    """Return the model with the tools bound to it."""
    if not prompt.tools:
        return model
    more: dict[str, Any] = {}
    if prompt.parameters.tool_choice is not None:
        more["tool_choice"] = write_choice(prompt.parameters.tool_choice)
    if prompt.parameters.parallel_calls is not None:
        if "parallel_tool_calls" in accepts:
            more["parallel_tool_calls"] = prompt.parameters.parallel_calls
        elif not prompt.parameters.parallel_calls:
            notes.append(not_sent("parallel_tool_calls"))
    try:
        return model.bind_tools([write_tool(tool) for tool in prompt.tools], **more)
    except NotImplementedError:
        notes.append("This LangChain model does not support tools, so it got none.")
        return model


def write_choice(choice: ToolChoice) -> str:
    if isinstance(choice, NamedTool):
        return choice.name
    return "any" if choice == "required" else choice


def write_arguments(parameters: Parameters, accepts: Sequence[str], notes: list[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"stop": list(parameters.stop)} if parameters.stop else {}
    wanted: dict[str, Any] = {name: getattr(parameters, name) for name in SETTINGS}
    if parameters.response_schema is not None:
        wanted["response_format"] = write_format(
            parameters.response_schema, parameters.response_strict, parameters.response_name
        )
    for name, value in wanted.items():
        if value is not None and name in accepts:
            arguments[name] = value
        elif value is not None:
            notes.append(not_sent(name))
    return arguments


def not_sent(name: str) -> str:
    return f"`{name}` was not sent: add it to `accepts` if this LangChain model supports it."


def write_messages(messages: Iterable[Message]) -> list[BaseMessage]:
    return [written for message in messages for written in write_message(message)]


def write_message(message: Message) -> Iterable[BaseMessage]:
    match message.role:
        case "system":
            yield SystemMessage(message.text)
        case "user":
            yield HumanMessage(write_content(message))
        case "assistant":
            calls = [part for part in message.parts if isinstance(part, Call)]
            yield AIMessage(message.text, tool_calls=[write_call(call) for call in calls])
        case "tool":
            for part in message.parts:
                if isinstance(part, Result):
                    status = "success" if part.error is None else "error"
                    yield ToolMessage(part.content, tool_call_id=part.call_id, name=part.name or None, status=status)


def write_content(message: Message) -> Any:
    """Return plain text if there is nothing else, else LangChain's own blocks, which it translates per provider."""
    if not any(isinstance(part, Image | File) for part in message.parts):
        return message.text
    return [block for part in message.parts for block in write_block(part)]


def write_block(part: object) -> Iterable[dict[str, object]]:
    if isinstance(part, Image | File):
        kind = "image" if isinstance(part, Image) else {"document": "file"}.get(part.kind, part.kind)
        source = {"url": part.url} if part.url else {"base64": part.data, "mime_type": part.media_type}
        yield {"type": kind, **source}
    elif text := getattr(part, "text", ""):
        yield {"type": "text", "text": text}


def write_call(call: Call) -> Any:
    read = read_arguments(call.arguments)
    return {"name": call.name, "args": {"broken_json": call.arguments} if read is None else read, "id": call.id}


class LangChainDecoder:
    """Reads the chunks of one response; `end` returns the stop reason and the usage."""

    def __init__(self) -> None:
        self._indexes: dict[object, int] = {}  # providers index calls by number, by text, or not at all
        self._reason: str | None = None
        self._usage: list[int] | None = None
        self._unshown: set[str] = set()

    def read(self, chunk: AIMessage) -> Iterable[Chunk]:
        yield from self._content(chunk.content)
        if isinstance(chunk, AIMessageChunk):
            for position, piece in enumerate(chunk.tool_call_chunks):
                index = piece.get("index")
                place = self._index(index if index is not None else piece.get("id") or f"position {position}")
                yield CallChunk(place, piece.get("args") or "", piece.get("id") or "", piece.get("name") or "")
        else:  # a model without streaming
            for call in chunk.tool_calls:
                arguments = msgspec.json.encode(call["args"]).decode()
                yield CallChunk(self._index(len(self._indexes)), arguments, call.get("id") or "", call["name"])
            for broken in chunk.invalid_tool_calls:
                place, id, name = self._index(len(self._indexes)), broken.get("id") or "", broken.get("name") or ""
                yield CallChunk(place, broken.get("args") or "", id, name)
        if usage := chunk.usage_metadata:
            details = usage.get("input_token_details", {})
            now = (
                usage["input_tokens"],
                count_output(usage["input_tokens"], usage["output_tokens"], usage.get("total_tokens")),
                details.get("cache_read"),
                details.get("cache_creation"),
            )
            before = self._usage or [0] * len(now)
            self._usage = [one + (more or 0) for one, more in zip(before, now, strict=True)]
        data = chunk.response_metadata
        self._reason = data.get("finish_reason") or data.get("stop_reason") or data.get("done_reason") or self._reason

    def end(self) -> Iterable[Chunk]:
        default: StopReason = "tool_calls" if self._indexes else "stop"
        yield StopChunk(REASONS.get(str(self._reason).lower(), default))
        if self._usage is not None:
            yield UsageChunk(*self._usage)

    def _index(self, key: object) -> int:
        return self._indexes.setdefault(key, len(self._indexes))

    def _content(self, content: str | list[Any]) -> Iterable[Chunk]:
        if isinstance(content, str):
            yield TextChunk(content)
            return
        for block in content:
            match block:
                case str(text):
                    yield TextChunk(text)
                case {"type": "text", "text": str(text), **more}:
                    yield TextChunk(text)
                    if more.get("annotations") or more.get("citations"):
                        yield from self._warn_unshown("citations")
                case {"type": "reasoning", "reasoning": str(text)} | {"type": "thinking", "thinking": str(text)}:
                    yield ReasoningChunk(text)
                case {"type": "reasoning", "summary": list(summary)}:
                    for part in summary:
                        yield ReasoningChunk(str(part.get("text", "")))
                case {"type": "reasoning" | "thinking"}:
                    pass  # the id or the signature of a reasoning block: nothing to show
                case {"type": str(kind)} if kind not in CALL_BLOCKS:
                    yield from self._warn_unshown(kind)

    def _warn_unshown(self, kind: str) -> Iterable[Chunk]:
        if kind not in self._unshown:
            self._unshown.add(kind)
            yield NoteChunk("warning", f"The response contains {kind!r}, which is not shown.")


def map_exception(error: Exception) -> ModelError:
    """Map an exception of a provider's package by the HTTP status it carries. Its text goes to the log only."""
    status = next((value for value in find_statuses(error) if isinstance(value, int) and 400 <= value < 600), None)
    if status in (401, 403):
        return ModelRefusedKey(f"The model provider returned HTTP {status}: it does not accept the API key.")
    if status in (429, 529):
        return ModelBusy(f"The model provider returned HTTP {status} (rate limited). Try again later.")
    if status is not None and status < 500:
        return ModelRefused(f"The model provider returned HTTP {status}.", status)
    return ModelUnreachable(f"The LangChain model failed with {type(error).__name__}; see the server's log.")


def find_statuses(error: Exception) -> Iterable[object]:
    yield getattr(error, "status_code", None)
    yield getattr(getattr(error, "response", None), "status_code", None)
    yield getattr(error, "code", None)
