"""HTTP client for one backend: streams events, reads short JSON responses, and maps each failure to a `ModelError`."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec
from pydantic import SecretStr

from rightseat.core import errors
from rightseat.core.types import JSON_ERRORS
from rightseat.egress import client as http
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import Redactor
from rightseat.egress.transport import Response, TransportError
from rightseat.models.upstream import explain_transport
from rightseat.wire import sse
from rightseat.wire.lines import LineTooLong
from rightseat.wire.openai_chat import read_error, read_error_kind

logger = logging.getLogger(__name__)

CONTEXT_TOO_LONG = re.compile(
    r"exceed_context_size|context[ _](length|window|size)|too many tokens|(prompt|input) is too long"
    r"|input \(\d+ tokens\) is too large to process",
    re.IGNORECASE,
)
MAX_JSON_BYTES = 8 << 20  # of a response that is not streamed; a chat template may be long
JSON_TIMEOUT_S = 10.0  # for such a response


class BackendEvent(Protocol):
    @property
    def error(self) -> Any: ...


E = TypeVar("E", bound=BackendEvent)


class BackendClient:
    def __init__(
        self, url: str, key: SecretStr | None = None, timeout: float = 300.0, network: NetworkOptions | None = None
    ) -> None:
        self.url = url.partition("?")[0]
        secret = key.get_secret_value() if key else ""
        self._redactor = Redactor("[key]", (secret,))
        headers = {"accept-encoding": "identity", "user-agent": "rightseat"}
        if secret:
            headers["authorization"] = f"Bearer {secret}"
        self._client = http.Client(url, headers, timeout=timeout, network=network)

    @asynccontextmanager
    async def events(self, path: str, body: Mapping[str, object]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the data of each server-sent event. Leaving the block early closes the connection."""
        async with self._send(path, body, is_timed=False) as response:
            yield _read_events(response)
            await response.finish()

    async def fetch_json(
        self, path: str, body: Mapping[str, object] | None = None, timeout_s: float = JSON_TIMEOUT_S
    ) -> Any:
        """Return a short JSON response, to a GET if there is no body."""
        text = await self.fetch(path, body, timeout_s)
        try:
            return msgspec.json.decode(text)
        except JSON_ERRORS as error:
            raise self.invalid_response(f"the response to {path} is not JSON: {error}") from error

    async def fetch(self, path: str, body: Mapping[str, object] | None, timeout_s: float) -> bytes:
        """Return a response that is not streamed."""
        try:
            async with asyncio.timeout(timeout_s), self._send(path, body) as response:
                return (await response.text(MAX_JSON_BYTES, timeout_s)).encode()
        except TimeoutError:
            logger.warning("%s: no response to %s within %g s", self.url, path, timeout_s)
            raise errors.ModelUnreachable(f"The model server sent no response within {timeout_s:g} s.") from None

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _send(
        self, path: str, body: Mapping[str, object] | None, *, is_timed: bool = True
    ) -> AsyncIterator[Response]:
        """Streams are sent with `is_timed=False`: their reader has the timeout, so that one timer is enough."""
        method, content = ("GET", b"") if body is None else ("POST", _encode(body))
        request = self._client.request(method, path, content, is_timed=is_timed)
        try:
            async with request as response:
                if response.status != 200:
                    raise self.map_status(response.status, await response.text())
                yield response
        except TransportError as error:
            logger.warning("%s: %s", self.url, error)
            raise errors.ModelUnreachable(explain_transport(error)) from error
        except LineTooLong as error:
            logger.warning("%s: response closed: %s", self.url, error)
            raise errors.ModelUnreachable(f"The model server sent an invalid response: {error}.") from None

    def map_status(self, status: int, body: str) -> errors.ModelError:
        """Log only the kind of error above DEBUG: the backend's text, which clients get, may repeat the prompt."""
        text, kind = self._redact(read_error(body)), read_error_kind(body)
        logger.warning("%s returned HTTP %d%s", self.url, status, f": {kind}" if kind else "")
        logger.debug("%s returned HTTP %d: %s", self.url, status, text)
        error = self._error(status, body, text)
        error.upstream_text = text
        return error

    def _error(self, status: int, body: str, text: str) -> errors.ModelError:
        if status in (401, 403):
            return errors.ModelRefusedKey(
                f"The model server returned HTTP {status}: it does not accept the API key. "
                "Check `backend.api_key` of the model."
            )
        details = f": {text}" if text else ""
        if status == 429:
            return errors.ModelBusy(f"The model server returned HTTP 429 (overloaded){details}.")
        if status == 503:
            return errors.ModelLoading(f"The model server is not ready (HTTP 503){details}.")
        if CONTEXT_TOO_LONG.search(body):
            return errors.ContextTooLong(
                f"The model server returned HTTP {status} (conversation too long){details}", status
            )
        if status < 500:
            return errors.ModelRefused(f"The model server returned HTTP {status}{details}", status)
        return errors.ModelUnreachable(f"The model server returned HTTP {status}.")

    def read(self, data: bytes, decode: Callable[[bytes], E]) -> E:
        """Decode one event of a response; raise the error that it reports, if any."""
        try:
            event = decode(data)
        except JSON_ERRORS as error:
            raise self.invalid_response(f"an event cannot be decoded: {error}") from error
        if event.error is not None:
            raise self.map_stream_error(event.error)
        return event

    def map_stream_error(self, error: Any) -> errors.ModelError:
        """Map an error inside a response. Its `code`, if any, is the HTTP status it would have had."""
        code = error.get("code") if isinstance(error, dict) else None
        return self.map_status(code if isinstance(code, int) else 500, _encode({"error": error}).decode())

    def invalid_response(self, problem: str) -> errors.ModelUnreachable:
        """Make the error for a response that breaks the backend's protocol."""
        logger.warning("%s: %s", self.url, self._redact(problem))
        return errors.ModelUnreachable("The model server ended its response early or sent an invalid one.")

    def _redact(self, text: str) -> str:
        """Return the text on one line with the key masked: some servers repeat it."""
        return self._redactor.summarize(text).rstrip(".")


async def _read_events(response: Response) -> AsyncIterator[bytes]:
    decoder = sse.SseDecoder()
    feed: Callable[[bytes], list[bytes]] = decoder.feed
    async for piece in response:
        for data in feed(piece):
            yield data
    for data in decoder.rest():
        yield data


_encode = msgspec.json.Encoder().encode
