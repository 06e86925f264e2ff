"""The static files of the console."""

import httpx2

from rightseat import app, config
from rightseat.faces.console import list_files
from tests.conftest import Serve

CONFIGURATION = """
log: {type: memory}
threads: {type: memory}
faces: [{type: console}]
access: {keys: [{name: alice, key: key-alice-0123456789}]}
"""


async def get(serve: Serve, path: str, **headers: str) -> httpx2.Response:
    served = app.build(config.parse(CONFIGURATION, environ={}))
    async with serve(served) as url, httpx2.AsyncClient(base_url=url) as client:
        return await client.get(path, headers=headers)


async def test_the_page_is_served_without_a_key_and_under_a_strict_policy(serve: Serve) -> None:
    page = await get(serve, "/console/")

    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy


async def test_the_path_without_a_slash_leads_to_the_page_by_a_relative_address(serve: Serve) -> None:
    answer = await get(serve, "/console")

    assert (answer.status_code, answer.headers["location"]) == (307, "console/")


async def test_a_file_that_the_browser_has_is_not_sent_again(serve: Serve) -> None:
    etag = (await get(serve, "/console/index.html")).headers["etag"]

    assert (await get(serve, "/console/index.html", **{"if-none-match": etag})).status_code == 304


async def test_only_files_of_the_console_are_served(serve: Serve) -> None:
    for path in ("/console/nothing.js", "/console/../faces/console.py", "/console/%2e%2e/parts.py"):
        assert (await get(serve, path)).status_code == 404


async def test_every_file_is_served_as_it_is(serve: Serve) -> None:
    served = app.build(config.parse(CONFIGURATION, environ={}))
    async with serve(served) as url, httpx2.AsyncClient(base_url=url) as client:
        for name in list_files():
            plain = await client.get(f"/console/{name}", headers={"accept-encoding": "identity"})
            packed = await client.get(f"/console/{name}", headers={"accept-encoding": "gzip"})
            assert plain.status_code == 200, name
            assert packed.content == plain.content, name
