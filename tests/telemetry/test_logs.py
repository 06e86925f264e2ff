"""Log lines say for which request, run and thread they are."""

import json
import logging

import httpx2
import pytest

from rightseat import app, config
from rightseat.core.tracing import LOG_CONTEXT
from rightseat.telemetry.logs import ContextFilter, JsonFormatter
from tests.conftest import serving


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, str]] = []
        self.addFilter(ContextFilter())
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


FAILS = (
    "{models: {default: {type: openai, base_url: 'http://127.0.0.1:9', model: m, api_key: k}},"
    " log: {type: memory}, threads: {type: memory}, faces: [{type: openai}]}"
)
SAID = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


async def test_a_line_of_a_run_has_its_ids_and_the_requests() -> None:
    kept = Kept()
    logger = logging.getLogger("rightseat.core.run.outcome")
    logger.addHandler(kept)
    try:
        async with (
            serving(app.build(config.parse(FAILS, environ={}))) as url,
            httpx2.AsyncClient(base_url=url) as client,
        ):
            answer = await client.post("/v1/chat/completions", json=SAID, headers={"x-request-id": "abc-1"})
    finally:
        logger.removeHandler(kept)

    assert answer.headers["x-request-id"] == "abc-1"
    (line,) = kept.lines
    assert line["request"] == "abc-1"
    assert line["run"].startswith("run_")
    assert line["thread"].startswith("thread_")
    assert line["level"] == "warning"


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 200, "tab\there"])
async def test_a_request_without_a_plain_id_gets_one(given: str | None) -> None:
    headers = {} if given is None else {"x-request-id": given}
    plain = config.parse("{log: {type: memory}, threads: {type: memory}}", environ={})
    async with serving(app.build(plain)) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/health", headers=headers)

    assert answer.headers["x-request-id"].startswith("req_")


def test_a_traceback_is_inside_the_object() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed: %s", ("a\nb",), (ValueError, error, None))

    written = JsonFormatter().format(record)

    assert "\n" not in written
    assert json.loads(written)["message"] == "failed: a\nb"
    assert "ValueError" in json.loads(written)["error"]


def test_nothing_is_said_outside_of_a_request() -> None:
    assert LOG_CONTEXT.get() == ("", "", "")
