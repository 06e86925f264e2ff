"""Calls whose arguments stand in tags: strings as they are, everything else as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rightseat.core.errors import Unenforceable
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue
from rightseat.models.completion.grammar import checking
from rightseat.models.completion.grammar.nodes import Literal, Node
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Broken, Reader, misfit
from rightseat.models.completion.reading.source import Reading, Source
from rightseat.models.completion.styles.forms import json, optional, where

COMBINED = frozenset(
    {
        "$ref",
        "allOf",
        "anyOf",
        "const",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "enum",
        "maxProperties",
        "minProperties",
        "oneOf",
        "patternProperties",
    }
)
"""What says more of an object than which members it has."""


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
        self._check(tool)
        properties, required = members(tool.parameters)
        parts: list[Node] = [Literal(self.mark)]
        if self.before:  # a token may hold the end of the mark and the line's end
            parts += [optional(Literal(self.gap)), Literal(self.before)]
        parts.append(Literal(tool.name + self.then.rstrip() + self.gap))
        for key, schema in properties.items():
            parameter = self._parameter(key, schema, tool, builder)
            parts.append(parameter if key in required else optional(parameter))
        return Order((*parts, Literal(self.close)))

    def _check(self, tool: Tool) -> None:
        """Refuse what can be said in JSON, and not in tags."""
        if found := COMBINED.intersection(tool.parameters):
            raise Unenforceable(
                f"{where(tool)}: `{min(found)}` cannot be enforced in this model's form of a call. Declare the "
                "arguments with `properties` and `required` alone."
            )
        for key in members(tool.parameters)[0]:
            if any(mark in key for mark in (self.end, "\n", "<", ">", '"')) or not key:
                raise Unenforceable(
                    f"{where(tool)}: `properties` has the name {key[:80]!r}, which this model's form of a call cannot "
                    "hold. Use letters, digits and underscores."
                )

    def _parameter(self, key: str, schema: JsonValue, tool: Tool, builder: Builder) -> Node:
        head, tail = self.key + key + self.value, self.inner + self.end + self.gap
        whole = standing(schema, tool.parameters)
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
        first = True
        while True:
            yield from source.spaces()
            if not (yield from source.literal(self.key)):
                break
            key = yield from self._read_key(source)
            if key is None:
                raise Broken(f"a parameter of {name!r} without a name")
            kind = yield from source.one_of(*self.kinds) if self.kinds[0] else _none()
            reader.argue(f"{'{' if first else ', '}{json(key)}: ")
            yield from self._read_value(reader, name, key, kind)
            first = False
        if not (yield from self._read_close(source)):
            raise Broken(f"the call of {name!r} has no end")
        reader.argue("{}" if first else "}")
        reader.finish()

    def _read_key(self, source: Source) -> Reading[str | None]:
        first, _, rest = self.value.partition("\n")
        key = yield from source.word(first)
        if rest:
            yield from source.spaces()
            yield from source.literal(rest)
        return key

    def _read_value(self, reader: Reader, name: str, key: str, kind: str | None) -> Reading[None]:
        schema = standing(members(reader.schemas[name])[0].get(key, True), reader.schemas[name])
        text = kind == self.kinds[0] if kind else is_string(schema)
        piece = Escaping(reader) if text else Gathering(reader, True if kind else schema)
        if self.inner:
            yield from reader.source.literal(self.inner)
        if not (yield from reader.source.until(self.end, piece.add)):
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
    """A value that is JSON; or a string, where that is what fits."""

    def __init__(self, reader: Reader, schema: JsonValue) -> None:
        self._reader = reader
        self._check = checking.compile(schema if isinstance(schema, dict) else bool(schema))
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def close(self) -> None:
        text = "".join(self._parts).removesuffix("\n")
        as_string = json(text)
        is_json = not misfit(text, self._check) or misfit(as_string, self._check)
        self._reader.argue(text.strip() if is_json else as_string)


def standing(schema: JsonValue, root: Mapping[str, JsonValue]) -> JsonValue:
    """The schema of a parameter by itself, with what it may refer to."""
    around = {name: root[name] for name in ("$defs", "definitions") if name in root}
    return {**around, **schema} if isinstance(schema, dict) else schema


def is_string(schema: JsonValue) -> bool:
    match schema:
        case {"enum": [*values]}:
            return all(isinstance(value, str) for value in values)
        case {"const": value}:
            return isinstance(value, str)
        case {"type": "string"}:
            return True
    return False


def members(schema: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    """The properties of an object, and which of them must be there."""
    properties, required = schema.get("properties"), schema.get("required")
    return (
        properties if isinstance(properties, dict) else {},
        [key for key in required if isinstance(key, str)] if isinstance(required, list) else [],
    )
