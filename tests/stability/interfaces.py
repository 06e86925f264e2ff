"""What docs/reference/stability.md freezes, as the code has it: each interface as names with a description.

A value that may get company, such as a type that a key accepts, is a name of its own: one more is an addition.
"""

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import msgspec
from msgspec import inspect as fields

from rightseat.cli import main
from rightseat.core import events, messages
from rightseat.core.tracing import TraceKind
from rightseat.logs.postgres.schema import MIGRATIONS
from rightseat.logs.sqlite.database import SCHEMA
from rightseat.plugins.diagnostics import KINDS
from rightseat.stores.tables import metadata
from rightseat.telemetry import names
from rightseat.telemetry.metrics import Metrics
from tests.access.examples import ROUTES
from tests.core.test_errors import tree
from tests.docs import configuration_schema, operator_api, plugins

MODULES = (
    "rightseat",
    "rightseat.models",
    "rightseat.agents",
    "rightseat.toolboxes",
    "rightseat.faces",
    "rightseat.access",
    "rightseat.limits",
    "rightseat.events",
    "rightseat.messages",
    "rightseat.errors",
    "rightseat.testing",
    "rightseat.django",
)
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Entries = Mapping[str, str]
SOURCES = Path(__file__).parents[2] / "src" / "rightseat"
CUSTOM_EVENT = re.compile(r'\bCustom\(\s*"([a-z_.]+)"')
CREATED_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\n *\);", re.DOTALL)


def read_python() -> Iterator[tuple[str, str]]:
    for name in MODULES:
        module = importlib.import_module(name)
        for public in module.__all__:
            yield from read_object(f"{name}.{public}", getattr(module, public))


def read_object(name: str, found: object) -> Iterator[tuple[str, str]]:
    """A class or a function with its parameters, and the methods of a class with theirs."""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        yield name, "value"
        return
    yield name, "class" if inspect.isclass(found) else "function"
    with suppress(TypeError, ValueError):  # it has no signature of its own
        for parameter in inspect.signature(found).parameters.values():
            if parameter.name != "self":
                yield f"{name}({parameter.name})", describe_argument(parameter)
    for method, inner in inspect.getmembers(found, inspect.isfunction) if inspect.isclass(found) else ():
        if not method.startswith("_") and inner.__module__.startswith("rightseat"):
            yield from read_object(f"{name}.{method}", inner)


def describe_argument(parameter: inspect.Parameter) -> str:
    is_required = parameter.default is parameter.empty and parameter.kind not in VARIABLE
    return f"{parameter.kind.description}{', required' if is_required else ''}"


def read_configuration() -> Iterator[tuple[str, str]]:
    schema = configuration_schema.build_schema()
    yield from read_schema("", schema)
    for part, definition in schema["$defs"].items():
        yield from read_schema(part, definition)


def read_plugin_files() -> Iterator[tuple[str, str]]:
    for file, make in plugins.SCHEMAS.items():
        yield from read_schema(file.name.partition(".")[0], make())
    yield from ((f"diagnostic {code}", "code") for code in KINDS)


def read_schema(place: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys below a JSON Schema: whether each is required, its default, and what it accepts."""
    required = schema.get("required", ())
    for key, inner in schema.get("properties", {}).items():
        name = f"{place}.{key}".lstrip(".")
        yield name, "required" if key in required else "optional"
        if "default" in inner:
            yield f"{name} default", json.dumps(inner["default"])
        yield from ((f"{name} accepts {value}", "value") for value in dict.fromkeys(list_accepted(inner)))
        yield from read_schema(name, inner)
    for combined in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(combined, ()):
            yield from read_schema(place, inner)
            yield from read_schema(place, inner.get("then", {}))
    if isinstance(items := schema.get("items"), dict):
        yield from read_schema(f"{place}[]", items)
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from read_schema(f"{place}.*", values)


def list_accepted(schema: Mapping[str, Any]) -> Iterator[str]:
    if "const" in schema or "enum" in schema:
        yield from map(json.dumps, schema.get("enum", [schema.get("const")]))
    elif "type" in schema:
        kinds = schema["type"]
        yield from [kinds] if isinstance(kinds, str) else kinds
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    for combined in ("anyOf", "oneOf"):
        for inner in schema.get(combined, ()):
            yield from list_accepted(inner)


def read_wire() -> Iterator[tuple[str, str]]:
    """Routes of all faces, fields of the operator API, events of runs and what they hold, names of `Custom` events."""
    for face, routes in ROUTES.items():
        yield from ((f"route {face} {method} {path}", "route") for path, method in routes)
    ((_, text),) = operator_api.generate().items()
    for name, schema in json.loads(text)["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            yield f"operator {name}.{field}", " or ".join(dict.fromkeys(list_accepted(inner))) or "any value"
    for module in (events, messages):
        yield from read_structs(module)
    found = {name for file in SOURCES.rglob("*.py") for name in CUSTOM_EVENT.findall(file.read_text())}
    yield from ((f"custom event {name}", "event") for name in found)


def read_structs(module: ModuleType) -> Iterator[tuple[str, str]]:
    own = (one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__)
    for struct in own:
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct):
            info = fields.type_info(struct)
            assert isinstance(info, fields.StructType)
            yield f"event {struct.__name__}", f"tag {info.tag}"
            for field in info.fields:
                kind = type(field.type).__name__.removesuffix("Type")
                yield f"event {struct.__name__}.{field.encode_name}", f"{kind}{', required' if field.required else ''}"


def read_errors() -> Iterator[tuple[str, str]]:
    yield from ((error.code, f"HTTP {error.status}") for error in tree())


def read_metrics() -> Iterator[tuple[str, str]]:
    """Metrics with their labels, and the names in traces."""
    collectors: Mapping[str, Any] = Metrics().registry._names_to_collectors
    for collector in dict.fromkeys(collectors.values()):
        for family in collector.describe():
            yield f"{family.name} {family.type}", ", ".join(getattr(collector, "_labelnames", ()))
    kinds: tuple[TraceKind, ...] = tuple(names.OPERATIONS)
    for kind in kinds:
        yield f"span {names.OPERATIONS[kind]}", names.SUBJECTS[kind]
    yield from ((f"attribute {name}", "attribute") for name in (*names.ATTRIBUTE_NAMES.values(), names.FIRST_CHUNK))


def read_tables() -> Iterator[tuple[str, str]]:
    """Tables of the store, and those of logs by the words of their migrations."""
    for table in metadata.tables.values():
        for column in table.columns:
            yield f"{table.name}.{column.name}", f"{column.type}{'' if column.nullable else ', never empty'}"
    for log, script in (("postgres", "\n".join(MIGRATIONS)), ("sqlite", SCHEMA)):
        for table_name, body in CREATED_TABLE.findall(script):
            for line in filter(None, map(str.strip, body.splitlines())):
                name, _, kind = line.partition(" ")
                yield f"{log} {table_name}.{name}", re.sub(r",?\s*(--.*)?$", "", kind)


def read_commands() -> Iterator[tuple[str, str]]:
    yield from read_command("rightseat", main)


def read_command(name: str, command: click.Command) -> Iterator[tuple[str, str]]:
    context = click.Context(command)
    yield name, "command"
    for parameter in command.params:
        for spelling in (*parameter.opts, *parameter.secondary_opts):
            yield f"{name} {spelling}", describe_parameter(parameter)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            inner = command.get_command(context, below)
            assert inner is not None
            yield from read_command(f"{name} {below}", inner)


def describe_parameter(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return "argument" if parameter.required else "argument, optional"
    is_flag = isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count)
    words = ["flag" if is_flag else "value"]
    words += ["repeated"] if parameter.multiple else []
    words += ["required"] if parameter.required else []
    return ", ".join(words)


INTERFACES: Mapping[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "python": read_python,
    "configuration": read_configuration,
    "plugin_files": read_plugin_files,
    "wire": read_wire,
    "errors": read_errors,
    "metrics": read_metrics,
    "tables": read_tables,
    "commands": read_commands,
}


def read(interface: str) -> Entries:
    return dict(sorted(INTERFACES[interface]()))
