"""The program that renders chat templates, for `templates.py`. It is started as a file, and imports nothing of ours.

An order and an answer are JSON with their length before them, in four bytes:

    {"source": …, "names": {…}}  →  {"text": …}, {"refused": what the template said}, or {"failed": what is wrong}
"""

import datetime
import json
import struct
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

import minijinja

FUEL = 5_000_000  # steps of the template's own; fifty long messages with a hundred tools take 30,000
MEMORY = 512 << 20  # bytes
LONGEST = 16 << 20  # characters of a prompt
SAID = 300  # characters of what is wrong


class Refused(Exception):
    """The template's own `raise_exception`."""


def main(orders: BinaryIO, answers: BinaryIO) -> None:
    bound(MEMORY)
    while head := orders.read(4):
        order = orders.read(*struct.unpack(">I", head))
        answer = json.dumps(render(order), ensure_ascii=False).encode("utf-8", "replace")
        answers.write(struct.pack(">I", len(answer)) + answer)
        answers.flush()


def bound(memory: int) -> None:
    try:
        import resource
    except ImportError:
        return  # not a Unix: time and fuel bound it still
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def render(order: bytes) -> dict[str, str]:
    try:
        text = write(json.loads(order)["source"], order)
    except Refused as refused:
        return {"refused": str(refused)[:SAID]}
    except MemoryError:
        return {"failed": "it takes more memory than it may"}
    except Exception as error:
        return {"failed": f"{getattr(error, 'message', None) or error}"[:SAID]}
    return {"text": text} if len(text) <= LONGEST else {"failed": f"it writes more than {LONGEST:,} characters"}


def write(source: str, order: bytes) -> str:
    """By MiniJinja, which has no way out and counts its steps; by Jinja where MiniJinja lacks a word."""
    if source not in _needing_jinja:
        try:
            return prepare(source)(json.loads(order)["names"])
        except minijinja.TemplateError as error:
            if error.kind not in LACKING:
                raise
        _needing_jinja.add(source)
    return prepare_in_jinja(source)(json.loads(order)["names"])


LACKING = ("SyntaxError", "UnknownMethod", "UnknownFilter", "UnknownFunction", "UnknownTest", "InvalidOperation")

_needing_jinja: set[str] = set()


@lru_cache(maxsize=32)
def prepare(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Parsed once for all its prompts."""
    environment = minijinja.Environment(
        templates={"chat": source},
        fuel=FUEL,
        debug=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_escape_callback=lambda _: False,
        filters={"tojson": tojson},
        globals=FUNCTIONS,
    )
    return lambda names: environment.render_template("chat", **names)


@lru_cache(maxsize=32)
def prepare_in_jinja(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Imported only by a process that needs it."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks for a training what the model said; a prompt is the same without it."""

        tags = {"generation"}  # noqa: RUF012 (Jinja's own way)

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = tojson
    environment.globals.update(FUNCTIONS)
    template = environment.from_string(source)
    return lambda names: template.render(**names)


def tojson(value: Any, indent: int | None = None, **more: Any) -> str:
    """As Hugging Face's: no escapes for HTML, keys in their order, characters as they are."""
    separators = more.get("separators")
    return json.dumps(
        value,
        ensure_ascii=bool(more.get("ensure_ascii", False)),
        indent=indent,
        separators=tuple(separators) if separators else None,
        sort_keys=bool(more.get("sort_keys", False)),
    )


def raise_exception(message: object = "") -> None:
    raise Refused(message)


def strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


FUNCTIONS: dict[str, Callable[..., Any]] = {"raise_exception": raise_exception, "strftime_now": strftime_now}


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
