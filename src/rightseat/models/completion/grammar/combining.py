"""`allOf` becomes one schema, `anyOf` and `oneOf` a choice, and what depends on a name a choice with and without it."""

from typing import TYPE_CHECKING, Any

from rightseat.models.completion.grammar import disjoint, merging
from rightseat.models.completion.grammar.keywords import significant
from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.refusing import Impossible

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

Schema = dict[str, Any] | bool
OPTIONS = ("anyOf", "oneOf")
DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")


def options(work: "Work", schema: dict[str, Any], keyword: str, where: str) -> Node:
    given: list[Schema] = schema[keyword]
    merging.count(work, len(given), where)
    beside = {key: value for key, value in schema.items() if key != keyword}
    places = [f"{where}/{keyword}/{place}" for place in range(len(given))]
    if significant(beside):
        given = [merging.merge(work, beside, option, place) for option, place in zip(given, places, strict=True)]
    if keyword == "oneOf":
        _must_be_apart(work, given, where)
    nodes: list[Node] = []
    failure: Impossible | None = None
    for option, place in zip(given, places, strict=True):
        try:
            nodes.append(work.build(option, place))
        except Impossible as error:
            failure = error
    if failure and not nodes:
        raise failure
    return choice(list(dict.fromkeys(nodes)))


def _must_be_apart(work: "Work", given: list[Schema], where: str) -> None:
    if disjoint.tagged(work, given, where):
        return
    for one, first in enumerate(given):
        for two, second in enumerate(given):
            if one != two and not disjoint.apart(work, first, second, where):
                work.fail(where, "oneOf", f"has options {one} and {two} that one value may fit; `anyOf` takes those")


def dependent(schema: dict[str, Any], keyword: str) -> Schema:
    """Either the name is not there, or what depends on it is."""
    beside = {key: value for key, value in schema.items() if key != keyword}
    cases = []
    for name, needs in schema[keyword].items():
        there = {"required": [name, *needs]} if isinstance(needs, list) else {"allOf": [{"required": [name]}, needs]}
        always = name in schema.get("required", ())
        cases.append(there if always else {"anyOf": [{"properties": {name: False}}, there]})
    return {"allOf": [beside, *cases]}
