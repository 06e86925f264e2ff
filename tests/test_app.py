"""The parts, put together from a configuration."""

import asyncio
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import __version__, app, config
from rightseat.app.cors import MAX_LOGGED_ORIGINS
from rightseat.app.request_id import add_vary_origin
from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError, NotConfigured
from rightseat.core.events import Event, RunFinished
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from tests.acme import models, tools
from tests.conditions import settle
from tests.conftest import Serve

LOCAL = "http://localhost:3000"


def read(text: str) -> config.Config:
    return config.parse(text, Path("rightseat.yaml"), {})


def build(text: str) -> FastAPI:
    return app.build(read(text))


@pytest.fixture(autouse=True)
def blank_pages() -> None:
    models.diary.clear()
    tools.seen.clear()


# Serving


async def test_a_configuration_becomes_an_application_that_answers(serve: Serve) -> None:
    built = build("models: {default: {type: scripted, chunk_delay: 0}}\nfaces: [{type: tests.acme.faces}]")

    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/acme", params={"question": "Who are you?"})

    assert answer.text.startswith("You said: “Who are you?” I am the built-in demo model")


async def test_the_tools_that_an_agent_names_are_called(serve: Serve) -> None:
    built = build(
        """
models: {default: {type: scripted, chunk_delay: 0}}
agents: {default: {tools: ["tests.acme.tools:box"]}}
faces: [{type: tests.acme.faces}]
"""
    )

    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/acme", params={"question": "get_weather Bonn"})

    assert answer.text == 'The tool get_weather returned: {"city":"Bonn","sky":"clear"}'


async def test_every_face_has_its_address(serve: Serve) -> None:
    built = build(
        "faces: [{type: copilotkit}, {type: tests.acme.faces, path: /one}, {type: tests.acme.faces, path: /two}]"
    )

    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        hello = await client.post("/copilotkit", json={"query": "{ hello }"})
        others = [(await client.get(path)).status_code for path in ("/one", "/two", "/three")]

    assert hello.json() == {"data": {"hello": "Hello World"}}
    assert others == [422, 422, 404]


async def test_health_returns_status_and_version(serve: Serve) -> None:
    async with serve(build("")) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/health")

    assert answer.json() == {"status": "ok", "version": __version__}


# Opening and closing


async def test_parts_are_opened_with_the_server_and_closed_in_reverse(serve: Serve) -> None:
    built = build(
        """
models:
  one: {type: tests.acme.models, name: one}
  two: {type: tests.acme.models, name: two}
agents: {default: {model: one}}
"""
    )
    assert models.diary == []

    async with serve(built):
        assert models.diary == ["one opened", "two opened"]

    assert models.diary == ["one opened", "two opened", "two closed", "one closed"]


async def heard(runtime: Runtime, run_id: str) -> list[Event]:
    return [entry.event async for batch in runtime.follow(run_id) for entry in batch]


async def test_runs_are_cancelled_before_what_they_use_is_closed() -> None:
    assembly = app.assemble(read("models: {default: {type: tests.acme.models}}"))
    async with asyncio.timeout(30):
        async with assembly.opened():
            ask = await assembly.runtime.start(Ask(messages=(user("Hi"),)))
            async for _ in assembly.runtime.follow(ask.run_id):
                break  # it has begun
            model = next(one for one in assembly.owned if isinstance(one, models.Diarist))
            await model.speaking.wait()
            following = asyncio.create_task(heard(assembly.runtime, ask.run_id))
            await settle()
        last = (await following)[-1]

    assert models.diary == ["acme opened", "acme cancelled", "acme closed"]
    assert last == RunFinished("cancelled")


async def test_what_is_open_is_closed_when_a_later_part_cannot_be_opened() -> None:
    class Broken(models.Diarist):
        async def __aenter__(self) -> "Broken":
            raise OSError("no route")

    assembly = app.assemble(read(""))
    owned = [models.Diarist("first", models.diary), Broken("second", models.diary)]
    with pytest.raises(OSError, match="no route"):
        async with app.Assembly(assembly.runtime, (), owned).opened():
            pass

    assert models.diary == ["first opened", "first closed"]


# Hooks


async def test_hooks_of_the_configuration_are_called() -> None:
    built = app.assemble(
        read(
            """
models: {default: {type: scripted, chunk_delay: 0}}
hooks:
  before_request: ["tests.acme.tools:refuse_spam"]
  after_request: ["tests.acme.tools:remember"]
"""
        )
    )
    async with built.opened():
        ask = await built.runtime.start(Ask(messages=(user("Hi"),)))
        async for _ in built.runtime.follow(ask.run_id):
            pass
        with pytest.raises(NotConfigured, match="No spam"):
            await built.runtime.start(Ask(messages=(user("spam"),)))

    assert tools.seen[0].startswith("You said: “Hi”")


@pytest.mark.parametrize("hook", ["tests.acme.tools:number", "json:dumps"])
def test_a_hook_that_cannot_be_awaited_is_refused(hook: str) -> None:
    with pytest.raises(ConfigError, match="should be an async function"):
        build(f"hooks: {{on_error: ['{hook}']}}")


def test_a_reference_to_something_that_is_no_tool_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tools:number' is not a tool, a list of tools or a toolbox, but int"):
        build("agents: {default: {tools: ['tests.acme.tools:number']}}")


# Who may call


async def preflight(url: str, origin: str, headers: str = "content-type", method: str = "POST") -> httpx2.Response:
    asked = {"origin": origin, "access-control-request-method": method, "access-control-request-headers": headers}
    async with httpx2.AsyncClient() as client:
        return await client.options(f"{url}/copilotkit", headers=asked)


@pytest.mark.parametrize(
    ("server", "origin", "allowed"),
    [
        ("{}", LOCAL, True),
        ("{}", "http://127.0.0.1:5173", True),
        ("{}", "http://localhost", True),
        ("{}", "http://localhost.evil.test:3000", False),
        ("{}", "http://evil-localhost:3000", False),
        ("{}", "http://127.0.0.1.evil.test", False),
        ("{}", "https://shop.test", False),
        ("{}", "null", False),
        ("{host: 0.0.0.0}", LOCAL, False),
        ("{host: '::1'}", LOCAL, True),
        ("{origins: []}", LOCAL, False),
        ("{origins: ['https://shop.test']}", "https://shop.test", True),
        ("{origins: ['https://shop.test']}", "http://shop.test", False),
        ("{origins: ['https://shop.test']}", "https://shop.test:8443", False),
        ("{origins: ['https://shop.test']}", "https://evil-shop.test", False),
        ("{origins: ['https://shop.test']}", "https://shop.test.evil.test", False),
        ("{origins: ['https://shop.test']}", LOCAL, False),
    ],
)
async def test_only_pages_of_the_list_may_call(serve: Serve, server: str, origin: str, allowed: bool) -> None:
    async with serve(build(f"server: {server}")) as url:
        answer = await preflight(url, origin)

    assert answer.status_code == (200 if allowed else 400)
    assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(
    ("server", "credentials"),
    [("{}", None), ("{origins: ['http://localhost:3000']}", "true"), ("{origins: ['*']}", None)],
)
async def test_cookies_are_only_for_origins_named_one_by_one(
    serve: Serve, server: str, credentials: str | None
) -> None:
    async with serve(build(f"server: {server}")) as url:
        answer = await preflight(url, LOCAL)

    assert answer.headers.get("access-control-allow-credentials") == credentials


async def test_the_headers_of_our_clients_may_be_sent_and_those_of_the_configuration(serve: Serve) -> None:
    async with serve(build("server: {headers: [x-tenant]}")) as url:
        ours = await preflight(url, LOCAL, "content-type,authorization,x-copilotkit-runtime-client-gql-version")
        cloud = await preflight(url, LOCAL, "x-copilotcloud-public-api-key,x-tenant")
        key = await preflight(url, LOCAL, "x-api-key,last-event-id")
        other = await preflight(url, LOCAL, "x-other")

    assert [answer.status_code for answer in (ours, cloud, key, other)] == [200, 200, 200, 400]


async def test_only_the_methods_of_our_clients_may_be_sent(serve: Serve) -> None:
    async with serve(build("")) as url:
        answers = [await preflight(url, LOCAL, method=method) for method in ("GET", "POST", "PATCH", "DELETE", "PUT")]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 400]


@pytest.mark.parametrize("origin", [None, LOCAL])
@pytest.mark.parametrize("path", ["/copilotkit", "/health"])
async def test_every_response_varies_by_origin(serve: Serve, path: str, origin: str | None) -> None:
    async with serve(build("")) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get(path, headers={"origin": origin} if origin else {})

    assert answer.headers.get_list("vary") == ["Origin"]
    assert answer.headers.get("access-control-allow-origin") == origin
    assert answer.headers["x-request-id"].startswith("req_")


def test_what_an_answer_varies_by_already_is_said_too() -> None:
    headers = [(b"Vary", b"accept"), (b"content-type", b"text/plain")]

    assert add_vary_origin(headers) == [(b"content-type", b"text/plain"), (b"vary", b"accept, Origin")]


KEYS = """
access: {keys: [{name: alice, key: key-alice}]}
faces: [{type: copilotkit, path: /secure}, {type: copilotkit, path: /open, access: open}]
"""


async def test_faces_ask_for_keys_where_there_are_any_unless_they_are_open(serve: Serve) -> None:
    async with serve(build(KEYS)) as url, httpx2.AsyncClient(base_url=url) as client:
        hello = {"query": "{ hello }"}
        with_it = await client.post("/secure", json=hello, headers={"x-api-key": "key-alice"})
        without = await client.post("/secure", json=hello)
        open_to_all = await client.post("/open", json=hello)
        health = await client.get("/health")

    assert [answer.status_code for answer in (with_it, without, open_to_all, health)] == [200, 401, 200, 200]
    assert without.headers["www-authenticate"] == "Bearer"


async def test_a_page_may_read_why_it_was_refused_and_a_preflight_needs_no_key(serve: Serve) -> None:
    text = KEYS + "server: {origins: ['*'], headers: [x-app]}"
    async with serve(build(text)) as url, httpx2.AsyncClient(base_url=url) as client:
        asked = {
            "origin": "https://shop.test",
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,x-api-key,x-app",
        }
        before = await client.options("/secure", headers=asked)
        refused = await client.post("/secure", json={"query": "{ hello }"}, headers={"origin": "https://shop.test"})

    assert before.status_code == 200
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "*"


async def test_only_requests_for_our_hosts_are_answered(serve: Serve) -> None:
    built = build("server: {hosts: [copilot.example.com]}")
    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        hosts = ["localhost:3000", "copilot.example.com", "evil.com"]
        answers = [await client.get("/health", headers={"host": host}) for host in hosts]

    assert [answer.status_code for answer in answers] == [200, 200, 421]
    assert answers[-1].json()["error"] == "host_not_allowed"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://localhost:3000", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://localhost.evil.example", 403),
    ],
)
async def test_a_page_of_a_foreign_origin_changes_nothing(serve: Serve, origin: str | None, status: int) -> None:
    """A form or a plain POST needs no leave of the browser to be sent."""
    headers = {"origin": origin} if origin else {}
    async with serve(app.build(config.parse("", environ={}))) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/copilotkit", json={"query": "{ hello }"}, headers=headers)

    assert answer.status_code == status


async def test_the_tools_of_a_face_are_for_every_agent_and_for_asks_that_came_through_it_alone(serve: Serve) -> None:
    seen: list[list[str]] = []

    async def remember(ask: Ask) -> None:
        seen.append([tool.name for box in assembly.face_toolboxes.values() for tool in await box.tools(ask)])

    found = config.parse("agents: {default: {}, other: {}}\nfaces: [{type: openbb}]", environ={})
    assembly = app.assemble(found)
    assembly.runtime.hooks.before_request.append(remember)
    body = {"messages": [{"role": "human", "content": "Hi"}]}
    async with serve(app.application(assembly, found.server)) as url, httpx2.AsyncClient(base_url=url) as client:
        for agent in ("default", "other"):
            await client.post(f"/v1/query/{agent}", json=body)
        await assembly.runtime.start(Ask(messages=(user("Hi"),)))

    through, also, elsewhere = seen
    assert "create_table" in through
    assert also == through
    assert elsewhere == []


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("{}", '`origins: ["https://shop.test"]` (it replaces the default, pages of this machine).'),
        ("{origins: ['http://a.test']}", '`origins: ["http://a.test", "https://shop.test"]`.'),
    ],
)
async def test_a_refused_origin_is_logged_once_with_the_line_to_write(
    serve: Serve, caplog: pytest.LogCaptureFixture, server: str, line: str
) -> None:
    async with serve(build(f"server: {server}")) as url, httpx2.AsyncClient(base_url=url) as client:
        await preflight(url, "https://shop.test")
        await client.post("/copilotkit", json={"query": "{ hello }"}, headers={"origin": "https://shop.test"})
        await client.get("/health", headers={"origin": url})

    lines = [record.getMessage() for record in caplog.records if record.name == "rightseat.app.cors"]
    assert lines == [
        "A page of https://shop.test called /copilotkit; its origin is not allowed. "
        f"To allow it, write under `server`: {line}"
    ]


async def test_log_lines_about_origins_are_limited_and_have_no_line_breaks(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(build("")) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.get("/a%0Ab", headers={"origin": "null"})
        for number in range(MAX_LOGGED_ORIGINS):
            await client.get("/health", headers={"origin": f"https://{number}.test"})

    lines = [record.getMessage() for record in caplog.records if record.name == "rightseat.app.cors"]
    assert len(lines) == MAX_LOGGED_ORIGINS + 1
    assert lines[0].startswith("A page of null called /a%0Ab; its origin is not allowed. A file or a sandboxed frame")
    assert lines[-1] == "100 origins were refused. Further ones are not logged."
