"""The arguments of `generateCopilotResponse`, typed.

The clients' own document passes them as two variables: those are read straight from the body, in one pass. Whatever is
written otherwise, or is wrong, takes the long way through graphql-core, whose errors GraphQL tools understand.
"""

from typing import Any

import msgspec
from graphql import VariableNode, value_from_ast_untyped
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values

from rightseat.faces.copilotkit.graphql.documents import Document, Invalid
from rightseat.faces.copilotkit.graphql.inputs import GenerateCopilotResponseInput
from rightseat.faces.copilotkit.graphql.schema import bare


class Arguments(msgspec.Struct):
    data: GenerateCopilotResponseInput
    properties: dict[str, Any] | None = None


MUTATION = bare.mutation_type.fields["generateCopilotResponse"]  # type: ignore[union-attr]  # the schema has one
NONE = VariableValues({}, {})
_decode = msgspec.json.Decoder(Arguments).decode


def read_arguments(document: Document, variables: bytes) -> tuple[Arguments, VariableValues]:
    """The arguments, and the variables as far as directives may depend on them. Raises `Invalid`."""
    if document.is_constant and is_plain(document):
        try:
            return _decode(variables), NONE
        except msgspec.DecodeError:
            pass
    given = msgspec.json.decode(variables) or {}
    values = get_variable_values(bare, document.operation.variable_definitions or (), given, max_errors=10)
    if isinstance(values, list):
        raise Invalid(values)
    get_argument_values(MUTATION, document.root, values)  # for its errors
    written = {one.name.value: value_from_ast_untyped(one.value, given) for one in document.root.arguments or ()}
    return msgspec.convert(written, Arguments), values


def is_plain(document: Document) -> bool:
    """Is each argument the variable of its name?"""
    return all(
        isinstance(one.value, VariableNode) and one.value.name.value == one.name.value
        for one in document.root.arguments or ()
    )
