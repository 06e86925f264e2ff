"""A local OpenID provider whose responses a test can spoil, and a browser that keeps the cookies of a rightseat server.

`tests/clients/test_sign_in.py` has the real, certified provider.
"""

import hashlib
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from joserfc.jwk import Key
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from rightseat import app, config
from tests.access.credentials import RSA, jwks, token
from tests.conftest import Serve

PUBLIC_URL = "http://localhost:8000"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # that of httpx2 reads all certificates, in 0.1 s for each client
CLIENT, SECRET = "rightseat-console", "s3cret+of/the=client"

CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
log: {{type: memory}}
threads: {{type: memory}}
faces: [{{type: operator}}, {{type: console}}]
server: {{public_url: "{public_url}", state_dir: "{folder}", hosts: ["*"]}}
access:
  keys: [{{name: desk, key: key-of-the-desk-1234}}]
  oidc:
    name: Example
    issuer: "{issuer}"
    client_id: {client}
    client_secret: "{secret}"
    timeout: 5
    grants:
      - {{claim: groups, value: operators, scopes: ["*", "operator.watch:*"]}}
      - {{claim: [realm, roles], value: user, scopes: ["operator:default"]}}
"""


@dataclass
class FakeProvider:
    """`claims` changes those of ID tokens; None leaves one out. `spoil` replaces the whole token."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"groups": ["operators"]})
    spoil: Callable[[str], str] = str
    key: Key = field(default_factory=lambda: RSA)
    issuer: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] | None = None
    access_token: str = "an-access-token"
    response: dict[str, str] = field(default_factory=dict)
    """Replaces parameters of the response that the browser brings back."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    async def discover(self, request: Request) -> Response:
        self.requests.append("discovery")
        url = self.url
        found = {
            "issuer": self.issuer or url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/jwks",
            "end_session_endpoint": f"{url}/end?of=session",
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
        }
        if self.user_info is not None:
            found["userinfo_endpoint"] = f"{url}/userinfo"
        return JSONResponse({name: value for name, value in (found | self.metadata).items() if value is not None})

    async def authorize(self, request: Request) -> Response:
        """Signs the user in at once."""
        query = dict(request.query_params)
        assert query["client_id"] == CLIENT
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        answer = {"code": code, "state": query["state"], "iss": self.url} | self.response
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(answer)}", 303)

    async def issue(self, request: Request) -> Response:
        self.requests.append("token")
        form = dict(parse_qsl((await request.body()).decode()))
        basic = httpx2.BasicAuth("rightseat-console", "s3cret%2Bof%2Fthe%3Dclient")
        assert request.headers["authorization"] == basic._auth_header
        assert form["grant_type"] == "authorization_code"
        begun = self.codes.pop(form["code"], None)
        digest = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if begun is None or begun["code_challenge"] != digest or begun["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant", "error_description": f"no code {form['code']}"}, 400)
        claims = {"iss": self.url, "aud": CLIENT, "sub": "alice", "nonce": begun["nonce"]} | self.claims
        made = token(self.key, **claims)
        return JSONResponse({"access_token": self.access_token, "token_type": "Bearer", "id_token": self.spoil(made)})

    async def describe_user(self, request: Request) -> Response:
        """A spoilt document can name this address for something else."""
        if request.headers.get("authorization") != "Bearer an-access-token":
            return JSONResponse({"error": "invalid_token"}, 401)
        return JSONResponse(self.user_info)

    async def publish_keys(self, request: Request) -> Response:
        return Response(jwks(RSA), media_type="application/json")

    def app(self) -> Starlette:
        routes = [
            Route("/.well-known/openid-configuration", self.discover),
            Route("/authorize", self.authorize),
            Route("/token", self.issue, methods=["POST"]),
            Route("/jwks", self.publish_keys),
            Route("/userinfo", self.describe_user),
        ]
        return Starlette(routes=routes)


class Browser:
    """Requests with the cookies that it was given, and without following redirects."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.cookies: dict[str, str] = {}
        self.set: dict[str, Any] = {}

    async def get(self, address: str, method: str = "GET", **headers: str) -> httpx2.Response:
        """`address` may be below the public URL: this server is there."""
        target = urlsplit(address)
        path = f"{target.path}?{target.query}" if target.query else target.path
        sent = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        async with httpx2.AsyncClient(base_url=self.url, verify=NO_TLS) as client:
            answer = await client.request(method, path, headers={key: value for key, value in sent.items() if value})
        for line in answer.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(line).items():
                self.set[name] = morsel
                self.cookies.pop(name, None)
                if morsel.value and morsel["max-age"] != "0":
                    self.cookies[name] = morsel.value
        return answer

    async def start(self) -> str:
        """The address at the provider."""
        answer = await self.get("/sign-in/start")
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    async def visit_provider(self) -> str:
        """Sign in there. Returns the address that the provider redirects to."""
        async with httpx2.AsyncClient(verify=NO_TLS) as client:
            answer = await client.get(await self.start())
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    async def sign_in(self) -> str:
        """Where the last page continues, below the public URL."""
        return continues(await self.get(await self.visit_provider(), **{"sec-fetch-site": "cross-site"}))

    async def me(self) -> httpx2.Response:
        return await self.get("/operator/me")


def continues(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    url = answer.text.partition("0; url=")[2].partition('"')[0]
    assert f'href="{url}"' in answer.text
    return url


@asynccontextmanager
async def signing_in(
    serve: Serve, folder: Path, public_url: str = PUBLIC_URL, replace: tuple[str, str] = ("", "")
) -> AsyncIterator[tuple[FakeProvider, Browser]]:
    """A provider, and a browser at a server that uses it."""
    provider = FakeProvider()
    async with (
        serve(provider.app()) as provider.url,
        serving_console(serve, folder, provider, public_url, replace) as url,
    ):
        yield provider, Browser(url)


@asynccontextmanager
async def serving_console(
    serve: Serve,
    folder: Path,
    provider: FakeProvider,
    public_url: str = PUBLIC_URL,
    replace: tuple[str, str] = ("", ""),
) -> AsyncIterator[str]:
    text = CONFIGURATION.format(
        folder=folder, issuer=provider.url, client=CLIENT, secret=SECRET, public_url=public_url
    ).replace(*replace)
    found = config.parse(text, environ={})
    async with serve(app.application(app.assemble(found), found.server)) as url:
        yield url
