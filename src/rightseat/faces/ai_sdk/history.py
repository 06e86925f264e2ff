"""Writes stored messages as UIMessages, which a page loads before it shows the chat."""

from collections.abc import Container, Iterable, Sequence

import msgspec

from rightseat.core.approvals import APPROVAL
from rightseat.core.events import Interrupt
from rightseat.core.loop.history import NOT_RUN
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.threads import Pending
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces.ai_sdk.decoder import Json
from rightseat.faces.ai_sdk.reply import MessageGroup, find_reply_id, group_messages, read_extra

REFUSED = "refused"
"""The error code of a result whose call a person denied."""


def write_ui_messages(messages: Iterable[Message], pending: Sequence[Pending], *, is_waiting: bool) -> list[Json]:
    """`is_waiting` means that the last run waits for the page or a person; then calls without a result are open."""
    groups = group_messages(messages)
    written = [
        write_reply(group, pending, is_open=is_waiting and group is groups[-1])
        if group.is_reply
        else write_question(group.messages[0])
        for group in groups
    ]
    if not groups:
        return written
    calls: set[str | None] = {
        part.id for message in groups[-1].messages for part in message.parts if isinstance(part, Call)
    }
    questions = [write_question_part(one.interrupt) for one in pending if not is_approval(one.interrupt, calls)]
    if questions and not groups[-1].is_reply:  # the run has asked, and written no message
        written.append({"id": find_reply_id(groups[-1].messages) or groups[-1].id, "role": "assistant", "parts": []})
    if questions:
        written[-1]["parts"] += questions
    return written


def write_question(message: Message) -> Json:
    extra = read_extra(message)
    parts = [write_content(part) for part in message.parts if isinstance(part, Text | Image | File)]
    others = extra.get("parts")
    written: Json = {
        "id": message.id,
        "role": message.role,
        "parts": [*parts, *(others if isinstance(others, list) else ())],
    }
    return written | ({"metadata": extra["metadata"]} if "metadata" in extra else {})


def write_content(part: Text | Image | File) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = part.url or f"data:{part.media_type};base64,{part.data}"
    written = {"type": "file", "mediaType": part.media_type or "application/octet-stream", "url": url}
    return written | ({"filename": part.name} if part.name else {})


def write_reply(group: MessageGroup, pending: Sequence[Pending], *, is_open: bool) -> Json:
    return {"id": group.id, "role": "assistant", "parts": write_reply_parts(group, pending, is_open=is_open)}


def write_reply_parts(group: MessageGroup, pending: Sequence[Pending], *, is_open: bool) -> list[Json]:
    results = {
        part.call_id: (message, part)
        for message in group.messages
        for part in message.parts
        if isinstance(part, Result)
    }
    approvals = {one.call.id: one.interrupt.id for one in pending if one.call and one.interrupt.reason == APPROVAL}
    parts: list[Json] = []
    for message in group.messages:
        if message.role != "assistant":
            continue
        parts.append({"type": "step-start"})
        if message.text:
            parts.append({"type": "text", "text": message.text, "state": "done"})
        parts += [
            write_call(call, results.get(call.id), approvals.get(call.id), is_open=is_open)
            for call in message.parts
            if isinstance(call, Call)
        ]
    return parts


def write_call(call: Call, returned: tuple[Message, Result] | None, approval_id: str | None, *, is_open: bool) -> Json:
    arguments = read_arguments(call.arguments)
    written: Json = {"type": f"tool-{call.name}", "toolCallId": call.id, "input": arguments}
    if arguments is None:
        written |= {"input": {}, "rawInput": call.arguments}
    if returned is not None:
        message, result = returned
        if result.error == REFUSED:
            denied = {"id": f"approval-{call.id}", "approved": False}
            return written | {"state": "output-denied", "approval": denied}
        if result.error is not None:
            return written | {"state": "output-error", "errorText": result.content}
        output: JsonValue = result.content if read_extra(message).get("is_text") else read_output(result.content)
        return written | {"state": "output-available", "output": output}
    if approval_id is not None:
        return written | {"state": "approval-requested", "approval": {"id": approval_id}}
    if is_open:
        return written | {"state": "input-available"}
    return written | {"state": "output-error", "errorText": NOT_RUN}


def read_output(content: str) -> JsonValue:
    """A JSON object or list as such; every other result is text."""
    if not content.startswith(("{", "[")):
        return content
    try:
        found: JsonValue = msgspec.json.decode(content)
    except JSON_ERRORS:
        return content
    return found


def is_approval(interrupt: Interrupt, calls: Container[str | None]) -> bool:
    """Whether the client can show the question at a tool call."""
    return interrupt.reason == APPROVAL and interrupt.call_id in calls


def write_question_part(interrupt: Interrupt) -> Json:
    """A question that is not the approval of a tool call. The page answers it with `answers` of the next request."""
    data: Json = {"id": interrupt.id, "reason": interrupt.reason, "message": interrupt.message}
    optional = {"toolCallId": interrupt.call_id, "schema": interrupt.schema, "expiresAt": interrupt.expires_at}
    data |= {name: value for name, value in optional.items() if value is not None}
    return {"type": "data-interrupt", "id": interrupt.id, "data": data}
