"""Decodes the `input` of a Responses request into messages, and into the items that the response keeps.

A client sends items back as it received them, often without `id`, `status` or `annotations`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Part, Result, Role, Text
from rightseat.core.types import JsonValue
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.messages import checked, read_data, read_image
from rightseat.faces.openai.responses.request_tools import decode_at

Item = dict[str, Any]
Unseal = Callable[[str], JsonValue]
"""Opens sealed reasoning. Raises `InvalidRequest` if this server did not seal it."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}

SKIPPED = frozenset(
    {
        "apply_patch_call",
        "apply_patch_call_output",
        "code_interpreter_call",
        "compaction",
        "computer_call",
        "computer_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "file_search_call",
        "image_generation_call",
        "local_shell_call",
        "local_shell_call_output",
        "program",
        "shell_call",
        "shell_call_output",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""Items of tools that only OpenAI's own servers run. A conversation that began there may have them."""

IGNORED_TYPES = frozenset({"mcp_list_tools", "mcp_approval_request"})
"""Items that tell the model nothing. An approval request is only believed from the server's own store."""

PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "reasoning": "rs",
    "mcp_call": "mcp",
    "mcp_approval_request": "mcpr",
    "mcp_approval_response": "mcpa",
    "mcp_list_tools": "mcpl",
}


class ItemHead(msgspec.Struct):
    type: str | None = None
    role: str | None = None


class InputPart(msgspec.Struct):
    """A part of a message's content; its fields depend on its type."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None
    detail: str | None = None
    filename: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    input_audio: dict[str, Any] | None = None


class MessageItem(msgspec.Struct):
    role: str
    content: str | list[InputPart]


class FunctionCallItem(msgspec.Struct):
    call_id: str
    name: str
    arguments: str = ""


class FunctionOutputItem(msgspec.Struct):
    call_id: str
    output: str | list[InputPart]


class ReasoningItem(msgspec.Struct):
    encrypted_content: str | None = None


class McpCallItem(msgspec.Struct):
    name: str
    arguments: str = ""
    id: str | None = None
    output: str | None = None
    error: Any = None


class ApprovalResponseItem(msgspec.Struct):
    approval_request_id: str
    approve: bool
    reason: str | None = None


class ItemReference(msgspec.Struct):
    id: str


@dataclass(slots=True)
class DecodedInput:
    """`items` have no ids of the server yet. `before_approvals` is the number of messages before the first approval
    response."""

    messages: list[Message] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    approvals: list[ApprovalResponseItem] = field(default_factory=list)
    before_approvals: int = 0
    ends: list[int] = field(default_factory=list)
    """For each item, the number of messages up to its end."""


def calls_of(messages: Iterable[Message]) -> dict[str, str]:
    """The calls in a conversation: id → tool."""
    return {part.id: part.name for message in messages for part in message.parts if isinstance(part, Call)}


def has_outputs(given: Sequence[msgspec.Raw] | None) -> bool:
    """Whether the input has results of calls, whose tools the conversation knows."""
    items = enumerate(given or ())
    return any(decode_at(f"items[{number}]", raw, ItemHead).type == "function_call_output" for number, raw in items)


class Reference(NamedTuple):
    """An item that the server has. `place` is where the request refers to it."""

    place: str
    id: str


def find_references(given: str | Sequence[msgspec.Raw] | None) -> list[Reference]:
    found: list[Reference] = []
    for number, raw in enumerate(given if isinstance(given, list) else ()):
        place = f"input[{number}]"
        if decode_at(place, raw, ItemHead).type == "item_reference":
            found.append(Reference(place, decode_at(place, raw, ItemReference).id))
    return found


def decode_input(
    given: str | Sequence[msgspec.Raw] | None,
    warnings: list[str],
    unseal: Unseal,
    *,
    calls: Mapping[str, str] | None = None,
    references: Mapping[str, Item] | None = None,
    param: str = "input",
) -> DecodedInput:
    """`calls` are the calls of the earlier conversation: id → tool. Raises `InvalidRequest`."""
    decoder = InputDecoder(warnings, unseal, dict(calls or {}), references or {})
    if isinstance(given, str):
        given = [msgspec.Raw(msgspec.json.encode({"type": "message", "role": "user", "content": given}))]
    for number, raw in enumerate(given or ()):
        decoder.read(raw, f"{param}[{number}]")
    return decoder.decoded


class InputDecoder:
    """Reads items in order: the result of a call refers to an earlier call."""

    def __init__(
        self, warnings: list[str], unseal: Unseal, calls: dict[str, str], references: Mapping[str, Item]
    ) -> None:
        self.decoded = DecodedInput()
        self._warnings = warnings
        self._unseal = unseal
        self._calls = calls
        self._references = references

    def read(self, raw: msgspec.Raw | bytes, where: str) -> None:
        head = decode_at(where, raw, ItemHead)
        kind = head.type or ("message" if head.role is not None else "")
        if kind == "item_reference":
            item = self._references.get(decode_at(where, raw, ItemReference).id)
            if item is None:
                raise InvalidRequest(
                    f"{where} is a reference. A conversation stores items: send the item itself.", where
                )
            return self.read(msgspec.json.encode(item), where)
        if kind in SKIPPED:
            return self._warn(f"{where} was skipped: this server has no items of the type {kind!r}.")
        if kind in IGNORED_TYPES:
            return None
        readers = {
            "message": self._read_message,
            "function_call": self._read_call,
            "function_call_output": self._read_output,
            "reasoning": self._read_reasoning,
            "mcp_call": self._read_mcp_call,
            "mcp_approval_response": self._read_approval,
        }
        if kind not in readers:
            listed = ", ".join(readers)
            text = f"{where}.type is {kind[:100]!r}; it must be one of {listed} or item_reference."
            raise InvalidRequest(text, f"{where}.type")
        readers[kind](raw, where)
        self.decoded.ends.append(len(self.decoded.messages))

    def _warn(self, warning: str) -> None:
        if warning not in self._warnings:
            self._warnings.append(warning)

    def _read_message(self, raw: msgspec.Raw | bytes, where: str) -> None:
        item = decode_at(where, raw, MessageItem)
        if item.role not in ROLES:
            text = f"{where}.role is {item.role[:100]!r}, which is not one of {', '.join(ROLES)}."
            raise InvalidRequest(text, f"{where}.role")
        kind = "output_text" if item.role == "assistant" else "input_text"
        content = [InputPart(kind, item.content)] if isinstance(item.content, str) else item.content
        parts = tuple(self._read_parts(content, item.role, where))
        if parts:
            self.decoded.messages.append(Message(ROLES[item.role], parts))
        self.decoded.items.append(
            {"type": "message", "role": item.role, "status": "completed", "content": [write_part(p) for p in content]}
        )

    def _read_parts(self, content: Sequence[InputPart], role: str, where: str) -> Iterator[Part]:
        for number, part in enumerate(content):
            place = f"{where}.content[{number}]"
            if role == "user":
                yield self._read_part(part, place)
            elif (text := text_of(part)) is not None:
                yield Text(text)
            else:
                raise InvalidRequest(f"{place}: a message of the role {role!r} holds text only.", place)

    def _read_part(self, part: InputPart, where: str) -> Part:
        match part.type:
            case "input_text" | "output_text" | "text" if part.text is not None:
                return Text(part.text)
            case "refusal" if part.refusal is not None:
                return Text(part.refusal)
            case "input_image" if part.image_url is not None:
                if part.detail not in (None, "auto"):
                    self._warn(f"The `detail` of images is ignored ({where}).")
                return read_image(part.image_url, where)
            case "input_file" if part.file_data is not None:
                media_type, data = read_data(part.file_data, where)
                return File("document", media_type, data, name=part.filename or "")
            case "input_file" if part.file_url is not None:
                return File("document", "", "", part.file_url, part.filename or "")
            case "input_audio" if part.input_audio is not None:
                audio = part.input_audio
                return File("audio", f"audio/{audio.get('format')}", checked(str(audio.get("data")), where))
        known = "input_text, input_image (with an image_url), input_file (with file_data or file_url) or input_audio"
        raise InvalidRequest(f"{where} of type {part.type[:100]!r} cannot be read: send {known}.", where)

    def _read_call(self, raw: msgspec.Raw | bytes, where: str) -> None:
        item = decode_at(where, raw, FunctionCallItem)
        self._calls[item.call_id] = item.name
        self.decoded.messages.append(Message("assistant", (Call(item.call_id, item.name, item.arguments),)))
        kept = {"call_id": item.call_id, "name": item.name, "arguments": item.arguments}
        self.decoded.items.append({"type": "function_call", **kept, "status": "completed"})

    def _read_output(self, raw: msgspec.Raw | bytes, where: str) -> None:
        item = decode_at(where, raw, FunctionOutputItem)
        name = self._calls.get(item.call_id)
        if name is None:
            text = f"No tool call found for the function call output with call_id {item.call_id[:200]!r}."
            raise InvalidRequest(text, f"{where}.call_id")
        parts = [InputPart("input_text", item.output)] if isinstance(item.output, str) else item.output
        places = [(part, f"{where}.output[{number}]") for number, part in enumerate(parts)]
        read = [self._read_part(part, place) for part, place in places]
        content = "".join(part.text for part in read if isinstance(part, Text))
        shown = tuple(part for part in read if isinstance(part, Image | File))
        if shown and not content:
            content = "The result is in the next message."
        self.decoded.messages.append(Message("tool", (Result(item.call_id, name, content),)))
        if shown:  # results are text; no provider but OpenAI's own takes images in them
            self.decoded.messages.append(Message("user", (Text(f"The result of {name}:"), *shown)))
        output = item.output if isinstance(item.output, str) else [write_part(part) for part in item.output]
        kept = {"call_id": item.call_id, "output": output}
        self.decoded.items.append({"type": "function_call_output", **kept, "status": "completed"})

    def _read_reasoning(self, raw: msgspec.Raw | bytes, where: str) -> None:
        """Sealed data of a provider belongs to the response before it."""
        item = decode_at(where, raw, ReasoningItem)
        if item.encrypted_content is not None:
            opened = self._unseal(item.encrypted_content)
            last = self.decoded.messages[-1] if self.decoded.messages else None
            kept = opened.get("kept") if isinstance(opened, dict) else None
            if kept is not None and last is not None and last.role == "assistant":
                self.decoded.messages[-1] = msgspec.structs.replace(last, extra=kept)
        kept_item = decode_at(where, raw, dict[str, Any])
        self.decoded.items.append({"summary": [], **kept_item, "type": "reasoning"})

    def _read_mcp_call(self, raw: msgspec.Raw | bytes, where: str) -> None:
        item = decode_at(where, raw, McpCallItem)
        id = item.id or f"mcp_call_{len(self.decoded.messages)}"
        failed = read_tool_error(item.error)
        result = Result(id, item.name, item.output or failed or "", "tool_failed" if failed else None)
        self.decoded.messages += (
            Message("assistant", (Call(id, item.name, item.arguments),)),
            Message("tool", (result,)),
        )
        self.decoded.items.append(decode_at(where, raw, dict[str, Any]))

    def _read_approval(self, raw: msgspec.Raw | bytes, where: str) -> None:
        item = decode_at(where, raw, ApprovalResponseItem)
        if not self.decoded.approvals:
            self.decoded.before_approvals = len(self.decoded.messages)
        self.decoded.approvals.append(item)
        self.decoded.items.append({"type": "mcp_approval_response", **msgspec.to_builtins(item)})


def read_tool_error(error: Any) -> str | None:
    """The text of a failed call's error, in one of the forms of the protocol."""
    match error:
        case None | str():
            return error
        case {"content": [{"text": str(text)}, *_]} | {"message": str(text)}:
            return text
    return "The call failed."


def text_of(part: InputPart) -> str | None:
    return part.refusal if part.type == "refusal" else part.text if part.type.endswith("text") else None


def write_part(part: InputPart) -> dict[str, Any]:
    """A part as it is listed later."""
    written = {name: value for name, value in msgspec.to_builtins(part).items() if value is not None}
    match part.type:
        case "output_text":
            return {**written, "annotations": [], "logprobs": []}
        case "input_image":
            return {"detail": "auto", **written}
    return written


def with_ids(items: Sequence[Item], suffix: str) -> list[Item]:
    """Give the items the ids by which the server finds them again."""
    return [
        {**item, "id": f"{PREFIXES.get(item['type'], 'item')}_{suffix}_i{number}"} for number, item in enumerate(items)
    ]
