"""Log lines say for which request, run and thread they are."""

import json
import logging
import traceback

import httpx2
import pytest

from rightseat import app, config
from rightseat.core.errors import StoreUnreachable
from rightseat.core.tracing import LOG_CONTEXT, LogContext
from rightseat.telemetry.logs import FORMATTERS, ContextFilter, JsonFormatter, OutageFilter
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


def record(
    message: str, error: Exception | None = None, name: str = "rightseat.core", line: int = 1
) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    return logging.LogRecord(name, logging.ERROR, "/somewhere/file.py", line, message, (), info)


def test_a_known_outage_has_no_traceback_and_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    limiting = OutageFilter(lambda: now)
    first = record("housekeeping failed", StoreUnreachable())
    passed = [limiting.filter(first)]
    passed += [limiting.filter(record("housekeeping failed", StoreUnreachable())) for _ in range(9)]
    elsewhere = limiting.filter(record("a hook failed", StoreUnreachable(), line=2))
    defect = record("housekeeping failed", ValueError("no"))
    defects = [limiting.filter(defect) for _ in range(9)]
    now = 31.0
    again = limiting.filter(record("housekeeping failed", StoreUnreachable()))

    assert first.getMessage() == f"housekeeping failed: {StoreUnreachable()}"
    assert (first.exc_info, bool(defect.exc_info)) == (None, True)
    assert passed == [True] * 3 + [False] * 7
    assert all((elsewhere, again, *defects))
    assert caplog.messages == ["7 more lines like those of file.py:1 were left out in 30 s"]


def test_lines_about_what_was_left_out_pass_the_filter_that_writes_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two places at once: the line about the first one is a record that goes through the same handler."""
    now = 0.0
    limiting = OutageFilter(lambda: now)
    context = LOG_CONTEXT.set(LogContext("req_1", "run_7", "thread_1"))
    filters = (limiting, ContextFilter())
    for added in filters:
        caplog.handler.addFilter(added)
    try:
        for line in (1, 2):
            passed = [limiting.filter(record("it failed", StoreUnreachable(), line=line)) for _ in range(5)]
            assert passed == [True] * 3 + [False] * 2
        now = 31.0
        logging.getLogger("rightseat.core").warning("later")
    finally:
        for added in filters:
            caplog.handler.removeFilter(added)
        LOG_CONTEXT.reset(context)

    assert caplog.messages == [
        "2 more lines like those of file.py:1 were left out in 30 s",
        "2 more lines like those of file.py:2 were left out in 30 s",
        "later",
    ]
    assert [written.about for written in caplog.records[:2]] == [{}, {}]  # type: ignore[attr-defined]


def test_the_attempts_of_dbos_to_reach_its_database_are_limited() -> None:
    limiting = OutageFilter()
    passed = [limiting.filter(record("100 % failed", name="dbos")) for _ in range(5)]

    assert passed == [True] * 3 + [False] * 2


def test_the_traceback_that_dbos_writes_into_a_message_is_left_out_in_an_outage() -> None:
    """`dbos/_scheduler.py` does so while it polls for schedules; what is no outage keeps its traceback."""
    messages = []
    for error in (StoreUnreachable(), ValueError("no")):
        try:
            raise error
        except (StoreUnreachable, ValueError):
            polled = record(f"Exception polling schedules: {traceback.format_exc()}", name="dbos")
            assert OutageFilter().filter(polled)
        messages.append(polled.getMessage())

    assert messages[0] == f"Exception polling schedules: {StoreUnreachable()}"
    assert messages[1].startswith("Exception polling schedules: Traceback (most recent call last):\n")


def test_a_plain_line_that_a_run_has_caused_has_its_id() -> None:
    context = LOG_CONTEXT.set(LogContext("req_1", "run_7", "thread_1"))
    try:
        lines = [FORMATTERS["plain"].format(record(text)) for text in ("it is slow", "run run_7 failed")]
    finally:
        LOG_CONTEXT.reset(context)

    assert lines[0].endswith("ERROR rightseat.core: it is slow (run run_7)")
    assert lines[1].endswith("ERROR rightseat.core: run run_7 failed")
