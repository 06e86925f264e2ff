"""The arguments of `generateCopilotResponse`, typed.

The clients' own document passes them as two variables: those are read straight from the body, in one pass. Whatever is
written otherwise, or is wrong, takes the long way through graphql-core, whose errors GraphQL tools understand. Either
way, fields that the schema does not have are left out of variables: older and newer clients send some.
"""

from typing import Any

import msgspec
from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    VariableDefinitionNode,
    VariableNode,
    type_from_ast,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values

from rightseat.core.values import JSON_ERRORS
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
        except JSON_ERRORS:
            pass
    given = read_variables(document, variables)
    definitions = document.operation.variable_definitions or ()
    # Suggestions for a name that is misspelt cost quadratic time, and fail on letters whose lower case is longer.
    values = get_variable_values(bare, definitions, given, max_errors=10, hide_suggestions=True)
    if isinstance(values, list):
        raise Invalid(values)
    try:
        found = get_argument_values(MUTATION, document.root, values, hide_suggestions=True)
        return msgspec.convert(found, Arguments), values
    except GraphQLError as error:
        raise Invalid([error]) from error


def is_plain(document: Document) -> bool:
    """Is each argument the variable of its name, and nothing but what the client sent in it?"""
    passed = {
        one.name.value
        for one in document.root.arguments or ()
        if isinstance(one.value, VariableNode) and one.value.name.value == one.name.value
    }
    defaults = [one for one in document.operation.variable_definitions or () if one.default_value]
    return passed == set(MUTATION.args) and not defaults


def read_variables(document: Document, variables: bytes) -> dict[str, Any]:
    """Without fields that the schema does not know. Raises `Invalid`."""
    try:
        given = msgspec.json.decode(variables, type=dict[str, Any] | None) or {}
    except JSON_ERRORS as error:
        raise Invalid([GraphQLError(f"The variables are not a JSON object that can be read: {error}")]) from error
    for one in document.operation.variable_definitions or ():
        leave_out_unknown(one, given)
    return given


def leave_out_unknown(definition: VariableDefinitionNode, given: dict[str, Any]) -> None:
    name = definition.variable.name.value
    if name in given:
        given[name] = known(given[name], type_from_ast(bare, definition.type))


def known(value: Any, type_: object) -> Any:
    """The value without what its type has no field for."""
    if isinstance(type_, GraphQLNonNull):
        return known(value, type_.of_type)
    if isinstance(type_, GraphQLList) and isinstance(value, list):
        return [known(item, type_.of_type) for item in value]
    if isinstance(type_, GraphQLInputObjectType) and isinstance(value, dict):
        return {name: known(item, type_.fields[name].type) for name, item in value.items() if name in type_.fields}
    return value
