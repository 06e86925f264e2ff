"""Spoilt requests to the operator API, the usage report and the sign-in of a real server, and to that of a provider.

The server has plugins that may be edited, keys in its store and an identity provider. What it keeps grows with each
case, so plugins that a case has created are deleted again.
"""

import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightseat import app, config
from rightseat.access.sign_in.provider import OpenIdProvider
from rightseat.access.sign_in.refusal import SignInRefused
from rightseat.config import Oidc
from rightseat.config.access import Grant
from rightseat.core.errors import Unauthenticated
from tests.access.examples import OPERATOR
from tests.access.openid_provider import CLIENT, NO_TLS, PUBLIC_URL, SECRET, Browser, FakeProvider
from tests.conftest import serving
from tests.fuzz import bodies
from tests.fuzz.bodies import JSON, STALL_S, Sent
from tests.fuzz.engine import Check, Target
from tests.fuzz.mutation import TEXTS, mutate_bytes, mutate_json, mutate_text

STREAM_S = 0.5  # for what `/operator/live` sends first
PLUGIN = Path(__file__).parents[1] / "acceptance" / "console" / "plugins" / "steps"
CALLERS = ("root", "author", "watcher", "user", "nobody")

CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
toolboxes:
  steps: {{type: plugins, folders: ["{folder}/plugins"], allow_private: {{steps: ["127.0.0.1:9"]}}}}
agents: {{default: {{}}, ops: {{type: flows, toolbox: steps}}}}
limits: [{{name: many, subject: user, requests_per_day: 1000000}}]
faces: [{{type: operator, edit: true}}, {{type: console}}, {{type: usage}}]
server: {{public_url: "{public_url}", state_dir: "{folder}/state", hosts: ["*"]}}
access:
  max_wrong_keys_per_minute: 0
  keys:
    - {{name: root, key: key-root, user: root, scopes: ["*", "operator.*:*", "usage:*"]}}
    - {{name: author, key: key-author, user: ada, scopes: ["*", "operator.author:*"]}}
    - {{name: watcher, key: key-watcher, user: wu, scopes: ["operator.watch:*"]}}
    - {{name: user, key: key-user, user: bob}}
  oidc:
    issuer: "{issuer}"
    client_id: {client}
    client_secret: "{secret}"
    grants: [{{scopes: ["*"]}}]
"""


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[str, FakeProvider]]:
    """A server with that state folder and a copy of the plugin, and its identity provider."""
    shutil.copytree(PLUGIN, folder / "plugins" / PLUGIN.name, copy_function=shutil.copyfile)
    provider = FakeProvider()
    async with serving(provider.app()) as provider.url:
        text = CONFIGURATION.format(
            folder=folder, issuer=provider.url, client=CLIENT, secret=SECRET, public_url=PUBLIC_URL
        )
        async with serving(app.build(config.parse(text, environ={}))) as url:
            yield url, provider


# The operator API and the usage report


@asynccontextmanager
async def opened_operator() -> AsyncIterator[Check]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, _ = await stack.enter_async_context(running(folder))
        count = 0

        async def check(case: Any) -> None:
            nonlocal count
            count += 1
            method, path, headers, body = case
            is_stream = path.startswith("/operator/live")
            await bodies.ask(url, method, path, headers, body, STREAM_S if is_stream else bodies.READ_S)
            if count % bodies.HEALTH_EVERY == 0:
                remove_new_plugins(folder / "plugins")
                assert (await bodies.ask(url, "GET", "/health", {}, b""))[0] == 200

        yield check


def remove_new_plugins(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != PLUGIN.name and path.is_dir():
            shutil.rmtree(path)


@cache
def operator_requests() -> tuple[Sent, ...]:
    headers = {"x-rightseat": "1", **JSON}
    requests: list[Sent] = []
    for name, example in OPERATOR.items():
        path = f"/operator/{example.path}" + (f"?{urlencode(example.query)}" if example.query else "")
        requests.append((example.method, path, headers, b"" if example.body is None else example.body))
        if name.startswith(("POST plugins", "PUT plugins", "POST drafts", "POST access")):
            requests += [requests[-1]] * 2  # they read the most
    files = {"flows/five.yaml": "name: five\nsteps: []\n", "plugin.json": "{}"}
    draft = {"plugin": "steps", "files": files}
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/a": {"get": {"responses": {}}}}}
    pages = ("runs?limit=5&status=failed&agent=default", "threads?search=Hi&user=bob&limit=2&cursor=eyJhIjoxfQ")
    flow = {"text": files["flows/five.yaml"]}
    requests += [
        ("PUT", "/operator/plugins/steps/files/flows/new.yaml", headers | {"if-none-match": "*"}, flow),
        ("POST", "/operator/drafts/check", headers, draft),
        ("POST", "/operator/drafts/cases", headers, draft),
        ("POST", "/operator/drafts/try", headers, draft | {"flow": "five", "question": "Hi", "model": "default"}),
        ("POST", "/operator/plugins", headers, {"id": "pets", "openapi": json.dumps(document)}),
        ("POST", "/operator/access/keys", headers, {"name": "k", "scopes": ["*"], "days": 3, "user": "bob"}),
        *(("GET", f"/operator/{page}", headers, b"") for page in pages),
        ("GET", "/operator/live?thread=a&thread=b&runs=1", headers | {"last-event-id": "3"}, b""),
        ("GET", "/operator/audit?since=2026-01-01&limit=3&kind=key", headers, b""),
        ("GET", "/operator/metrics?minutes=5&series=runs", headers, b""),
        ("GET", "/usage?by=user,model&since=2026-01-01&until=2026-12-31", headers, b""),
        ("GET", "/usage/limits", headers, b""),
    ]
    return tuple(requests)


def make_operator_case(random: Random) -> Any:
    method, path, headers, body = bodies.make(operator_requests, random)
    if "?" in path and random.random() < 0.5:
        path, _, query = path.partition("?")
        path = f"{path}?{quote(mutate_text(random, query)[:2_000], safe='=&,', errors='replace')}"
    if random.random() < 0.1:
        headers = {**headers, random.choice(("if-match", "if-none-match", "cookie", "sec-fetch-site")): "*"}
    return method, path, {"x-api-key": f"key-{random.choice(CALLERS)}", **headers}, body


# The sign-in: what a browser sends


@asynccontextmanager
async def opened_sign_in() -> AsyncIterator[Check]:
    """A case has the marks {code}, {state}, {iss} and {cookie} of a sign-in that has begun."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, provider = await stack.enter_async_context(running(folder))

        async def check(case: Any) -> None:
            path, query, cookies, headers = case
            browser = Browser(url)
            callback = await browser.visit_provider()
            begun = dict(httpx2.URL(callback).params) | {"cookie": next(iter(browser.cookies.values()))}
            provider.codes.clear() if len(provider.codes) > 1_000 else None

            def fill(text: str) -> str:
                for name, value in begun.items():
                    text = text.replace("{" + name + "}", value)
                return text

            filled = urlencode([(fill(name), fill(value)) for name, value in query], errors="replace")
            cookie = bodies.clean("; ".join(f"{fill(name)}={fill(value)}" for name, value in cookies))
            await bodies.ask(url, "GET", f"{path}?{filled}", {**headers, "cookie": cookie}, b"")

        yield check


CALLBACK = [["code", "{code}"], ["state", "{state}"], ["iss", "{iss}"]]


def make_sign_in_case(random: Random) -> Any:
    """Texts in a list that is mutated as JSON may have become something else: those are left out."""
    path = random.choice(("/sign-in/callback", "/sign-in/callback", "/sign-in/start"))
    query = mutate_pairs(random, [*CALLBACK, ["error", "access_denied"]][: random.choice((3, 3, 4))])
    cookies = mutate_pairs(random, [["rightseat-sign-in", "{cookie}"]]) if random.random() < 0.7 else []
    headers = {"sec-fetch-site": random.choice(("cross-site", "none", bodies.clean(random.choice(TEXTS))))}
    return path, query, cookies, headers


def mutate_pairs(random: Random, pairs: list[list[str]]) -> list[list[str]]:
    spoilt = mutate_json(random, pairs, most=3)
    return [
        [str(part)[:3_000] for part in pair]
        for pair in (spoilt if isinstance(spoilt, list) else [])
        if isinstance(pair, list) and len(pair) == 2
    ]


# The sign-in: what a provider sends


@dataclass
class SpoiltResponses:
    """Changes the body of one of the provider's documents, as the current case has it."""

    app: ASGIApp
    place: str = ""
    seed: int = 0
    is_json: bool = True
    places: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The provider asserts that requests are as they should be: it refuses others with 500."""
        with suppress(AssertionError):
            await self._forward(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self.place:
            return await self.app(scope, receive, send)
        started: list[Message] = []

        async def spoil(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            body = self.change(message["body"])
            kept = [pair for pair in started[0]["headers"] if pair[0] != b"content-length"]
            await send({**started[0], "headers": [*kept, (b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, spoil)

    def change(self, body: bytes) -> bytes:
        random = Random(self.seed)
        if self.is_json:
            spoilt = mutate_json(random, json.loads(body), most=2)
            return json.dumps(spoilt, default=str).encode("utf-8", "replace")
        return mutate_bytes(random, body)


DOCUMENTS = ("/.well-known/openid-configuration", "/token", "/jwks", "/userinfo")


@asynccontextmanager
async def opened_provider() -> AsyncIterator[Check]:
    provider = FakeProvider(user_info={"sub": "alice", "groups": ["operators"]}, claims={})
    spoilt = SpoiltResponses(provider.app())
    async with serving(spoilt) as provider.url:
        options = Oidc(
            issuer=provider.url,
            client_id=CLIENT,
            client_secret=SECRET,
            grants=(Grant(claim="groups", value="operators", scopes=("*",)),),
        )

        async def check(case: Any) -> None:
            spoilt.place, spoilt.seed, spoilt.is_json = case
            provider.codes.clear()
            async with OpenIdProvider(options, f"{PUBLIC_URL}/sign-in/callback") as client:
                try:
                    url, attempt = await client.begin()
                    response = await follow(url, provider.url)
                    await client.finish(attempt, response)
                except (SignInRefused, Unauthenticated):
                    pass

        yield check


async def follow(url: str, provider: str) -> dict[str, str]:
    """The query that the provider sends a browser back with, if its own address is still in its document."""
    if not url.startswith(f"{provider}/authorize?"):
        return {}
    async with httpx2.AsyncClient(verify=NO_TLS) as client:
        answer = await client.get(url)
    return dict(httpx2.URL(answer.headers["location"]).params)


def make_provider_case(random: Random) -> Any:
    return random.choice(DOCUMENTS), random.getrandbits(32), random.random() < 0.7


def sample_requests() -> tuple[Any, ...]:
    key = {"x-api-key": "key-root"}
    return tuple(
        (method, path, key | headers, body if isinstance(body, bytes) else json.dumps(body).encode())
        for method, path, headers, body in operator_requests()
    )


TARGETS = (
    Target("body-operator", make_operator_case, opened_operator, sample_requests(), 300, STALL_S),
    Target(
        "body-sign-in",
        make_sign_in_case,
        opened_sign_in,
        (("/sign-in/callback", CALLBACK, [["rightseat-sign-in", "{cookie}"]], {}), ("/sign-in/start", [], [], {})),
        100,
        STALL_S,
    ),
    Target("provider", make_provider_case, opened_provider, (("", 0, True),), 150, STALL_S),
)
