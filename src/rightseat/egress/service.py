"""HTTP requests to an agent or tool server that the operator configured, and the errors they raise.

The server's own error text goes to the log only; clients receive the kind of failure.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
from pydantic import SecretStr

from rightseat.core import errors
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.client import Client, Exchange
from rightseat.egress.deadlines import SILENCE_SECONDS, Deadlines, Timeouts
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import Redactor
from rightseat.egress.transport import Response, TransportError
from rightseat.wire.lines import LineTooLong

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 32 * 2**20  # of a response that is not streamed


class RemoteService:
    """Connections to one server. `what` names it in messages: "The agent server"."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, SecretStr],
        *,
        what: str,
        accept: str = "application/json",
        timeout: float = SILENCE_SECONDS,
        connect_timeout: float = 10.0,
        network: NetworkOptions | None = None,
    ) -> None:
        ours = {"accept": accept, "accept-encoding": "identity", "user-agent": "rightseat"}
        theirs = {name.lower(): value.get_secret_value() for name, value in headers.items()}
        self._client = Client(url, ours | theirs, timeout=timeout, connect_timeout=connect_timeout, network=network)
        self._root = "/" if urlsplit(url).path in ("", "/") or urlsplit(url).path.endswith("/") else ""
        self.url = url.partition("?")[0]
        self._what = what
        self._timeout = timeout
        self._fixed = {"host", "content-type", *ours, *theirs}
        self._redactor = Redactor("[secret]", theirs.values())

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def post(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None, *, is_timed: bool = False
    ) -> AsyncIterator[Response]:
        """Send `body` as JSON; yields a successful response. `path` is appended to the URL.

        The caller applies the read timeout with `deadlines`, unless it `is_timed`.
        """
        content = msgspec.json.encode(body)
        request = self._client.post(path or self._root, content, self._extra_headers(headers), is_timed=is_timed)
        async with self._send(request, headers) as response:
            yield response

    def _extra_headers(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        """Headers of one request; they do not replace those of the configuration."""
        return {name: value for name, value in (headers or {}).items() if name.lower() not in self._fixed}

    @asynccontextmanager
    async def _send(self, request: Exchange, headers: Mapping[str, str] | None) -> AsyncIterator[Response]:
        try:
            async with request as response:
                await self._check(response, headers)
                yield response
        except TransportError as error:
            logger.warning("%s: %s", self.url, error)
            raise errors.AgentUnreachable(f"{self._what} failed: {error}") from error
        except LineTooLong as error:
            logger.warning("%s: closed its response: %s", self.url, error)
            raise errors.AgentUnreachable(f"{self._what} failed: {error}.") from None

    def deadlines(self) -> Deadlines:
        """For a stream, which may go on as long as it sends events: comments do not reset the timeout."""
        return Deadlines(Timeouts(self._timeout, None), self._timeout_error)

    def _timeout_error(self, _: str) -> errors.AgentTimeout:
        error = errors.AgentTimeout(
            f"{self._what} sent no event for {self._timeout:g} s, so the run was ended. "
            "Raise `timeout` if it needs longer."
        )
        return errors.tell_operator(error, self.url)

    async def post_json(
        self,
        path: str,
        body: Any,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Any:
        """The JSON of the response. `timeout` is in seconds, for the whole of it."""
        try:
            async with asyncio.timeout(timeout):
                async with self.post(path, body, headers, is_timed=True) as response:
                    return await self._read_json(path, response, headers)
        except TimeoutError:
            logger.warning("%s%s sent no response within %s s", self.url, path, timeout)
            raise errors.AgentUnreachable(f"{self._what} sent no response within {timeout:g} s.") from None

    async def get_json(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        async with self._send(self._client.get(path, self._extra_headers(headers)), headers) as response:
            return await self._read_json(path, response, headers)

    async def _read_json(self, path: str, response: Response, headers: Mapping[str, str] | None) -> Any:
        pieces, size = [], 0
        async for piece in response:
            pieces.append(piece)
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise errors.AgentUnreachable(f"{self._what} sent a response of more than {MAX_BODY_BYTES:,} bytes.")
        body = b"".join(pieces)
        try:
            return msgspec.json.decode(body)
        except JSON_ERRORS as error:
            text = self.redact(body.decode("utf-8", "replace"), headers)
            logger.warning("%s%s sent a response that is not JSON: %s", self.url, path, text)
            raise errors.AgentUnreachable(f"{self._what} sent a response that is not JSON.") from error

    async def _check(self, response: Response, headers: Mapping[str, str] | None) -> None:
        if response.status < 300:
            return
        text = self.redact(await response.text(), headers)
        logger.warning("%s returned HTTP %d: %s", self.url, response.status, text)
        raise self._status_error(response.status)

    def _status_error(self, status: int) -> errors.AgentError:
        if status == 404:
            return errors.AgentEndpointNotFound(f"{self._what} returned HTTP 404. Check the configured URL.")
        if status in (401, 403):
            return errors.AgentRefused(
                f"{self._what} returned HTTP {status}. Check its credentials in the configuration."
            )
        if status < 500:
            return errors.AgentRefused(f"{self._what} rejected the request (HTTP {status}).")
        return errors.AgentUnreachable(f"{self._what} failed (HTTP {status}).")

    def redact(self, text: str, headers: Mapping[str, str] | None = None) -> str:
        """A server's text on one line, without the secrets that were sent to it: some servers repeat them."""
        return self._redactor.summarize(text, Redactor("[secret]", (headers or {}).values()))


def select_headers(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The headers of a request that are forwarded to a server which the operator trusts with them."""
    wanted = {name.lower() for name in names}
    return {name: value for name, value in headers.items() if name.lower() in wanted}
