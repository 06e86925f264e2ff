"""Decodes the arguments of CopilotKit's GraphQL mutation `generateCopilotResponse`.

The clients' own document passes them as two variables, which are decoded directly from the body in one pass. Any other
form, and any invalid input, goes the slow way through graphql-core, whose errors GraphQL tools can display. Both ways
drop fields of variables that the schema does not have, because older and newer clients send some.
"""

from typing import Any

import graphql
import msgspec
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values

from rightseat.core.types import JSON_ERRORS
from rightseat.faces.copilotkit.graphql.documents import Document, InvalidDocument
from rightseat.faces.copilotkit.graphql.inputs import GenerateCopilotResponseInput
from rightseat.faces.copilotkit.graphql.schema import core_schema


class MutationArguments(msgspec.Struct):
    data: GenerateCopilotResponseInput
    properties: dict[str, Any] | None = None


MUTATION = core_schema.mutation_type.fields["generateCopilotResponse"]  # type: ignore[union-attr]  # the schema has one
NO_VARIABLES = VariableValues({}, {})
_decode = msgspec.json.Decoder(MutationArguments).decode


def read_arguments(document: Document, variables: bytes) -> tuple[MutationArguments, VariableValues]:
    """Return the arguments, and the variables that directives may depend on. Raises `InvalidDocument`."""
    if document.is_constant and is_plain(document):
        try:
            return _decode(variables), NO_VARIABLES
        except JSON_ERRORS:
            pass
    raw = read_variables(document, variables)
    definitions = document.operation.variable_definitions or ()
    # Suggestions for a misspelt name take quadratic time, and fail on letters whose lower case is longer.
    values = get_variable_values(core_schema, definitions, raw, max_errors=10, hide_suggestions=True)
    if isinstance(values, list):
        raise InvalidDocument(values)
    try:
        found = get_argument_values(MUTATION, document.root, values, hide_suggestions=True)
        return msgspec.convert(found, MutationArguments), values
    except graphql.GraphQLError as error:
        raise InvalidDocument([error]) from error


def is_plain(document: Document) -> bool:
    """Return whether each argument is the variable of the same name, without a default value."""
    passed = {
        one.name.value
        for one in document.root.arguments or ()
        if isinstance(one.value, graphql.VariableNode) and one.value.name.value == one.name.value
    }
    defaults = [one for one in document.operation.variable_definitions or () if one.default_value]
    return passed == set(MUTATION.args) and not defaults


def read_variables(document: Document, variables: bytes) -> dict[str, Any]:
    """Decode the variables without the fields that the schema does not have. Raises `InvalidDocument`."""
    try:
        raw = msgspec.json.decode(variables, type=dict[str, Any] | None) or {}
    except JSON_ERRORS as error:
        raise InvalidDocument([graphql.GraphQLError(f"The variables are not a valid JSON object: {error}")]) from error
    for one in document.operation.variable_definitions or ():
        drop_unknown(one, raw)
    return raw


def drop_unknown(definition: graphql.VariableDefinitionNode, raw: dict[str, Any]) -> None:
    name = definition.variable.name.value
    if name in raw:
        raw[name] = select_known(raw[name], graphql.type_from_ast(core_schema, definition.type))


def select_known(value: Any, type_: object) -> Any:
    """Remove the fields that the value's type does not have."""
    if isinstance(type_, graphql.GraphQLNonNull):
        return select_known(value, type_.of_type)
    if isinstance(type_, graphql.GraphQLList) and isinstance(value, list):
        return [select_known(item, type_.of_type) for item in value]
    if isinstance(type_, graphql.GraphQLInputObjectType) and isinstance(value, dict):
        return {
            name: select_known(item, type_.fields[name].type) for name, item in value.items() if name in type_.fields
        }
    return value
