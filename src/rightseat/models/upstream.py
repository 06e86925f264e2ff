"""A model's server, over HTTP: one request, one streamed answer, and what each way of failing means to the client.

Every model that speaks HTTP itself asks through an `Upstream`. What differs between providers is what is posted and
how an event is read; both are theirs.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Container, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from rightseat.core.deadlines import Deadlines, Timeouts, has_content, model_timeout
from rightseat.core.errors import (
    ConfigError,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    PromptTooLong,
)
from rightseat.core.model import Chunk
from rightseat.egress.client import Client, Response, Unreachable
from rightseat.egress.credentials import Credentials
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import Address, HeaderName, Sendable
from rightseat.egress.redaction import Redactor
from rightseat.wire import sse
from rightseat.wire.lines import LineTooLong
from rightseat.wire.openai_chat import read_error, read_error_kind

__all__ = ["Address", "HeaderName", "Reader", "Sendable", "Upstream", "choose_model", "warn_of_no_key"]

logger = logging.getLogger(__name__)

TOO_LONG = re.compile(
    r"context[ _](length|window|size)|too many tokens|prompt is too long|input token count .* exceeds", re.IGNORECASE
)
KEY = "[key]"  # in place of a secret
BAD_KEY = re.compile(r"API key (not valid|expired)", re.IGNORECASE)  # Google says it with 400
BUSY = (429, 529)  # 529 is Anthropic's
SSE = sse.Decoder.media_type
MAX_BODY_BYTES = 64 * 2**20  # of an answer that is not streamed
MAX_READ_BYTES = 65536  # that are decoded before other tasks have their turn


class Reader(Protocol):
    """Reads the events of one answer. It raises `sse.StreamError` where one of them says that the server failed.

    `ended` once the server has said that the answer is whole, `done` once nothing follows.
    """

    done: bool
    ended: bool
    read_any: bool

    def read(self, data: bytes) -> Sequence[Chunk]: ...


class Decoder(Protocol):
    """The data of each event, out of bytes that come in any pieces. It raises `sse.StreamError`, too."""

    media_type: str

    def feed(self, piece: bytes) -> Iterable[bytes]: ...

    def rest(self) -> Iterable[bytes]: ...


class Upstream:
    """Connections to the server of `model`. `secrets` are taken out of whatever the server says.

    `credentials` say with each request who asks, where that is no key in `headers`.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        secrets: Iterable[str],
        timeouts: Timeouts = Timeouts(),  # noqa: B008
        credentials: Credentials | None = None,
        *,
        model: str = "",
        network: NetworkOptions | None = None,
    ) -> None:
        ours = {"accept": SSE, "accept-encoding": "identity", "user-agent": "rightseat"}
        if credentials is not None and "authorization" in headers:
            raise ConfigError("The header `authorization` is made with each request here: take it out of `headers`.")
        self._client = Client(base_url, {**ours, **headers}, timeout=timeouts.silence, network=network)
        self._where = base_url.partition("?")[0]
        self._timeouts = timeouts
        self._timeout = model_timeout(f"The model {model!r} at {self._where}", timeouts)
        self._redactor = Redactor(KEY, secrets)
        self._credentials = credentials

    async def aclose(self) -> None:
        await self._client.aclose()
        if self._credentials is not None:
            await self._credentials.aclose()

    async def stream(
        self,
        path: str,
        body: bytes,
        reader: Reader,
        *,
        first: Sequence[Chunk] = (),
        decoder: Decoder | None = None,
    ) -> AsyncIterator[Chunk]:
        """What the server answers. `first` is said before it, once the server has taken the request.

        Without a `decoder`, the answer comes as server-sent events.
        """
        decoder = decoder or sse.Decoder()
        feed, read = decoder.feed, reader.read
        try:
            with Deadlines(self._timeouts, self._timeout) as deadlines:
                async with await self._open(path, body, is_timed=False) as response:
                    del body  # a prompt may be long, and its answer take its time
                    await self._check_begin(response, decoder.media_type)
                    deadlines.pause()
                    for chunk in first:
                        yield chunk
                    deadlines.resume(False)
                    async for piece in response:
                        deadlines.pause()
                        heard = False
                        for part in (piece,) if len(piece) <= MAX_READ_BYTES else slices(piece):
                            for data in feed(part):
                                for chunk in read(data):
                                    heard = heard or has_content(chunk)
                                    yield chunk
                            if part is not piece:
                                await asyncio.sleep(0)
                        if reader.done:
                            await response.finish()
                            return
                        deadlines.resume(heard)
                    deadlines.pause()
                    for data in decoder.rest():
                        for chunk in read(data):
                            yield chunk
                    self._check_end(reader, response, decoder.media_type)
        except Unreachable as error:
            logger.warning("%s: %s", self._where, error)
            if not reader.ended:
                raise ModelUnreachable(f"The model's server cannot be relied on: {error}") from error
        except LineTooLong as error:
            logger.warning("%s: its answer was ended: %s", self._where, error)
            raise ModelUnreachable(f"The model's server cannot be relied on: {error}.") from None
        except sse.StreamError as error:
            said = self._said(str(error))
            logger.warning("%s: an error inside the answer%s", self._where, f": {error.kind}" if error.kind else "")
            logger.debug("%s: an error inside the answer: %s", self._where, said)
            # without its cause: that holds the server's words as they came
            if error.is_busy:
                raise ModelBusy("The model's server broke its answer off: it has too much to do right now.") from None
            if error.is_refusal:
                raise self._refusal(400, said, error.kind) from None
            raise ModelUnreachable("The model's server broke its answer off with an error.") from None

    async def post(self, path: str, body: bytes, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        """An answer that is not streamed, whole."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self._timeouts.answer), await self._open(path, body) as response:
                await self._check_status(response)
                async for piece in response:
                    pieces.append(piece)
                    size += len(piece)
                    if size > max_bytes:
                        raise ModelUnreachable(f"The model's server answered with more than {max_bytes:,} bytes.")
                return b"".join(pieces)
        except TimeoutError:
            raise self._timeout("answer") from None
        except Unreachable as error:
            logger.warning("%s: %s", self._where, error)
            raise ModelUnreachable(f"The model's server cannot be relied on: {error}") from error

    async def _open(self, path: str, body: bytes, *, is_timed: bool = True) -> Response:
        """Where the server refuses a token, it is asked once more with a new one: it has done nothing yet."""
        if self._credentials is None:
            return await self._client.post(path, body, is_timed=is_timed).open()
        given = await self._credentials.headers(self._client.preview(path, body))
        response = await self._client.post(path, body, given, is_timed=is_timed).open()
        if response.status not in (401, 403):
            return response
        async with response:
            refusal = await response.text()
        status = response.status
        is_expired = self._credentials.is_expired(status, refusal)
        if not is_expired or not self._credentials.renews(given):
            raise self._refused(status, refusal)
        logger.warning("%s returned HTTP %d; the request is sent again with new credentials", self._where, status)
        logger.debug("%s answered %d: %s", self._where, status, self._said(read_error(refusal)))
        given = await self._credentials.headers(self._client.preview(path, body))
        return await self._client.post(path, body, given, is_timed=is_timed).open()

    async def _check_status(self, response: Response) -> None:
        if response.status != 200:
            error = self._refused(response.status, await response.text())
            error.retry_after = read_seconds(response.headers.get("retry-after", ""))
            raise error

    async def _check_begin(self, response: Response, expected: str) -> None:
        """Many servers call events by another name; frames of AWS's are called nothing else."""
        await self._check_status(response)
        kind = response.headers.get("content-type", "")
        if kind.startswith("application/json") or not (expected == SSE or kind.startswith(expected)):
            raise self._no_stream(kind, await response.text())

    def _check_end(self, reader: Reader, response: Response, expected: str) -> None:
        """A stream that stops without saying so is a broken one, however whole it looks."""
        if reader.ended:
            return
        kind = response.headers.get("content-type", "")
        if not reader.read_any and not kind.startswith(expected):
            raise self._no_stream(kind)
        raise ModelUnreachable("The model's server cannot be relied on: its answer broke off.")

    def _no_stream(self, kind: str, body: str = "") -> ModelError:
        kind = self._said(kind) or "no content type"
        logger.warning("%s answered with %s instead of a stream", self._where, kind)
        logger.debug("%s answered instead of a stream: %s", self._where, self._said(body))
        return ModelUnreachable(f"The model's server answered with {kind} instead of a stream.")

    def _refused(self, status: int, body: str) -> ModelError:
        return self._refusal(status, self._said(read_error(body)), read_error_kind(body))

    def _refusal(self, status: int, said: str, kind: str) -> ModelError:
        """The server's own words go to the client where they help it. They may repeat the prompt, so the log has them
        at the level DEBUG alone, and else only which kind of error the server names."""
        logger.warning("%s answered %d%s", self._where, status, f": {kind}" if kind else "")
        logger.debug("%s answered %d: %s", self._where, status, said)
        error = self._error(status, said)
        error.upstream_text = said
        return error

    def _error(self, status: int, said: str) -> ModelError:
        if status in (401, 403) or BAD_KEY.search(said):
            return ModelRefusedKey(f"The model's server does not accept our key (HTTP {status}).")
        if status in BUSY:
            return ModelBusy(
                f"The model's server has too much to do for us right now (HTTP {status}). Try again later."
            )
        if status < 500 and TOO_LONG.search(said):
            return PromptTooLong(f"The conversation is too long for the model (HTTP {status}): {said}", status)
        if status < 500:
            return ModelRefused(f"The model's server does not accept the request (HTTP {status}): {said}", status)
        return ModelUnreachable(f"The model's server failed (HTTP {status}).")

    def _said(self, text: str) -> str:
        """What a server said, in one line and without our secrets, which some repeat."""
        passing = self._credentials.secrets if self._credentials else ()
        return self._redactor.summary(text, Redactor(KEY, passing))


def slices(piece: bytes) -> Iterator[bytes]:
    for start in range(0, len(piece), MAX_READ_BYTES):
        yield piece[start : start + MAX_READ_BYTES]


def read_seconds(header: str) -> float | None:
    """Of a `Retry-After`, where it counts seconds; a date says nothing to a clock that may be wrong."""
    return float(header) if re.fullmatch(r"\d{1,6}(\.\d+)?", header) else None


def warn_of_no_key(provider: str, header: str, headers: Container[str]) -> Iterator[str]:
    """For a model at its provider's own address without an `api_key`; a header of the operator's may hold one."""
    if header not in headers:
        yield f"there is no `api_key`, and {provider} answers nobody without one."


def choose_model(model: str, allowed: Sequence[str], asked: str | None) -> str:
    """The one that answers: what a client asked for if it may, else the configured one."""
    if asked is None or asked == model:
        return model
    if "*" in allowed or asked in allowed:
        return asked
    logger.warning("a client asked for the model %r, which is not in client_models; %r answers", asked, model)
    return model
