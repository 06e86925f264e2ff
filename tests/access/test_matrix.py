"""Every operation of every face × who asks × how the credential comes: nothing leaks, nothing changes.

The operations come from the routes of the application, the tables behind them and the GraphQL schema, so a new one is
judged without anyone thinking of it; `examples` must know how to ask for it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from rightseat import app, config, parts
from rightseat.access.route_auth import find_route_auth
from rightseat.app import Assembly
from rightseat.config import ConfiguredPart, Server
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ConfigError
from rightseat.core.events import Interrupt, RunFinished
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.faces.openai.responses.conversation_store import (
    ConversationRecord,
    ConversationStore,
    mark_item,
    write_ask,
)
from rightseat.faces.openai.responses.response_record import ResponseRecord
from rightseat.faces.openai.responses.response_store import ResponseStore
from rightseat.stores.memory import MemoryThreads
from rightseat.telemetry import metrics
from tests.access.credentials import AUDIENCE, ISSUER, OTHER, RSA, jwks, token
from tests.access.examples import (
    CANARY,
    CONVERSATION,
    FOR_EVERYONE,
    LIVE,
    NO_CONVERSATION,
    NO_RESPONSE,
    OPERATIONS,
    QUESTION,
    RESPONSE,
    ROUTES,
    RUN,
    SIGN_IN_ROUTES,
    THREAD,
    Example,
)
from tests.conftest import Serve, serving

ALICE = Principal("alice")
FACES = parts.builtin("faces")
MORE = {"copilotkit": ", agent: default", "openbb": ", agent: default"}
"""Options of a face beside its path."""

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
  slow: {{type: scripted, chunk_delay: 60}}
agents:
  default: {{}}
  slow: {{model: slow}}
  other: {{}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}", public_url: "http://localhost:8000"}}
faces: [{faces}]
access:
  cookie: session
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: bob, key: key-bob}}
    - {{name: another face, key: key-face, user: alice, scopes: ["nowhere:*"]}}
    - {{name: another agent, key: key-agent, user: alice, scopes: ["*:other"]}}
  jwt: {{issuer: "{issuer}", audience: "{audience}", jwks: "{jwks}", scopes_claim: scope}}
  oidc: {{issuer: "{issuer}", client_id: rightseat, grants: [{{scopes: ["*"]}}]}}
"""

CARRIERS: dict[str, Callable[[str], dict[str, str]]] = {
    "Authorization": lambda credential: {"authorization": f"Bearer {credential}".strip()},
    "X-Api-Key": lambda credential: {"x-api-key": credential},
    "cookie": lambda credential: {"cookie": f"session={credential}"},
}

STRANGERS = {
    "empty": "",
    "wrong key": "key-nobody",
    "key of nobody": "rs_aaaaaaaa_" + "x" * 40,
    "expired token": token(sub="alice", scope="*", exp=1),
    "token for another audience": token(sub="alice", scope="*", aud="elsewhere"),
    "forged token": token(OTHER, sub="alice", scope="*", header={"kid": "rsa"}),
}
OUT_OF_SCOPE = {
    "key for another face": "key-face",
    "token for another face": token(sub="alice", scope="nowhere:*"),
    "token for nothing": token(sub="alice"),
}
OTHERS = {
    "key of another user": "key-bob",
    "token of another user": token(sub="bob", scope="*"),
    "key for another agent": "key-agent",
    "token for another agent": token(sub="alice", scope="*:other"),
}
OWNERS = {"key": "key-alice", "token": token(sub="alice", scope="*")}

NEW_ID = re.compile(r"(req|msg)_[0-9a-f]{32}")
"""The ids of requests, which Anthropic's errors have in their body too, and of messages."""


def configured(folder: Path) -> config.Config:
    (folder / "jwks.json").write_text(jwks(RSA))
    faces = ", ".join(f"{{type: {name}, path: /{name}{MORE.get(name, '')}}}" for name in FACES)
    text = CONFIGURATION.format(folder=folder, faces=faces, issuer=ISSUER, audience=AUDIENCE, jwks=folder / "jwks.json")
    return config.parse(text, environ={})


def operations() -> Iterator[tuple[str, str]]:
    runtime = app.assemble(config.parse("", environ={})).runtime
    for face in FACES:
        for name, _ in OPERATIONS[face](runtime, f"/{face}"):
            yield face, name


@dataclass(frozen=True, slots=True)
class World:
    """A server on which Alice has a thread with something in it, a question that is open, and a run that is on."""

    assembly: Assembly
    client: httpx2.AsyncClient

    async def ask(self, example: Example, headers: dict[str, str]) -> httpx2.Response:
        body = {} if example.body is None else {"json": example.body}
        if example.path.startswith("/operator"):
            headers = headers | {"x-rightseat": "1"}
        request = self.client.build_request(example.method, example.path, params=example.query, headers=headers, **body)
        answer = await self.client.send(request, stream=example.endless)
        return answer if not example.endless else await read_for_a_moment(answer)

    async def snapshot(self) -> object:
        """All that is Alice's."""
        runtime = self.assembly.runtime
        listed = sorted(await runtime.threads.list(ALICE, archived=True), key=lambda one: one.id)
        return [await runtime.thread(one.id, ALICE) for one in listed], await runtime.threads.pending(ALICE)


async def read_for_a_moment(answer: httpx2.Response) -> httpx2.Response:
    """What a stream without an end has sent after a quarter of a second."""
    read = bytearray()
    with suppress(TimeoutError):
        async with asyncio.timeout(0.25):
            async for piece in answer.aiter_bytes():
                read += piece
    await answer.aclose()
    headers = {"content-type": answer.headers["content-type"]}
    return httpx2.Response(answer.status_code, content=bytes(read), headers=headers)


@asynccontextmanager
async def world(serve: Serve, folder: Path) -> AsyncIterator[World]:
    found = configured(folder)
    assembly = app.assemble(found)
    async with serve(app.application(assembly, found.server)) as url, httpx2.AsyncClient(base_url=url) as client:
        await seed(assembly)
        yield World(assembly, client)


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """For operations that change nothing, which is checked. A server for each of them would take most of the time."""
    async with world(serving, tmp_path_factory.mktemp("world")) as here:
        yield here


async def seed(assembly: Assembly) -> None:
    runtime, threads = assembly.runtime, find_threads(assembly)
    said = Ask(messages=(user(CANARY),), thread_id=THREAD, run_id=RUN, principal=ALICE, state={"secret": CANARY})
    async for _ in runtime.follow((await runtime.start(said)).run_id):
        pass
    asked = Ask(messages=(), thread_id=THREAD, principal=ALICE)
    await threads.claim(asked)
    question = Interrupt(QUESTION, "approval_required", CANARY)
    await threads.finish(asked, (), {"secret": CANARY}, RunFinished("waiting", (question,)))
    await runtime.threads.change(THREAD, ALICE, name=CANARY)
    await runtime.start(Ask(messages=(user("Hi"),), agent="slow", thread_id=LIVE, principal=ALICE))
    await seed_responses(runtime)


def find_threads(assembly: Assembly) -> MemoryThreads:
    (found,) = (part for part in assembly.owned if isinstance(part, MemoryThreads))
    return found


async def seed_responses(runtime: Runtime) -> None:
    """A response that has ended, and a conversation with an item."""
    part = {"type": "input_text", "text": CANARY}
    said = {"id": f"msg_{RESPONSE[5:]}_i0", "type": "message", "role": "user", "content": [part]}
    record = ResponseRecord(
        id=RESPONSE, model="default", thread_id="alices-responses", background=True, instructions=CANARY, input=(said,)
    )
    ask = Ask(messages=(user(CANARY),), thread_id=record.thread_id, run_id=record.run_id, principal=ALICE)
    async for _ in runtime.follow((await runtime.start(ask)).run_id):
        pass
    responses = ResponseStore(runtime, str)
    await responses.replace(record, ask)
    conversation = ConversationRecord(id=CONVERSATION, agent="default", created_at=0, metadata={"topic": CANARY})
    item = {**said, "id": f"msg_{CONVERSATION[5:]}_c0"}
    await runtime.threads.append_messages(write_ask(conversation, ALICE, [mark_item(user(CANARY), item)]))
    await ConversationStore(runtime, responses).save(conversation, ALICE)


def example_of(face: str, name: str, assembly: Assembly) -> Example:
    return dict(OPERATIONS[face](assembly.runtime, f"/{face}"))[name]


@pytest.mark.parametrize(("face", "name"), list(operations()))
async def test_an_operation_returns_data_only_to_its_owner(
    face: str, name: str, shared: World, serve: Serve, tmp_path: Path
) -> None:
    if example_of(face, name, shared.assembly).changes:
        async with world(serve, tmp_path) as own:
            await check_operation(own, example_of(face, name, own.assembly))
        return
    before = await shared.snapshot()
    await check_operation(shared, example_of(face, name, shared.assembly))

    assert await shared.snapshot() == before


async def check_operation(here: World, example: Example) -> None:
    here.client.cookies.clear()  # that an operation before may have set
    before = await here.snapshot()
    await check_strangers(here, example)
    await check_others(here, example)
    assert await here.snapshot() == before
    await check_owner(here, example)


BODIES = [(face, name) for face, name in operations() if not name.startswith("GET")]
DEEP = b'{"a":' * 65 + b"1" + b"}" * 65


@pytest.mark.parametrize(("face", "name"), BODIES)
async def test_a_body_is_accepted_only_as_json_with_limited_depth(face: str, name: str, shared: World) -> None:
    example = example_of(face, name, shared.assembly)
    shared.client.cookies.clear()
    before = await shared.snapshot()

    async def post(content: bytes, kind: dict[str, str]) -> int:
        headers = {
            "x-api-key": "key-alice",
            "accept": "application/json, text/event-stream",
            "x-rightseat": "1",
        } | kind
        url, query = example.path, example.query
        return (
            await shared.client.request(example.method, url, params=query, headers=headers, content=content)
        ).status_code

    whole = json.dumps(example.body or {}).encode()
    forms = () if "transcri" in name else ("multipart/form-data; boundary=x",)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "text/plain; application/json", *forms):
        assert await post(whole, {"content-type": kind}) == 415
    assert await post(whole, {}) == 415
    assert await post(DEEP, {"content-type": "application/json"}) == 400
    assert await shared.snapshot() == before


async def check_strangers(here: World, example: Example) -> None:
    """Who is not known here is refused in one way, however the credential comes; so is who is known elsewhere."""
    nobody = await here.ask(example, {})
    assert nobody.status_code == 401
    for wanted, credentials in ((401, STRANGERS), (403, OUT_OF_SCOPE)):
        for who, credential in credentials.items():
            answers = [await here.ask(example, carry(credential)) for carry in CARRIERS.values()]
            assert {answer.status_code for answer in answers} == {wanted}, who
            assert len({NEW_ID.sub("", answer.text) for answer in answers}) == 1, who
            assert CANARY not in answers[0].text, who


async def check_others(here: World, example: Example) -> None:
    """For who has no right to it, it is as if it were not there."""
    for who, credential in OTHERS.items():
        for carry in CARRIERS.values():
            answer = await here.ask(example, carry(credential))
            assert CANARY not in answer.text, who
            assert answer.status_code < 500 or answer.status_code == example.status, who
            if not example.begins:
                unknown = await here.ask(example.about("no-such-thread", "no-such-question"), carry(credential))
                assert told(answer) == told(unknown), who


def told(answer: httpx2.Response) -> tuple[int, str]:
    """The answer without what was asked for, and without what is made anew each time, such as counts of requests."""
    text = answer.text
    known = (THREAD, LIVE, QUESTION, RUN, RESPONSE, CONVERSATION)
    unknown = ("no-such-thread", "no-such-question", "no-such-run", NO_RESPONSE, NO_CONVERSATION)
    for id in (*known, *unknown):
        text = text.replace(id, "…")
    is_new = answer.headers.get("content-type", "").startswith(("text/event-stream", metrics.CONTENT_TYPE))
    return answer.status_code, "" if is_new else NEW_ID.sub("", text)


async def check_owner(here: World, example: Example) -> None:
    """The example is a good one: its owner gets what the others did not."""
    carriers = list(CARRIERS.values())
    ways = [(credential, carry) for credential in OWNERS.values() for carry in carriers]
    for credential, carry in ways[: 1 if example.changes else None]:
        answer = await here.ask(example, carry(credential))
        assert (answer.status_code, CANARY in answer.text) == (example.status, example.shows), answer.text


# Every route is known


def test_the_matrix_lists_every_face_and_route() -> None:
    assert set(OPERATIONS) == set(ROUTES) == set(FACES)


def test_every_route_requires_the_authenticator_of_its_face_or_is_listed_as_open(tmp_path: Path) -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for path, method, endpoint in routes(app.build(configured(tmp_path))):
        auth = find_route_auth(endpoint)
        where = auth.face if auth else "everyone"
        found.setdefault(where, set()).add((path.removeprefix(f"/{where}"), method))

    assert found == {**ROUTES, "everyone": FOR_EVERYONE, "sign_in": SIGN_IN_ROUTES}


def routes(router: Any) -> Iterator[tuple[str, str, object]]:
    """FastAPI keeps routers that were included as they are."""
    for route in router.routes:
        if included := getattr(route, "original_router", None):
            yield from routes(included)
            continue
        assert isinstance(route, Route), f"what is behind {route} cannot be seen from outside"
        for method in (route.methods or set()) - {"HEAD"}:
            yield route.path, method, route.endpoint


def face_with(*routes: Any) -> ConfiguredPart:
    module = ModuleType("careless")
    module.routes = lambda runtime, options, auth: APIRouter(routes=[*routes])  # type: ignore[attr-defined]
    return ConfiguredPart("faces", "careless", module, Server())


async def careless(request: Request) -> Response:
    return PlainTextResponse(CANARY)


@pytest.mark.parametrize("route", [Route("/careless", careless), Mount("/careless", routes=[Route("/", careless)])])
def test_a_route_without_an_authenticator_is_not_served(route: Any) -> None:
    assembly = app.assemble(config.parse("", environ={}))

    with pytest.raises(ConfigError, match="'careless' has a route that its `auth` does not protect"):
        app.build_router(Assembly(assembly.runtime, [face_with(route)]))


def test_a_route_with_the_authenticator_of_another_face_is_not_served(tmp_path: Path) -> None:
    built = app.assemble(configured(tmp_path))
    stolen = app.build_router(built).routes[0]

    with pytest.raises(ConfigError, match="does not protect"):
        app.build_router(Assembly(built.runtime, [face_with(stolen)], (), built.authenticator))


def test_the_example_bodies_are_json() -> None:
    runtime = app.assemble(config.parse("", environ={})).runtime
    for face in FACES:
        for _, example in OPERATIONS[face](runtime, f"/{face}"):
            json.dumps(example.body)
