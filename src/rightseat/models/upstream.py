"""HTTP client for model providers: sends one request, streams the response, and maps each failure to a `ModelError`.

Providers differ in the request body and in how an event is read; each adapter brings both.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from rightseat.core import errors
from rightseat.core.model import Chunk
from rightseat.egress.client import Client
from rightseat.egress.credentials import Credentials
from rightseat.egress.deadlines import Deadlines, Timeouts, has_content, model_timeout
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.egress.redaction import Redactor
from rightseat.egress.transport import ConnectError, Response, TransportError
from rightseat.shared_timers import SharedTimers
from rightseat.turns import take_turn
from rightseat.wire import sse
from rightseat.wire.lines import LineTooLong
from rightseat.wire.openai_chat import read_error, read_error_kind

__all__ = ["BaseUrl", "EventDecoder", "HeaderName", "HeaderSecret", "Upstream", "choose_model", "warn_of_no_key"]

logger = logging.getLogger(__name__)

CONTEXT_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|too many tokens|prompt is too long|input token count .* exceeds", re.IGNORECASE
)
INVALID_KEY = re.compile(r"API key (not valid|expired)", re.IGNORECASE)  # Google sends it with status 400
QUOTA_USED_UP = re.compile(r"exceeded your current quota|insufficient_quota|credit balance", re.IGNORECASE)
RATE_LIMITED = (429, 529)  # 529 is Anthropic's "overloaded"
KEY_MASK = "[key]"
SSE = sse.SseDecoder.media_type
MAX_BODY_BYTES = 64 * 2**20  # of a response that is not streamed
MAX_READ_BYTES = 65536  # decoded before other tasks get their turn


class EventDecoder(Protocol):
    """Turns the events of one response into chunks. Raises `sse.StreamError` if an event reports an error.

    `ended` once the provider has marked the response as complete, `done` once no more events follow.
    """

    done: bool
    ended: bool
    read_any: bool

    def read(self, data: bytes) -> Sequence[Chunk]: ...


class FrameDecoder(Protocol):
    """Splits bytes that arrive in arbitrary pieces into the data of each event. Raises `sse.StreamError`."""

    media_type: str

    def feed(self, piece: bytes) -> Iterable[bytes]: ...

    def rest(self) -> Iterable[bytes]: ...


class Upstream:
    """The connection pool to one provider. `secrets` are masked in every text that the provider sends.

    `credentials` authenticate each request where no fixed key in `headers` does.
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
        defaults = {"accept": SSE, "accept-encoding": "identity", "user-agent": "rightseat"}
        if credentials is not None and "authorization" in headers:
            raise errors.ConfigError("Remove `authorization` from `headers`: the credentials set it for each request.")
        self._client = Client(base_url, {**defaults, **headers}, timeout=timeouts.silence, network=network)
        self._url = base_url.partition("?")[0]
        self._timeouts = timeouts
        self._model = model
        self._timeout = model_timeout(f"The model {model!r} at {self._url}", timeouts)
        self._timers = SharedTimers()
        self._redactor = Redactor(KEY_MASK, secrets)
        self._credentials = credentials

    async def aclose(self) -> None:
        await self._client.aclose()
        if self._credentials is not None:
            await self._credentials.aclose()

    async def stream(
        self,
        path: str,
        write_body: Callable[[], bytes],
        events: EventDecoder,
        *,
        first: Sequence[Chunk] = (),
        frames: FrameDecoder | None = None,
    ) -> AsyncIterator[Chunk]:
        """Yield `first` once the provider has accepted the request, then the chunks of its response.

        `write_body` is called when the request is sent, and the body is not kept: it may be long, and its response may
        take minutes. Without `frames` the response is read as server-sent events.
        """
        frames = frames or sse.SseDecoder()
        feed, read = frames.feed, events.read
        with _ErrorMapping(self, events), Deadlines(self._timeouts, self._timeout, self._timers) as deadlines:
            await take_turn()
            async with await self._open(path, write_body(), is_timed=False) as response:
                media_type = await self._check_start(response, frames.media_type)
                response.discard_headers()
                deadlines.pause()
                for chunk in first:
                    yield chunk
                deadlines.resume(False)
                async for piece in response:
                    deadlines.pause()
                    has_progress = False
                    for part in (piece,) if len(piece) <= MAX_READ_BYTES else split(piece):
                        for data in feed(part):
                            for chunk in read(data):
                                has_progress = has_progress or has_content(chunk)
                                yield chunk
                        if part is not piece:
                            await asyncio.sleep(0)
                    if events.done:
                        await response.finish()
                        return
                    deadlines.resume(has_progress)
                deadlines.pause()
                for data in frames.rest():
                    for chunk in read(data):
                        yield chunk
                self._check_end(events, media_type, frames.media_type)

    def explain_unreachable(self, error: TransportError) -> errors.ModelUnreachable:
        logger.warning("%s: %s", self._url, error)
        return errors.ModelUnreachable(explain_transport(error))

    def explain_long_line(self, error: LineTooLong) -> errors.ModelUnreachable:
        logger.warning("%s: response closed: %s", self._url, error)
        return errors.ModelUnreachable(f"The model provider sent an invalid response: {error}.")

    def explain_stream_failure(self, error: sse.StreamError) -> errors.ModelError:
        text = self._redact(str(error))
        logger.warning("%s: an error inside the response%s", self._url, f": {error.kind}" if error.kind else "")
        logger.debug("%s: an error inside the response: %s", self._url, text)
        if error.is_busy:
            return errors.ModelBusy("The model provider ended its response early: it is overloaded. Try again later.")
        if error.is_refusal:
            return self._refusal(400, text, error.kind)
        return errors.ModelUnreachable("The model provider ended its response early with an error.")

    async def post(self, path: str, body: bytes, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        """Return the body of a response that is not streamed."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self._timeouts.answer), await self._open(path, body) as response:
                await self._check_status(response)
                async for piece in response:
                    pieces.append(piece)
                    size += len(piece)
                    if size > max_bytes:
                        raise errors.ModelUnreachable(
                            f"The model provider sent a response of more than {max_bytes:,} bytes."
                        )
                return b"".join(pieces)
        except TimeoutError:
            raise self._timeout("answer") from None
        except TransportError as error:
            raise self.explain_unreachable(error) from error

    async def _open(self, path: str, body: bytes, *, is_timed: bool = True) -> Response:
        """Send the request; once more with a new token if the provider rejects the first, which has no effect yet."""
        if self._credentials is None:
            return await self._client.post(path, body, is_timed=is_timed).open()
        headers = await self._credentials.headers(self._client.preview(path, body))
        response = await self._client.post(path, body, headers, is_timed=is_timed).open()
        if response.status not in (401, 403):
            return response
        async with response:
            refusal = await response.text()
        status = response.status
        is_expired = self._credentials.is_expired(status, refusal)
        if not is_expired or not self._credentials.discard_refused(headers):
            raise self._read_refusal(status, refusal)
        logger.warning("%s returned HTTP %d; the request is sent again with new credentials", self._url, status)
        logger.debug("%s returned HTTP %d: %s", self._url, status, self._redact(read_error(refusal)))
        headers = await self._credentials.headers(self._client.preview(path, body))
        return await self._client.post(path, body, headers, is_timed=is_timed).open()

    async def _check_status(self, response: Response) -> None:
        if response.status != 200:
            error = self._read_refusal(response.status, await response.text())
            error.retry_after = parse_retry_after(response.headers.get("retry-after", ""))
            raise error

    async def _check_start(self, response: Response, expected: str) -> str:
        """Accept any content type but JSON for server-sent events: many servers send another one. AWS never does.

        Returns the content type.
        """
        await self._check_status(response)
        media_type = response.headers.get("content-type", "")
        if media_type.startswith("application/json") or not (expected == SSE or media_type.startswith(expected)):
            raise self._no_stream(media_type, await response.text())
        return media_type

    def _check_end(self, events: EventDecoder, media_type: str, expected: str) -> None:
        """Fail unless the provider has marked the response as complete, however complete it looks."""
        if events.ended:
            return
        if not events.read_any and not media_type.startswith(expected):
            raise self._no_stream(media_type)
        logger.warning("%s: the response ended early", self._url)
        raise errors.ModelUnreachable("The response of the model provider ended early.")

    def _no_stream(self, media_type: str, body: str = "") -> errors.ModelError:
        media_type = self._redact(media_type) or "no content type"
        logger.warning("%s returned %s instead of a stream", self._url, media_type)
        logger.debug("%s returned, instead of a stream: %s", self._url, self._redact(body))
        return errors.ModelUnreachable(
            f"The model provider returned {media_type} instead of a stream. Check `base_url` of the model."
        )

    def _read_refusal(self, status: int, body: str) -> errors.ModelError:
        return self._refusal(status, self._redact(read_error(body)), read_error_kind(body))

    def _refusal(self, status: int, text: str, kind: str) -> errors.ModelError:
        """Log only the kind of error above DEBUG: the provider's text, which clients get, may repeat the prompt."""
        logger.warning("%s returned HTTP %d%s", self._url, status, f": {kind}" if kind else "")
        logger.debug("%s returned HTTP %d: %s", self._url, status, text)
        error = self._error(status, text)
        error.upstream_text = text
        return error

    def _error(self, status: int, text: str) -> errors.ModelError:
        if status in (401, 403) or INVALID_KEY.search(text):
            return errors.ModelRefusedKey(explain_refused_key(self._model, status, self._credentials))
        details = f": {text}" if text else "."
        if status in RATE_LIMITED:
            cause = "the quota of the API key is used up" if QUOTA_USED_UP.search(text) else "rate limited"
            return errors.ModelBusy(f"The model provider returned HTTP {status} ({cause}){details}")
        if status < 500 and CONTEXT_TOO_LONG.search(text):
            message = f"The model provider returned HTTP {status} (conversation too long){details}"
            return errors.ContextTooLong(message, status)
        if status < 500:
            hint = explain_not_found(self._url, text) if status == 404 else ""
            return errors.ModelRefused(f"The model provider returned HTTP {status}{details}{hint}", status)
        return errors.ModelUnreachable(f"The model provider returned HTTP {status}.")

    def _redact(self, text: str) -> str:
        """Return the text on one line with secrets masked: some providers repeat them."""
        passing = self._credentials.secrets if self._credentials else ()
        return self._redactor.summarize(text, Redactor(KEY_MASK, passing))


class _ErrorMapping:
    """Turns errors of the connection and of the stream into a `ModelError`, unless the response is already complete.

    A class and not a generator, because every stream keeps one open: it takes a sixth of the memory.
    """

    __slots__ = ("_events", "_upstream")

    def __init__(self, upstream: Upstream, events: EventDecoder) -> None:
        self._upstream = upstream
        self._events = events

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        match error:
            case TransportError():
                unreachable = self._upstream.explain_unreachable(error)
                if not self._events.ended:
                    raise unreachable from error
                return True
            case LineTooLong():
                raise self._upstream.explain_long_line(error) from None
            case sse.StreamError():
                raise self._upstream.explain_stream_failure(error) from None  # its cause has the text unredacted
        return False


def explain_transport(error: TransportError) -> str:
    """For clients, so without the address, which is in the log line."""
    if isinstance(error, ConnectError):
        hint = " Is it running?" if "refused" in str(error) else ""
        return f"Cannot reach the model server: {error}{hint}"
    return f"The request to the model server failed: {error}"


def explain_refused_key(model: str, status: int, credentials: Credentials | None) -> str:
    key, cure = ("API key", "Check `api_key` of the model, or the environment variable that it names.")
    if credentials is not None:
        key, cure = ("credentials", "Check that they are valid and may use the model.")
    return f"The model provider returned HTTP {status}: it does not accept the {key} for {model!r}. {cure}"


def explain_not_found(url: str, text: str) -> str:
    """A 404 without a word about the model is probably that of a wrong address."""
    if "model" in text.lower():
        return ""
    version = "" if re.search(r"/v\d", url) else " Most servers need `/v1` at its end."
    return f"{'' if text.endswith('.') else '.' if text else ''} Check `base_url` of the model.{version}"


def split(piece: bytes) -> Iterator[bytes]:
    for start in range(0, len(piece), MAX_READ_BYTES):
        yield piece[start : start + MAX_READ_BYTES]


def parse_retry_after(header: str) -> float | None:
    """Return the seconds of a `Retry-After`; None for a date, because the clocks may differ."""
    return float(header) if re.fullmatch(r"\d{1,6}(\.\d+)?", header) else None


def warn_of_no_key(provider: str, header: str, headers: Container[str]) -> Iterator[str]:
    """Warn if a model at its provider's own address has no `api_key`, and none of the operator's headers holds one."""
    if header not in headers:
        yield f"there is no `api_key`, and {provider} rejects requests without one."


def choose_model(default: str, allowed: Sequence[str], requested: str | None) -> str:
    """Return the model that the client requested if it is allowed, else the configured one."""
    if requested is None or requested == default:
        return default
    if "*" in allowed or requested in allowed:
        return requested
    logger.warning("a client requested the model %r, which is not in client_models; using %r", requested, default)
    return default
