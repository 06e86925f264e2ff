"""The pages about the addresses of a server."""

import re

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import app, config
from tests.conftest import Serve

PATHS = ("/docs", "/openapi.json")
FASTAPIS = ("/redoc", "/docs/oauth2-redirect")
KEYS = "access: {keys: [{name: alice, key: key-alice-0123456789}]}"


def build(text: str) -> FastAPI:
    return app.build(config.parse(f"{text}\nlog: {{type: memory}}\nthreads: {{type: memory}}", environ={}))


@pytest.mark.parametrize(("docs", "status"), [("false", 404), ("true", 200)])
async def test_they_are_off_until_asked_for(serve: Serve, docs: str, status: int) -> None:
    async with serve(build(f"server: {{docs: {docs}}}")) as url, httpx2.AsyncClient(base_url=url) as client:
        answers = [(await client.get(path)).status_code for path in PATHS]
        others = [(await client.get(path)).status_code for path in FASTAPIS]

    assert answers == [status, status]
    assert others == [404, 404]


async def test_they_need_a_key_where_there_are_keys(serve: Serve) -> None:
    async with serve(build(f"server: {{docs: true}}\n{KEYS}")) as url, httpx2.AsyncClient(base_url=url) as client:
        without = [await client.get(path) for path in PATHS]
        key = {"x-api-key": "key-alice-0123456789"}
        answers = [(await client.get(path, headers=key)).status_code for path in PATHS]

    assert [answer.status_code for answer in without] == [401, 401]
    assert [answer.headers["www-authenticate"] for answer in without] == ["Bearer", "Bearer"]
    assert answers == [200, 200]


async def test_the_page_lists_the_routes_of_the_faces_and_loads_nothing(serve: Serve) -> None:
    async with serve(build("server: {docs: true}")) as url, httpx2.AsyncClient(base_url=url) as client:
        page = await client.get("/docs")

    assert "<tr><td>POST<td><code>/v1/chat/completions</code>" in page.text
    assert re.findall(r'(?:href|src)="([^"]*)"', page.text) == ["openapi.json"]
    assert page.headers["content-security-policy"] == "default-src 'none'"


async def test_the_document_has_every_route_with_what_is_open_in_it(serve: Serve) -> None:
    async with serve(build("server: {docs: true}")) as url, httpx2.AsyncClient(base_url=url) as client:
        found = (await client.get("/openapi.json")).json()

    assert found["openapi"] == "3.1.0"
    assert {"/health", "/ready", "/copilotkit", "/v1/models/{model}"} <= set(found["paths"])
    assert [one["name"] for one in found["paths"]["/v1/models/{model}"]["get"]["parameters"]] == ["model"]
