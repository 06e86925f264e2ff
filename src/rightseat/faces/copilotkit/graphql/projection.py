"""Compiles a GraphQL selection once, so that encoding a value iterates over a list instead of a document.

A value here is a dict with all fields of its type and `__typename`. GraphQL lets a server ignore `@defer` and
`@stream`: they are honoured for a response and its messages, where they matter, but not below.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphql
from graphql.execution.values import VariableValues, get_directive_values

from rightseat.faces.copilotkit.graphql.schema import core_schema

Value = Mapping[str, Any]


@dataclass(slots=True)
class Pick:
    """A selected field: its key in the response, and the selection below it."""

    key: str
    name: str
    below: list[graphql.SelectionSetNode]
    is_streamed: bool = False
    selection: "Selection | None" = None


@dataclass(slots=True)
class Group:
    """The fields of one `@defer` fragment, which may be sent later together."""

    label: str | None
    picks: dict[str, Pick] = field(default_factory=dict)


@dataclass(slots=True)
class Picks:
    """The fields selected on one object type: `now`, `later` (deferred), and both merged in `all`."""

    all: dict[str, Pick] = field(default_factory=dict)
    now: dict[str, Pick] = field(default_factory=dict)
    later: list[Group] = field(default_factory=list)

    def __iter__(self) -> Iterator[Pick]:
        for picks in (self.all, self.now, *(group.picks for group in self.later)):
            yield from picks.values()


class Selection:
    """One or more selection sets on the same value, merged by GraphQL's rules."""

    def __init__(
        self,
        nodes: Sequence[graphql.SelectionSetNode],
        fragments: Mapping[str, graphql.FragmentDefinitionNode],
        variables: VariableValues,
    ) -> None:
        self._nodes = nodes
        self._fragments = fragments
        self._variables = variables
        self._on: dict[str, Picks] = {}

    def on(self, typename: str) -> Picks:
        """Return the fields selected on values of this object type."""
        picks = self._on.get(typename)
        if picks is None:
            picks = Picks()
            for node in self._nodes:
                self._collect(node, typename, picks, None)
            for pick in picks:
                if pick.below:
                    pick.selection = Selection(pick.below, self._fragments, self._variables)
            self._on[typename] = picks
        return picks

    def project(self, value: Value) -> dict[str, Any]:
        """Return all selected fields of the value, including the deferred ones."""
        return write_all(self.on(value["__typename"]).all, value)

    def _collect(self, node: graphql.SelectionSetNode, typename: str, picks: Picks, group: Group | None) -> None:
        for selected in node.selections:
            if not self._is_included(selected):
                continue
            if isinstance(selected, graphql.FieldNode):
                self._add(selected, picks.all)
                self._add(selected, picks.now if group is None else group.picks)
                continue
            if isinstance(selected, graphql.FragmentSpreadNode):
                fragment = self._fragments[selected.name.value]
                condition, inside = fragment.type_condition.name.value, fragment.selection_set
            else:
                assert isinstance(selected, graphql.InlineFragmentNode)  # noqa: S101  # the third of three node types
                condition = selected.type_condition.name.value if selected.type_condition else typename
                inside = selected.selection_set
            if is_subtype(typename, condition):
                self._collect(inside, typename, picks, self._deferred(selected, picks) or group)

    def _deferred(self, node: graphql.InlineFragmentNode | graphql.FragmentSpreadNode, picks: Picks) -> Group | None:
        values = get_directive_values(graphql.GraphQLDeferDirective, node, self._variables)
        if not values or values["if"] is False:
            return None
        group = Group(values.get("label"))
        picks.later.append(group)
        return group

    def _add(self, node: graphql.FieldNode, into: dict[str, Pick]) -> None:
        key = node.alias.value if node.alias else node.name.value
        pick = into.get(key)
        if pick is None:
            values = get_directive_values(graphql.GraphQLStreamDirective, node, self._variables)
            pick = into[key] = Pick(key, node.name.value, [], bool(values and values["if"] is not False))
        if node.selection_set:
            pick.below.append(node.selection_set)

    def _is_included(self, node: graphql.SelectionNode) -> bool:
        if not node.directives:
            return True
        skip = get_directive_values(graphql.GraphQLSkipDirective, node, self._variables)
        include = get_directive_values(graphql.GraphQLIncludeDirective, node, self._variables)
        return not (skip and skip["if"]) and not (include and not include["if"])


def write_all(picks: Mapping[str, Pick], value: Value) -> dict[str, Any]:
    return {pick.key: write(pick, value) for pick in picks.values()}


def write(pick: Pick, value: Value) -> Any:
    """Return the field of the value with the selection applied."""
    found = value.get(pick.name)
    if pick.selection is None or found is None:
        return found
    if isinstance(found, list):
        return [pick.selection.project(item) for item in found]
    return pick.selection.project(found)


def is_subtype(typename: str, condition: str) -> bool:
    if typename == condition:
        return True
    type_, abstract = core_schema.get_type(typename), core_schema.get_type(condition)
    if not isinstance(type_, graphql.GraphQLObjectType) or not isinstance(abstract, graphql.GraphQLAbstractType):
        return False
    return core_schema.is_sub_type(abstract, type_)
