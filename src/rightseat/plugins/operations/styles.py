"""How OpenAPI writes a value into a path, a query, a header or a cookie: `style` and `explode`."""

import json
from collections.abc import Callable
from urllib.parse import quote

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Parameter

BETWEEN = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def plain(value: JsonValue) -> str:
    """A string as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoded(value: JsonValue) -> str:
    """Every character that means something in an address is escaped."""
    return quote(plain(value), safe="")


def in_path(parameter: Parameter, value: JsonValue) -> str:
    name, explode = encoded(parameter.name), parameter.explode
    match parameter.style or "simple", value:
        case "label", list():
            return "." + ("." if explode else ",").join(map(encoded, value))
        case "label", dict():
            return "." + pairs(value, "." if explode else ",", "=" if explode else ",", encoded)
        case "label", _:
            return "." + encoded(value)
        case "matrix", list() if explode:
            return "".join(f";{name}={encoded(item)}" for item in value)
        case "matrix", list():
            return f";{name}={','.join(map(encoded, value))}"
        case "matrix", dict() if explode:
            return ";" + pairs(value, ";", "=", encoded)
        case "matrix", dict():
            return f";{name}={pairs(value, ',', ',', encoded)}"
        case "matrix", _:
            return f";{name}={encoded(value)}"
    return simple(value, explode, encoded)


def in_query(parameter: Parameter, value: JsonValue) -> list[str]:
    """The pairs, ready to be joined by `&`. Without a style, lists and objects are one pair an element."""
    name, style = encoded(parameter.name), parameter.style or "form"
    explode = parameter.explode if parameter.style else True
    match value:
        case dict() if style == "deepObject":
            return [f"{name}[{encoded(key)}]={encoded(item)}" for key, item in value.items()]
        case list() if explode or style not in BETWEEN:
            return [f"{name}={encoded(item)}" for item in value]
        case list():
            return [f"{name}={BETWEEN[style].join(map(encoded, value))}"]
        case dict() if explode:
            return [f"{encoded(key)}={encoded(item)}" for key, item in value.items()]
        case dict():
            between = BETWEEN.get(style, ",")
            return [f"{name}={pairs(value, between, between, encoded)}"]
    return [f"{name}={encoded(value)}"]


def in_header(parameter: Parameter, value: JsonValue) -> str:
    return simple(value, parameter.explode, plain)


def in_cookie(parameter: Parameter, value: JsonValue) -> list[tuple[str, str]]:
    """Names and values. What would end a cookie is escaped."""
    written = (pair.partition("=") for pair in in_query(parameter, value))
    return [(name, text) for name, _, text in written]


def simple(value: JsonValue, explode: bool, write: Callable[[JsonValue], str]) -> str:
    match value:
        case list():
            return ",".join(map(write, value))
        case dict():
            return pairs(value, ",", "=" if explode else ",", write)
    return write(value)


def pairs(value: dict[str, JsonValue], between: str, inside: str, write: Callable[[JsonValue], str]) -> str:
    return between.join(f"{write(key)}{inside}{write(item)}" for key, item in value.items())
