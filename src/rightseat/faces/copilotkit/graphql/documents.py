"""Parses and validates GraphQL documents and limits their size.

Clients send the same document with every request, so the result is cached by text.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import graphql
from graphql.execution.values import VariableValues, get_directive_values

from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.faces.copilotkit.graphql.schema import core_schema

# The mutation of CopilotKit's clients has 3,342 characters, 274 tokens and 121 selections.
MAX_CHARACTERS = 100_000
MAX_TOKENS = 2000
MAX_SELECTIONS = 400  # as written, and again with all fragments expanded, which multiplies them
MAX_DEPTH = 12
MAX_ALIASES = 15
MAX_DIRECTIVES = 50
MAX_REPEATS = 20  # of one name in what is selected of one object: validation compares each with each
MAX_VISITED = 2000
MAX_CACHED_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document and its requested operation."""

    node: graphql.DocumentNode
    operation: graphql.OperationDefinitionNode
    fragments: dict[str, graphql.FragmentDefinitionNode]

    is_constant: bool  # no directive depends on a variable
    cache: list[Selection]

    @property
    def is_mutation(self) -> bool:
        return self.operation.operation is graphql.OperationType.MUTATION

    @property
    def root(self) -> graphql.FieldNode:
        """The only field of a mutation."""
        (node,) = self.operation.selection_set.selections
        assert isinstance(node, graphql.FieldNode)  # noqa: S101  # checked by `Documents.read`
        return node

    @property
    def key(self) -> str:
        """The response's key: the alias or name of the root field."""
        return self.root.alias.value if self.root.alias else self.root.name.value

    def selection(self, variables: VariableValues) -> Selection:
        """Return the selected fields of the mutation's response, cached unless directives depend on variables.

        Raises `InvalidDocument` if a directive does not accept its variable's value.
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


class InvalidDocument(Exception):
    """The document cannot be executed, for the reasons in `errors`."""

    def __init__(self, errors: list[graphql.GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


class Documents:
    def __init__(self, *, introspection: bool = True) -> None:
        self._rules = (*graphql.specified_rules, *(() if introspection else (graphql.NoSchemaIntrospectionCustomRule,)))
        self._cache: OrderedDict[tuple[str, str | None], Document] = OrderedDict()

    def read(self, text: str, operation_name: str | None) -> Document:
        key = (text, operation_name)
        if cached := self._cache.get(key):
            self._cache.move_to_end(key)
            return cached
        document = self._check(text, operation_name)
        self._cache[key] = document
        if len(self._cache) > MAX_CACHED_DOCUMENTS:
            self._cache.popitem(last=False)
        return document

    def has_mutation(self, text: str, operation_name: str | None) -> bool:
        """Whether it costs nothing to read: queries are parsed again when they are executed."""
        cached = self._cache.get((text, operation_name))
        return cached is not None and cached.is_mutation

    def _check(self, text: str, operation_name: str | None) -> Document:
        check_limits(characters=(len(text), MAX_CHARACTERS))
        try:
            node = graphql.parse(text, max_tokens=MAX_TOKENS)
        except graphql.GraphQLError as error:
            raise InvalidDocument([error]) from error
        fragments = {one.name.value: one for one in node.definitions if isinstance(one, graphql.FragmentDefinitionNode)}
        check_written(node)  # before validation, which takes quadratic time
        check_repeats(node, fragments)
        if errors := graphql.validate(core_schema, node, self._rules, max_errors=10, hide_suggestions=True):
            raise InvalidDocument(errors)
        operation = graphql.get_operation_ast(node, operation_name)
        if operation is None:
            missing = f"The document has no operation named {operation_name!r}."
            unclear = "The document does not have exactly one operation. Name one in operationName."
            raise InvalidDocument([graphql.GraphQLError(missing if operation_name else unclear)])
        check_size(operation.selection_set, fragments)
        selected = [node for _, node in walk_selections(operation.selection_set, fragments)]
        if operation.operation is graphql.OperationType.MUTATION:
            check_root(operation)
        elif any(map(is_incremental, selected)):
            raise InvalidDocument([graphql.GraphQLError("Queries do not support @defer and @stream. Remove them.")])
        return Document(node, operation, fragments, not any(map(depends_on_variables, selected)), [])


def check_written(document: graphql.DocumentNode) -> None:
    """Reject documents that are larger than those of any CopilotKit client, because they cost too much."""
    definitions = [one for one in document.definitions if isinstance(one, graphql.ExecutableDefinitionNode)]
    levels = [level for one in definitions for level, _ in walk_selections(one.selection_set, {})]
    check_limits(selections=(len(levels), MAX_SELECTIONS), levels=(max(levels, default=0), MAX_DEPTH))


def check_repeats(document: graphql.DocumentNode, fragments: dict[str, graphql.FragmentDefinitionNode]) -> None:
    """Reject documents that select the same often: a request with 60 times the same field took 0.1 s to validate."""
    visited = 0
    pending = [[one.selection_set] for one in document.definitions if isinstance(one, graphql.ExecutableDefinitionNode)]
    while pending:
        fields: defaultdict[str, list[graphql.FieldNode]] = defaultdict(list)
        for field in list_fields(pending.pop(), fragments):
            fields[(field.alias or field.name).value].append(field)
            visited += 1
        check_limits(
            repetitions=(max(map(len, fields.values()), default=0), MAX_REPEATS), selections=(visited, MAX_VISITED)
        )
        below = ([one.selection_set for one in same if one.selection_set] for same in fields.values())
        pending += [selections for selections in below if selections]


def list_fields(
    selections: list[graphql.SelectionSetNode], fragments: dict[str, graphql.FragmentDefinitionNode]
) -> Iterator[graphql.FieldNode]:
    """The fields of one object, also those of fragments, each of which counts once."""
    pending, seen = list(selections), set[str]()
    while pending:
        for node in pending.pop().selections:
            if isinstance(node, graphql.FieldNode):
                yield node
            elif isinstance(node, graphql.InlineFragmentNode):
                pending.append(node.selection_set)
            elif isinstance(node, graphql.FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                if (fragment := fragments.get(node.name.value)) is not None:
                    pending.append(fragment.selection_set)


def check_size(selection: graphql.SelectionSetNode, fragments: dict[str, graphql.FragmentDefinitionNode]) -> None:
    """Check the size of an operation with its fragments expanded."""
    nodes = [node for _, node in islice(walk_selections(selection, fragments), MAX_SELECTIONS + 1)]
    aliases = sum(1 for node in nodes if isinstance(node, graphql.FieldNode) and node.alias)
    directives = sum(len(node.directives or ()) for node in nodes)
    check_limits(
        selections=(len(nodes), MAX_SELECTIONS), aliases=(aliases, MAX_ALIASES), directives=(directives, MAX_DIRECTIVES)
    )


def check_limits(**limits: tuple[int, int]) -> None:
    for what, (count, most) in limits.items():
        if count > most:
            raise InvalidDocument(
                [graphql.GraphQLError(f"The operation is too large: {count} {what}, at most {most}.")]
            )


def check_root(operation: graphql.OperationDefinitionNode) -> None:
    nodes = operation.selection_set.selections
    if len(nodes) != 1 or not isinstance(nodes[0], graphql.FieldNode) or nodes[0].name.value.startswith("__"):
        raise InvalidDocument([graphql.GraphQLError("A mutation must have generateCopilotResponse as its only field.")])
    if nodes[0].directives:
        raise InvalidDocument([graphql.GraphQLError("Send generateCopilotResponse without directives.")])


def check_directives(document: Document, variables: VariableValues) -> None:
    """Evaluate each directive's arguments once, because only that detects an invalid `null`."""
    try:
        for _, node in walk_selections(document.operation.selection_set, document.fragments):
            for directive in (graphql.GraphQLSkipDirective, graphql.GraphQLIncludeDirective, *INCREMENTAL_DIRECTIVES):
                get_directive_values(directive, node, variables)
    except graphql.GraphQLError as error:
        raise InvalidDocument([error]) from error


INCREMENTAL_DIRECTIVES = (graphql.GraphQLDeferDirective, graphql.GraphQLStreamDirective)


def is_incremental(node: "Selected") -> bool:
    return any(
        directive.name.value == one.name for directive in node.directives or () for one in INCREMENTAL_DIRECTIVES
    )


def depends_on_variables(node: "Selected") -> bool:
    return any(
        isinstance(argument.value, graphql.VariableNode)
        for directive in node.directives or ()
        for argument in directive.arguments or ()
    )


Selected = graphql.FieldNode | graphql.InlineFragmentNode | graphql.FragmentSpreadNode


def walk_selections(
    selection: graphql.SelectionSetNode, fragments: dict[str, graphql.FragmentDefinitionNode], level: int = 1
) -> Iterator[tuple[int, Selected]]:
    """Yield every selected node and its depth, with fragments expanded.

    Nodes inside introspection have depth 0: tools nest them deeply, and a validation rule limits them.
    """
    for node in selection.selections:
        if isinstance(node, graphql.FieldNode):
            yield level, node
            if node.selection_set:
                below = level + 1 if level and not node.name.value.startswith("__") else 0
                yield from walk_selections(node.selection_set, fragments, below)
        elif isinstance(node, graphql.InlineFragmentNode):
            yield level, node
            yield from walk_selections(node.selection_set, fragments, level)
        elif isinstance(node, graphql.FragmentSpreadNode):
            yield level, node
            if node.name.value in fragments:
                yield from walk_selections(fragments[node.name.value].selection_set, fragments, level)
