"""Advice for imported OpenAPI documents: lists properties that make an API hard to use for a model."""

from collections.abc import Iterator

from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.loading.automatic import MANY_FLOWS
from rightseat.plugins.loading.deref import inline_references
from rightseat.plugins.loading.schemas import count_values

MAX_ID_CHARS = 40
MAX_PARAMETERS = 20
MAX_SCHEMA_VALUES = 600
MIN_DESCRIPTION_CHARS = 15


def advise(plugin: Plugin) -> Iterator[str]:
    count = len(plugin.operations)
    if count > MANY_FLOWS:
        yield f"{count} operations: models choose unreliably among more than {MANY_FLOWS}. Keep those that users need."
    for operation in plugin.operations.values():
        yield from (f"{operation.name}: {text}" for text in _advise_operation(operation))


def _advise_operation(operation: Operation) -> Iterator[str]:
    if operation.id is None:
        yield "no operationId: its name is generated from method and path."
    elif len(operation.id) > MAX_ID_CHARS:
        yield f"its operationId has {len(operation.id)} characters: models distinguish shorter names better."
    if len(operation.description) < MIN_DESCRIPTION_CHARS:
        yield "the description is missing or too short: describe function, input and output."
    bare = [one.name for one in operation.parameters if not (one.description or one.schema.get("description"))]
    body = operation.body.schema if operation.body else {}
    properties = body.get("properties")
    inner = properties if isinstance(properties, dict) else {}
    bare += [name for name, one in inner.items() if isinstance(one, dict) and not one.get("description")]
    if bare:
        more = " …" if len(bare) > 8 else ""
        yield f"no description of {', '.join(bare[:8])}{more}: the model has to guess the values."
    count = len(operation.parameters) + len(inner)
    if count > MAX_PARAMETERS:
        yield f"{count} parameters: set some of them with `args` of a step."
    yield from _advise_size("request", body)
    if operation.response is None:
        yield "no response schema: flows cannot extract values reliably."
    else:
        yield from _advise_size("response", operation.response)


def _advise_size(what: str, schema: Schema) -> Iterator[str]:
    size = count_values(inline_references(schema))
    if size > MAX_SCHEMA_VALUES:
        yield f"the schema of its {what} has {size} values: extract what is needed, or shorten the schema."
