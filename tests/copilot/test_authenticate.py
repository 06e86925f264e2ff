"""Who may call a copilot inside of an application, and whose threads it then has."""

import logging
from typing import Annotated, Any

import httpx
import pytest
from fastapi import Cookie, Depends, FastAPI, HTTPException
from fastapi.testclient import TestClient
from starlette.requests import Request

from rightseat import Copilot, Principal
from rightseat.access.host_login import MAX_CLAIMS_BYTES
from rightseat.core.errors import ConfigError
from tests.copilot.echo import RUN, Echo, run_input

ROUTES = [
    ("GET", "/copilotkit/info"),
    ("GET", "/copilotkit/threads"),
    ("POST", RUN),
    ("POST", "/v1/chat/completions"),
    ("POST", "/openbb/v1/query"),
    ("POST", "/ai-sdk"),
    ("POST", "/mcp"),
    ("GET", "/operator/threads"),
]
FACES: Any = ["copilotkit", "openai", "openbb", "ai_sdk", "mcp", "console"]


async def by_cookie(request: Request) -> Principal | None:
    user = request.cookies.get("session")
    return Principal(user, claims={"tenant": "acme"}) if user else None


def build(tmp_path: object, **arguments: Any) -> tuple[Copilot, FastAPI]:
    copilot = Copilot(Echo(), database="memory", state_dir=str(tmp_path), **arguments)

    @copilot.tool
    def who(caller: Principal) -> str:
        return f"{caller.id} of {caller.claims.get('tenant')}"

    app = FastAPI()
    app.include_router(copilot.router())
    return copilot, app


def as_user(name: str) -> dict[str, str]:
    return {"cookie": f"session={name}"}


def test_nobody_is_refused_on_every_face(tmp_path: object) -> None:
    _, app = build(tmp_path, authenticate=by_cookie, faces=FACES)

    with TestClient(app) as client:
        statuses = {path: client.request(method, path).status_code for method, path in ROUTES}
        allowed = client.get("/v1/models", headers=as_user("alice")).status_code

    assert (set(statuses.values()), allowed) == ({401}, 200), statuses


def test_a_user_of_the_application_owns_threads(tmp_path: object) -> None:
    _, app = build(tmp_path, authenticate=by_cookie)
    thread = "/copilotkit/threads/alices"

    with TestClient(app) as client:
        run = client.post(RUN, json=run_input("call who {}", "alices"), headers=as_user("alice"))
        bobs = client.get("/copilotkit/threads", headers=as_user("bob")).json()["threads"]
        taken = client.post(RUN, json=run_input("What was said?", "alices"), headers=as_user("bob"))
        renamed = client.patch(thread, json={"name": "x"}, headers=as_user("bob"))
        deleted = client.delete(thread, headers=as_user("bob"))
        alices = client.get("/copilotkit/threads", headers=as_user("alice")).json()["threads"]

    assert "alice of acme" in run.text
    assert bobs == []
    assert "alice of acme" not in taken.text
    assert (renamed.status_code, deleted.status_code) == (404, 404)
    assert [one["id"] for one in alices] == ["alices"]


async def current_user(session: Annotated[str, Cookie()] = "") -> str:
    if not session:
        raise HTTPException(401, "Sign in.", headers={"x-login": "/login"})
    return session


async def by_dependency(user: Annotated[str, Depends(current_user)]) -> Principal:
    return Principal(user)


def test_authenticate_is_a_dependency_that_tests_may_override(tmp_path: object) -> None:
    _, app = build(tmp_path, authenticate=by_dependency)

    with TestClient(app) as client:
        refused = client.get("/copilotkit/info")
        allowed = client.get("/copilotkit/info", headers=as_user("alice"))
        app.dependency_overrides[current_user] = lambda: "carol"
        run = client.post(RUN, json=run_input("call who {}"))

    assert (refused.status_code, refused.headers["x-login"], allowed.status_code) == (401, "/login", 200)
    assert "carol of None" in run.text


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("alice", "should return a `Principal` or None, not str"),
        (Principal(""), "should be a text of 1 to"),
        (Principal("x", scopes="*"), "should be a list such as"),
        (Principal("x", claims={"a": "x" * MAX_CLAIMS_BYTES}), "the limit is 4,096"),
        (Principal("x", claims={"a": {1, 2}}), "are stored as JSON"),  # type: ignore[dict-item]  # that is the point
    ],
)
def test_an_answer_that_is_no_user_opens_nothing(returned: Principal, said: str, tmp_path: object) -> None:
    async def authenticate(request: Request) -> Principal | None:
        return returned

    _, app = build(tmp_path, authenticate=authenticate)

    with TestClient(app) as client, pytest.raises(ConfigError, match=said):
        client.get("/copilotkit/info")


def test_an_exception_opens_nothing_and_its_text_stays_here(tmp_path: object) -> None:
    async def authenticate(request: Request) -> Principal | None:
        raise RuntimeError("the password is hunter2")

    _, app = build(tmp_path, authenticate=authenticate)

    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/copilotkit/info")

    assert (answer.status_code, "hunter2" in answer.text) == (500, False)


def test_a_credential_of_ours_decides_alone(tmp_path: object) -> None:
    keys = {"keys": [{"name": "ci", "key": "key-of-ci", "user": "robot"}]}
    _, app = build(tmp_path, authenticate=by_cookie, access=keys)
    session = as_user("alice")

    with TestClient(app) as client:
        by_key = client.post(RUN, json=run_input("call who {}"), headers=session | {"x-api-key": "key-of-ci"})
        by_session = client.post(RUN, json=run_input("call who {}", "t2"), headers=session)
        wrong = client.get("/copilotkit/info", headers=session | {"x-api-key": "key-of-nobody"})

    assert "robot of None" in by_key.text
    assert "alice of acme" in by_session.text
    assert wrong.status_code == 401


def test_scopes_of_a_user_are_those_of_the_console(tmp_path: object) -> None:
    async def authenticate(request: Request) -> Principal | None:
        user = request.cookies.get("session", "nobody")
        return Principal(user, scopes=["*", "operator.*:*"] if user == "admin" else ["copilotkit:*"])

    _, app = build(tmp_path, authenticate=authenticate, faces=["copilotkit", "console"])

    with TestClient(app) as client:
        client.post(RUN, json=run_input("Hello"), headers=as_user("alice"))
        refused = client.get("/operator/threads", headers=as_user("alice"))
        shown = client.get("/operator/threads", params={"owner": "*"}, headers=as_user("admin"))

    assert refused.status_code == 403
    assert "Hello" in shown.text


@pytest.mark.parametrize("authenticate", [lambda request: None, "alice", object()])
def test_authenticate_must_be_async(authenticate: Any) -> None:
    with pytest.raises(ConfigError, match="should be an async function"):
        Copilot("demo", authenticate=authenticate)


# Without any authentication


async def status_of(
    app: FastAPI, address: str, host: str = "localhost", port: int | None = None, **headers: str
) -> int:
    transport = httpx.ASGITransport(WithServer(app, host, port), client=(address, 4711))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        answer = await client.get(
            "/copilotkit/info", headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        assert answer.status_code == 200 or "authenticate" in answer.text
        return answer.status_code


class WithServer:
    """An address of a socket in the scope, as servers have it."""

    def __init__(self, app: FastAPI, host: str, port: int | None) -> None:
        self._app, self._server = app, (host, port)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app({**scope, "server": self._server}, receive, send)


async def test_only_this_machine_may_call_without_authentication(tmp_path: object) -> None:
    copilot, app = build(tmp_path)

    async with copilot:
        assert await status_of(app, "127.0.0.1") == 200
        assert await status_of(app, "::1", port=8000) == 200
        assert await status_of(app, "203.0.113.9") == 403
        assert await status_of(app, "testclient.example.com") == 403
        assert await status_of(app, "127.0.0.1", x_forwarded_for="203.0.113.9") == 403
        assert await status_of(app, "127.0.0.1", forwarded="for=203.0.113.9") == 403


async def test_pages_of_others_do_not_reach_it_through_a_browser_here(tmp_path: object) -> None:
    copilot, app = build(tmp_path)

    async with copilot:
        assert await status_of(app, "127.0.0.1", "rebound.example.com", 8000) == 403
        assert await status_of(app, "127.0.0.1", "localhost", 8000, origin="https://evil.example.com") == 403
        assert await status_of(app, "127.0.0.1", "localhost", 8000, origin="null") == 403
        assert await status_of(app, "127.0.0.1", "localhost", 8000, origin="http://localhost:3000") == 200


async def test_it_can_be_opened_on_purpose(tmp_path: object) -> None:
    copilot, app = build(tmp_path, allow_unauthenticated=True)

    async with copilot:
        assert await status_of(app, "203.0.113.9", "app.example.com", 8000) == 200


def test_a_public_address_without_users_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Everyone could call https://x\.example"):
        Copilot("demo", public_url="https://x.example")


def test_a_start_without_users_warns(tmp_path: object, caplog: pytest.LogCaptureFixture) -> None:
    _, app = build(tmp_path)

    with caplog.at_level(logging.WARNING), TestClient(app):
        pass

    assert any("authenticate" in record.getMessage() for record in caplog.records)
