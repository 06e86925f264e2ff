"""Decodes the messages of a request: blocks of text, images, documents, thinking, tool calls and their results.

The protocol has tool results in the user's messages, beside text and images. Here each becomes a message of its own,
followed by what stood beside it.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.types import JsonValue
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest
from rightseat.faces.anthropic.request_body import MessageParam, MessagesRequest

ROLES = ("user", "assistant", "system")
NONCE = "x-anthropic-billing-header:"
"""Claude Code's first system block begins with this. It changes with each request, so it would defeat every prompt
cache, and it is not meant for the model."""
MAX_ID_CHARS = 512
SERVER_CALL = "mcptoolu_"
"""Begins the ids that clients have of server-side calls."""
RESULT_TYPE = "tool_result"
HOSTED_TYPES = ("server_tool_use", "container_upload", "compaction", "fallback")
"""Blocks of tools that Anthropic runs itself; so are those whose type ends in `_tool_result`."""
UNSIGNED = "Thinking blocks that this server did not sign were left out."

OpenThinking = Callable[[str, str], JsonValue]
"""The provider's data of a thinking block with this text and signature; raises `ValueError` if it is not ours."""

_encode = msgspec.json.Encoder().encode
Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallDecision:
    """What a client says to a server-side call that waits for a person."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The decoded messages. `waiting` are the ids of the server-side calls of the last reply that have no result;
    `decisions` are the client's, by these ids. `is_sent_back` means that the reply is the last message."""

    messages: tuple[Message, ...]
    waiting: tuple[str, ...] = ()
    decisions: Mapping[str, CallDecision] = field(default_factory=dict)
    is_sent_back: bool = False


def read_system(request: MessagesRequest) -> Iterator[Message]:
    """The system prompt as one message."""
    given = request.body.system
    texts = [given] if isinstance(given, str) else [block.text for block in given or ()]
    if text := "\n\n".join(text for text in texts if text.strip() and not text.startswith(NONCE)):
        yield Message("system", (Text(text),))


def read_messages(
    request: MessagesRequest, open_thinking: OpenThinking, calls: Mapping[str, str] | None = None
) -> SentMessages:
    """Without the system prompt. `calls` are tool names by the ids of calls in earlier messages, which the client does
    not send again, and whose results these messages may have. Raises `InvalidMessagesRequest`."""
    reader = MessageReader(request, open_thinking, dict(calls or {}))
    messages: list[Message] = []
    for number, given in enumerate(request.body.messages):
        messages += reader.read(given, f"messages[{number}]")
    reader.check_answered()
    is_sent_back = bool(request.body.messages) and request.body.messages[-1].role == "assistant"
    return SentMessages(tuple(messages), tuple(reader.waiting), reader.decisions, is_sent_back)


@dataclass(slots=True)
class UserContent:
    """The parts of one message of the user. Images and files in a result go with the parts beside it."""

    results: list[Result] = field(default_factory=list)
    beside: list[Part] = field(default_factory=list)
    has_decision: bool = False

    def messages(self) -> Iterator[Message]:
        for result in self.results:
            yield Message("tool", (result,))
        if self.beside or not (self.results or self.has_decision):
            yield Message("user", tuple(self.beside))


class MessageReader:
    """Reads messages in order: a result refers to an earlier call."""

    def __init__(self, request: MessagesRequest, open_thinking: OpenThinking, calls: dict[str, str]) -> None:
        self._warn = request.warn
        self._open_thinking = open_thinking
        self._continues_thread = request.continues_thread
        self._names = calls
        self._unanswered = dict.fromkeys(calls, "the kept conversation")
        self._has_user_message = False  # since the last message of the assistant
        self._server_calls: set[str] = set()
        self.waiting: dict[str, None] = {}  # server-side calls without a result, in their order
        self.decisions: dict[str, CallDecision] = {}

    def read(self, given: MessageParam, where: str) -> Iterator[Message]:
        blocks = [{"type": "text", "text": given.content}] if isinstance(given.content, str) else given.content
        match given.role:
            case "user":
                self._has_user_message = True
                yield from self._read_user(blocks, where)
            case "assistant":
                if self._has_user_message:
                    self.check_answered()
                self._has_user_message = False
                yield from self._read_assistant(blocks, where)
            case "system":
                text = "\n\n".join(read_text(block, f"{where}.content[{n}]") for n, block in enumerate(blocks))
                yield Message("system", (Text(text),))
            case role:
                raise InvalidMessagesRequest(f"{where}.role is {role[:100]!r}; it must be one of {', '.join(ROLES)}.")

    def check_answered(self) -> None:
        """Raises `InvalidMessagesRequest` for a call without a result."""
        for id, where in self._unanswered.items():
            text = f"{where}: the call {id[:100]!r} has no `{RESULT_TYPE}` block in the next message."
            raise InvalidMessagesRequest(text)

    def _read_user(self, blocks: Sequence[Block], where: str) -> Iterator[Message]:
        content = UserContent()
        for number, block in enumerate(blocks):
            place = f"{where}.content[{number}]"
            if block.get("type") == RESULT_TYPE and self._is_server_call(block.get("tool_use_id")):
                content.has_decision = True
                self._read_decision(block, place)
            elif block.get("type") == RESULT_TYPE:
                content.results.append(self._read_result(block, place, content.beside))
            else:
                content.beside += self._read_media(block, place)
        yield from content.messages()

    def _read_result(self, block: Block, where: str, beside: list[Part]) -> Result:
        id = read_id(block, "tool_use_id", where)
        if id not in self._names or self._unanswered.pop(id, None) is None:
            raise InvalidMessagesRequest(f"{where}.tool_use_id is {id[:100]!r}: no call before it waits for a result.")
        texts: list[str] = []
        for part in self._read_nested(block.get("content"), where):
            if isinstance(part, Text):
                texts.append(part.text)
            else:
                beside.append(part)
        return build_result(id, self._names[id], "\n".join(texts), is_error=block.get("is_error") is True)

    def _is_server_call(self, id: object) -> bool:
        """A client that continues a thread does not send the call again."""
        if not isinstance(id, str):
            return False
        if self._continues_thread and id.startswith(SERVER_CALL):
            self.waiting[id] = None
            return True
        return id in self._server_calls

    def _read_decision(self, block: Block, where: str) -> None:
        texts = [part.text for part in self._read_nested(block.get("content"), where) if isinstance(part, Text)]
        id = read_id(block, "tool_use_id", where)
        self.decisions[id] = CallDecision("\n".join(texts), block.get("is_error") is True)

    def _read_nested(self, content: object, where: str) -> Iterator[Part]:
        if isinstance(content, str):
            yield Text(content)
        elif isinstance(content, list):
            for number, block in enumerate(content):
                yield from self._read_media(
                    read_object(block, f"{where}.content[{number}]"), f"{where}.content[{number}]"
                )
        elif content is not None:
            raise InvalidMessagesRequest(f"{where}.content: it must be a text or a list of blocks.")

    def _read_media(self, block: Block, where: str) -> Iterator[Part]:
        match block.get("type"):
            case "text":
                yield Text(read_text(block, where))
            case "image":
                yield read_image(read_source(block, where), f"{where}.source")
            case "document":
                if isinstance(citations := block.get("citations"), dict) and citations.get("enabled"):
                    self._warn("`citations` of documents are not supported and were ignored.")
                yield from self._read_document(block, where)
            case "search_result":
                yield read_search_result(block, where)
            case "tool_reference":
                yield Text(f"The tool {str(block.get('tool_name'))[:200]} is available now.")
            case kind:
                raise unknown_block(kind, where)

    def _read_document(self, block: Block, where: str) -> Iterator[Part]:
        name = block.get("title") if isinstance(block.get("title"), str) else ""
        if isinstance(context := block.get("context"), str) and context:
            yield Text(context)
        source = read_source(block, where)
        if source.get("type") == "content":
            yield from self._read_nested(source.get("content"), f"{where}.source")
        else:
            yield read_document(source, str(name or ""), f"{where}.source")

    def _read_assistant(self, blocks: Sequence[Block], where: str) -> Iterator[Message]:
        """One message, or several if the agent's own tools ran in between."""
        parts: list[Part] = []
        kept: JsonValue = None
        for number, block in enumerate(blocks):
            place = f"{where}.content[{number}]"
            match block.get("type"):
                case "text":
                    parts.append(Text(read_text(block, place)))
                case "tool_use":
                    parts.append(call := read_call(block, place))
                    self._names[call.id] = call.name
                    self._unanswered[call.id] = place
                case "mcp_tool_use":
                    parts += self._read_server_call(read_call(block, place))
                case "mcp_tool_result":
                    if parts:
                        yield Message("assistant", tuple(parts), extra=kept)
                    parts, kept = [], None
                    yield Message("tool", (self._read_server_result(block, place),))
                case "thinking":
                    kept = self._read_thinking(block) or kept
                case "redacted_thinking":
                    kept = self._read_redacted(block) or kept
                case str(kind) if kind in HOSTED_TYPES or kind.endswith("_tool_result"):
                    self._warn(f"Blocks of type {kind[:100]!r} are not supported and were left out.")
                case kind:
                    raise unknown_block(kind, place)
        if parts:
            yield Message("assistant", tuple(parts), extra=kept)

    def _read_server_call(self, call: Call) -> Iterator[Call]:
        """A message that waited again has its calls again."""
        self.waiting[call.id] = None
        if call.id not in self._server_calls:
            self._server_calls.add(call.id)
            self._names[call.id] = call.name
            yield call

    def _read_server_result(self, block: Block, where: str) -> Result:
        id = read_id(block, "tool_use_id", where)
        if id not in self._names:
            raise InvalidMessagesRequest(f"{where}.tool_use_id is {id[:100]!r}: no call before it has that id.")
        self.waiting.pop(id, None)
        self.decisions.pop(id, None)
        texts = [part.text for part in self._read_nested(block.get("content"), where) if isinstance(part, Text)]
        return build_result(id, self._names[id], "\n".join(texts), is_error=block.get("is_error") is True)

    def _read_thinking(self, block: Block) -> JsonValue:
        text, signature = block.get("thinking"), block.get("signature")
        return self._open(text if isinstance(text, str) else "", signature if isinstance(signature, str) else "")

    def _read_redacted(self, block: Block) -> JsonValue:
        data = block.get("data")
        return self._open("", data if isinstance(data, str) else "")

    def _open(self, text: str, signature: str) -> JsonValue:
        try:
            return self._open_thinking(text, signature)
        except ValueError:
            self._warn(UNSIGNED)
            return None


def build_result(id: str, name: str, text: str, *, is_error: bool) -> Result:
    """Most model servers have no field for a failure, so the text says it too."""
    if not is_error:
        return Result(id, name, text)
    return Result(id, name, text if text.lower().lstrip("<").startswith("error") else f"Error: {text}", "tool_error")


def unknown_block(kind: object, where: str) -> InvalidMessagesRequest:
    return InvalidMessagesRequest(f"{where}.type is {str(kind)[:100]!r}, which is not a block of this message.")


def read_object(value: object, where: str) -> Block:
    if not isinstance(value, dict):
        raise InvalidMessagesRequest(f"{where}: it must be a block.")
    return value


def read_text(block: Block, where: str) -> str:
    if block.get("type") != "text":
        raise unknown_block(block.get("type"), where)
    if not isinstance(text := block.get("text"), str):
        raise InvalidMessagesRequest(f"{where}.text: it must be a text.")
    return text


def read_id(block: Block, name: str, where: str) -> str:
    if not isinstance(id := block.get(name), str) or not 0 < len(id) <= MAX_ID_CHARS:
        raise InvalidMessagesRequest(f"{where}.{name}: it must be the id of a call.")
    return id


def read_call(block: Block, where: str) -> Call:
    id, name, given = read_id(block, "id", where), block.get("name"), block.get("input")
    if not isinstance(name, str) or not name:
        raise InvalidMessagesRequest(f"{where}.name: it must be the name of a tool.")
    if not isinstance(given, dict):
        raise InvalidMessagesRequest(f"{where}.input: it must be an object.")
    return Call(id, name, _encode(given).decode())


def read_source(block: Block, where: str) -> Block:
    source = block.get("source")
    if not isinstance(source, dict):
        raise InvalidMessagesRequest(f"{where}.source: it must be an object.")
    if source.get("type") == "file":
        text = "files by their id are not supported, because this server has no Files API. Send base64 or a URL."
        raise InvalidMessagesRequest(f"{where}.source: {text}")
    return source


def read_image(source: Block, where: str) -> Image:
    match source:
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return Image(kind, check_base64(data, where))
        case {"type": "url", "url": str(url)}:
            return Image("", "", check_url(url, where))
    raise InvalidMessagesRequest(f"{where}: an image needs `media_type` and `data` as base64, or a `url`.")


def read_document(source: Block, name: str, where: str) -> File | Text:
    match source:
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return File("document", kind, check_base64(data, where), name=name)
        case {"type": "url", "url": str(url)}:
            return File("document", "application/pdf", "", check_url(url, where), name)
        case {"type": "text", "data": str(text)}:
            return Text(f"{name or 'Document'}:\n{text}")  # many models read no files
    raise InvalidMessagesRequest(f"{where}: a document needs base64, text, content or a `url`.")


def read_search_result(block: Block, where: str) -> Text:
    title, source, content = block.get("title"), block.get("source"), block.get("content")
    if not isinstance(content, list):
        raise InvalidMessagesRequest(f"{where}.content: it must be a list of text blocks.")
    texts = [
        read_text(read_object(one, f"{where}.content[{number}]"), f"{where}.content[{number}]")
        for number, one in enumerate(content)
    ]
    return Text("\n".join([f"Search result: {title} ({source})", *texts]))


def check_base64(data: str, where: str) -> str:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessagesRequest(f"{where}.data: it is not valid base64 ({error}).") from error
    return data


def check_url(url: str, where: str) -> str:
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise InvalidMessagesRequest(f"{where}.url: it cannot be read ({error}).") from None
    if scheme not in ("http", "https"):
        raise InvalidMessagesRequest(f"{where}.url: it must begin with http:// or https://.")
    return url
