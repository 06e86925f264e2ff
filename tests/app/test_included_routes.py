"""Dependencies of an application that includes the copilot's router: they protect every route, in every form."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Annotated

import pytest
from fastapi import APIRouter, BackgroundTasks, Body, Depends, FastAPI, HTTPException, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount, Route

from rightseat import Copilot, app, config, parts
from rightseat.app.included_routes import IncludedRoute, build_included_router, convert_routes
from rightseat.core.errors import ConfigError
from rightseat.testing import ScriptedModel, says

FACES = parts.builtin("faces")
RUN = "/copilotkit/agent/default/run"
Build = Callable[[APIRouter], FastAPI]


def refuse() -> None:
    raise HTTPException(401, "Sign in.", {"www-authenticate": "Basic"})


def in_the_application(router: APIRouter) -> FastAPI:
    host = FastAPI(dependencies=[Depends(refuse)])
    host.include_router(router)
    return host


def where_it_is_included(router: APIRouter) -> FastAPI:
    host = FastAPI()
    host.include_router(router, dependencies=[Depends(refuse)])
    return host


def in_a_router_around_it(router: APIRouter) -> FastAPI:
    outer = APIRouter(dependencies=[Depends(refuse)])
    outer.include_router(router)
    host = FastAPI()
    host.include_router(outer)
    return host


def two_levels_above(router: APIRouter) -> FastAPI:
    inner, outer = APIRouter(), APIRouter(dependencies=[Depends(refuse)])
    inner.include_router(router)
    outer.include_router(inner)
    host = FastAPI()
    host.include_router(outer)
    return host


def in_a_mounted_application(router: APIRouter) -> FastAPI:
    host = FastAPI()
    host.mount("", in_the_application(router))
    return host


FORMS = [in_the_application, where_it_is_included, in_a_router_around_it, two_levels_above, in_a_mounted_application]


def every_face() -> APIRouter:
    faces = ", ".join(f"{{type: {name}, path: /{name}, access: open}}" for name in FACES)
    text = f"log: {{type: memory}}\nthreads: {{type: memory}}\nfaces: [{faces}]\n"
    return app.build_router(app.assemble(config.parse(text, environ={})))


def concrete(path: str) -> str:
    return "/".join("x" if step.startswith("{") else step for step in path.split("/"))


def run_input(text: str = "Hi") -> dict[str, object]:
    messages = [{"id": "m-1", "role": "user", "content": text}]
    ids: dict[str, object] = {"threadId": "t1", "runId": "r1"}
    return ids | {"messages": messages, "tools": [], "context": [], "state": {}, "forwardedProps": {}}


def copilot_of(build: Build) -> FastAPI:
    return build(Copilot(ScriptedModel([says("Hi ", "there")]), database="memory").router())


# Every route


@pytest.mark.parametrize("build", FORMS)
def test_no_route_of_any_face_is_reachable_without_the_dependency(build: Build) -> None:
    faces = every_face()
    client = TestClient(build(build_included_router(faces)))
    requests = {
        (method, concrete(route.path))
        for route in faces.routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }

    answers = {request: client.request(*request, follow_redirects=False) for request in sorted(requests)}

    assert len(requests) > 100
    assert {request: answer.status_code for request, answer in answers.items() if answer.status_code != 401} == {}
    assert {answer.headers["www-authenticate"] for answer in answers.values()} == {"Basic"}


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "SECRET"]


def test_unknown_paths_and_methods_are_refused_by_the_application_or_the_dependency() -> None:
    client = TestClient(in_the_application(build_included_router(every_face())))
    paths = [f"/{face}{below}" for face in FACES for below in ("", "/", "/nowhere", "/a/b/c/d", "/%2e%2e/x", "//x")]

    answers = [client.request(method, path, follow_redirects=False) for method in METHODS for path in paths]

    assert {answer.status_code for answer in answers} <= {307, 401, 404, 405}
    assert {answer.text for answer in answers} <= {
        "",
        '{"detail":"Sign in."}',
        '{"detail":"Not Found"}',
        '{"detail":"Method Not Allowed"}',
    }


def test_every_route_keeps_its_path_methods_and_name() -> None:
    faces = every_face()

    routes = convert_routes(faces.routes)

    def described(route: object) -> tuple[object, ...]:
        assert isinstance(route, Route)
        return (route.path, route.methods, route.name, route.endpoint)

    assert list(map(described, routes)) == list(map(described, faces.routes))
    assert {type(route) for route in routes} == {IncludedRoute}


def test_a_route_that_dependencies_cannot_protect_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"use `copilot\.app"):
        convert_routes([Mount("/x", app=Starlette())])


# Dependencies of every kind


def test_dependencies_run_once_and_stay_open_until_the_stream_has_ended() -> None:
    steps: list[str] = []

    async def session() -> AsyncIterator[str]:
        steps.append("open")
        yield "session"
        steps.append("close")

    def transaction(name: Annotated[str, Depends(session)]) -> Iterator[None]:
        steps.append(f"transaction of {name}")
        yield

    def add_task(tasks: BackgroundTasks) -> None:
        tasks.add_task(steps.append, "task")

    host = FastAPI(dependencies=[Depends(session)])
    copilot = Copilot(ScriptedModel([says("Hi ", "there")]), database="memory")
    copilot.runtime.hooks.after_request.append(note_end(steps))
    host.include_router(copilot.router(), dependencies=[Depends(transaction), Depends(add_task)])

    with TestClient(host) as client:
        answer = client.post(RUN, json=run_input())

    assert answer.status_code == 200
    assert answer.text.count("TEXT_MESSAGE_CONTENT") == 2
    assert steps == ["open", "transaction of session", "run ended", "task", "close"]


def note_end(steps: list[str]) -> Callable[..., Awaitable[None]]:
    async def note(*_: object) -> None:
        steps.append("run ended")

    return note


def test_security_scopes_and_overrides_reach_the_dependency() -> None:
    bearer = HTTPBearer(auto_error=False)

    def check(
        scopes: SecurityScopes, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None
    ) -> None:
        if given is None or given.credentials != f"token for {scopes.scope_str}":
            raise HTTPException(403, scopes.scope_str)

    host = FastAPI()
    host.include_router(Copilot(database="memory").router(), dependencies=[Security(check, scopes=["chat"])])

    with TestClient(host) as client:
        refused = client.get("/copilotkit/info")
        accepted = client.get("/copilotkit/info", headers={"authorization": "Bearer token for chat"})
        host.dependency_overrides[check] = lambda: None
        overridden = client.get("/copilotkit/info")

    assert (refused.status_code, refused.json()) == (403, {"detail": "chat"})
    assert (accepted.status_code, overridden.status_code) == (200, 200)


def test_a_dependency_may_read_the_body_and_parameters_of_the_path() -> None:
    seen: list[object] = []

    async def look(request: Request, tenant: str, body: Annotated[dict[str, object], Body()]) -> None:
        seen.append((tenant, body["threadId"], (await request.json())["threadId"]))

    host = FastAPI()
    host.include_router(
        Copilot(ScriptedModel([says("Hi")]), database="memory").router(),
        prefix="/tenants/{tenant}",
        dependencies=[Depends(look)],
    )

    with TestClient(host) as client:
        answer = client.post(f"/tenants/blue{RUN}", json=run_input())

    assert (answer.status_code, seen) == (200, [("blue", "t1", "t1")])
    assert '"delta":"Hi"' in answer.text


def test_what_a_dependency_cannot_read_is_422() -> None:
    def look(x_team: Annotated[int, Depends(lambda request_id: request_id)]) -> None:
        raise AssertionError("must not be called")

    host = FastAPI(dependencies=[Depends(look)])
    host.include_router(Copilot(database="memory").router())

    with TestClient(host) as client:
        assert client.get("/copilotkit/info").status_code == 422


# What an application sees otherwise


def test_head_requests_get_what_they_get_without_fastapis_routes() -> None:
    faces = every_face()
    paths = sorted({concrete(route.path) for route in faces.routes if isinstance(route, Route)})
    statuses = []

    for router in (faces, build_included_router(faces)):
        host = FastAPI()
        host.include_router(router)
        with TestClient(host, raise_server_exceptions=False) as client:
            statuses.append([client.head(path).status_code for path in paths if not path.endswith("/live")])

    assert statuses[0] == statuses[1]
    assert set(statuses[0]) > {200, 405}


def test_a_preflight_is_answered_by_the_application_without_the_dependency() -> None:
    host = where_it_is_included(Copilot(database="memory").router())
    host.add_middleware(CORSMiddleware, allow_origins=["https://shop.test"], allow_methods=["POST"])
    asked = {"origin": "https://shop.test", "access-control-request-method": "POST"}

    with TestClient(host) as client:
        preflight, request = client.options(RUN, headers=asked), client.post(RUN, headers={"origin": asked["origin"]})

    assert (preflight.status_code, request.status_code) == (200, 401)
    assert request.headers["access-control-allow-origin"] == "https://shop.test"


def test_the_openapi_document_of_the_application_stays_as_it_is() -> None:
    def name_by_tag(route: APIRoute) -> str:
        return f"{route.tags[0]}-{route.name}"

    def build() -> FastAPI:
        host = FastAPI(generate_unique_id_function=name_by_tag, responses={404: {"description": "No such thing."}})

        @host.get("/hello", tags=["mine"])
        async def hello() -> str:
            return "hello"

        return host

    alone, together = build(), build()
    together.include_router(Copilot(database="memory").router(), dependencies=[Depends(refuse)])

    assert together.openapi() == alone.openapi()


def test_a_router_may_be_included_twice() -> None:
    router, host = Copilot(ScriptedModel([says("Hi"), says("Hi")]), database="memory").router(), FastAPI()
    host.include_router(router, prefix="/open")
    host.include_router(router, prefix="/closed", dependencies=[Depends(refuse)])

    with TestClient(host) as client:
        answers = [client.post(f"/open{RUN}", json=run_input()), client.post(f"/closed{RUN}", json=run_input())]

    assert [answer.status_code for answer in answers] == [200, 401]


# Where dependencies would be bypassed


def test_a_mounted_router_or_copied_routes_are_refused_if_dependencies_would_not_run() -> None:
    mounted, copied = FastAPI(dependencies=[Depends(refuse)]), FastAPI(dependencies=[Depends(refuse)])
    mounted.mount("/ai", Copilot(database="memory").router())
    copied.router.routes.extend(Copilot(database="memory").router().routes)

    for host, path in ((mounted, "/ai/copilotkit/info"), (copied, "/copilotkit/info")):
        with pytest.raises(ConfigError, match="would not run"):
            TestClient(host).get(path)


def test_a_router_works_in_an_application_of_starlette() -> None:
    router = Copilot(ScriptedModel([says("Hi")]), database="memory").router()
    host = Starlette(routes=[Mount("/ai", app=router)], lifespan=router.lifespan_context)

    with TestClient(host) as client:
        assert client.get("/ai/copilotkit/info").status_code == 200
        assert '"delta":"Hi"' in client.post(f"/ai{RUN}", json=run_input()).text
