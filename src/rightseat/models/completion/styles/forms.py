"""How a call is written: as a grammar, and read back. Each form holds both, so that they cannot drift apart.

Enveloped   <tool_call>{"name": "f", "arguments": {…}}</tool_call>           the name inside the JSON
Named       <function=f>{…}</function>                                       the name before the JSON
Tagged      <function=f><parameter=k>v</parameter></function>                in `tagged`: strings without quotes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Broken, Reader
from rightseat.models.completion.reading.source import Reading

MOST_CALLS = 16


class Form(Protocol):
    @property
    def mark(self) -> str:
        """What every call begins with, and no text holds."""
        ...

    def node(self, tool: Tool, builder: Builder) -> Node:
        """A whole call of this tool. Raises `Unenforceable` where no grammar can hold a model to its schema."""
        ...

    def read(self, reader: Reader) -> Reading[None]:
        """A call whose mark was passed over already."""
        ...


def json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def where(tool: Tool) -> str:
    """How a message about a tool's schema begins."""
    return f"tool {tool.name!r}: parameters"


def optional(node: Node) -> Node:
    return Repeat(node, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enveloped:
    """`extra` is what stands behind the arguments (an id, say), `first` what stands before the name.

    Calls are read with name and arguments in any order; a grammar allows the name last where `either_order` is set.
    """

    mark: str
    close: str = ""
    gap: str = ""
    name: str = "name"
    arguments: str = "arguments"
    first: tuple[Node, ...] = ()
    extra: tuple[Node, ...] = ()
    either_order: bool = False

    def node(self, tool: Tool, builder: Builder) -> Node:
        head = f'"{self.name}": {json(tool.name)}, "{self.arguments}": '
        arguments = builder.named("arguments", builder.arguments(tool.parameters, where(tool)))
        # a token may hold the end of the mark and the line's end, so the gap is free where a model begins by itself
        gap = (optional(Literal(self.gap)),) if self.gap else ()
        start = (Literal("{"), *self.first, Literal(head)) if self.first else (Literal("{" + head),)
        mark = (Literal(self.mark),) if self.mark else ()
        body: Node = Order((*start, arguments, *self.extra))
        if self.either_order:
            name_last = Literal(f', "{self.name}": {json(tool.name)}')
            body = Choice((body, Order((Literal(f'{{"{self.arguments}": '), arguments, name_last))))
        return Order((*mark, *gap, body, Literal("}" + self.gap + self.close)))

    def read(self, reader: Reader) -> Reading[None]:
        source = reader.source
        yield from source.spaces()
        if not (yield from read_envelope(reader, (self.name,), (self.arguments,))):
            raise Broken("a call that is no JSON object with a name and arguments")
        yield from source.spaces()
        yield from source.closing(self.close.strip())


def read_envelope(reader: Reader, names: Sequence[str], arguments: Sequence[str]) -> Reading[bool]:
    """`{"name": …, "arguments": {…}}` in any order, and whatever else stands in it. False where it is something else.

    The call begins once its name is known, so arguments that come first are kept until then.
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
            reader.begin(name)
            for text in kept:
                reader.argue(text)
        elif key in arguments and not argued:
            argued = yield from source.value(kept.append if name is None else reader.argue, only="{")
            if not argued:
                return False
        elif not (yield from source.value(_forget)):
            return False
        yield from source.spaces()
        if (yield from source.literal("}")):
            break
        if not (yield from source.literal(",")):
            return False
    if name is None or not argued:
        return False
    reader.finish()
    return True


def _forget(text: str) -> None:
    """A member of a call that says nothing to us: its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """`numbered`: the name ends with `:` and the number of the call."""

    mark: str
    then: str
    close: str = ""
    numbered: bool = False

    def node(self, tool: Tool, builder: Builder) -> Node:
        arguments = builder.named("arguments", builder.arguments(tool.parameters, where(tool)))
        if not self.numbered:
            return Order((Literal(f"{self.mark}{tool.name}{self.then}"), arguments, Literal(self.close)))
        head = (Literal(f"{self.mark}{tool.name}:"), Repeat(Chars(((48, 57),)), 1, 2), Literal(self.then))
        return Order((*head, arguments, Literal(self.close)))

    def read(self, reader: Reader) -> Reading[None]:
        name = yield from reader.source.word(self.then)
        if name is None:
            raise Broken("a call without a name")
        yield from self.read_arguments(reader, name.rpartition(":")[0] if self.numbered else name)

    def read_arguments(self, reader: Reader, name: str) -> Reading[None]:
        source = reader.source
        reader.begin(name.strip())
        yield from source.spaces()
        if not (yield from source.value(reader.argue, only="{")):
            raise Broken(f"the arguments of {name.strip()!r} have no end")
        reader.finish()
        yield from source.spaces()
        yield from source.closing(self.close.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """One call, or several: `begin`, `opens`, calls with `between` between them, `end`."""

    form: Form
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
        parts: list[Node] = [Literal(self.begin + self.opens)] if self.begin else []
        parts.append(one)
        if several and self.several:
            parts.append(Repeat(Order((Literal(self.between), one)) if self.between else one, 0, MOST_CALLS - 1))
        if self.end:
            parts.append(Literal(self.end))
        return parts[0] if len(parts) == 1 else Order(tuple(parts))

    def read(self, reader: Reader) -> Reading[None]:
        """What follows the mark, up to the end of the section where there is one."""
        if not self.begin:
            yield from self.form.read(reader)
            return
        source = reader.source
        yield from source.spaces()
        if not (yield from source.literal(self.opens.strip())):
            raise Broken("calls that do not begin as they should")
        while True:
            yield from source.spaces()
            if self.form.mark and not (yield from source.literal(self.form.mark.strip())):
                raise Broken("calls that do not begin as they should")
            yield from self.form.read(reader)
            yield from source.spaces()
            if (yield from source.closing(self.end.strip())):
                return
            if self.between.strip():
                yield from source.literal(self.between.strip())
                yield from source.spaces()
            if source.ended and source.at >= len(source.text):
                return  # a model whose end token took the place of the section's
