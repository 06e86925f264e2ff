"""An MCP client without a key: the SDK's own client finds the provider, registers, signs in, and calls a tool.

The provider is the certified `oidc-provider`. The person is played by requests to its forms.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult
from pydantic import AnyUrl

from tests.clients import test_react_app as board
from tests.clients.test_sign_in import free_ports, running

PROGRAMS = Path(__file__).parent / "sign-in"
CALLBACK = "http://127.0.0.1:3030/callback"

pytestmark = pytest.mark.clients

TOOLS = '''"""Tools of the test."""

from rightseat import tool


@tool(approval="Cancel this order?", effect="write")
def cancel_order(order_id: int) -> str:
    """Cancels an order."""
    return f"order {order_id} is cancelled"
'''
CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
agents: {{default: {{tools: ["shop:cancel_order"]}}}}
faces: [{{type: mcp, token_audience: "http://127.0.0.1:{port}/mcp", agents_as_tools: [default]}}, {{type: openai}}]
server: {{port: {port}, public_url: "http://127.0.0.1:{port}"}}
access:
  jwt:
    issuer: http://localhost:{provider}
    audience: rightseat
    jwks: http://localhost:{provider}/jwks
    scopes_claim: scope
"""


class Memory:
    """What the client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Signs in at the provider, and approves what a tool asks."""

    def __init__(self) -> None:
        self.returned: AuthorizationCodeResult | None = None
        self.asked: list[str] = []

    async def sign_in(self, url: str) -> None:
        async with httpx2.AsyncClient() as http:
            response = await http.get(url)
            for _ in range(20):
                if response.status_code in (302, 303):
                    target = urljoin(str(response.url), response.headers["location"])
                    if target.startswith(CALLBACK):
                        fields = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
                        self.returned = AuthorizationCodeResult(
                            code=fields["code"], state=fields.get("state"), iss=fields.get("iss")
                        )
                        return
                    response = await http.get(target)
                else:
                    assert response.status_code == 200, response.text
                    prompt = "login" if 'name="login"' in response.text else "consent"
                    form = {"prompt": prompt, "login": "alice", "password": "any"}
                    response = await http.post(str(response.url), data=form)
        pytest.fail("The provider led nowhere.")

    async def bring_code(self) -> AuthorizationCodeResult:
        assert self.returned is not None
        return self.returned

    async def approve(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node, _ = board.find_programs()
    folder = tmp_path_factory.mktemp("mcp-sign-in")
    packages = board.install(PROGRAMS).parent
    port, provider = free_ports()
    (folder / "rightseat.yaml").write_text(CONFIGURATION.format(port=port, provider=provider))
    (folder / "shop.py").write_text(TOOLS)
    environ = os.environ | {"PACKAGES": str(packages)}
    provide = [node, PROGRAMS / "mcp-provider.mjs", str(provider)]
    serve = [sys.executable, "-m", "rightseat", "serve"]
    with running(provide, folder, environ, "listening"), running(serve, folder, environ, "mcp"):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def connected(url: str, person: Person, memory: Memory) -> AsyncIterator[Client]:
    about = OAuthClientMetadata(
        client_name="A remote assistant",
        redirect_uris=[AnyUrl(CALLBACK)],
        grant_types=["authorization_code"],
        token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(f"{url}/mcp", about, memory, person.sign_in, person.bring_code)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), elicitation_callback=person.approve) as client,
    ):
        yield client


async def test_a_client_without_a_key_signs_in_and_calls_a_tool_that_needs_approval(url: str) -> None:
    person, memory = Person(), Memory()
    async with connected(url, person, memory) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        called = await client.call_tool("cancel_order", {"order_id": 7})
        asked = await client.call_tool("ask_default", {"message": "Hello"})
    assert memory.tokens is not None

    assert names == {"cancel_order", "ask_default"}
    assert person.asked == ["Cancel this order?"]
    assert [block.text for block in called.content if hasattr(block, "text")] == ["order 7 is cancelled"]
    assert not asked.is_error
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {memory.tokens.access_token}"}) as http:
        assert (await http.get(f"{url}/v1/models")).status_code == 401  # the token is for the MCP face
