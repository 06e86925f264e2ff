"""Converts between rightseat messages and AG-UI messages.

A message's `extra` keeps the AG-UI details that rightseat has no field for, so that a client gets back the message that
it sent: whether a text was a string or a list of parts, a part's metadata, the developer role.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Role, Text, build_media, media_kind
from rightseat.wire.agui.versions import Json, describe_file, text_of

ROLES: dict[str, Role] = {
    "developer": "system",
    "system": "system",
    "assistant": "assistant",
    "user": "user",
    "tool": "tool",
}
PLAIN_ROLES = ("user", "assistant", "system")
"""Roles of messages that need nothing but a text, and are written back as they were read."""
DISPLAY_ROLES = ("activity", "reasoning")
"""Roles of messages that clients display and the model never receives."""


def write_message(message: Message) -> Json:
    written = write_plain(message)
    if message.extra is None:
        return written
    extra = message.extra.get("agui") if isinstance(message.extra, dict) else None
    if not isinstance(extra, dict):
        return written
    parts = extra.get("parts")
    if isinstance(parts, list):
        pairs = zip(write_parts(message.parts), cast(list[Json], parts), strict=True)
        written["content"] = [more if "type" in more else part | more for part, more in pairs]
    return written | {key: value for key, value in extra.items() if key != "parts"}


def write_stored_message(message: Message) -> Json:
    """Encode a message for `GET /threads/{id}/messages`, where tool calls have another form."""
    written = write_message(message)
    calls = [part for part in message.parts if isinstance(part, Call)]
    if calls:
        written["toolCalls"] = [{"id": call.id, "name": call.name, "args": call.arguments} for call in calls]
    return written


def write_plain(message: Message) -> Json:
    if message.role != "tool" and (text := message.only_text) is not None:
        return {"id": message.id, "role": message.role, "content": text}
    written: Json = {"id": message.id, "role": message.role}
    match message.role:
        case "tool":
            results = [part for part in message.parts if isinstance(part, Result)]
            for result in results[:1]:  # each result is a separate message
                written |= {"toolCallId": result.call_id, "content": result.content}
                if result.error is not None:
                    written["error"] = result.error
        case "assistant":
            calls = [part for part in message.parts if isinstance(part, Call)]
            if message.text or not calls:
                written["content"] = message.text
            if calls:
                written["toolCalls"] = [write_call(call) for call in calls]
        case "system":
            written["content"] = message.text
        case "user":
            plain = not message.parts or (len(message.parts) == 1 and isinstance(message.parts[0], Text))
            written["content"] = message.text if plain else write_parts(message.parts)
    return written


def write_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def write_parts(parts: Sequence[Part]) -> list[Json]:
    return [write_part(part) for part in parts if isinstance(part, Text | Image | File)]


def write_part(part: Text | Image | File) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    written: Json = {"type": "image" if isinstance(part, Image) else part.kind, "source": write_source(part)}
    if part.name:
        written["metadata"] = {"filename": part.name}
    return written


def write_source(part: Image | File) -> Json:
    if not part.url:
        return {"type": "data", "value": part.data, "mimeType": part.media_type}
    return {"type": "url", "value": part.url} | ({"mimeType": part.media_type} if part.media_type else {})


def read_messages(messages: Sequence[Any]) -> Iterable[Message]:
    """Decode all messages but activity and reasoning. Raises `BadRequest` at the first invalid one."""
    names: dict[str, str] = {}
    for number, raw in enumerate(messages):
        message = read_message(raw, names, f"messages[{number}]")
        if message is not None:
            if message.only_text is None:
                names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
            yield message


def read_message(raw: Any, names: dict[str, str], where: str) -> Message | None:
    """`names` maps earlier call ids to tool names, because a result contains only the call's id."""
    if not isinstance(raw, dict):
        raise BadRequest(f"{where} is no object; a message looks like {{id, role, content}}.")
    id, role = need(raw, "id", where), need(raw, "role", where)
    if role in DISPLAY_ROLES:
        return None
    if role not in ROLES:
        raise BadRequest(f"{where}.role is {role!r}; it is one of {', '.join((*ROLES, *DISPLAY_ROLES))}.")
    text = raw.get("content")
    if len(raw) == 3 and type(text) is str and text and role in PLAIN_ROLES:
        return Message(ROLES[role], (Text(text),), id=id)
    message = Message(ROLES[role], tuple(read_parts(raw, names, where)), id=id)
    extra = find_extra(raw, message)
    return Message(message.role, message.parts, id=id, extra={"agui": extra}) if extra else message


def read_parts(raw: Json, names: dict[str, str], where: str) -> Iterable[Part]:
    content = raw.get("content")
    if content is not None and not isinstance(content, str | list):
        raise BadRequest(f"{where}.content is neither a text nor a list of parts.")
    match raw["role"]:
        case "tool":
            if content is None:
                raise BadRequest(f"{where} lacks `content`, the result of the tool.")
            call_id = need(raw, "toolCallId", where)
            error = raw.get("error")
            yield Result(call_id, names.get(call_id, ""), text_of(content), error if isinstance(error, str) else None)
        case "assistant":
            if text := text_of(content):
                yield Text(text)
            calls = raw.get("toolCalls") or []
            if not isinstance(calls, list):
                raise BadRequest(f"{where}.toolCalls is no list of tool calls.")
            for number, call in enumerate(calls):
                yield read_call(call, f"{where}.toolCalls[{number}]")
        case "user" if isinstance(content, list):
            for number, part in enumerate(content):
                yield read_part(part, f"{where}.content[{number}]")
        case _:
            if content is None:
                raise BadRequest(f"{where} lacks `content`, its text.")
            yield Text(text_of(content))


def read_call(raw: Any, where: str) -> Call:
    match raw:
        case {"id": str(id), "function": {"name": str(name), "arguments": str(arguments)}}:
            return Call(id, name, arguments)
    raise BadRequest(
        f"{where} is no tool call; one looks like {{id, type: 'function', function: {{name, arguments}}}}."
    )


def read_part(raw: Any, where: str) -> Part:
    match raw:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image" | "audio" | "video" | "document" as kind, "source": source}:
            return read_media(kind, source, read_filename(raw.get("metadata")), where)
        case {"type": "binary", "mimeType": str(media_type)}:  # until 0.0.4x; replaced by the parts above
            data, url, name = (text_or_empty(raw, key, where) for key in ("data", "url", "filename"))
            return build_media(media_kind(media_type), media_type, data, url, name)
    kind = raw.get("type") if isinstance(raw, dict) else None
    raise BadRequest(
        f"{where} cannot be understood (type {kind!r}); a part is {{type: 'text', text}}, or an image, audio, video or "
        "document with a `source`."
    )


def read_media(kind: str, source: Any, name: str, where: str) -> Part:
    match source:
        case {"type": "data", "value": str(data), "mimeType": str(media_type)}:
            return build_media(kind, media_type, data, "", name)
        case {"type": "url", "value": str(url)}:
            return build_media(kind, text_or_empty(source, "mimeType", where), "", url, name)
        case {"type": "file", "value": str(handle)}:
            return Text(describe_file(kind, handle, source.get("provider")))
    raise BadRequest(
        f"{where}.source cannot be understood; it is {{type: 'data', value, mimeType}}, {{type: 'url', value}} or "
        "{type: 'file', value}."
    )


def read_filename(metadata: Any) -> str:
    name = metadata.get("filename") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def find_extra(raw: Json, message: Message) -> Json:
    """Return the fields of an AG-UI message that the rightseat message does not hold."""
    written, content = write_plain(message), raw.get("content")
    extra = {key: value for key, value in raw.items() if key != "content" and value is not None}
    extra = {key: value for key, value in extra.items() if written.get(key) != value}
    if isinstance(content, list) and message.role == "user":
        parts = [find_extra_of_part(*pair) for pair in zip(content, write_parts(message.parts), strict=True)]
        if any(parts) or not isinstance(written["content"], list):
            extra["parts"] = parts
    elif content and written.get("content") != content:
        extra["content"] = content
    return extra


def find_extra_of_part(raw: Json, written: Json) -> Json:
    """Return the fields that differ from the written part, or the whole part if its type differs."""
    if raw["type"] == "binary":
        return {}
    if raw["type"] != written["type"]:
        return raw
    return {key: value for key, value in raw.items() if written.get(key) != value}


def text_or_empty(raw: Json, field: str, where: str) -> str:
    value = raw.get(field) or ""
    if not isinstance(value, str):
        raise BadRequest(f"{where}.{field} is no text.")
    return value


def need(raw: Json, field: str, where: str) -> str:
    value = raw.get(field)
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{where} lacks `{field}`, which is a text that is not empty.")
    return value
