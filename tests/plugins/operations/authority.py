"""A server of tokens, and an API that wants them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from rightseat.plugins.definition import Auth
from tests.plugins.operations.examples import json_answer
from tests.tcp import Request, Visit, playing


@dataclass
class Authority:
    """A server of tokens and an API in one. A token is good until it is withdrawn."""

    url: str = ""
    lasts: object = 300
    ways: list[str] = field(default_factory=list)
    issuer: str = ""
    asked: list[Request] = field(default_factory=list)
    used: list[str | None] = field(default_factory=list)
    withdrawn: set[str] = field(default_factory=set)
    refuses: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, visit: Visit) -> None:
        request = await visit.request()
        await visit.send(await self.answer(request))

    async def answer(self, request: Request) -> bytes:
        path = request.line.split()[1]
        if path == "/.well-known/openid-configuration":
            found = {"issuer": self.issuer or self.url, "token_endpoint": f"{self.url}/token"}
            return json_answer(json.dumps(found | {"token_endpoint_auth_methods_supported": self.ways}))
        if path == "/token":
            self.asked.append(request)
            self.was_asked.set()
            await self.gate.wait()
            if self.refuses:
                return json_answer('{"error": "invalid_client", "given": "client-secret-1"}', "401 No")
            given = {"access_token": f"token-{len(self.asked)}", "expires_in": self.lasts}
            return json_answer(json.dumps({key: value for key, value in given.items() if value is not None}))
        self.used.append(request.header("authorization") or request.header("access-token"))
        is_good = (self.used[-1] or "").rpartition(" ")[2] not in self.withdrawn
        return json_answer("{}") if is_good else json_answer("{}", "401 No")

    def auth(self, **more: str) -> Auth:
        common = {"client_id": "client", "client_secret": "${secret:KEY}", "scope": "read"}
        return Auth("oidc", common | ({} if "issuer" in more else {"token_url": f"{self.url}/token"}) | more)


@asynccontextmanager
async def authority() -> AsyncIterator[Authority]:
    one = Authority()
    one.gate.set()
    async with playing(one.serve) as server, asyncio.timeout(30):
        one.url = server.url
        yield one


def form(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
