"""A request → a `Query`. Tolerant: what cannot be understood is left out by itself, and never fails the turn.

Only a body that is no JSON object, or has no messages, cannot be read at all.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.core.values import JSON_ERRORS
from rightseat.faces.answers import mended
from rightseat.faces.openbb import eras
from rightseat.faces.openbb.asking import (
    Called,
    Data,
    Datum,
    Done,
    Entry,
    Era,
    Fact,
    Failure,
    Group,
    Item,
    McpTool,
    Param,
    Query,
    Returned,
    Said,
    Widget,
)
from rightseat.faces.openbb.hashing import xxh64

T = TypeVar("T")
Json = Mapping[str, Any]

GROUPS: tuple[Group, ...] = ("primary", "secondary", "extra")
URLS = 4
"""As many as Workspace sends."""

_decode = msgspec.json.Decoder().decode


def read(body: bytes, trace_id: str = "", era: Era = "legacy") -> Query:
    """Raises `BadAsk`. `era` is that of a request whose shape shows none."""
    whole = read_object(body)
    given = whole.get("messages")
    if not isinstance(given, list) or not given:
        raise BadAsk("The request has no messages. Send `messages`, a list with at least one of role `human`.")
    left: list[str] = []
    messages = each(given, read_message, "messages", left)
    if not messages:
        raise BadAsk(f"None of the messages can be read: {left[0]}")
    return Query(
        era=eras.of(whole, era),
        messages=as_asked(messages),
        widgets=tuple(read_widgets(whole.get("widgets"), left)),
        context=each(whole.get("context"), read_fact, "context", left),
        tools=each(whole.get("tools"), read_tool, "tools", left),
        options=read_options(whole.get("workspace_options")),
        urls=tuple(url for url in listed(whole.get("urls")) if isinstance(url, str))[:URLS],
        timezone=text_or(whole.get("timezone"), "") or None,
        workspace_state=mapping(whole.get("workspace_state")),
        skills=objects(whole.get("skills_catalog")),
        selected_skills=objects(whole.get("selected_skills")),
        trace_id=trace_id,
        raw=without_secrets(whole),
        size=len(body),
        left_out=tuple(left),
    )


def read_object(body: bytes) -> dict[str, Any]:
    try:
        whole = decoded(body)
    except JSON_ERRORS as error:
        raise BadAsk(f"The body cannot be read ({error}). Send a JSON object with `messages`.") from error
    if not isinstance(whole, dict):
        raise BadAsk("The body is no JSON object. Send one with `messages`.")
    return whole


def decoded(body: bytes) -> Any:
    """Mended only where it must be: a body may be long, and few have half a character in them."""
    try:
        return _decode(body)
    except JSON_ERRORS:
        return _decode(mended(body))


def each(given: Any, read_one: Callable[[Any], T], what: str, left: list[str]) -> tuple[T, ...]:
    """Those that can be read. One that cannot is told of, and harms no other."""
    if not given or not isinstance(given, list):
        return ()
    found: list[T] = []
    for place, one in enumerate(given):
        try:
            found.append(read_one(one))
        except (BadAsk, TypeError, ValueError, KeyError, AttributeError) as error:
            left.append(f"{what}[{place}]: {error}")
    return tuple(found)


# Messages


def read_message(message: Any) -> Entry:
    if not isinstance(message, dict):
        raise BadAsk("is no object.")
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return read_result(message)
    if role == "human":
        return Said(as_text(content), human=True)
    if role == "ai":
        return read_call(content) or Said(as_text(content), human=False)
    raise BadAsk(f"has the role {role!r}; known are human, ai and tool.")


def as_asked(messages: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """A last word that another agent says is a task for us: it stands where the user's would."""
    end = messages[-1]
    return (*messages[:-1], Said(end.text, human=True)) if isinstance(end, Said) else messages


def read_call(content: Any) -> Called | None:
    """A client repeats our own function call as the text of an `ai` message."""
    if isinstance(content, str):
        if not content.lstrip().startswith("{"):
            return None
        try:
            content = _decode(content)
        except JSON_ERRORS:
            return None
    if not isinstance(content, dict) or not isinstance(content.get("function"), str):
        return None
    return Called(content["function"], mapping(content.get("input_arguments")), content)


def read_result(message: Json) -> Returned:
    data = message.get("data")
    if isinstance(data, list):
        found = tuple(read_datum(one) for one in data)
    elif isinstance(data, dict):
        found = (read_datum(data),)
    else:
        found = (text_data(message.get("content")),)  # as the clients of 2024 really sent it
    function = text_or(message.get("function"), "get_widget_data")
    return Returned(function, mapping(message.get("input_arguments")), found, mapping(message.get("extra_state")))


def read_datum(datum: Any) -> Datum:
    if not isinstance(datum, dict):
        return text_data(datum)
    if "items" in datum:
        return Data(tuple(map(read_item, listed(datum["items"]))), objects(datum.get("extra_citations")))
    if "error_type" in datum:
        return Failure(as_text(datum.get("content")) or as_text(datum["error_type"]))
    if "status" in datum:
        return Done(as_text(datum["status"]), datum)
    if "content" in datum or "url" in datum:
        return Data((read_item(datum),))
    return text_data(datum)


def text_data(value: Any) -> Data:
    return Data((Item(as_text(value)),))


def read_item(item: Any) -> Item:
    if not isinstance(item, dict):
        return Item(as_text(item))
    content, url = item.get("content"), item.get("url")
    return Item(
        None if content is None else as_text(content),
        url if isinstance(url, str) and content is None else None,
        mapping(item.get("data_format")),
        item.get("citable") is not False,
    )


# What the page has


def read_widgets(given: Any, left: list[str]) -> Iterator[Widget]:
    """An object of three lists today, one list in 2024. One widget may be in two of them: the first counts."""
    groups = {"primary": given} if isinstance(given, list) else mapping(given)
    known: set[tuple[str, str, str]] = set()
    for group in GROUPS:
        if not groups.get(group):
            continue
        for widget in each(groups[group], partial(read_widget, group=group), f"widgets.{group}", left):
            key = (widget.uuid, widget.origin, widget.widget_id)
            if key not in known:
                known.add(key)
                yield widget


def read_widget(widget: Any, group: Group) -> Widget:
    if not isinstance(widget, dict):
        raise BadAsk("is no widget.")
    given, name = text_or(widget.get("uuid"), ""), text_or(widget.get("name"), "")
    id = text_or(widget.get("widget_id"), "") or (given and name) or ""
    if not id:
        raise BadAsk("has neither a widget_id nor a uuid with a name.")
    origin = text_or(widget.get("origin"), "")
    return Widget(
        given or own_uuid(origin, id),
        origin,
        id,
        name or id,
        text_or(widget.get("description"), ""),
        each(widget.get("params"), read_param, "params", []),
        group,
        tuple(map(column_name, listed(widget.get("columns")))),
        mapping(widget.get("metadata")),
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
        raise BadAsk("has no name.")
    return Param(
        param["name"],
        text_or(param.get("type"), "string"),
        text_or(param.get("description"), ""),
        param.get("default_value"),
        param.get("current_value"),
        tuple(listed(param.get("options"))),
        param.get("multi_select") is True,
        param.get("get_options") is True,
        param,
    )


def read_fact(fact: Any) -> Fact:
    if not isinstance(fact, dict) or fact.get("data") is None:
        raise BadAsk("has no data.")
    data = read_datum(fact["data"])
    if not isinstance(data, Data):
        data = text_data(fact["data"])
    return Fact(
        text_or(fact.get("uuid"), ""),
        text_or(fact.get("name"), "Context"),
        text_or(fact.get("description"), ""),
        data,
        mapping(fact.get("metadata")),
    )


def read_tool(tool: Any) -> McpTool:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
        raise BadAsk("has no name.")
    if not isinstance(tool.get("server_id"), str):
        raise BadAsk("does not say which server it is of.")
    schema = mapping(tool.get("input_schema"))
    return McpTool(tool["server_id"], tool["name"], text_or(tool.get("description"), ""), schema)


def read_options(given: Any) -> dict[str, bool | str]:
    """Older clients list what is on; today's say of each what it is."""
    if isinstance(given, list):
        return {name: True for name in given if isinstance(name, str)}
    return {name: value for name, value in mapping(given).items() if isinstance(value, bool | str)}


# Values


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def objects(value: Any) -> tuple[dict[str, Any], ...]:
    return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def text_or(value: Any, other: str) -> str:
    return value if isinstance(value, str) else other


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def without_secrets(whole: Json) -> Json:
    """Neither the keys of the user nor the tokens of the user's servers are anyone's business behind this line."""
    kept = {name: value for name, value in whole.items() if name != "api_keys"}
    if "tools" in kept:
        kept["tools"] = [
            {name: value for name, value in tool.items() if name != "auth_token"}
            for tool in listed(kept["tools"])
            if isinstance(tool, dict)
        ]
    return kept
