"""Every keyword of JSON Schema is in exactly one column."""

import pytest

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar import keywords
from rightseat.models.completion.grammar.schema import GrammarBuilder

DRAFT_3 = "type properties patternProperties additionalProperties items additionalItems required dependencies minimum \
maximum exclusiveMinimum exclusiveMaximum minItems maxItems uniqueItems pattern minLength maxLength enum default title \
description format divisibleBy disallow extends id $ref $schema"
DRAFT_4 = "multipleOf maxProperties minProperties definitions allOf anyOf oneOf not"
DRAFT_6 = "$id const contains propertyNames examples"
DRAFT_7 = "$comment if then else readOnly writeOnly contentMediaType contentEncoding"
DRAFT_2019 = "$anchor $defs $recursiveRef $recursiveAnchor $vocabulary dependentRequired dependentSchemas maxContains \
minContains unevaluatedItems unevaluatedProperties contentSchema deprecated"
DRAFT_2020 = "$dynamicRef $dynamicAnchor prefixItems"
ALL = {word for draft in (DRAFT_3, DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020) for word in draft.split()}


def test_every_keyword_is_in_one_column() -> None:
    columns = [*keywords.ENFORCED, *keywords.REFUSED, *keywords.ANNOTATIONS]

    assert len(columns) == len({*columns})
    assert {*columns} == ALL


@pytest.mark.parametrize("keyword", keywords.REFUSED)
def test_a_refused_keyword_is_refused_by_name(keyword: str) -> None:
    values = {"then": {}, "else": {}, "not": {}, "if": {}, "maxContains": 1, "$dynamicRef": "#a", "$recursiveRef": "#"}

    with pytest.raises(SchemaNotSupported) as refusal:
        GrammarBuilder().value({"type": "array", keyword: values.get(keyword, 1)}, "schema")

    assert f"`{keyword}`" in refusal.value.message


@pytest.mark.parametrize("keyword", sorted(keywords.ANNOTATIONS.keys() - {"$schema", "$id", "$vocabulary"}))
def test_an_annotation_changes_nothing(keyword: str) -> None:
    values = {"examples": ["a"], "deprecated": True, "readOnly": True, "writeOnly": True, "contentSchema": {}}

    bare, noted = GrammarBuilder(), GrammarBuilder()
    bare.value({"type": "string"}, "schema")
    noted.value({"type": "string", keyword: values.get(keyword, "a")}, "schema")

    assert bare.rules == noted.rules


def test_other_words_are_no_keywords() -> None:
    assert keywords.classify("optional") is None
    assert keywords.classify("pattern") == "enforced"
    assert keywords.classify("not") == "refused"
    assert keywords.classify("title") == "annotation"
