"""A server that the operator named and that agents or tools are asked of: one request, one answer, and how it fails.

What the server says of a failure goes to our log. The client learns only what kind of failure it was.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
from pydantic import SecretStr

from rightseat.core.deadlines import SILENCE_SECONDS, Deadlines, Timeouts
from rightseat.core.errors import AgentError, AgentRefused, AgentTimeout, AgentUnreachable, NothingThere
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.client import Client, Exchange, Response, Unreachable
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import Redactor
from rightseat.wire.lines import LineTooLong

logger = logging.getLogger(__name__)

MOST = 32 * 2**20  # bytes of an answer that is read whole


class Service:
    """Connections to one server. `what` is what people call it: "The agent's server"."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, SecretStr],
        *,
        what: str,
        accept: str = "application/json",
        patience: float = SILENCE_SECONDS,
        connect_within: float = 10.0,
        network: NetworkOptions | None = None,
    ) -> None:
        ours = {"accept": accept, "accept-encoding": "identity", "user-agent": "rightseat"}
        theirs = {name.lower(): value.get_secret_value() for name, value in headers.items()}
        self._client = Client(url, ours | theirs, timeout=patience, connect_timeout=connect_within, network=network)
        self._root = "/" if urlsplit(url).path in ("", "/") or urlsplit(url).path.endswith("/") else ""
        self._where = url.partition("?")[0]
        self._what = what
        self._patience = patience
        self._own = {"host", "content-type", *ours, *theirs}
        self._redactor = Redactor("[secret]", theirs.values())

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def post(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, is_timed: bool = False
    ) -> AsyncIterator[Response]:
        """Send `body` as JSON; the block gets a response that is no refusal. `path` is what follows the address.

        Silence is measured by the caller, with `deadlines`, unless it `is_timed`.
        """
        content = msgspec.json.encode(body)
        request = self._client.post(path or self._root, content, self._more(headers), is_timed=is_timed)
        async with self._asking(request, headers) as response:
            yield response

    def _more(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        """Headers of one request. What the operator has set is not replaced by them."""
        return {name: value for name, value in (headers or {}).items() if name.lower() not in self._own}

    @asynccontextmanager
    async def _asking(self, request: Exchange, headers: Mapping[str, str] | None) -> AsyncIterator[Response]:
        try:
            async with request as response:
                await self._check(response, headers)
                yield response
        except Unreachable as error:
            logger.warning("%s: %s", self._where, error)
            raise AgentUnreachable(f"{self._what} cannot be relied on: {error}") from error
        except LineTooLong as error:
            logger.warning("%s: its answer was ended: %s", self._where, error)
            raise AgentUnreachable(f"{self._what} cannot be relied on: {error}.") from None

    def deadlines(self) -> Deadlines:
        """For a stream: comments are silence there, too. It may go on for as long as it is not silent."""
        return Deadlines(Timeouts(self._patience, None), self._timeout)

    def _timeout(self, _: str) -> AgentTimeout:
        return AgentTimeout(
            f"{self._what} at {self._where} sent no event for {self._patience:g} s, so the run was ended. "
            "Raise `patience` if it needs longer."
        )

    async def ask(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, within: float | None = None
    ) -> Any:
        """The JSON that the server answers with. `within` is in seconds, for all of it."""
        try:
            async with asyncio.timeout(within):
                async with self.post(path, body, headers, is_timed=True) as response:
                    return await self._json(path, response, headers)
        except TimeoutError:
            logger.warning("%s%s did not answer within %s s", self._where, path, within)
            raise AgentUnreachable(f"{self._what} did not answer within {within:g} s.") from None

    async def look(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON that the server has at that path."""
        async with self._asking(self._client.get(path, self._more(headers)), headers) as response:
            return await self._json(path, response, headers)

    async def _json(self, path: str, response: Response, headers: Mapping[str, str] | None) -> Any:
        pieces, size = [], 0
        async for piece in response:
            pieces.append(piece)
            size += len(piece)
            if size > MOST:
                raise AgentUnreachable(f"{self._what} answered with more than {MOST} bytes.")
        said = b"".join(pieces)
        try:
            return msgspec.json.decode(said)
        except JSON_ERRORS as error:
            text = self.said(said.decode("utf-8", "replace"), headers)
            logger.warning("%s%s answered with no JSON: %s", self._where, path, text)
            raise AgentUnreachable(f"{self._what} answered with something else than JSON.") from error

    async def _check(self, response: Response, headers: Mapping[str, str] | None) -> None:
        if response.status < 300:
            return
        said = self.said(await response.text(), headers)
        logger.warning("%s answered %d: %s", self._where, response.status, said)
        raise self._refusal(response.status)

    def _refusal(self, status: int) -> AgentError:
        if status == 404:
            return NothingThere(f"{self._what} has nothing at the configured address (HTTP 404).")
        if status in (401, 403):
            return AgentRefused(f"{self._what} does not let us in (HTTP {status}).")
        if status < 500:
            return AgentRefused(f"{self._what} does not accept the request (HTTP {status}).")
        return AgentUnreachable(f"{self._what} failed (HTTP {status}).")

    def said(self, text: str, headers: Mapping[str, str] | None = None) -> str:
        """What a server said, in one line and without our secrets, which some repeat: those of the configuration, and
        the headers of one request."""
        return self._redactor.summary(text, Redactor("[secret]", (headers or {}).values()))


def forwarded(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Those of a request that go on to a server that the operator trusts with them."""
    wanted = {name.lower() for name in names}
    return {name: value for name, value in headers.items() if name.lower() in wanted}
