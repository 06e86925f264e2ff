"""What makes an API hard to use for a model: advice for whoever imports a document. None of it is an error."""

from collections.abc import Iterator

from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.loading.automatic import MANY
from rightseat.plugins.loading.schemas import weigh
from rightseat.plugins.loading.unrolling import unrolled

LONG_ID = 40
MANY_PARAMETERS = 20
HUGE = 600
VAGUE = 15


def advise(plugin: Plugin) -> Iterator[str]:
    count = len(plugin.operations)
    if count > MANY:
        yield f"{count} operations: choosing among more than {MANY} goes wrong often. Keep those that are asked for."
    for operation in plugin.operations.values():
        yield from (f"{operation.name}: {text}" for text in _advise(operation))


def _advise(operation: Operation) -> Iterator[str]:
    if operation.id is None:
        yield "no operationId: it goes by a name made of method and path."
    elif len(operation.id) > LONG_ID:
        yield f"its operationId has {len(operation.id)} characters: shorter names are told apart better."
    if len(operation.description) < VAGUE:
        yield "hardly a description: say function, input and output."
    bare = [one.name for one in operation.parameters if not (one.description or one.schema.get("description"))]
    body = operation.body.schema if operation.body else {}
    properties = body.get("properties")
    inner = properties if isinstance(properties, dict) else {}
    bare += [name for name, one in inner.items() if isinstance(one, dict) and not one.get("description")]
    if bare:
        more = " …" if len(bare) > 8 else ""
        yield f"no description of {', '.join(bare[:8])}{more}: the model guesses what to put in."
    count = len(operation.parameters) + len(inner)
    if count > MANY_PARAMETERS:
        yield f"{count} parameters: fix some by `args` of a step."
    yield from _advise_size("request", body)
    if operation.response is None:
        yield "no schema of its answer: flows can extract nothing with certainty."
    else:
        yield from _advise_size("answer", operation.response)


def _advise_size(what: str, schema: Schema) -> Iterator[str]:
    size = weigh(unrolled(schema))
    if size > HUGE:
        yield f"the schema of its {what} has {size} values: extract what is needed, or describe less."
