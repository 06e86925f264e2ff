"""Calls whose arguments stand in tags: strings as they are, everything else as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.errors import Unenforceable
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue
from rightseat.models.completion.grammar.nodes import Literal, Node
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Broken, Reader
from rightseat.models.completion.reading.source import Reading, Source
from rightseat.models.completion.styles.forms import json, optional, where


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """`before` and `then` stand around a tool's name, `key` and `value` around that of a parameter, `end` behind it.

    `inner` stands around values, `gap` between tags. `kinds` is how the tag says that its value is a string, or JSON.
    """

    mark: str
    before: str = ""
    then: str
    key: str
    value: str
    end: str
    close: str
    gap: str = "\n"
    inner: str = "\n"
    kinds: tuple[str, str] = ("", "")

    def node(self, tool: Tool, builder: Builder) -> Node:
        builder.arguments(tool.parameters, where(tool))  # refuses what no grammar can hold a model to
        properties, required = members(tool)
        parts: list[Node] = [Literal(self.mark)]
        if self.before:  # a token may hold the end of the mark and the line's end
            parts += [optional(Literal(self.gap)), Literal(self.before)]
        parts.append(Literal(tool.name + self.then.rstrip() + self.gap))
        for key, schema in properties.items():
            if any(mark in key for mark in (self.value, self.end, "\n", "<", ">", '"')):
                raise Unenforceable(
                    f"The tool {tool.name!r} has a property {key!r} (properties), which this model's form of a call "
                    "cannot hold. Name it with letters, digits and underscores."
                )
            parameter = self._parameter(key, schema, tool, builder)
            parts.append(parameter if key in required else optional(parameter))
        return Order((*parts, Literal(self.close)))

    def _parameter(self, key: str, schema: JsonValue, tool: Tool, builder: Builder) -> Node:
        head, tail = self.key + key + self.value, self.inner + self.end + self.gap
        around = {name: tool.parameters[name] for name in ("$defs", "definitions") if name in tool.parameters}
        whole = {**around, **schema} if isinstance(schema, dict) else schema
        place = f"{where(tool)}/properties/{key}"
        if (text := builder.text(whole, place, self.inner + self.end)) is not None:
            return Order((Literal(head + self.kinds[0] + self.inner), text, Literal(tail)))
        return Order((Literal(head + self.kinds[1] + self.inner), builder.value(whole, place), Literal(tail)))

    def read(self, reader: Reader) -> Reading[None]:
        source = reader.source
        yield from source.spaces()
        if not (yield from source.literal(self.before)):
            raise Broken("a call that does not begin as it should")
        name = yield from source.word(self.then)
        if name is None:
            raise Broken("a call without a name")
        name = name.strip()
        reader.begin(name)
        properties, first = members_of(reader.schemas[name])[0], True
        while True:
            yield from source.spaces()
            if not (yield from source.literal(self.key)):
                break
            key = yield from self._read_key(source)
            if key is None:
                raise Broken(f"a parameter of {name!r} without a name")
            kind = yield from source.one_of(*self.kinds) if self.kinds[0] else _none()
            reader.argue(f"{'{' if first else ', '}{json(key)}: ")
            yield from self._read_value(reader, properties.get(key), kind)
            first = False
        reader.argue("{}" if first else "}")
        if not (yield from self._read_close(source)):
            raise Broken(f"the call of {name!r} has no end")
        reader.finish()

    def _read_key(self, source: Source) -> Reading[str | None]:
        first, _, rest = self.value.partition("\n")
        key = yield from source.word(first)
        if rest:
            yield from source.spaces()
            yield from source.literal(rest)
        return key

    def _read_value(self, reader: Reader, schema: JsonValue, kind: str | None) -> Reading[None]:
        text = kind == self.kinds[0] if kind else is_string(schema)
        piece = Escaping(reader) if text else Gathering(reader, schema)
        if self.inner:
            yield from reader.source.literal(self.inner)
        if not (yield from reader.source.until(self.end, piece.add)):
            if text:
                return  # cut short
            raise Broken("a parameter has no end")
        piece.close()

    def _read_close(self, source: Source) -> Reading[bool]:
        for part in self.close.split():
            yield from source.spaces()
            if not (yield from source.closing(part)):
                return False
        return True


def _none() -> Reading[None]:
    return None
    yield


class Escaping:
    """A string as it comes, written as JSON. The line's end before a closing tag is not part of it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._held = ""
        reader.argue('"')

    def add(self, text: str) -> None:
        text = self._held + text
        self._held = "\n" if text.endswith("\n") else ""
        if text := text.removesuffix("\n"):
            self._reader.argue(json(text)[1:-1])

    def close(self) -> None:
        self._reader.argue('"')


class Gathering:
    """A value that is JSON; or, where the schema leaves it open, a string that looks like none."""

    def __init__(self, reader: Reader, schema: JsonValue) -> None:
        self._reader = reader
        self._schema = schema
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def close(self) -> None:
        text = "".join(self._parts)
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            text = json(text.removesuffix("\n"))
        self._reader.argue(text.strip())


def is_string(schema: JsonValue) -> bool:
    match schema:
        case {"enum": [*values]}:
            return all(isinstance(value, str) for value in values)
        case {"const": value}:
            return isinstance(value, str)
        case {"type": "string"}:
            return True
    return False


def members(tool: Tool) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    return members_of(tool.parameters)


def members_of(schema: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    """The properties of an object, and which of them must be there."""
    properties, required = schema.get("properties"), schema.get("required")
    return (
        properties if isinstance(properties, dict) else {},
        [key for key in required if isinstance(key, str)] if isinstance(required, list) else [],
    )
