"""Durable runs while what keeps them is lost: a Redis that comes back empty."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path

from pydantic import SecretStr

from rightseat.core.ask import Ask
from rightseat.core.errors import LogTruncated, RunNotFound
from rightseat.core.events import Event, MessagesReplaced, RunFinished, RunStarted, TextDelta, TextEnded, TextStarted
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.dbos import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.logs import redis
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.conditions import Paced
from tests.services import own_redis


class Told:
    """A model that says what it is told."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        while (word := await self.words.get()) is not None:
            yield TextChunk(word)


@asynccontextmanager
async def serving(folder: Path, url: str, model: Told) -> AsyncIterator[Runtime]:
    async with AsyncExitStack() as stack:
        log = redis.build(redis.Options(url=SecretStr(url)))
        await stack.enter_async_context(log)  # type: ignore[arg-type]
        threads = await stack.enter_async_context(SqlThreads(connect(folder / "rightseat.db")))
        engine = DbosEngine(DbosSystem(folder / "steps.db"))
        runtime = Runtime({"default": Loop(model, durable=True)}, log=log, threads=threads, engine=engine)
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


async def until(runtime: Runtime, word: str, after: str | None = None) -> tuple[list[Event], str]:
    """What is said up to a word, and the id of that entry; where entries were lost, from where it goes on."""
    said: list[Event] = []
    async for _ in Paced(count(), 0.01):
        try:
            async for batch in runtime.follow("r", after):
                for entry in batch:
                    said.append(entry.event)
                    if isinstance(entry.event, TextDelta) and word in entry.event.text:
                        return said, entry.id
            return said, ""
        except LogTruncated as gone:
            after = gone.resume
        except RunNotFound:
            continue  # it is lost, and its writer has not noticed yet
    raise AssertionError


async def test_a_run_continues_after_its_log_is_lost_and_sends_the_state_of_the_thread(tmp_path: Path) -> None:
    model = Told()
    ask = Ask(messages=(user("Hi"),), run_id="r", thread_id="t")
    async with (
        asyncio.timeout(40),
        own_redis(tmp_path / "redis") as server,
        serving(tmp_path, server.url, model) as runtime,
    ):
        await runtime.start(ask)
        model.words.put_nowait("one ")
        before, _ = await until(runtime, "one ")
        await server.kill()
        server.empty()
        await server.start()
        for word in ("two ", "three ", None):
            model.words.put_nowait(word)
        after, _ = await until(runtime, "nothing")
        thread = await runtime.settled("t", ask.principal)

    (id,) = [event.message_id for event in before if isinstance(event, TextStarted)]
    assert isinstance(after[0], RunStarted)
    (replaced,) = [event for event in after if isinstance(event, MessagesReplaced)]
    assert replaced.earlier == ask.messages
    said = "".join(message.text for message in replaced.messages)
    more = "".join(event.text for event in after if isinstance(event, TextDelta))
    assert said + more == "one two three "
    assert TextEnded(id) in after
    assert after[-1] == RunFinished("done")
    assert thread is not None
    assert [message.text for message in thread.messages] == ["Hi", "one two three "]
