"""Sends the warnings of budgets to a server of the operator, beside the runs.

A failed request is repeated a few times. A warning that cannot be sent is logged and dropped: its text is in the log.
"""

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from rightseat.config.urls import parse_base_url
from rightseat.config.webhook import WebhookOptions
from rightseat.egress.client import Client
from rightseat.egress.transport import TransportError
from rightseat.limits.budget_watch import BudgetWarning

logger = logging.getLogger(__name__)

TIMEOUT_S = 10.0  # for a whole request
RETRY_DELAYS_S = (1.0, 10.0, 60.0)
MAX_CONNECTIONS = 4
MAX_PENDING = 1000
CLOSE_TIMEOUT_S = 2.0
RETRIED_STATUSES = (408, 425, 429)


class WebhookFailed(Exception):
    """`can_retry` is False if the server refuses the request itself."""

    def __init__(self, message: str, *, can_retry: bool = True) -> None:
        super().__init__(message)
        self.can_retry = can_retry


class BudgetWebhook:
    """`timeout` and `delays` are in seconds; there is one attempt more than delays."""

    def __init__(
        self, options: WebhookOptions, *, timeout: float = TIMEOUT_S, delays: Sequence[float] = RETRY_DELAYS_S
    ) -> None:
        headers = {"user-agent": "rightseat"}
        if options.api_key is not None:
            headers["authorization"] = f"Bearer {options.api_key.get_secret_value()}"
        parts = parse_base_url(options.url.get_secret_value())
        origin = f"{parts.scheme}://{parts.netloc}"
        self._client = Client(origin, headers, timeout=timeout, connect_timeout=timeout, network=options)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host = parts.netloc  # the rest may be a secret
        self._timeout = timeout
        self._delays = delays
        self._connections = asyncio.Semaphore(MAX_CONNECTIONS)
        self._pending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "BudgetWebhook":
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._pending:
            _, left = await asyncio.wait(self._pending, timeout=CLOSE_TIMEOUT_S)
            for task in left:
                task.cancel()
            if left:
                logger.error("warnings of budgets that were not sent to %s before the end: %d", self._host, len(left))
        await self._client.aclose()

    def send(self, warning: BudgetWarning) -> None:
        """Returns at once."""
        if len(self._pending) >= MAX_PENDING:
            logger.error("a warning of a budget was not sent to %s: %d are waiting", self._host, MAX_PENDING)
            return
        task = asyncio.create_task(self._deliver(write_body(warning)))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _deliver(self, body: bytes) -> None:
        for delay in (*self._delays, None):
            try:
                return await self._post(body)
            except WebhookFailed as error:
                if delay is None or not error.can_retry:
                    logger.error("a warning of a budget was not sent to %s: %s", self._host, error)
                    return
                logger.warning("a warning of a budget is sent to %s again in %g s: %s", self._host, delay, error)
            await asyncio.sleep(delay)

    async def _post(self, body: bytes) -> None:
        try:
            async with (
                self._connections,
                asyncio.timeout(self._timeout),
                self._client.post(self._path, body) as response,
            ):
                await response.finish()
        except TimeoutError:
            raise WebhookFailed(f"no response within {self._timeout:g} s") from None
        except TransportError as error:
            raise WebhookFailed(str(error)) from error
        if not 200 <= response.status < 300:
            can_retry = response.status >= 500 or response.status in RETRIED_STATUSES
            raise WebhookFailed(f"it returned HTTP {response.status}", can_retry=can_retry)


def write_body(warning: BudgetWarning) -> bytes:
    """`text` is a sentence: the incoming webhooks of chat services show it."""
    text = f"{warning.text[0].upper()}{warning.text[1:]}."
    return msgspec.json.encode({"type": "budget_warning", **msgspec.structs.asdict(warning), "text": text})
