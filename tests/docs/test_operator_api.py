"""docs/reference/operator.openapi.json is what a server answers with."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import Serve
from tests.docs import operator_api
from tests.faces.operator.test_access import with_store
from tests.faces.operator.test_operator import serving
from tests.faces.operator.test_rights import EXPECTED, WITHOUT_IDS, User
from tests.faces.operator.test_setup import first_start

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
    ("GET feedback", "feedback"),
    ("GET feedback/counts", "feedback/counts"),
    ("GET memories", "memories"),
    ("GET annotations", "annotations"),
    ("GET approvals", "approvals"),
    ("GET flows", "flows"),
    ("GET flows/{plugin}/{flow}", "flows/steps/five"),
    ("GET plugins", "plugins"),
    ("GET plugins/{plugin}", "plugins/steps"),
    ("GET metrics", "metrics"),
    ("GET usage", "usage"),
    ("GET usage/limits", "usage/limits"),
    ("GET failures", "failures"),
    ("GET health", "health"),
    ("GET access", "access"),
    ("GET audit", "audit"),
    ("GET snippets", "snippets"),
    ("GET snippets/{face}", "snippets/operator"),
]


def test_the_document_describes_every_json_answer() -> None:
    described = {*operator_api.RESPONSES, *operator_api.WITHOUT_JSON}
    assert {shorten(route) for route in described} == {shorten(route) for route in (*EXPECTED, *WITHOUT_IDS)}
    assert not operator_api.RESPONSES.keys() & operator_api.WITHOUT_JSON.keys()


def shorten(route: str) -> str:
    """Without the converters of its parameters."""
    return route.replace(":path}", "}")


async def test_answers_have_the_fields_of_the_document(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, CONFIGURATION.format(plugins=PLUGINS, state=tmp_path)) as server:
        started = (await server.post("agents/default/runs", {"text": "hello"})).json()
        async with asyncio.timeout(60):
            async for _ in server.assembly.runtime.follow(started["run"]):
                pass
        wrong = compare_answer("POST feedback", await server.post("feedback", {"id": started["run"], "value": "up"}))
        for route, path in READ:
            wrong += compare_answer(route, await server.client.get(f"/operator/{path.format(**started)}"))
        wrong += compare_answer("POST runs/{run}/stop", await server.post(f"runs/{started['run']}/stop"))
        wrong += compare_answer("GET runs/{run}", await server.client.get("/operator/runs/none"), "default")

    assert wrong == []


async def test_answers_with_new_keys_have_the_fields_of_the_document(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, with_store(tmp_path)) as server:
        root = User(server, "root")
        created = await root.change("POST", "access/keys", {"name": "new"})
        rotated = await root.change("POST", "access/keys/new/rotate")

    assert compare_answer("POST access/keys", created) == []
    assert compare_answer("POST access/keys/{name:path}/rotate", rotated) == []


async def test_answers_of_the_first_start_have_the_fields_of_the_document(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with first_start(serve) as server:
        wrong = compare_answer("GET setup", await server.get())
        body: dict[str, Any] = {"choice": "demo", "try": True}
        wrong += compare_answer("POST setup/check", await server.post("check", **body))
        wrong += compare_answer("POST setup/write", await server.post("write", choice="demo"))

    assert wrong == []


def compare_answer(route: str, answer: httpx2.Response, status: str = "") -> list[str]:
    """Where the answer has another status or other fields than the document says."""
    document = operator_api.build()
    method, path = route.split(" ")
    responses = document["paths"]["/" + path.replace(":path}", "}")][method.lower()]["responses"]
    status = status or str(answer.status_code)
    if status not in responses:
        return [f"{route}: {answer.status_code} {answer.text}"]
    schema = responses[status]["content"]["application/json"]["schema"]
    return compare(route, answer.json(), schema, document["components"]["schemas"])


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
