"""Compiles `anyOf` and `oneOf` to a choice, and dependent keywords to a choice with and without the property."""

from typing import Any

from rightseat.models.completion.grammar import all_of, disjoint
from rightseat.models.completion.grammar.errors import UnsatisfiableSchema
from rightseat.models.completion.grammar.keywords import select_assertions
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.prefix_tree import make_choice
from rightseat.models.completion.grammar.protocol import Compiler, Schema

OPTION_KEYWORDS = ("anyOf", "oneOf")
DEPENDENCY_KEYWORDS = ("dependentRequired", "dependentSchemas", "dependencies")


def build_options(compiler: Compiler, schema: dict[str, Any], keyword: str, where: str) -> Node:
    given: list[Schema] = schema[keyword]
    all_of.check_option_count(compiler, len(given), where)
    beside = {key: value for key, value in schema.items() if key != keyword}
    places = [f"{where}/{keyword}/{place}" for place in range(len(given))]
    if select_assertions(beside):
        given = [all_of.merge(compiler, beside, option, place) for option, place in zip(given, places, strict=True)]
    if keyword == "oneOf":
        _check_disjoint(compiler, given, where)
    nodes: list[Node] = []
    failure: UnsatisfiableSchema | None = None
    for option, place in zip(given, places, strict=True):
        try:
            nodes.append(compiler.build(option, place))
        except UnsatisfiableSchema as error:
            failure = error
    if failure and not nodes:
        raise failure
    return make_choice(list(dict.fromkeys(nodes)))


def _check_disjoint(compiler: Compiler, given: list[Schema], where: str) -> None:
    if disjoint.are_tagged(compiler, given, where):
        return
    for one, first in enumerate(given):
        for two, second in enumerate(given):
            if one != two and not disjoint.are_disjoint(compiler, first, second, where):
                compiler.fail(where, "oneOf", f"has options {one} and {two} that can match the same value; use `anyOf`")


def expand_dependencies(schema: dict[str, Any], keyword: str) -> Schema:
    """Rewrite the keyword as a choice: the property is absent, or its dependencies hold."""
    beside = {key: value for key, value in schema.items() if key != keyword}
    cases = []
    for name, needs in schema[keyword].items():
        there = {"required": [name, *needs]} if isinstance(needs, list) else {"allOf": [{"required": [name]}, needs]}
        always = name in schema.get("required", ())
        cases.append(there if always else {"anyOf": [{"properties": {name: False}}, there]})
    return {"allOf": [beside, *cases]}
