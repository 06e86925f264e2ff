"""A prompt → the body of a request. What cannot be asked for is said in `notes`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, assert_never

from rightseat.core.ask import Named, Parameters, ToolChoice
from rightseat.core.calling import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.models.google.options import Options
from rightseat.models.upstream import choose_model
from rightseat.wire.openai_chat import ANY_OBJECT

Part = dict[str, object]

MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
SIGNS = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that refuse a call without its signature."""
UNSIGNED = "skip_thought_signature_validator"
"""What Google takes instead of a signature that is gone, or that another model made."""
LOST = (
    "Calls of tools in the conversation lack the signatures of this model: another one made them, or the client did "
    "not keep them. Gemini is told so, and goes on without the thoughts behind them."
)


@dataclass(slots=True)
class Request:
    model: str
    body: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_request(options: Options, prompt: Prompt) -> Request:
    parameters = prompt.parameters
    request = Request(choose_model(options.model, options.client_models, parameters.model))
    body = request.body
    body["contents"] = contents = write_contents(prompt.messages, request.model)
    if any(part.get("thoughtSignature") == UNSIGNED for content in contents for part in content["parts"]):
        request.notes.append(LOST)
    instructions = [message.text for message in prompt.messages if message.role == "system" and message.text.strip()]
    if instructions:
        body["systemInstruction"] = {"parts": [{"text": text} for text in instructions]}
    if prompt.tools:
        body["tools"] = [{"functionDeclarations": [write_tool(tool) for tool in prompt.tools]}]
        if parameters.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": write_choice(parameters.tool_choice)}
    if settings := write_settings(options, parameters):
        body["generationConfig"] = settings
    for name, asked in {"logprobs": parameters.logprobs, "parallel_calls": parameters.parallel_calls}.items():
        if asked is not None and asked is not True:
            request.notes.append(f"Gemini knows no `{name}`, so it was left out.")
    for name, value in options.extra.items():
        ours = body.get(name)
        body[name] = {**ours, **value} if isinstance(ours, dict) and isinstance(value, dict) else value
    return request


def write_tool(tool: Tool) -> Part:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def write_choice(choice: ToolChoice) -> Part:
    if isinstance(choice, Named):
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    return {"mode": MODES[choice]}


def write_settings(options: Options, parameters: Parameters) -> Part:
    """Only what is set; 0 is set."""
    wanted: Part = {
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
    elif options.thinking is not None:
        wanted["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": options.thinking.upper()}
    return {name: value for name, value in wanted.items() if value is not None}


class Content(TypedDict):
    role: str
    parts: list[Part]


def write_contents(messages: Iterable[Message], model: str) -> list[Content]:
    """The conversation without its system messages; what one side says in a row is one content."""
    written: list[tuple[str, list[Part]]] = []
    ids: dict[str, tuple[str, str | None]] = {}  # of each call its name, and the id that the provider gave it
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


def write_parts(message: Message, model: str, ids: dict[str, tuple[str, str | None]]) -> Iterable[Part]:
    kept = kept_of(message, model)
    number = 0
    for part in message.parts:
        match part:
            case Text(text=text):
                if text:
                    yield {"text": text}
            case Image() | File():
                yield write_media(part)
            case Call(id=id, name=name, arguments=arguments):
                given, signature = kept[number] if number < len(kept) else (None, unsigned(number, model))
                ids[id] = (name, given)
                number += 1
                yield write_call(name, arguments, given, signature)
            case Result(call_id=id, name=name, content=content, error=error):
                known, given = ids.get(id, (name, None))
                answer = {"error" if error is not None else "result": content}
                named: Part = {"name": known or name, "response": answer}
                yield {"functionResponse": named | {"id": given} if given else named}
            case _:
                assert_never(part)


def write_call(name: str, arguments: str, id: str | None, signature: str | None) -> Part:
    """Of broken JSON the model gets back what it wrote; its result says what was wrong with it."""
    read = read_arguments(arguments)
    call: Part = {"name": name, "args": {"broken_json": arguments} if read is None else read}
    written: Part = {"functionCall": call | {"id": id} if id else call}
    return written | {"thoughtSignature": signature} if signature else written


def unsigned(number: int, model: str) -> str | None:
    """Only the first of an answer's calls is signed."""
    return UNSIGNED if number == 0 and SIGNS.search(model) else None


def kept_of(message: Message, model: str) -> list[tuple[str | None, str | None]]:
    """Ids and signatures of the calls of an answer of this model: another one's are refused."""
    match message.extra:
        case {"google": {"model": str(signer), "calls": list(calls)}} if signer == model:
            pairs = [call if isinstance(call, list) else [None, None] for call in calls]
            return [(_text(id), _text(signature)) for id, signature in pairs]
    return []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def write_media(part: Image | File) -> Part:
    if part.url:
        place: Mapping[str, object] = {"fileUri": part.url} | ({"mimeType": part.media_type} if part.media_type else {})
        return {"fileData": place}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
