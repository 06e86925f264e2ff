"""The worker process that renders chat templates for `templates.py`, without any import of rightseat.

Requests and responses are JSON with their length in four bytes before them:

    {"source": …, "names": {…}}  →  {"text": …}, {"refused": the template's own message}, or {"failed": the error}
"""

import contextlib
import datetime
import json
import struct
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

import minijinja

MAX_STEPS = 5_000_000  # of a template; fifty long messages with a hundred tools take 30,000
MAX_MEMORY_BYTES = 512 << 20
MAX_PROMPT_CHARS = 16 << 20
MAX_ERROR_CHARS = 300


class Refused(Exception):
    """The template's own `raise_exception`."""


def main(requests: BinaryIO, responses: BinaryIO) -> None:
    limit_memory(MAX_MEMORY_BYTES)
    while head := requests.read(4):
        request = requests.read(*struct.unpack(">I", head))
        response = json.dumps(render(request), ensure_ascii=False).encode("utf-8", "replace")
        responses.write(struct.pack(">I", len(response)) + response)
        responses.flush()


def limit_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:
        return  # not a Unix: time and steps are still limited
    for limit, maximum in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS refuses a limit of the address space
            resource.setrlimit(limit, (maximum, maximum))


def render(request: bytes) -> dict[str, str]:
    try:
        text = render_text(json.loads(request)["source"], request)
    except Refused as refused:
        return {"refused": str(refused)[:MAX_ERROR_CHARS]}
    except MemoryError:
        return {"failed": "it exceeds its memory limit"}
    except Exception as error:
        return {"failed": f"{getattr(error, 'message', None) or error}"[:MAX_ERROR_CHARS]}
    return (
        {"text": text}
        if len(text) <= MAX_PROMPT_CHARS
        else {"failed": f"its output has more than {MAX_PROMPT_CHARS:,} characters"}
    )


def render_text(source: str, request: bytes) -> str:
    """Use MiniJinja, which is sandboxed and counts steps; Jinja for templates with features that MiniJinja lacks."""
    if source not in _needing_jinja:
        try:
            return prepare(source)(json.loads(request)["names"])
        except minijinja.TemplateError as error:
            if error.kind not in UNSUPPORTED_ERRORS:
                raise
        _needing_jinja.add(source)
    return prepare_in_jinja(source)(json.loads(request)["names"])


UNSUPPORTED_ERRORS = (
    "SyntaxError",
    "UnknownMethod",
    "UnknownFilter",
    "UnknownFunction",
    "UnknownTest",
    "InvalidOperation",
)

_needing_jinja: set[str] = set()


@lru_cache(maxsize=32)
def prepare(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Parse a template once for all its prompts."""
    environment = minijinja.Environment(
        templates={"chat": source},
        fuel=MAX_STEPS,
        debug=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_escape_callback=lambda _: False,
        filters=FILTERS,
        globals=FUNCTIONS,
    )
    return lambda names: environment.render_template("chat", **names)


@lru_cache(maxsize=32)
def prepare_in_jinja(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Jinja is imported only by a process that needs it."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks the model's output for training; it does not change a prompt."""

        tags = {"generation"}  # noqa: RUF012 (Jinja's own way)

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters.update(FILTERS)
    environment.globals.update(FUNCTIONS)
    template = environment.from_string(source)
    return lambda names: template.render(**names)


def tojson(value: Any, indent: int | None = None, **more: Any) -> str:
    """Behaves like Hugging Face's filter: no HTML escapes, key order and characters unchanged."""
    separators = more.get("separators")
    return json.dumps(
        value,
        ensure_ascii=bool(more.get("ensure_ascii", False)),
        indent=indent,
        separators=tuple(separators) if separators else None,
        sort_keys=bool(more.get("sort_keys", False)),
    )


def from_json(value: Any) -> Any:
    """Templates of DeepSeek read the arguments of calls with it."""
    return json.loads(value) if isinstance(value, str) else value


def raise_exception(message: object = "") -> None:
    raise Refused(message)


def strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


FILTERS: dict[str, Callable[..., Any]] = {"tojson": tojson, "from_json": from_json}
FUNCTIONS: dict[str, Callable[..., Any]] = {"raise_exception": raise_exception, "strftime_now": strftime_now}


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
