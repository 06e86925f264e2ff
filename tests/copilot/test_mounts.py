"""A copilot below the paths of other applications."""

import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from rightseat import Copilot
from rightseat.copilot.mounts import restore_path
from rightseat.core.errors import ConfigError
from rightseat.faces import OpenBB
from tests.copilot.echo import RUN, Echo, run_input

FACES: Any = ["copilotkit", "openai", "openbb"]


def build(**arguments: Any) -> Copilot:
    return Copilot(Echo(), database="memory", **{"faces": FACES, **arguments})


def included(copilot: Copilot) -> FastAPI:
    app = FastAPI()
    app.include_router(copilot.router(), prefix="/ai")
    return app


def mounted(copilot: Copilot) -> Starlette:
    return Starlette(routes=[Mount("/ai", copilot.asgi())], lifespan=copilot.lifespan)


def wrapped(copilot: Copilot) -> Any:
    return copilot.wrap(Starlette(routes=[Route("/hello", lambda _: PlainTextResponse("hello"))]), path="/ai")


class Cutting:
    """Cuts the path of a mounted application off, as Litestar does: from `path` only, with a slash at its end."""

    def __init__(self, copilot: Copilot) -> None:
        self._inner = Starlette(lifespan=copilot.lifespan)
        self._copilot = copilot.asgi()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await self._inner(scope, receive, send)
        await self._copilot({**scope, "path": scope["path"].removeprefix("/ai") + "/", "root_path": ""}, receive, send)


HOSTS = {"included": included, "mounted": mounted, "wrapped": wrapped, "cutting": Cutting}


@pytest.mark.parametrize("host", HOSTS)
def test_every_face_works_below_a_path_of_another_application(host: str) -> None:
    with TestClient(HOSTS[host](build()), root_path="") as client:
        run = client.post(f"/ai{RUN}", json=run_input("Hello"))
        messages = client.get("/ai/copilotkit/threads/t1/messages").json()["messages"]
        body = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
        chat = client.post("/ai/v1/chat/completions", json=body).json()
        (agent,) = client.get("/ai/openbb/agents.json").json().values()

    assert "echo: Hello" in run.text
    assert [message["content"] for message in messages] == ["Hello", "echo: Hello"]
    assert chat["choices"][0]["message"]["content"] == "echo: Hi"
    assert agent["endpoints"]["query"] == "/ai/openbb/v1/query"


def test_addresses_have_the_path_that_a_proxy_cuts_off() -> None:
    with TestClient(included(build()), root_path="/proxy") as client:
        (agent,) = client.get("/proxy/ai/openbb/agents.json").json().values()

    assert agent["endpoints"]["query"] == "/proxy/ai/openbb/v1/query"


def test_the_wrapped_application_answers_everything_else() -> None:
    with TestClient(wrapped(build())) as client:
        assert client.get("/hello").text == "hello"
        assert client.get("/aix").status_code == 404


def test_a_wrapped_application_without_a_lifespan_has_that_of_the_copilot(caplog: pytest.LogCaptureFixture) -> None:
    async def django(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("Django can only handle ASGI/HTTP connections, not lifespan.")

    with caplog.at_level(logging.WARNING), TestClient(build().wrap(django, path="/ai")) as client:
        assert client.get("/ai/copilotkit/info").status_code == 200

    assert not any("lifespan" in record.getMessage() for record in caplog.records)


def test_the_lifespan_of_the_application_is_outside() -> None:
    steps: list[str] = []

    class Model(Echo):
        async def __aenter__(self) -> "Model":
            steps.append("model opens")
            return self

        async def __aexit__(self, *raised: object) -> None:
            steps.append("model closes")

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        steps.append("application opens")
        yield
        steps.append("application closes")

    copilot = Copilot(Model(), database="memory")
    app = FastAPI(lifespan=lifespan)
    app.include_router(copilot.router())
    for application in (app, copilot.wrap(Starlette(lifespan=lifespan), path="/ai")):
        with TestClient(application):
            pass

    once = ["application opens", "model opens", "model closes", "application closes"]
    assert steps == [*once, *once]


def test_without_a_lifespan_the_first_request_opens_it_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    app = FastAPI()
    app.mount("/ai", build().asgi())

    with caplog.at_level(logging.WARNING):
        run = TestClient(app).post(f"/ai{RUN}", json=run_input("Hello"))

    assert "echo: Hello" in run.text
    assert any("copilot.lifespan" in record.getMessage() for record in caplog.records)


def test_pages_of_a_face_may_call_it_and_no_others() -> None:
    app = FastAPI()
    app.include_router(build(faces=["copilotkit", OpenBB(path="/")]).router())
    page = {"origin": "https://pro.openbb.co", "access-control-request-method": "POST"}

    with TestClient(app) as client:
        preflight = client.options("/v1/query", headers=page)
        listed = client.get("/agents.json", headers={"origin": "https://pro.openbb.co"})
        other = client.options("/v1/query", headers=page | {"origin": "https://evil.example.com"})
        refused = client.get("/agents.json", headers={"origin": "https://evil.example.com"})

    assert (preflight.status_code, listed.status_code) == (200, 200)
    assert preflight.headers["access-control-allow-origin"] == "https://pro.openbb.co"
    assert listed.headers["access-control-allow-origin"] == "https://pro.openbb.co"
    assert (other.status_code, refused.status_code) == (400, 403)
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["ai", "/", ""])
def test_a_path_to_wrap_at_begins_with_a_slash(path: str) -> None:
    with pytest.raises(ConfigError, match="should begin with a slash"):
        Copilot("demo").wrap(Starlette(), path=path)


@pytest.mark.parametrize(
    ("scope", "path", "root"),
    [
        ({"path": "/a", "raw_path": b"/ai/a"}, "/ai/a", "/ai"),
        ({"path": "/a/", "raw_path": b"/ai/a"}, "/ai/a", "/ai"),
        ({"path": "/", "raw_path": b"/ai"}, "/ai", "/ai"),
        ({"path": "/ai/a", "raw_path": b"/ai/a", "root_path": "/ai"}, "/ai/a", "/ai"),
        ({"path": "/ü", "raw_path": b"/%C3%BC"}, "/ü", ""),
        ({"path": "/a/b", "raw_path": b"/a%2Fb"}, "/a/b", ""),
        ({"path": "/a", "raw_path": b"/other"}, "/a", ""),
        ({"path": "/a"}, "/a", ""),
    ],
)
def test_the_whole_path_is_restored(scope: dict[str, Any], path: str, root: str) -> None:
    restored = restore_path(scope)

    assert (restored["path"], restored.get("root_path", "")) == (path, root)


LARGE = ("aiohttp", "alembic", "cryptography", "graphql", "mcp", "strawberry", "rich")
IMPORTED = f"""
import sys
from rightseat import Copilot
Copilot().router()
print([name for name in {LARGE} if name in sys.modules])
"""


def test_building_a_router_imports_no_large_package_that_only_some_copilots_need() -> None:
    """An application pays for each at its start, in processor time and memory."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")
