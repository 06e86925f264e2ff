"""docs/reference/operator.openapi.json is what the structs make of it, and what a server answers with."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Serve
from tests.docs import operator_api
from tests.faces.operator.test_operator import serving
from tests.faces.operator.test_rights import EXPECTED, WITHOUT_IDS

PLUGINS = Path(__file__).parents[1] / "acceptance" / "console" / "plugins"
CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
toolboxes: {{steps: {{type: plugins, folders: ["{plugins}"]}}}}
agents: {{default: {{type: loop}}, ops: {{type: flows, toolbox: steps}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{state}"}}
faces: [{{type: operator}}, {{type: usage}}]
"""
READ = [
    ("GET me", "me"),
    ("GET agents", "agents"),
    ("GET threads", "threads"),
    ("GET threads/{thread}", "threads/{thread}"),
    ("GET runs", "runs"),
    ("GET runs/{run}", "runs/{run}"),
    ("GET approvals", "approvals"),
    ("GET flows", "flows"),
    ("GET flows/{plugin}/{flow}", "flows/steps/five"),
    ("GET plugins", "plugins"),
    ("GET plugins/{plugin}", "plugins/steps"),
    ("GET metrics", "metrics"),
    ("GET usage", "usage"),
    ("GET usage/limits", "usage/limits"),
    ("GET snippets", "snippets"),
    ("GET snippets/{face}", "snippets/operator"),
]


def test_the_document_is_what_the_structs_make_of_it() -> None:
    assert operator_api.FILE.read_text() == operator_api.write(), "run python -m tests.docs.operator_api"


def test_the_document_describes_routes_that_there_are() -> None:
    assert set(operator_api.RESPONSES) <= {*EXPECTED, *WITHOUT_IDS}


async def test_answers_have_the_fields_of_the_document(serve: Serve, tmp_path: Path) -> None:
    document = operator_api.build()
    async with serving(serve, CONFIGURATION.format(plugins=PLUGINS, state=tmp_path)) as server:
        started = (await server.post("agents/default/runs", {"text": "hello"})).json()
        async with asyncio.timeout(5):
            async for _ in server.assembly.runtime.follow(started["run"]):
                pass
        wrong = []
        for route, path in READ:
            answer = await server.client.get(f"/operator/{path.format(**started)}")
            assert answer.status_code == 200, (route, answer.text)
            described = document["paths"]["/" + route.split(" ")[1]]["get"]["responses"]["200"]
            schema = described["content"]["application/json"]["schema"]
            wrong += compare(route, answer.json(), schema, document["components"]["schemas"])

    assert wrong == []


def compare(place: str, value: Any, schema: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Where the value has other fields than the schema."""
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        found = [compare(place, value, one, known) for one in schema["anyOf"]]
        return min(found, key=len)
    if "properties" in schema:
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is not an object"]
        missing = set(schema["required"]) - set(value)
        unknown = set(value) - set(schema["properties"])
        inside = [
            line
            for name, one in schema["properties"].items()
            if name in value
            for line in compare(f"{place}.{name}", value[name], one, known)
        ]
        return [f"{place}.{name}" for name in sorted(missing | unknown)] + inside
    if schema.get("type") == "array":
        if not isinstance(value, list):
            return [f"{place}: {value!r} is not a list"]
        return [line for one in value for line in compare(f"{place}[]", one, schema["items"], known)]
    return [] if matches(value, schema.get("type")) else [f"{place}: {value!r} is not {schema['type']}"]


def matches(value: Any, kind: str | None) -> bool:
    kinds: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}
    kinds |= {"boolean": (bool,), "null": (type(None),), "object": (dict,)}
    return kind is None or isinstance(value, kinds[kind])


@pytest.mark.parametrize("value", [{}, {"code": "x", "message": None, "more": 1}, {"code": 1, "message": None}])
def test_other_fields_are_found(value: dict[str, Any]) -> None:
    known = operator_api.build()["components"]["schemas"]

    assert compare("error", value, {"$ref": "#/components/schemas/RunError"}, known) != []
