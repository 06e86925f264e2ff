"""The form of calls with arguments in tags: strings without quotes, other values as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rightseat.core.errors import SchemaNotSupported
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.nodes import Concat, LiteralText, Node
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.reader import InvalidOutput, Reader, find_mismatch
from rightseat.models.completion.parsing.source import Reading, TextSource
from rightseat.models.completion.styles.forms import describe_schema_place, make_optional, to_json

UNSUPPORTED_KEYWORDS = frozenset(
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
"""Keywords that constrain an object beyond its members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedCall:
    """`before` and `then` enclose a tool's name, `key` and `value` a parameter's name; `end` follows its value.

    `inner` encloses values, `gap` separates tags. `kinds` marks a value as a string or as JSON.
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

    def node(self, tool: Tool, builder: GrammarBuilder) -> Node:
        builder.arguments(
            tool.parameters, describe_schema_place(tool)
        )  # raises for schemas that no grammar can enforce
        self._check(tool)
        properties, required = list_members(tool.parameters)
        parts: list[Node] = [LiteralText(self.mark)]
        if self.before:  # a token may contain the end of the mark and the line break
            parts += [make_optional(LiteralText(self.gap)), LiteralText(self.before)]
        parts.append(LiteralText(tool.name + self.then.rstrip() + self.gap))
        for key, schema in properties.items():
            parameter = self._parameter(key, schema, tool, builder)
            parts.append(parameter if key in required else make_optional(parameter))
        return Concat((*parts, LiteralText(self.close)))

    def _check(self, tool: Tool) -> None:
        """Reject what can be written in JSON but not in tags."""
        if found := UNSUPPORTED_KEYWORDS.intersection(tool.parameters):
            raise SchemaNotSupported(
                f"{describe_schema_place(tool)}: `{min(found)}` cannot be enforced in this model's form of a call. "
                "Declare the arguments with `properties` and `required` alone."
            )
        for key in list_members(tool.parameters)[0]:
            if any(mark in key for mark in (self.end, "\n", "<", ">", '"')) or not key:
                raise SchemaNotSupported(
                    f"{describe_schema_place(tool)}: `properties` has the name {key[:80]!r}, which this model's form "
                    "of a call cannot hold. Use letters, digits and underscores."
                )

    def _parameter(self, key: str, schema: JsonValue, tool: Tool, builder: GrammarBuilder) -> Node:
        head, tail = self.key + key + self.value, self.inner + self.end + self.gap
        whole = make_standalone(schema, tool.parameters)
        place = f"{describe_schema_place(tool)}/properties/{key}"
        if (text := builder.text(whole, place, self.inner + self.end)) is not None:
            return Concat((LiteralText(head + self.kinds[0] + self.inner), text, LiteralText(tail)))
        return Concat((LiteralText(head + self.kinds[1] + self.inner), builder.value(whole, place), LiteralText(tail)))

    def read(self, reader: Reader) -> Reading[None]:
        source = reader.source
        yield from source.spaces()
        if not (yield from source.literal(self.before)):
            raise InvalidOutput("a call with an unexpected start")
        name = yield from source.word(self.then)
        if name is None:
            raise InvalidOutput("a call without a name")
        name = name.strip()
        reader.start_call(name)
        first = True
        while True:
            yield from source.spaces()
            if not (yield from source.literal(self.key)):
                break
            key = yield from self._read_key(source)
            if key is None:
                raise InvalidOutput(f"a parameter of {name!r} without a name")
            kind = yield from source.one_of(*self.kinds) if self.kinds[0] else _none()
            reader.add_arguments(f"{'{' if first else ', '}{to_json(key)}: ")
            yield from self._read_value(reader, name, key, kind)
            first = False
        if not (yield from self._read_close(source)):
            raise InvalidOutput(f"the call of {name!r} has no end")
        reader.add_arguments("{}" if first else "}")
        reader.end_call()

    def _read_key(self, source: TextSource) -> Reading[str | None]:
        first, _, rest = self.value.partition("\n")
        key = yield from source.word(first)
        if rest:
            yield from source.spaces()
            yield from source.literal(rest)
        return key

    def _read_value(self, reader: Reader, name: str, key: str, kind: str | None) -> Reading[None]:
        schema = make_standalone(list_members(reader.schemas[name])[0].get(key, True), reader.schemas[name])
        text = kind == self.kinds[0] if kind else is_string(schema)
        piece = StringValueWriter(reader) if text else JsonValueWriter(reader, True if kind else schema)
        if self.inner:
            yield from reader.source.literal(self.inner)
        if not (yield from reader.source.until(self.end, piece.add)):
            raise InvalidOutput("a parameter has no end")
        piece.close()

    def _read_close(self, source: TextSource) -> Reading[bool]:
        for part in self.close.split():
            yield from source.spaces()
            if not (yield from source.closing(part)):
                return False
        return True


def _none() -> Reading[None]:
    return None
    yield


class StringValueWriter:
    """Writes a streamed string as JSON. The line break before a closing tag is not part of it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._held = ""
        reader.add_arguments('"')

    def add(self, text: str) -> None:
        text = self._held + text
        self._held = "\n" if text.endswith("\n") else ""
        if text := text.removesuffix("\n"):
            self._reader.add_arguments(to_json(text)[1:-1])

    def close(self) -> None:
        self._reader.add_arguments('"')


class JsonValueWriter:
    """Buffers a value and writes it as JSON, or as a string if only that is valid."""

    def __init__(self, reader: Reader, schema: JsonValue) -> None:
        self._reader = reader
        self._check = validation.compile_schema(schema if isinstance(schema, dict) else bool(schema))
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def close(self) -> None:
        text = "".join(self._parts).removesuffix("\n")
        as_string = to_json(text)
        is_json = not find_mismatch(text, self._check) or find_mismatch(as_string, self._check)
        self._reader.add_arguments(text.strip() if is_json else as_string)


def make_standalone(schema: JsonValue, root: Mapping[str, JsonValue]) -> JsonValue:
    """Return the schema of a parameter together with the definitions that it may refer to."""
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


def list_members(schema: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    """Return the properties of an object, and the names of the required ones."""
    properties, required = schema.get("properties"), schema.get("required")
    return (
        properties if isinstance(properties, dict) else {},
        [key for key in required if isinstance(key, str)] if isinstance(required, list) else [],
    )
