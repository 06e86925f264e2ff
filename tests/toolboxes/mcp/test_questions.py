"""What an MCP server asks the person in the middle of a call."""

import sys
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Answer
from rightseat.core.events import Event, Interrupt, RunFinished, ToolCallReturned
from tests.conftest import Serve
from tests.toolboxes.mcp.conftest import Opened, call, find, result
from tests.toolboxes.mcp.servers import COLOUR, library, web


def question(events: list[Event]) -> Interrupt:
    (finished,) = events
    assert isinstance(finished, RunFinished)
    assert finished.outcome == "waiting"
    (interrupt,) = finished.interrupts
    return interrupt


def answered(interrupt: Interrupt, payload: Any) -> Answer:
    return Answer(interrupt.id, "resolved", payload, memo=interrupt.memo)


@pytest.mark.parametrize("payload", [{"colour": "red"}, '{"colour": "red"}', "red"])
async def test_a_question_ends_the_call_until_it_is_answered(serve: Serve, opened: Opened, payload: Any) -> None:
    server = library()
    async with serve(web(server.streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        paint = await find(box, "paint")
        asked = question(await call(paint))
        events = await call(paint, {}, answered(asked, payload))

    assert (asked.reason, asked.message, asked.schema) == ("input_required", "Which colour?", COLOUR)
    assert events == [ToolCallReturned("call_1", "paint", "painted red")]
    assert server.seen == [None, "half-way"]


async def test_a_declined_question_is_cancelled(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        paint = await find(box, "paint")
        asked = question(await call(paint))
        events = await call(paint, {}, Answer(asked.id, "cancelled", memo=asked.memo))

    assert result(events).content == "not painted: cancel"


async def test_an_older_server_is_called_again_with_the_answer_ready(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app(), is_old=True)) as url, opened(url=f"{url}/mcp") as box:
        repaint = await find(box, "repaint")
        asked = question(await call(repaint))
        events = await call(repaint, {}, answered(asked, {"colour": "blue"}))

    assert asked.message == "Which colour now?"
    assert result(events).content == "repainted blue"


async def test_an_old_program_with_one_stream_for_all_is_answered(opened: Opened) -> None:
    program = {"command": sys.executable, "args": [str(Path(__file__).parent / "old_program.py")]}
    async with opened(**program) as box:
        order = await find(box, "order")
        asked = question(await call(order))
        events = await call(order, {}, answered(asked, 3))

    assert asked.message == "How many?"
    assert result(events).content == "ordered 3"


async def test_a_call_that_must_not_be_repeated_is_declined_with_the_reason(serve: Serve, opened: Opened) -> None:
    server = library()
    async with serve(web(server.streamable_http_app(), is_old=True)) as url, opened(url=f"{url}/mcp") as box:
        events = await call(await find(box, "burn"))

    assert server.seen == ["burn"]
    assert "burning was decline" in result(events).content
    assert "'Really burn?'. The call cannot be repeated, so the question was declined." in result(events).content
