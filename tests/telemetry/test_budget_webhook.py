"""Warnings of budgets at a server of the operator: once, repeated where that helps, and never in the way of a run."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat import app, config
from rightseat.config.webhook import WebhookOptions
from rightseat.core.errors import ConfigError
from rightseat.limits.budget_watch import BudgetWarning
from rightseat.telemetry.budget_webhook import BudgetWebhook
from tests.conditions import until
from tests.conftest import serving
from tests.databases import migrated_database
from tests.services import free_port

WARNING = BudgetWarning(
    "warning_1", "the budget 'day' is used to 81 %", "day", "anna", "tokens", "day", 1000, 810, "USD", "2026-11-17"
)
SECRET_PATH = "/hooks/T0123456789?token=abcdefgh"


class Receiver:
    """Responds with these statuses in turn, then with the last one. The status 0 is no response at all."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = list(statuses) or [204]
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.app = Starlette(routes=[Route("/{path:path}", self._receive, methods=["POST"])])

    async def _receive(self, request: Request) -> Response:
        self.bodies.append(json.loads(await request.body()))
        self.headers.append(request.headers)
        self.paths.append(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        if not status:
            await asyncio.Event().wait()
        return Response(status_code=status, headers={"location": "/elsewhere"})


def webhook(
    url: str, api_key: str | None = None, *, timeout: float = 5.0, delays: Sequence[float] = (0.01, 0.01)
) -> BudgetWebhook:
    options = WebhookOptions.model_validate({"url": url, "api_key": api_key})
    return BudgetWebhook(options, timeout=timeout, delays=delays)


async def happens(is_so: Callable[[], bool]) -> None:
    async def check() -> bool:
        return is_so()

    async with asyncio.timeout(30):
        await until(check)


async def test_a_warning_is_posted_as_json_with_its_key() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as url, webhook(f"{url}{SECRET_PATH}", "wh-key-1") as sender:
        sender.send(WARNING)
        await happens(lambda: bool(receiver.bodies))

    assert receiver.bodies == [
        {
            "type": "budget_warning",
            "id": "warning_1",
            "text": "The budget 'day' is used to 81 %.",
            "limit": "day",
            "subject": "anna",
            "kind": "tokens",
            "window": "day",
            "most": 1000,
            "used": 810,
            "currency": "USD",
            "resets_at": "2026-11-17",
        }
    ]
    assert receiver.paths == [SECRET_PATH]
    assert receiver.headers[0]["authorization"] == "Bearer wh-key-1"
    assert receiver.headers[0]["content-type"] == "application/json"


async def test_an_address_without_a_path_is_valid() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as url, webhook(url) as sender:
        sender.send(WARNING)
        await happens(lambda: bool(receiver.bodies))

    assert receiver.paths == ["/"]


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_server_that_fails_for_a_while_receives_the_warning_again(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = Receiver(status, 204)
    async with serving(receiver.app) as url, webhook(f"{url}{SECRET_PATH}") as sender:
        sender.send(WARNING)
        await happens(lambda: len(receiver.bodies) == 2)

    assert receiver.bodies[0] == receiver.bodies[1]
    (line,) = messages(caplog)
    assert line.endswith(f"is sent to {url.removeprefix('http://')} again in 0.01 s: it returned HTTP {status}")
    assert "token" not in line


async def test_attempts_are_bounded_and_the_last_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(500)
    async with serving(receiver.app) as url, webhook(url) as sender:
        sender.send(WARNING)
        await happens(lambda: "was not sent" in caplog.text)

    assert len(receiver.bodies) == 3
    assert [record.levelname for record in webhook_records(caplog)] == ["WARNING", "WARNING", "ERROR"]


@pytest.mark.parametrize("status", [301, 400, 404])
async def test_a_request_that_is_refused_or_redirected_is_not_repeated(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = Receiver(status)
    async with serving(receiver.app) as url, webhook(url) as sender:
        sender.send(WARNING)
        await happens(lambda: "was not sent" in caplog.text)

    assert len(receiver.bodies) == 1
    assert messages(caplog)[0].endswith(f"it returned HTTP {status}")


async def test_a_server_that_does_not_respond_is_left_after_the_timeout(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(0, 204)
    async with serving(receiver.app) as url, webhook(url, timeout=1) as sender:
        sender.send(WARNING)
        await happens(lambda: len(receiver.bodies) == 2)

    assert messages(caplog)[0].endswith("no response within 1 s")


async def test_a_server_that_is_not_there_is_named(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    async with webhook(f"http://127.0.0.1:{port}", delays=()) as sender:
        sender.send(WARNING)
        await happens(lambda: "was not sent" in caplog.text)

    assert messages(caplog)[0].startswith(f"a warning of a budget was not sent to 127.0.0.1:{port}: ")


async def test_a_server_that_stops_waits_a_moment_and_counts_what_it_could_not_send(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with asyncio.timeout(60), serving(Receiver(0).app) as url, webhook(url) as sender:
        sender.send(WARNING)
        sender.send(WARNING)

    assert messages(caplog) == [
        f"warnings of budgets that were not sent to {url.removeprefix('http://')} before the end: 2",
    ]


def webhook_records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.endswith("budget_webhook")]


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in webhook_records(caplog)]


CONFIG = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
log: {{type: memory}}
threads: {{type: sql, url: "{database}"}}
faces: [{{type: openai}}, {{type: metrics}}]
limits: [{{name: day, subject: everyone, tokens_per_day: 10000}}]
limits_webhook: {{url: "{url}"}}
"""


async def test_replicas_warn_once_and_a_receiver_that_hangs_delays_no_run(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(0)
    asked = {"model": "default", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8500}
    async with asyncio.timeout(30), AsyncExitStack() as stack:
        database = await stack.enter_async_context(migrated_database())
        url = await stack.enter_async_context(serving(receiver.app))
        read = config.parse(CONFIG.format(database=database, url=f"{url}{SECRET_PATH}"), environ={})
        replicas = [await stack.enter_async_context(serving(app.build(read))) for _ in range(2)]
        async with httpx2.AsyncClient() as client:
            for number in range(6):
                response = await client.post(f"{replicas[number % 2]}/v1/chat/completions", json=asked)
                assert response.status_code == 200
        await happens(lambda: bool(receiver.bodies))

    (body,) = receiver.bodies
    assert (body["limit"], body["subject"], body["kind"], body["most"]) == ("day", "everyone", "tokens", 10_000)
    assert 8000 <= body["used"] <= 10_000
    logged = [record.getMessage() for record in caplog.records if record.name.endswith("budget_watch")]
    assert [f"{line[0].upper()}{line[1:]}." for line in logged] == [body["text"]]
    assert SECRET_PATH not in caplog.text


def test_the_address_of_a_webhook_is_checked_and_not_shown() -> None:
    with pytest.raises(ConfigError) as error:
        config.parse('limits_webhook: {url: "ftp://hooks.example/abcdef"}', environ={})

    assert "limits_webhook.url: the address should begin with http:// or https://" in str(error.value)
    assert "abcdef" not in str(error.value)
