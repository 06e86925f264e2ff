"""Parses a request of OpenBB Workspace into a `Query`.

A part that cannot be parsed is skipped. Only a body that is not a JSON object, or has no messages, is an error.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from rightseat.core.errors import BadRequest
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.responses import repair_surrogates
from rightseat.faces.openbb.request import versions
from rightseat.faces.openbb.request.types import (
    CommandResult,
    ContextItem,
    Data,
    DataFailure,
    DataItem,
    Datum,
    FunctionCall,
    FunctionResult,
    McpTool,
    Param,
    ProtocolVersion,
    Query,
    QueryMessage,
    TextMessage,
    Widget,
    WidgetGroup,
)
from rightseat.faces.openbb.xxhash64 import xxh64

T = TypeVar("T")
Json = Mapping[str, Any]

GROUPS: tuple[WidgetGroup, ...] = ("primary", "secondary", "extra", "dashboard")
MAX_URLS = 4
"""The maximum that Workspace sends."""

_decode = msgspec.json.Decoder().decode


def parse(content: bytes, trace_id: str = "", version: ProtocolVersion = "legacy") -> Query:
    """Raise `BadRequest`. `version` is the default for a request whose shape is ambiguous."""
    body = read_object(content)
    values = body.get("messages")
    if not isinstance(values, list) or not values:
        raise BadRequest("The request has no messages. Send `messages`, a list with at least one of role `is_user`.")
    skipped: list[str] = []
    messages = read_each(values, read_message, "messages", skipped)
    if not messages:
        raise BadRequest(f"None of the messages can be parsed: {skipped[0]}")
    return Query(
        version=versions.detect(body, version),
        messages=treat_last_as_question(messages),
        widgets=tuple(read_widgets(body.get("widgets"), skipped)),
        context=read_each(body.get("context"), read_context_item, "context", skipped),
        tools=read_each(body.get("tools"), read_tool, "tools", skipped),
        options=read_options(body.get("workspace_options")),
        urls=tuple(url for url in as_list(body.get("urls")) if isinstance(url, str))[:MAX_URLS],
        timezone=as_string_or(body.get("timezone"), "") or None,
        workspace_state=as_mapping(body.get("workspace_state")),
        skills=as_objects(body.get("skills_catalog")),
        selected_skills=as_objects(body.get("selected_skills")),
        trace_id=trace_id,
        raw=remove_secrets(body),
        size=len(content),
        skipped=tuple(skipped),
    )


def read_object(content: bytes) -> dict[str, Any]:
    try:
        body = decode_json(content)
    except JSON_ERRORS as error:
        raise BadRequest(f"The body is not valid JSON ({error}). Send a JSON object with `messages`.") from error
    if not isinstance(body, dict):
        raise BadRequest("The body is not a JSON object. Send one with `messages`.")
    return body


def decode_json(content: bytes) -> Any:
    """Repair broken Unicode only after a failure: bodies may be large, and few are broken."""
    try:
        return _decode(content)
    except JSON_ERRORS:
        return _decode(repair_surrogates(content))


def read_each(values: Any, read_one: Callable[[Any], T], field: str, skipped: list[str]) -> tuple[T, ...]:
    """Read the valid items; the invalid ones are added to `skipped`."""
    if not values or not isinstance(values, list):
        return ()
    found: list[T] = []
    for place, one in enumerate(values):
        try:
            found.append(read_one(one))
        except (BadRequest, TypeError, ValueError, KeyError, AttributeError) as error:
            skipped.append(f"{field}[{place}]: {error}")
    return tuple(found)


# Messages


def read_message(message: Any) -> QueryMessage:
    if not isinstance(message, dict):
        raise BadRequest("is not an object.")
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return read_result(message)
    if role == "human":
        return TextMessage(as_text(content), is_user=True)
    if role == "ai":
        return read_call(content) or TextMessage(as_text(content), is_user=False)
    raise BadRequest(f"has the role {role!r}; expected human, ai or tool.")


def treat_last_as_question(messages: tuple[QueryMessage, ...]) -> tuple[QueryMessage, ...]:
    """A last message from another agent is a task for this agent, so it counts as the user's."""
    end = messages[-1]
    return (*messages[:-1], TextMessage(end.text, is_user=True)) if isinstance(end, TextMessage) else messages


def read_call(content: Any) -> FunctionCall | None:
    """Clients repeat a function call of this server as the text of an `ai` message."""
    if isinstance(content, str):
        if not content.lstrip().startswith("{"):
            return None
        try:
            content = _decode(content)
        except JSON_ERRORS:
            return None
    if not isinstance(content, dict) or not isinstance(content.get("function"), str):
        return None
    return FunctionCall(content["function"], as_mapping(content.get("input_arguments")), content)


def read_result(message: Json) -> FunctionResult:
    data = message.get("data")
    if isinstance(data, list):
        found = tuple(read_datum(one) for one in data)
    elif isinstance(data, dict):
        found = (read_datum(data),)
    else:
        found = (text_data(message.get("content")),)  # the actual format of clients of 2024
    function = as_string_or(message.get("function"), "get_widget_data")
    return FunctionResult(
        function, as_mapping(message.get("input_arguments")), found, as_mapping(message.get("extra_state"))
    )


def read_datum(datum: Any) -> Datum:
    if not isinstance(datum, dict):
        return text_data(datum)
    if "items" in datum:
        return Data(tuple(map(read_item, as_list(datum["items"]))), as_objects(datum.get("extra_citations")))
    if "error_type" in datum:
        return DataFailure(as_text(datum.get("content")) or as_text(datum["error_type"]))
    if "status" in datum:
        return CommandResult(as_text(datum["status"]), datum)
    if "content" in datum or "url" in datum:
        return Data((read_item(datum),))
    return text_data(datum)


def text_data(value: Any) -> Data:
    return Data((DataItem(as_text(value)),))


def read_item(item: Any) -> DataItem:
    if not isinstance(item, dict):
        return DataItem(as_text(item))
    content, url = item.get("content"), item.get("url")
    return DataItem(
        None if content is None else as_text(content),
        url if isinstance(url, str) and content is None else None,
        as_mapping(item.get("data_format")),
        item.get("citable") is not False,
    )


# Widgets, context and tools


def read_widgets(values: Any, skipped: list[str]) -> Iterator[Widget]:
    """Three lists today, one list in 2024. If a widget is in two of them, the first wins."""
    groups = {"dashboard": values} if isinstance(values, list) else as_mapping(values)
    known: set[tuple[str, str, str]] = set()
    for group in GROUPS:
        if not groups.get(group):
            continue
        for widget in read_each(groups[group], partial(read_widget, group=group), f"widgets.{group}", skipped):
            key = (widget.uuid, widget.origin, widget.widget_id)
            if key not in known:
                known.add(key)
                yield widget


def read_widget(widget: Any, group: WidgetGroup) -> Widget:
    if not isinstance(widget, dict):
        raise BadRequest("is no widget.")
    values, name = as_string_or(widget.get("uuid"), ""), as_string_or(widget.get("name"), "")
    id = as_string_or(widget.get("widget_id"), "") or (values and name) or ""
    if not id:
        raise BadRequest("has neither a widget_id nor a uuid with a name.")
    origin = as_string_or(widget.get("origin"), "")
    return Widget(
        values or own_uuid(origin, id),
        origin,
        id,
        name or id,
        as_string_or(widget.get("description"), ""),
        read_each(widget.get("params"), read_param, "params", []),
        group,
        tuple(map(column_name, as_list(widget.get("columns")))),
        as_mapping(widget.get("metadata")),
        widget,
    )


def own_uuid(origin: str, widget_id: str) -> str:
    """The id of a widget that came without one, as OpenBB's own SDK makes it."""
    digits = f"{xxh64(f'origin={origin}&widget_id={widget_id}'.encode()):016x}"
    return str(uuid.UUID(digits * 2))


def column_name(column: Any) -> str:
    return as_text(column.get("name") or column.get("field")) if isinstance(column, dict) else as_text(column)


def read_param(param: Any) -> Param:
    if not isinstance(param, dict) or not isinstance(param.get("name"), str) or not param["name"]:
        raise BadRequest("has no name.")
    return Param(
        param["name"],
        as_string_or(param.get("type"), "string"),
        as_string_or(param.get("description"), ""),
        param.get("default_value"),
        param.get("current_value"),
        tuple(as_list(param.get("options"))),
        param.get("multi_select") is True,
        param.get("get_options") is True,
        param,
    )


def read_context_item(item: Any) -> ContextItem:
    if not isinstance(item, dict) or item.get("data") is None:
        raise BadRequest("has no data.")
    data = read_datum(item["data"])
    if not isinstance(data, Data):
        data = text_data(item["data"])
    return ContextItem(
        as_string_or(item.get("uuid"), ""),
        as_string_or(item.get("name"), "Context"),
        as_string_or(item.get("description"), ""),
        data,
        as_mapping(item.get("metadata")),
    )


def read_tool(tool: Any) -> McpTool:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
        raise BadRequest("has no name.")
    if not isinstance(tool.get("server_id"), str):
        raise BadRequest("has no server_id.")
    schema = as_mapping(tool.get("input_schema"))
    return McpTool(tool["server_id"], tool["name"], as_string_or(tool.get("description"), ""), schema)


def read_options(values: Any) -> dict[str, bool | str]:
    """Older clients send a list of enabled options, current ones an object of values."""
    if isinstance(values, list):
        return {name: True for name in values if isinstance(name, str)}
    return {name: value for name, value in as_mapping(values).items() if isinstance(value, bool | str)}


# Values


def as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_objects(value: Any) -> tuple[dict[str, Any], ...]:
    return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def as_string_or(value: Any, other: str) -> str:
    return value if isinstance(value, str) else other


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def remove_secrets(body: Json) -> Json:
    """Drop the user's API keys and the tokens of the user's MCP servers."""
    kept = {name: value for name, value in body.items() if name != "api_keys"}
    if "tools" in kept:
        kept["tools"] = [
            {name: value for name, value in tool.items() if name != "auth_token"}
            for tool in as_list(kept["tools"])
            if isinstance(tool, dict)
        ]
    return kept
