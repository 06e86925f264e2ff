"""Google Cloud: each kind of credentials asks a local server for its token, as google-auth would have it ask Google."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import google.oauth2.credentials as google_credentials
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from rightseat.core.errors import ModelRefusedKey, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.models.anthropic import Anthropic
from rightseat.models.google import Google
from tests.access.credentials import RSA
from tests.egress.credentials.granting import form, giving, numbered, token
from tests.egress.credentials.test_entra import taking
from tests.models.recorded import played, refusal
from tests.tcp import Request, Script, Server, Visit, playing

PROMPT = Prompt((user("Hi"),))
GEMINI = played("google", "text")
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
PEM = RSA.as_pem(private=True).decode()
PLACE = {"platform": "vertex", "region": "global", "project": "ours"}


def service_account(url: str) -> dict[str, str]:
    return {
        "type": "service_account",
        "project_id": "ours",
        "private_key_id": "key-1",
        "private_key": PEM,
        "client_email": "server@ours.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"{url}/token",
    }


def signed_in(_: str) -> dict[str, str]:
    """Such a file does not say where tokens are given: google-auth knows one place only."""
    return {
        "type": "authorized_user",
        "client_id": "gcloud",
        "client_secret": "canary-client",
        "refresh_token": "canary-refresh",
        "quota_project_id": "ours",
    }


@asynccontextmanager
async def gemini(
    model: Script, tokens: Script, folder: Path, write: Any = service_account
) -> AsyncIterator[tuple[Google, Server, Server]]:
    async with playing(model) as served, playing(tokens) as google:
        file = folder / "credentials.json"
        await asyncio.to_thread(file.write_text, json.dumps(write(google.url)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(google_credentials, "_GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{google.url}/token")
            async with asyncio.timeout(30), Google("gemini", base_url=served.url, credentials=file, **PLACE) as asked:
                yield asked, served, google


async def say(model: Google | Anthropic) -> str:
    return "".join([chunk.text async for chunk in model.stream(PROMPT) if isinstance(chunk, TextChunk)])


def checked(request: Request) -> dict[str, Any]:
    """What a service account says of itself, once its signature is found to be right."""
    assert form(request)["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    public = RSAKey.import_key(RSA.as_dict(private=False))
    read = jwt.decode(form(request)["assertion"], public, algorithms=["RS256"])
    assert read.header["kid"] == "key-1"
    assert read.claims["aud"] == "https://oauth2.googleapis.com/token"
    assert 0 < read.claims["exp"] - time.time() <= 3600
    return dict(read.claims)


async def test_a_service_account_gets_a_token_with_a_signed_assertion(tmp_path: Path) -> None:
    async with gemini(taking("token-1", answer=GEMINI), giving(numbered()), tmp_path) as (model, served, google):
        said = [await say(model) for _ in range(2)]

    claims = checked(google.requests[0])
    assert said[0]
    assert len(google.requests) == 1
    assert (claims["iss"], claims["scope"]) == ("server@ours.iam.gserviceaccount.com", SCOPE)
    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1"] * 2


async def test_claude_on_vertex_uses_the_same_tokens(tmp_path: Path) -> None:
    async with (
        playing(taking("token-1", answer=played("anthropic", "text"))) as served,
        playing(giving(numbered())) as google,
    ):
        file = tmp_path / "credentials.json"
        await asyncio.to_thread(file.write_text, json.dumps(service_account(google.url)))
        async with Anthropic("claude", base_url=served.url, credentials=file, **PLACE) as model:
            said = await say(model)

    assert said.startswith("Hello")


async def test_user_credentials_get_a_token_with_a_refresh_token(tmp_path: Path) -> None:
    async with gemini(taking("token-1", answer=GEMINI), giving(numbered()), tmp_path, signed_in) as (model, _, google):
        said = await say(model)

    assert said
    sent = form(google.requests[0])
    assert (sent["grant_type"], sent["refresh_token"], sent["client_secret"]) == (
        "refresh_token",
        "canary-refresh",
        "canary-client",
    )


@pytest.mark.parametrize("write", [service_account, signed_in])
async def test_a_refused_token_is_renewed_once_for_all_requests(tmp_path: Path, write: Any) -> None:
    async with gemini(taking("token-2", answer=GEMINI), giving(numbered()), tmp_path, write) as (model, _, google):
        said = await asyncio.gather(*(say(model) for _ in range(10)))

    assert all(said)
    assert len(google.requests) == 2


async def test_an_expired_token_is_renewed(tmp_path: Path) -> None:
    model = taking("token-1", "token-2", answer=GEMINI)
    async with gemini(model, giving(numbered(lasts=5)), tmp_path) as (asked, served, _):
        for _ in range(2):
            await say(asked)

    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1", "Bearer token-2"]


async def test_an_unknown_account_is_reported_without_the_text_of_google(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refused = refusal("400 x", '{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}')
    async with gemini(taking(), giving(lambda _: refused), tmp_path) as (model, served, _):
        with pytest.raises(ModelRefusedKey, match="Check that its account exists and its key is still valid") as wrong:
            await say(model)

    assert served.requests == []
    assert "Invalid JWT" not in wrong.value.message
    assert "Google Cloud gives no token: RefreshError: ('invalid_grant: Invalid JWT Signature." in caplog.text


async def test_an_unreachable_token_server_is_not_reported_as_a_wrong_account(tmp_path: Path) -> None:
    def nowhere(_: str) -> dict[str, str]:
        return service_account("http://127.0.0.1:1")

    async with gemini(taking(), giving(numbered()), tmp_path, nowhere) as (model, _, _):
        with pytest.raises(ModelUnreachable, match="Google Cloud cannot be asked for a token"):
            await say(model)


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        (None, "cannot be read as a file of credentials"),
        ("{", "cannot be read as a file of credentials"),
        ('{"type": "gdch_service_account"}', "holds 'gdch_service_account'; these are read: service_account, auth"),
        ('{"type": "service_account", "private_key": "canary"}', "is not whole"),
        (json.dumps(service_account("http://x") | {"private_key": "canary"}), "is not whole"),
    ],
    ids=["missing", "no JSON", "another kind", "half", "no key"],
)
async def test_an_unusable_credentials_file_is_reported_with_what_to_check(
    text: str | None, logged: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "credentials.json"
    if text is not None:
        await asyncio.to_thread(file.write_text, text)
    async with Google("gemini", base_url="http://127.0.0.1:1", credentials=file, **PLACE) as model:
        with pytest.raises(ModelRefusedKey, match="Check the file in `credentials`"):
            await say(model)

    assert logged in caplog.text
    assert "canary" not in caplog.text


ASK = """
import asyncio, sys
from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.models.google import Google

async def main():
    place = {"platform": "vertex", "region": "global", "project": "ours"}
    async with Google("gemini", base_url=sys.argv[1], **place) as model:
        chunks = [chunk async for chunk in model.stream(Prompt((user("Hi"),)))]
    print("".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)))

asyncio.run(main())
"""


def machine(request: Request) -> bytes:
    """The server that Google Cloud has for its own machines."""
    path = request.line.split()[1]
    assert request.header("metadata-flavor") == "Google"
    if path.startswith("/computeMetadata/v1/instance/service-accounts/default/token"):
        answer = token("token-1")
    elif path.startswith("/computeMetadata/v1/instance/service-accounts/default/"):
        answer = refusal("200 OK", '{"email": "machine@ours", "scopes": []}')
    elif path.startswith("/computeMetadata/v1/project/project-id"):
        answer = refusal("200 OK", "ours", "text/plain")
    else:
        answer = refusal("200 OK", "", "text/plain")
    return answer.replace(b"\r\n", b"\r\nmetadata-flavor: Google\r\n", 1)


@pytest.mark.parametrize("kind", ["machine", "environment"])
async def test_without_a_file_application_default_credentials_are_used(kind: str, tmp_path: Path) -> None:
    """In a process of its own: google-auth reads its environment when it is imported."""
    tokens = giving(machine if kind == "machine" else numbered())
    async with playing(taking("token-1", answer=GEMINI)) as served, playing(tokens) as google:
        place = google.url.removeprefix("http://")
        environ = {"HOME": str(tmp_path), "PATH": "/nowhere", "GCE_METADATA_HOST": place, "GCE_METADATA_IP": place}
        if kind == "environment":
            file = tmp_path / "credentials.json"
            await asyncio.to_thread(file.write_text, json.dumps(service_account(google.url)))
            environ = {"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": str(file), "NO_GCE_CHECK": "true"}
        asked = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", ASK, served.url),
            env=environ | {name: os.environ[name] for name in ("COVERAGE_PROCESS_START",) if name in os.environ},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, wrong = await asyncio.wait_for(asked.communicate(), 40)

    assert said.strip(), wrong.decode()
    assert served.requests[0].header("authorization") == "Bearer token-1"
    assert {request.header("user-agent") for request in google.requests} == {"rightseat"}  # by our own door


async def test_google_auth_sends_all_requests_through_the_egress_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import http.client

    import requests

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("another way out")

    monkeypatch.setattr(http.client.HTTPConnection, "connect", refuse)
    monkeypatch.setattr(requests.Session, "send", refuse)
    async with gemini(taking("token-1", answer=GEMINI), giving(numbered()), tmp_path) as (model, _, google):
        said = await say(model)

    assert said
    assert google.requests[0].header("user-agent") == "rightseat"


async def test_cancelling_a_request_does_not_wait_for_the_token_server(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def silent(visit: Visit) -> None:
        await visit.request()
        asked.set()
        await visit.gone()

    async with gemini(taking(), silent, tmp_path) as (model, _, _):
        waiting = asyncio.create_task(say(model))
        await asked.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
