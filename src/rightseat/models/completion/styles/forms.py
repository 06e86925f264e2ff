"""Forms of tool calls. Each form has the grammar of a call and its parser, so that the two stay consistent.

Enveloped   <tool_call>{"name": "f", "arguments": {…}}</tool_call>           the name inside the JSON
Named       <function=f>{…}</function>                                       the name before the JSON
Tagged      <function=f><parameter=k>v</parameter></function>                in `tagged`: strings without quotes
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.reader import InvalidOutput, Reader
from rightseat.models.completion.parsing.source import Reading

MAX_CALLS = 16


class CallForm(Protocol):
    @property
    def mark(self) -> str:
        """The beginning of every call, which no text contains."""
        ...

    def node(self, tool: Tool, builder: GrammarBuilder) -> Node:
        """Build the grammar of a call. Raises `SchemaNotSupported` if no grammar can enforce the tool's schema."""
        ...

    def read(self, reader: Reader) -> Reading[None]:
        """Parse a call after its mark."""
        ...


def dump_json(value: object) -> str:
    """Write JSON as models were trained to: a space after commas and colons, letters not escaped."""
    return json.dumps(value, ensure_ascii=False)


def to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def describe_schema_place(tool: Tool) -> str:
    """Return the beginning of messages about a tool's schema."""
    return f"tool {tool.name!r}: parameters"


def make_optional(node: Node) -> Node:
    return Repeat(node, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopedCall:
    """`extra` follows the arguments (for example an id), `first` precedes the name.

    The parser accepts name and arguments in any order; the grammar allows the name last if `either_order` is set.
    """

    mark: str
    close: str = ""
    gap: str = ""
    name: str = "name"
    arguments: str = "arguments"
    first: tuple[Node, ...] = ()
    extra: tuple[Node, ...] = ()
    either_order: bool = False

    def node(self, tool: Tool, builder: GrammarBuilder) -> Node:
        head = f'"{self.name}": {to_json(tool.name)}, "{self.arguments}": '
        arguments = builder.named("arguments", builder.arguments(tool.parameters, describe_schema_place(tool)))
        # a token may contain the end of the mark and the line break, so the gap is optional if the model starts a call
        gap = (make_optional(LiteralText(self.gap)),) if self.gap else ()
        start = (LiteralText("{"), *self.first, LiteralText(head)) if self.first else (LiteralText("{" + head),)
        mark = (LiteralText(self.mark),) if self.mark else ()
        body: Node = Concat((*start, arguments, *self.extra))
        if self.either_order:
            name_last = LiteralText(f', "{self.name}": {to_json(tool.name)}')
            body = Choice((body, Concat((LiteralText(f'{{"{self.arguments}": '), arguments, name_last))))
        return Concat((*mark, *gap, body, LiteralText("}" + self.gap + self.close)))

    def read(self, reader: Reader) -> Reading[None]:
        source = reader.source
        yield from source.spaces()
        if not (yield from read_envelope(reader, (self.name,), (self.arguments,))):
            raise InvalidOutput("a call that is not a JSON object with a name and arguments")
        yield from source.spaces()
        yield from source.closing(self.close.strip())


def read_envelope(reader: Reader, names: Sequence[str], arguments: Sequence[str]) -> Reading[bool]:
    """Parse `{"name": …, "arguments": {…}}` in any order, with other members. False if it is something else.

    The call starts once its name is known; arguments that come first are buffered until then.
    """
    source, name, argued = reader.source, None, False
    kept: list[str] = []
    if not (yield from source.literal("{")):
        return False
    while True:
        yield from source.spaces()
        key = yield from source.string()
        yield from source.spaces()
        if key is None or not (yield from source.literal(":")):
            return False
        yield from source.spaces()
        if key in names and name is None:
            name = yield from source.string()
            if name is None:
                return False
            reader.start_call(name)
            for text in kept:
                reader.add_arguments(text)
        elif key in arguments and not argued:
            argued = yield from source.value(kept.append if name is None else reader.add_arguments, only="{")
            if not argued:
                return False
        elif not (yield from source.value(_ignore)):
            return False
        yield from source.spaces()
        if (yield from source.literal("}")):
            break
        if not (yield from source.literal(",")):
            return False
    if name is None or not argued:
        return False
    reader.end_call()
    return True


def _ignore(text: str) -> None:
    """Ignore a member of a call that is not needed, such as its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCall:
    """`numbered`: the name is followed by `:` and the number of the call."""

    mark: str
    then: str
    close: str = ""
    numbered: bool = False

    def node(self, tool: Tool, builder: GrammarBuilder) -> Node:
        arguments = builder.named("arguments", builder.arguments(tool.parameters, describe_schema_place(tool)))
        if not self.numbered:
            return Concat((LiteralText(f"{self.mark}{tool.name}{self.then}"), arguments, LiteralText(self.close)))
        head = (LiteralText(f"{self.mark}{tool.name}:"), Repeat(Chars(((48, 57),)), 1, 2), LiteralText(self.then))
        return Concat((*head, arguments, LiteralText(self.close)))

    def read(self, reader: Reader) -> Reading[None]:
        name = yield from reader.source.word(self.then)
        if name is None:
            raise InvalidOutput("a call without a name")
        yield from self.read_arguments(reader, name.rpartition(":")[0] if self.numbered else name)

    def read_arguments(self, reader: Reader, name: str) -> Reading[None]:
        source = reader.source
        reader.start_call(name.strip())
        yield from source.spaces()
        if not (yield from source.value(reader.add_arguments, only="{")):
            raise InvalidOutput(f"the arguments of {name.strip()!r} have no end")
        reader.end_call()
        yield from source.spaces()
        yield from source.closing(self.close.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSection:
    """One call, or several: `begin`, `opens`, calls with `between` between them, `end`."""

    form: CallForm
    begin: str = ""
    opens: str = ""
    between: str = ""
    end: str = ""
    several: bool = True

    @property
    def mark(self) -> str:
        return self.begin or self.form.mark

    def node(self, calls: Sequence[Node], *, several: bool) -> Node:
        one: Node = calls[0] if len(calls) == 1 else Choice(tuple(calls))
        parts: list[Node] = [LiteralText(self.begin + self.opens)] if self.begin else []
        parts.append(one)
        if several and self.several:
            parts.append(Repeat(Concat((LiteralText(self.between), one)) if self.between else one, 0, MAX_CALLS - 1))
        if self.end:
            parts.append(LiteralText(self.end))
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def read(self, reader: Reader) -> Reading[None]:
        """Parse what follows the mark, up to the end of the section, if there is one."""
        if not self.begin:
            yield from self.form.read(reader)
            return
        source = reader.source
        yield from source.spaces()
        if not (yield from source.literal(self.opens.strip())):
            raise InvalidOutput("calls with an unexpected start")
        while True:
            yield from source.spaces()
            if self.form.mark and not (yield from source.literal(self.form.mark.strip())):
                raise InvalidOutput("calls with an unexpected start")
            yield from self.form.read(reader)
            yield from source.spaces()
            if (yield from source.closing(self.end.strip())):
                return
            if self.between.strip():
                yield from source.literal(self.between.strip())
                yield from source.spaces()
            if source.ended and source.at >= len(source.text):
                return  # the model's end token replaced the end of the section
