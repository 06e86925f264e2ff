"""A JSON Schema from elsewhere makes nobody fetch anything."""

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rightseat.core.errors import BadRequest, SchemaNotSupported
from rightseat.faces.openbb.tools.mcp import check_arguments
from rightseat.json_schema import check_schema
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.plugins.loading.sample import FLOW, OPENAPI, SAMPLE, load


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def schemas(url: str) -> Iterator[dict[str, Any]]:
    there: dict[str, Any] = {"a": {"$ref": url}}
    yield {"$schema": url}
    yield {"$ref": url}
    yield {"$ref": "#/$defs/a", "$defs": there}
    yield {"properties": {"a": {}}, "propertyNames": {"$ref": "#/$defs/a"}, "$defs": there}
    yield {"items": {"enum": ["a"], "not": {"$ref": "#/$defs/a"}}, "$defs": there}
    yield {"oneOf": [{"type": "string", "pattern": "a"}, {"enum": ["a"], "minLength": 1}], "$defs": there}
    yield {"enum": [1], "not": {"$schema": url}}
    yield {"$id": url, "$dynamicRef": "other"}


def test_what_a_schema_names_is_not_fetched(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema"

    for schema in schemas(url):
        for use in (GrammarBuilder().value, GrammarBuilder().arguments, validation.compile_schema):
            with contextlib.suppress(SchemaNotSupported):
                use(schema, "schema")
        with contextlib.suppress(BadRequest):
            check_arguments({"a": "b"}, schema, "tool")

    assert_not_called(listener)


def test_what_the_schemas_of_a_plugin_name_is_not_fetched(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema"
    spoilt = OPENAPI.replace("type: string", f"type: string\n            $schema: {url}", 1)
    prompt = 'user_prompt: "Explain {data} for {question}."'
    asked = FLOW.replace(prompt, f"output_schema: {{$schema: '{url}', type: string}}\n      {prompt}")

    load({**SAMPLE, "openapi.yaml": spoilt})
    found = load({**SAMPLE, "flows/look_up.yaml": asked})

    assert [one.code for one in found.errors] == ["E407"]
    assert_not_called(listener)


def test_a_schema_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown meta-schema"):
        check_schema({"$schema": "http://127.0.0.1:1/schema"})


def assert_not_called(listener: socket.socket) -> None:
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.serial
@pytest.mark.parametrize("pattern", [r"^(([a-z])+.)+\2[A-Z]$", r"(x+x+)+\1y", r"^(?=.*b)(.*)*(.*)*\1c$"])
def test_patterns_that_try_one_way_after_another_are_bounded(pattern: str) -> None:
    """By default each of them takes up to 0.1 s, and a schema has room for thousands."""
    schema: dict[str, Any] = {"anyOf": [{"pattern": pattern, "minLength": number} for number in range(100)]}
    began = time.process_time()

    with contextlib.suppress(BadRequest):
        check_arguments({"a": "a" * 60 + "b", "b": "x" * 200}, {"additionalProperties": schema}, "tool")
    assert validation.compile_schema(schema)("x" * 200) is not None

    assert time.process_time() - began < 2


def test_a_pattern_with_look_around_still_holds_values() -> None:
    check = validation.compile_schema({"pattern": "^(?!no)[a-z]+$"})

    assert check("yes") is None
    assert check("nose") is not None
