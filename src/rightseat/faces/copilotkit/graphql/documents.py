"""GraphQL documents: read, checked and bounded, once for each text.

A client sends the same document with every request, so what was found out about it is remembered.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLDeferDirective,
    GraphQLError,
    GraphQLIncludeDirective,
    GraphQLSkipDirective,
    GraphQLStreamDirective,
    InlineFragmentNode,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    VariableNode,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues, get_directive_values

from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.faces.copilotkit.graphql.schema import bare

# The clients' own mutation has 3,342 characters, 274 tokens and 121 selections.
LENGTH = 100_000
TOKENS = 2000
SELECTIONS = 400  # as written, and again with every fragment in its places: these multiply
DEPTH = 12
ALIASES = 15
DIRECTIVES = 50
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document and the one operation of it that is asked for."""

    node: DocumentNode
    operation: OperationDefinitionNode
    fragments: dict[str, FragmentDefinitionNode]

    is_constant: bool  # no directive depends on a variable
    cache: list[Selection]

    @property
    def is_mutation(self) -> bool:
        return self.operation.operation is OperationType.MUTATION

    @property
    def root(self) -> FieldNode:
        """The one field of a mutation."""
        (node,) = self.operation.selection_set.selections
        assert isinstance(node, FieldNode)  # noqa: S101  # checked when the document was read
        return node

    @property
    def key(self) -> str:
        """Under which name the response is written."""
        return self.root.alias.value if self.root.alias else self.root.name.value

    def selection(self, variables: VariableValues) -> Selection:
        """What is selected of the mutation's response; the same for every request, unless variables decide.

        Raises `Invalid` where a directive cannot take its variable's value.
        """
        if self.cache:
            return self.cache[0]
        assert self.root.selection_set is not None  # noqa: S101  # the response is an object
        selection = Selection([self.root.selection_set], self.fragments, variables)
        if self.is_constant:
            self.cache.append(selection)
        else:
            check_directives(self, variables)
        return selection


class Invalid(Exception):
    """The document cannot be executed; `errors` say why."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


class Documents:
    def __init__(self, *, introspection: bool = True) -> None:
        self._rules = (*specified_rules, *(() if introspection else (NoSchemaIntrospectionCustomRule,)))
        self._known: OrderedDict[tuple[str, str | None], Document] = OrderedDict()

    def read(self, text: str, operation_name: str | None) -> Document:
        key = (text, operation_name)
        if known := self._known.get(key):
            self._known.move_to_end(key)
            return known
        document = self._check(text, operation_name)
        self._known[key] = document
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return document

    def _check(self, text: str, operation_name: str | None) -> Document:
        check_limits(characters=(len(text), LENGTH))
        try:
            node = parse(text, max_tokens=TOKENS)
        except GraphQLError as error:
            raise Invalid([error]) from error
        fragments = {one.name.value: one for one in node.definitions if isinstance(one, FragmentDefinitionNode)}
        check_written(node)  # before validation, which takes time with the square of it
        if errors := validate(bare, node, self._rules, max_errors=10, hide_suggestions=True):
            raise Invalid(errors)
        operation = get_operation_ast(node, operation_name)
        if operation is None:
            wanted = f"named {operation_name!r}" if operation_name else "that is asked for: name it in operationName"
            raise Invalid([GraphQLError(f"There is no operation {wanted}.")])
        check_size(operation.selection_set, fragments)
        selected = [node for _, node in walk(operation.selection_set, fragments)]
        if operation.operation is OperationType.MUTATION:
            check_root(operation)
        elif any(map(is_put_off, selected)):
            raise Invalid([GraphQLError("A query is answered whole: leave @defer and @stream out of it.")])
        return Document(node, operation, fragments, not any(map(depends_on_variables, selected)), [])


def check_written(document: DocumentNode) -> None:
    """Refuse what no client of ours sends and only costs."""
    definitions = [one for one in document.definitions if isinstance(one, ExecutableDefinitionNode)]
    levels = [level for one in definitions for level, _ in walk(one.selection_set, {})]
    check_limits(selections=(len(levels), SELECTIONS), levels=(max(levels, default=0), DEPTH))


def check_size(selection: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode]) -> None:
    """The same for an operation with its fragments in their places."""
    nodes = [node for _, node in islice(walk(selection, fragments), SELECTIONS + 1)]
    aliases = sum(1 for node in nodes if isinstance(node, FieldNode) and node.alias)
    directives = sum(len(node.directives or ()) for node in nodes)
    check_limits(selections=(len(nodes), SELECTIONS), aliases=(aliases, ALIASES), directives=(directives, DIRECTIVES))


def check_limits(**limits: tuple[int, int]) -> None:
    for what, (count, most) in limits.items():
        if count > most:
            raise Invalid([GraphQLError(f"The operation is too large: {count} {what}, at most {most}.")])


def check_root(operation: OperationDefinitionNode) -> None:
    nodes = operation.selection_set.selections
    if len(nodes) != 1 or not isinstance(nodes[0], FieldNode) or nodes[0].name.value.startswith("__"):
        raise Invalid([GraphQLError("Send one generateCopilotResponse in a mutation, and nothing beside it.")])
    if nodes[0].directives:
        raise Invalid([GraphQLError("Send generateCopilotResponse without directives: it is asked for, or it is not.")])


def check_directives(document: Document, variables: VariableValues) -> None:
    """Have each directive read its arguments once, because `null` is found to be wrong only then."""
    try:
        for _, node in walk(document.operation.selection_set, document.fragments):
            for directive in (GraphQLSkipDirective, GraphQLIncludeDirective, *PUT_OFF):
                get_directive_values(directive, node, variables)
    except GraphQLError as error:
        raise Invalid([error]) from error


PUT_OFF = (GraphQLDeferDirective, GraphQLStreamDirective)


def is_put_off(node: "Selected") -> bool:
    return any(directive.name.value == one.name for directive in node.directives or () for one in PUT_OFF)


def depends_on_variables(node: "Selected") -> bool:
    return any(
        isinstance(argument.value, VariableNode)
        for directive in node.directives or ()
        for argument in directive.arguments or ()
    )


Selected = FieldNode | InlineFragmentNode | FragmentSpreadNode


def walk(
    selection: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode], level: int = 1
) -> Iterator[tuple[int, Selected]]:
    """All that is selected, with the fragments in their places, and how deep.

    Inside introspection everything is at depth 0: its tools go as deep as they like, and a rule of its own bounds them.
    """
    for node in selection.selections:
        if isinstance(node, FieldNode):
            yield level, node
            if node.selection_set:
                below = level + 1 if level and not node.name.value.startswith("__") else 0
                yield from walk(node.selection_set, fragments, below)
        elif isinstance(node, InlineFragmentNode):
            yield level, node
            yield from walk(node.selection_set, fragments, level)
        elif isinstance(node, FragmentSpreadNode):
            yield level, node
            if node.name.value in fragments:
                yield from walk(fragments[node.name.value].selection_set, fragments, level)
