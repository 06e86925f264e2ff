"""How a client without a credential finds out where to sign in, and which tokens the face accepts."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from tests.access.credentials import ISSUER, RSA, jwks, token
from tests.conftest import Serve

PUBLIC = "https://copilot.example.com/mcp"
CONFIGURATION = """
models: {{default: {{type: scripted}}}}
agents: {{default: {{tools: ["tests.faces.mcp.tools:tools"]}}, other: {{}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}", hosts: ["*"], origins: ["https://inspector.example.com"]}}
access:
  jwt: {{issuer: "{issuer}", audience: rightseat, jwks: "{folder}/jwks.json"{more}}}
faces: [{{type: mcp{options}}}, {{type: openai}}]
"""
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
WELL_KNOWN = "/.well-known/oauth-protected-resource/mcp"
Text = str


@pytest.fixture
def start(serve: Serve, tmp_path: Path) -> Any:
    (tmp_path / "jwks.json").write_text(jwks(RSA))

    def build(options: Text = "", more: Text = "") -> Any:
        text = CONFIGURATION.format(folder=tmp_path, issuer=ISSUER, options=options, more=more)
        return serve(app.build(config.parse(text, environ={})))

    return build


async def list_tools(url: str, headers: dict[str, str]) -> httpx2.Response:
    accepts = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    async with httpx2.AsyncClient() as http:
        return await http.post(f"{url}/mcp", json=LIST, headers=accepts | headers)


def bearer(**changes: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token(**changes)}"}


async def test_a_request_without_a_credential_is_led_to_the_metadata(start: Any) -> None:
    async with start() as url, httpx2.AsyncClient() as http:
        refused = await list_tools(url, {})
        document = await http.get(f"{url}{WELL_KNOWN}")

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{url}{WELL_KNOWN}"'
    assert document.json() == {
        "resource": f"{url}/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "resource_name": "rightseat",
    }


async def test_a_client_is_told_the_scopes_that_tokens_need(start: Any) -> None:
    async with start(more=", scopes_claim: scope") as url, httpx2.AsyncClient() as http:
        refused = await list_tools(url, {})
        document = await http.get(f"{url}{WELL_KNOWN}")
        narrow = await list_tools(url, bearer(scope="openai:*"))
        allowed = await list_tools(url, bearer(scope="openid mcp:*"))

    assert refused.headers["www-authenticate"].endswith(', scope="mcp:*"')
    assert document.json()["scopes_supported"] == ["mcp:*"]
    assert narrow.status_code == 403
    assert narrow.headers["www-authenticate"].startswith('Bearer error="insufficient_scope", error_description="')
    assert allowed.status_code == 200


async def test_an_operator_can_name_other_scopes(start: Any) -> None:
    async with start(options=", request_scopes: [openid, tools]") as url:
        refused = await list_tools(url, {})

    assert refused.headers["www-authenticate"].endswith(', scope="openid tools"')


async def test_a_wrong_token_is_an_invalid_token(start: Any) -> None:
    async with start() as url:
        refused = await list_tools(url, bearer(aud='"evil\\"'))

    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    assert challenge.startswith('Bearer error="invalid_token", error_description="The token is for another audience."')


async def test_a_token_for_this_face_is_valid_at_no_other_one(start: Any) -> None:
    async with start(options=f', token_audience: "{PUBLIC}"') as url, httpx2.AsyncClient() as http:
        here = await list_tools(url, bearer(aud=PUBLIC))
        general = await list_tools(url, bearer())
        elsewhere = await http.get(f"{url}/v1/models", headers=bearer(aud=PUBLIC))
        other = await list_tools(url, bearer(aud="https://other.example.com/mcp"))
        document = await http.get(f"{url}{WELL_KNOWN}")

    assert (here.status_code, general.status_code, elsewhere.status_code, other.status_code) == (200, 200, 401, 401)
    assert document.json()["resource"] == PUBLIC


async def test_without_tokens_there_is_no_metadata(serve: Serve, tmp_path: Path) -> None:
    text = f"""
models: {{default: {{type: scripted}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{tmp_path}"}}
access: {{keys: [{{name: desk, key: key-of-the-desk-1234}}]}}
faces: [{{type: mcp}}]
"""
    async with serve(app.build(config.parse(text, environ={}))) as url, httpx2.AsyncClient() as http:
        refused = await list_tools(url, {})
        missing = await http.get(f"{url}{WELL_KNOWN}")

    assert refused.headers["www-authenticate"] == "Bearer"
    assert missing.status_code == 404


async def test_a_client_in_a_browser_reads_the_metadata_and_the_challenge(start: Any) -> None:
    headers = {"origin": "https://inspector.example.com"}
    preflight = headers | {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name",
    }
    async with start() as url, httpx2.AsyncClient() as http:
        allowed = await http.options(f"{url}/mcp", headers=preflight)
        refused = await list_tools(url, headers)
        document = await http.get(f"{url}{WELL_KNOWN}", headers={"origin": "https://elsewhere.example.com"})

    assert allowed.status_code == 200
    assert "www-authenticate" in refused.headers["access-control-expose-headers"]
    assert document.headers["access-control-allow-origin"] == "*"
