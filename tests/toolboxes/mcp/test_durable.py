"""Calls in runs that go on when their process dies."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from rightseat.core.ask import Answer
from rightseat.core.events import Event, RunFinished, ToolCallReturned
from tests.conftest import Serve
from tests.toolboxes.mcp.conftest import Opened, ask, call, find, result
from tests.toolboxes.mcp.servers import library, web

T = TypeVar("T")


class Kept:
    """Steps that are kept from one execution of a run to the next; `forget` is one that had not finished."""

    is_shutting_down = False
    resumed = None

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        if name not in self.kept:
            self.kept[name] = await work()
        value: T = self.kept[name]
        return value

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        raise NotImplementedError

    def forget(self, name: str) -> None:
        del self.kept[name]


async def test_a_call_that_had_finished_is_not_made_again(serve: Serve, opened: Opened) -> None:
    server, steps, asked = library(), Kept(), ask(durable=True)
    async with serve(web(server.streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        lend = await find(box, "lend")
        first, second = [await call(lend, {"title": "Moby"}, asked=asked, steps=steps) for _ in range(2)]

    assert first == second
    assert server.seen == ["Moby"]


async def test_of_a_call_that_was_cut_off_a_person_is_asked(serve: Serve, opened: Opened) -> None:
    server, steps, asked = library(), Kept(), ask(durable=True)
    async with serve(web(server.streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        lend = await find(box, "lend")
        await call(lend, {"title": "Moby"}, asked=asked, steps=steps)
        steps.forget("call_1:mcp")
        (finished,) = await call(lend, {"title": "Moby"}, asked=asked, steps=steps)
        assert isinstance(finished, RunFinished)
        (question,) = finished.interrupts
        said = {
            answer: await call(
                lend,
                {"title": "Moby"},
                Answer(question.id, "resolved", answer, memo=question.memo),
                asked=asked,
                steps=Kept(),
            )
            for answer in ("skip", "stop", "repeat")
        }

    assert question.reason == "outcome_unknown"
    assert result(said["skip"]).error == "outcome_unknown"
    assert said["stop"][-1] == RunFinished("done")
    assert isinstance(said["repeat"][0], ToolCallReturned)
    assert server.seen == ["Moby", "Moby"]


async def test_what_only_reads_is_simply_read_again(serve: Serve, opened: Opened) -> None:
    server, steps, asked = library(), Kept(), ask(durable=True)
    async with serve(web(server.streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        search = await find(box, "search")
        await call(search, {"query": "one"}, asked=asked, steps=steps)
        steps.forget("call_1:mcp")
        events = await call(search, {"query": "one"}, asked=asked, steps=steps)

    assert result(events).content == "found one"
    assert server.seen == ["one", "one"]
