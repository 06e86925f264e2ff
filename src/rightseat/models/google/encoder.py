"""Builds the request to Gemini. Parameters that it does not support become warnings in `notes`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, assert_never

from rightseat.core.ask import Effort, NamedTool, Parameters, ToolChoice
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.models.google.options import Options
from rightseat.models.upstream import choose_model
from rightseat.wire.openai_chat import ANY_OBJECT

GeminiPart = dict[str, object]

MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
EFFORT_LEVELS: Mapping[Effort, str] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
SIGNING_MODELS = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that reject a call without its signature."""
SKIP_SIGNATURE = "skip_thought_signature_validator"
"""Accepted by Google in place of a signature that was lost or that another model made."""
SIGNATURES_LOST = (
    "Tool calls in the conversation lack this model's signatures: another model made them, or the client did not "
    "keep them. Gemini continues without the reasoning behind them."
)


@dataclass(slots=True)
class GeminiRequest:
    model: str
    body: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_request(options: Options, prompt: Prompt) -> GeminiRequest:
    parameters = prompt.parameters
    request = GeminiRequest(choose_model(options.model, options.client_models, parameters.model))
    body = request.body
    body["contents"] = contents = write_contents(prompt.messages, request.model)
    if any(part.get("thoughtSignature") == SKIP_SIGNATURE for content in contents for part in content["parts"]):
        request.notes.append(SIGNATURES_LOST)
    instructions = [message.text for message in prompt.messages if message.role == "system" and message.text.strip()]
    if instructions:
        body["systemInstruction"] = {"parts": [{"text": text} for text in instructions]}
    if prompt.tools:
        body["tools"] = [{"functionDeclarations": [write_tool(tool) for tool in prompt.tools]}]
        if parameters.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": write_choice(parameters.tool_choice)}
    if settings := write_settings(options, parameters):
        body["generationConfig"] = settings
    for name, value in {"logprobs": parameters.logprobs, "parallel_calls": parameters.parallel_calls}.items():
        if value is not None and value is not True:
            request.notes.append(f"Gemini does not support `{name}`, so it was not sent.")
    for name, extra in options.extra.items():
        default = body.get(name)
        body[name] = {**default, **extra} if isinstance(default, dict) and isinstance(extra, dict) else extra
    return request


def write_tool(tool: Tool) -> GeminiPart:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def write_choice(choice: ToolChoice) -> GeminiPart:
    if isinstance(choice, NamedTool):
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    return {"mode": MODES[choice]}


def write_settings(options: Options, parameters: Parameters) -> GeminiPart:
    """Return the settings that are set; 0 counts as set."""
    wanted: GeminiPart = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        "maxOutputTokens": options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "stopSequences": parameters.stop or None,
        "topP": parameters.top_p,
        "seed": parameters.seed,
        "presencePenalty": parameters.presence_penalty,
        "frequencyPenalty": parameters.frequency_penalty,
    }
    if parameters.response_schema is not None:
        wanted["responseMimeType"] = "application/json"
        if parameters.response_schema != ANY_OBJECT:
            wanted["responseJsonSchema"] = parameters.response_schema
    if isinstance(options.thinking, int):
        wanted["thinkingConfig"] = {"includeThoughts": True, "thinkingBudget": options.thinking}
    elif options.thinking is not None:  # only then the model is known to have levels
        level = EFFORT_LEVELS[parameters.effort] if parameters.effort else options.thinking
        wanted["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": level.upper()}
    return {name: value for name, value in wanted.items() if value is not None}


class Content(TypedDict):
    role: str
    parts: list[GeminiPart]


def write_contents(messages: Iterable[Message], model: str) -> list[Content]:
    """Encode all messages but system messages; consecutive messages of one role are merged."""
    written: list[tuple[str, list[GeminiPart]]] = []
    ids: dict[str, tuple[str, str | None]] = {}  # call id → its name, and the provider's own id
    for message in messages:
        if message.role == "system":
            continue
        role = "model" if message.role == "assistant" else "user"
        parts = list(write_parts(message, model, ids))
        if written and written[-1][0] == role:
            written[-1][1].extend(parts)
        elif parts:
            written.append((role, parts))
    return [{"role": role, "parts": parts} for role, parts in written]


def write_parts(message: Message, model: str, ids: dict[str, tuple[str, str | None]]) -> Iterable[GeminiPart]:
    signatures = call_signatures(message, model)
    number = 0
    for part in message.parts:
        match part:
            case Text(text=text):
                if text:
                    yield {"text": text}
            case Image() | File():
                yield write_media(part)
            case Call(id=id, name=name, arguments=arguments):
                own_id, signature = (
                    signatures[number] if number < len(signatures) else (None, missing_signature(number, model))
                )
                ids[id] = (name, own_id)
                number += 1
                yield write_call(name, arguments, own_id, signature)
            case Result(call_id=id, name=name, content=content, error=error):
                call_name, own_id = ids.get(id, (name, None))
                response = {"error" if error is not None else "result": content}
                result: GeminiPart = {"name": call_name or name, "response": response}
                yield {"functionResponse": result | {"id": own_id} if own_id else result}
            case _:
                assert_never(part)


def write_call(name: str, arguments: str, id: str | None, signature: str | None) -> GeminiPart:
    """Invalid JSON is sent back as text; the tool result has the error."""
    read = read_arguments(arguments)
    call: GeminiPart = {"name": name, "args": {"broken_json": arguments} if read is None else read}
    written: GeminiPart = {"functionCall": call | {"id": id} if id else call}
    return written | {"thoughtSignature": signature} if signature else written


def missing_signature(number: int, model: str) -> str | None:
    """Only the first call of a response is signed."""
    return SKIP_SIGNATURE if number == 0 and SIGNING_MODELS.search(model) else None


def call_signatures(message: Message, model: str) -> list[tuple[str | None, str | None]]:
    """Return the ids and signatures of this model's calls: the provider rejects another model's."""
    match message.extra:
        case {"google": {"model": str(signer), "calls": list(calls)}} if signer == model:
            pairs = [call if isinstance(call, list) else [None, None] for call in calls]
            return [(_text(id), _text(signature)) for id, signature in pairs]
    return []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def write_media(part: Image | File) -> GeminiPart:
    if part.url:
        place: Mapping[str, object] = {"fileUri": part.url} | ({"mimeType": part.media_type} if part.media_type else {})
        return {"fileData": place}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
