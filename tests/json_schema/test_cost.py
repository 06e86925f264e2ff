"""A schema from elsewhere can make a validation take for ever; it is counted before, and refused."""

import functools
import time
from typing import Any

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.tools.mcp import check_arguments
from rightseat.json_schema import SchemaValidator, find_faults
from rightseat.json_schema.cost import MAX_VISITS, SchemaCost, SchemaTooCostly

LAST = 40


def double(write: Any = "#/$defs/d{}".format, **last: Any) -> dict[str, Any]:
    """Definitions that each name the next one twice."""
    definitions: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": write(n + 1)}] * 2} for n in range(LAST)}
    definitions[f"d{LAST}"] = {"type": "integer", **last}
    return {"$defs": definitions, "properties": {"a": {"$ref": write(0)}}}


def add_names(schema: dict[str, Any], keyword: str, write: Any) -> dict[str, Any]:
    for number, one in enumerate(schema["$defs"].values()):
        one[keyword] = write(number)
    return schema


def nest(schema: dict[str, Any], outer: Any, times: int) -> Any:
    return functools.reduce(lambda inner, _: outer(inner), range(times), schema)


DEEP: Any = nest({}, lambda inner: {"a": inner}, 60)
TWICE = {"anyOf": [{"properties": {"a": {"$ref": "#"}}}] * 2}
COSTLY: dict[str, tuple[dict[str, Any], Any]] = {
    "references": (double(), {"a": "x"}),
    "references as a URL writes them": (double("#/%24defs/d{}".format), {"a": "x"}),
    "anchors": (add_names(double("#x{}".format), "$anchor", "x{}".format), {"a": "x"}),
    "identifiers": (add_names(double("http://e/{}".format), "$id", "http://e/{}".format), {"a": "x"}),
    "relative identifiers": (add_names(double("./{}".format), "$id", "{}".format), {"a": "x"}),
    "its own identifier": ({"$id": "http://e/r", **double("r#/$defs/d{}".format)}, {"a": "x"}),
    "itself": ({"$ref": "#"}, {}),
    "itself for a member, twice": (TWICE, DEEP),
    "what others have evaluated": (
        nest({"properties": {"a": True}}, lambda inner: {"allOf": [inner], "unevaluatedProperties": False}, 30),
        {"a": 1},
    ),
    "alternatives for each item": ({"items": {"anyOf": [{"type": "null"}] * 300}}, ["x"] * 300),
    "patterns that backtrack": ({"items": {"pattern": r"^(?=(a+))\1+b$"}}, ["a" * 40] * 300),
    "patterns of names that backtrack": ({"patternProperties": {r"(?=b)c": True}}, dict.fromkeys(map(str, range(300)))),
    "many values": ({"items": {"enum": [str(n) for n in range(100_000)]}}, ["x"] * 20),
    "many patterns": ({"properties": {str(n): {"pattern": f"a{n}"} for n in range(1_001)}}, {}),
    "patterns with counts": ({"properties": {str(n): {"pattern": "[a-z]{9}"} for n in range(101)}}, {}),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_validation_without_bound_is_refused_in_time(name: str) -> None:
    schema, value = COSTLY[name]
    arguments = value if isinstance(value, dict) else {"list": value}
    before = time.process_time()

    faults = find_faults("t", schema if isinstance(value, dict) else {"properties": {"list": schema}}, arguments)

    assert time.process_time() - before < 1.0
    assert len(faults) == 1
    assert any(word in faults[0] for word in ("steps", "patterns", "reference", "`$id`", "itself"))


def test_a_tool_of_a_client_with_such_a_schema_is_not_called() -> None:
    with pytest.raises(BadRequest, match="more than 50,000 steps"):
        check_arguments({"a": "x"}, double(), "t")


def test_what_is_too_costly_is_invalid() -> None:
    assert not SchemaValidator(double()).is_valid({"a": 1})
    assert SchemaValidator(double()).is_valid({"b": 1})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}, {"left": {"right": {"left": {}}}}),
        ({"items": {"properties": {str(n): {"type": "integer"} for n in range(9)}}}, [{"1": 1, "2": 2}] * 9_000),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"properties": {"a": {"type": "string"}}}),
        ({"$ref": "#node", "$defs": {"n": {"$anchor": "node", "items": {"$ref": "#/$defs/n"}}}}, [[[]], []]),
        ({"properties": {"a": {"$ref": "#/$defs/~1x/allOf/0"}}, "$defs": {"/x": {"allOf": [{}]}}}, {"a": 1}),
        ({"$id": "https://example.com/s", "properties": {"a": {"pattern": "^[a-z]{1,9}$"}}}, {"a": "b"}),
        ({"patternProperties": {"^a": {"type": "integer"}}, "propertyNames": {"maxLength": 2}}, {"a": 1, "b": "c"}),
        (True, {"a": 1}),
    ],
)
def test_ordinary_schemas_are_far_from_the_bound(schema: Any, value: Any) -> None:
    assert SchemaCost(schema).check(value) < MAX_VISITS
    assert SchemaValidator(schema).find_faults(value, 1) == []


def test_a_schema_with_many_faults_says_that_there_are_some() -> None:
    schema = {"items": {"anyOf": [{"type": "null"}] * 20}}

    assert SchemaValidator(schema).find_faults(["x"] * 300, 5) == [
        "the value does not match the schema, which is too large to say where"
    ]
    assert SchemaValidator(schema).find_faults([None] * 300, 5) == []


@pytest.mark.parametrize("reference", ["#/nowhere", "#nowhere", "elsewhere.json", "#/$defs/a/b"])
def test_a_reference_to_nothing_is_named(reference: str) -> None:
    with pytest.raises(SchemaTooCostly, match="leads to no place and to no anchor"):
        SchemaCost({"$ref": reference, "$defs": {"a": True}}).check({})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"type": "integer"}, {"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
    ],
)
def test_a_schema_that_applies_itself_to_the_same_value_is_refused_at_once(schema: Any) -> None:
    began = time.process_time()

    with pytest.raises(SchemaTooCostly, match="applies itself"):
        SchemaCost(schema).check({"a": 1})

    assert time.process_time() - began < 0.1


def test_a_schema_that_applies_itself_to_members_ends() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "allOf": [{"type": "object"}] * 2}

    assert SchemaCost(tree).check({"next": {"next": {}}}) < 100
