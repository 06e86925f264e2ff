"""The model itself: our messages → LangChain's, and the chunks of its answer → ours."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rightseat.core.ask import Named, Parameters, ToolChoice
from rightseat.core.calling import read_arguments
from rightseat.core.closing import closing
from rightseat.core.deadlines import Deadlines, Timeouts, has_content, model_timeout
from rightseat.core.errors import ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.messages import Call, File, Image, Message, Result
from rightseat.core.model import CallChunk, Chunk, NoteChunk, Prompt, StopChunk, TextChunk, ThoughtChunk, UsageChunk
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


CALLS = {"tool_call", "tool_call_chunk", "invalid_tool_call", "tool_use", "input_json_delta", "function_call"}
"""Blocks of a content that say what the calls beside it say."""


class LangChain:
    """`LangChain(ChatMistralAI(…))` in Python. `accepts` are parameters that the model takes with a call."""

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
        reader = Reader()
        try:
            with Deadlines(self._timeouts, self._timeout) as deadlines:
                async with closing(model.astream(write_messages(prompt.messages), **arguments)) as chunks:
                    async for chunk in chunks:
                        deadlines.pause()
                        heard = False
                        for read in reader.read(chunk):
                            heard = heard or has_content(read)
                            yield read
                        deadlines.resume(heard)
        except ModelError:
            raise
        except Exception as error:  # whatever the provider's own package raises
            logger.warning("the LangChain model failed: %s", type(error).__name__)
            logger.debug("the LangChain model failed: %s", self._redactor.text(str(error)))  # it may repeat the prompt
            raise read_failure(error) from None
        for read in reader.end():
            yield read


def bind(model: Any, prompt: Prompt, accepts: Sequence[str], notes: list[str]) -> Any:
    """The model with its tools."""
    if not prompt.tools:
        return model
    more: dict[str, Any] = {}
    if prompt.parameters.tool_choice is not None:
        more["tool_choice"] = write_choice(prompt.parameters.tool_choice)
    if prompt.parameters.parallel_calls is not None:
        if "parallel_tool_calls" in accepts:
            more["parallel_tool_calls"] = prompt.parameters.parallel_calls
        elif not prompt.parameters.parallel_calls:
            notes.append(unknown("parallel_tool_calls"))
    try:
        return model.bind_tools([write_tool(tool) for tool in prompt.tools], **more)
    except NotImplementedError:
        notes.append("This LangChain model cannot call tools, so it was offered none.")
        return model


def write_choice(choice: ToolChoice) -> str:
    if isinstance(choice, Named):
        return choice.name
    return "any" if choice == "required" else choice


def write_arguments(parameters: Parameters, accepts: Sequence[str], notes: list[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"stop": list(parameters.stop)} if parameters.stop else {}
    wanted: dict[str, Any] = {name: getattr(parameters, name) for name in SETTINGS}
    if parameters.response_schema is not None:
        wanted["response_format"] = write_format(parameters.response_schema, parameters.response_strict)
    for name, value in wanted.items():
        if value is not None and name in accepts:
            arguments[name] = value
        elif value is not None:
            notes.append(unknown(name))
    return arguments


def unknown(name: str) -> str:
    return f"`{name}` was left out: this LangChain model is not known to take it. If it does, name it in `accepts`."


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
    """Plain text where that is all there is; else LangChain's own blocks, which it writes in each provider's way."""
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


class Reader:
    """Feed it the chunks of one answer; at the end it says why it ended and what it cost."""

    def __init__(self) -> None:
        self._places: dict[object, int] = {}  # providers count calls in numbers, in texts, or not at all
        self._reason: str | None = None
        self._usage: list[int] | None = None
        self._unshown: set[str] = set()

    def read(self, chunk: AIMessage) -> Iterable[Chunk]:
        yield from self._content(chunk.content)
        if isinstance(chunk, AIMessageChunk):
            for position, piece in enumerate(chunk.tool_call_chunks):
                index = piece.get("index")
                place = self._place(index if index is not None else piece.get("id") or f"position {position}")
                yield CallChunk(place, piece.get("args") or "", piece.get("id") or "", piece.get("name") or "")
        else:  # a model that cannot stream
            for call in chunk.tool_calls:
                arguments = msgspec.json.encode(call["args"]).decode()
                yield CallChunk(self._place(len(self._places)), arguments, call.get("id") or "", call["name"])
            for broken in chunk.invalid_tool_calls:
                place, id, name = self._place(len(self._places)), broken.get("id") or "", broken.get("name") or ""
                yield CallChunk(place, broken.get("args") or "", id, name)
        if usage := chunk.usage_metadata:
            details = usage.get("input_token_details", {})
            now = (
                usage["input_tokens"],
                usage["output_tokens"],
                details.get("cache_read"),
                details.get("cache_creation"),
            )
            before = self._usage or [0] * len(now)
            self._usage = [one + (more or 0) for one, more in zip(before, now, strict=True)]
        told = chunk.response_metadata
        self._reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason") or self._reason

    def end(self) -> Iterable[Chunk]:
        found: StopReason = "calls" if self._places else "stop"
        yield StopChunk(REASONS.get(str(self._reason).lower(), found))
        if self._usage is not None:
            yield UsageChunk(*self._usage)

    def _place(self, key: object) -> int:
        return self._places.setdefault(key, len(self._places))

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
                        yield from self._leave_out("citations")
                case {"type": "reasoning", "reasoning": str(text)} | {"type": "thinking", "thinking": str(text)}:
                    yield ThoughtChunk(text)
                case {"type": "reasoning", "summary": list(summary)}:
                    for part in summary:
                        yield ThoughtChunk(str(part.get("text", "")))
                case {"type": "reasoning" | "thinking"}:
                    pass  # the id or the signature of a thought: nothing that could be shown
                case {"type": str(kind)} if kind not in CALLS:
                    yield from self._leave_out(kind)

    def _leave_out(self, kind: str) -> Iterable[Chunk]:
        if kind not in self._unshown:
            self._unshown.add(kind)
            yield NoteChunk("warning", f"The answer holds {kind!r} of the provider's, which is not shown.")


def read_failure(error: Exception) -> ModelError:
    """Most packages keep the status of an answer with their errors. Their words stay in our log, and out of answers."""
    status = next((value for value in statuses(error) if isinstance(value, int) and 400 <= value < 600), None)
    if status in (401, 403):
        return ModelRefusedKey(f"The model's server does not accept our key (HTTP {status}).")
    if status in (429, 529):
        return ModelBusy(f"The model's server has too much to do for us right now (HTTP {status}). Try again later.")
    if status is not None and status < 500:
        return ModelRefused(f"The model's server does not accept the request (HTTP {status}).", status)
    return ModelUnreachable(f"The LangChain model failed ({type(error).__name__}); the server's log has more.")


def statuses(error: Exception) -> Iterable[object]:
    yield getattr(error, "status_code", None)
    yield getattr(getattr(error, "response", None), "status_code", None)
    yield getattr(error, "code", None)
