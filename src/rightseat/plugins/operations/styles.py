"""Formats parameter values for path, query, header and cookie by OpenAPI's `style` and `explode`."""

import json
from collections.abc import Callable
from urllib.parse import quote

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Parameter

SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def format_value(value: JsonValue) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def percent_encode(value: JsonValue) -> str:
    """Escape every reserved character."""
    return quote(format_value(value), safe="")


def format_path(parameter: Parameter, value: JsonValue) -> str:
    name, explode = percent_encode(parameter.name), parameter.explode
    match parameter.style or "simple", value:
        case "label", list():
            return "." + ("." if explode else ",").join(map(percent_encode, value))
        case "label", dict():
            return "." + join_pairs(value, "." if explode else ",", "=" if explode else ",", percent_encode)
        case "label", _:
            return "." + percent_encode(value)
        case "matrix", list() if explode:
            return "".join(f";{name}={percent_encode(item)}" for item in value)
        case "matrix", list():
            return f";{name}={','.join(map(percent_encode, value))}"
        case "matrix", dict() if explode:
            return ";" + join_pairs(value, ";", "=", percent_encode)
        case "matrix", dict():
            return f";{name}={join_pairs(value, ',', ',', percent_encode)}"
        case "matrix", _:
            return f";{name}={percent_encode(value)}"
    return format_simple(value, explode, percent_encode)


def format_query(parameter: Parameter, value: JsonValue) -> list[str]:
    """Return encoded pairs, to be joined by `&`. Without a style, lists and objects become one pair per element."""
    name, style = percent_encode(parameter.name), parameter.style or "form"
    explode = parameter.explode if parameter.style else True
    match value:
        case dict() if style == "deepObject":
            return [f"{name}[{percent_encode(key)}]={percent_encode(item)}" for key, item in value.items()]
        case list() if explode or style not in SEPARATORS:
            return [f"{name}={percent_encode(item)}" for item in value]
        case list():
            return [f"{name}={SEPARATORS[style].join(map(percent_encode, value))}"]
        case dict() if explode:
            return [f"{percent_encode(key)}={percent_encode(item)}" for key, item in value.items()]
        case dict():
            between = SEPARATORS.get(style, ",")
            return [f"{name}={join_pairs(value, between, between, percent_encode)}"]
    return [f"{name}={percent_encode(value)}"]


def format_header(parameter: Parameter, value: JsonValue) -> str:
    return format_simple(value, parameter.explode, format_value)


def format_cookie(parameter: Parameter, value: JsonValue) -> list[tuple[str, str]]:
    """Return names and values, escaped so that a value cannot end the cookie."""
    written = (pair.partition("=") for pair in format_query(parameter, value))
    return [(name, text) for name, _, text in written]


def format_simple(value: JsonValue, explode: bool, write: Callable[[JsonValue], str]) -> str:
    match value:
        case list():
            return ",".join(map(write, value))
        case dict():
            return join_pairs(value, ",", "=" if explode else ",", write)
    return write(value)


def join_pairs(value: dict[str, JsonValue], between: str, inside: str, write: Callable[[JsonValue], str]) -> str:
    return between.join(f"{write(key)}{inside}{write(item)}" for key, item in value.items())
