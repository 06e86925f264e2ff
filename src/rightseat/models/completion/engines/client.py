"""HTTP to one engine: its stream as it comes, its short answers whole, and what goes wrong as errors of ours."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec
from pydantic import SecretStr

from rightseat.core.errors import (
    ModelBusy,
    ModelError,
    ModelLoading,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    PromptTooLong,
)
from rightseat.core.values import JSON_ERRORS
from rightseat.egress import client as http
from rightseat.egress.client import Response, Unreachable
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import Redactor
from rightseat.wire import sse
from rightseat.wire.lines import LineTooLong
from rightseat.wire.openai_chat import read_error, read_error_kind

logger = logging.getLogger(__name__)

TOO_LONG = re.compile(
    r"exceed_context_size|context[ _](length|window|size)|too many tokens|(prompt|input) is too long",
    re.IGNORECASE,
)
LARGEST = 8 << 20  # bytes of an answer that is read whole; a chat template may be long
SOON = 10.0  # seconds for such an answer


class Event(Protocol):
    @property
    def error(self) -> Any: ...


E = TypeVar("E", bound=Event)


class Client:
    def __init__(
        self, url: str, key: SecretStr | None = None, patience: float = 300.0, network: NetworkOptions | None = None
    ) -> None:
        self.where = url.partition("?")[0]
        secret = key.get_secret_value() if key else ""
        self._redactor = Redactor("[key]", (secret,))
        headers = {"accept-encoding": "identity", "user-agent": "rightseat"}
        if secret:
            headers["authorization"] = f"Bearer {secret}"
        self._client = http.Client(url, headers, timeout=patience, network=network)

    @asynccontextmanager
    async def events(self, path: str, body: Mapping[str, object]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The data of each server-sent event. Leaving the block early closes the connection."""
        async with self._asking(path, body, is_timed=False) as response:
            yield _read_events(response)
            await response.finish()

    async def ask(self, path: str, body: Mapping[str, object] | None = None, within: float = SOON) -> Any:
        """A short answer in JSON: to a GET where there is no body."""
        try:
            async with asyncio.timeout(within), self._asking(path, body) as response:
                text = await response.text(LARGEST, within)
        except TimeoutError:
            logger.warning("%s: no answer from %s within %g s", self.where, path, within)
            raise ModelUnreachable(f"The model's engine said nothing within {within:g} s.") from None
        try:
            return msgspec.json.decode(text)
        except JSON_ERRORS as error:
            raise self.broken(f"{path} is no JSON: {error}") from error

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _asking(
        self, path: str, body: Mapping[str, object] | None, *, is_timed: bool = True
    ) -> AsyncIterator[Response]:
        """Silence of a stream is measured by its reader, so that one timer rings."""
        method, content = ("GET", b"") if body is None else ("POST", _encode(body))
        request = self._client.request(method, path, content, is_timed=is_timed)
        try:
            async with request as response:
                if response.status != 200:
                    raise self.refusal(response.status, await response.text())
                yield response
        except Unreachable as error:
            logger.warning("%s: %s", self.where, error)
            raise ModelUnreachable(f"The model's engine cannot be relied on: {error}") from error
        except LineTooLong as error:
            logger.warning("%s: its answer was ended: %s", self.where, error)
            raise ModelUnreachable(f"The model's engine cannot be relied on: {error}.") from None

    def refusal(self, status: int, body: str) -> ModelError:
        """The engine's own words go to the client where they help it, and to the log at the level DEBUG: they may
        repeat the prompt."""
        said, kind = self._said(read_error(body)), read_error_kind(body)
        logger.warning("%s answered %d%s", self.where, status, f": {kind}" if kind else "")
        logger.debug("%s answered %d: %s", self.where, status, said)
        error = self._error(status, body, said)
        error.upstream_text = said
        return error

    def _error(self, status: int, body: str, said: str) -> ModelError:
        if status in (401, 403):
            return ModelRefusedKey(f"The model's engine does not accept our key (HTTP {status}).")
        if status == 429:
            return ModelBusy("The model's engine has too much to do right now. Try again later.")
        if status == 503:
            return ModelLoading(f"The model's engine is not ready: {said or 'it does not say why'}.")
        if TOO_LONG.search(body):
            return PromptTooLong(f"The conversation is too long for the model: {said}", status)
        if status < 500:
            return ModelRefused(f"The model's engine does not accept the request (HTTP {status}): {said}", status)
        return ModelUnreachable(f"The model's engine failed (HTTP {status}).")

    def read(self, data: bytes, decode: Callable[[bytes], E]) -> E:
        """One event of an answer. An error inside of it is raised."""
        try:
            event = decode(data)
        except JSON_ERRORS as error:
            raise self.broken(f"an event that cannot be read: {error}") from error
        if event.error is not None:
            raise self.failure(event.error)
        return event

    def failure(self, error: Any, status: int = 500) -> ModelError:
        """An error inside an answer: its `code`, where it has one, is the status that it would have been."""
        code = error.get("code") if isinstance(error, dict) else None
        return self.refusal(code if isinstance(code, int) else status, _encode({"error": error}).decode())

    def broken(self, problem: str) -> ModelUnreachable:
        """For an answer that is not what this engine says."""
        logger.warning("%s: %s", self.where, self._said(problem))
        return ModelUnreachable("The model's engine broke its answer off, or answered what cannot be understood.")

    def _said(self, text: str) -> str:
        """In one line, and without our key, which some repeat."""
        return self._redactor.summary(text).rstrip(".")


async def _read_events(response: Response) -> AsyncIterator[bytes]:
    decoder = sse.Decoder()
    feed: Callable[[bytes], list[bytes]] = decoder.feed
    async for piece in response:
        for data in feed(piece):
            yield data
    for data in decoder.rest():
        yield data


_encode = msgspec.json.Encoder().encode
