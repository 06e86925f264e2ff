"""Files that the user attached, for an agent that takes them as they are."""

import base64
from collections.abc import AsyncIterator
from typing import Any

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event
from rightseat.core.messages import File, Image
from rightseat.core.model import Chunk, StopChunk, TextChunk
from rightseat.core.stream.framer import frame
from tests.conftest import Serve
from tests.faces.openbb.serving import app, ask, call_of, came_back, data_of, names, question, text_of, widget

CSV = b"name,amount\nApple,3\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class Taking:
    """An agent that takes files, and says which it was given."""

    description = "Takes files."
    takes_files = True

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        self.asked.append(ask)

        async def chunks() -> AsyncIterator[Chunk]:
            yield TextChunk("Taken.")
            yield StopChunk("stop")

        async with aclosing(frame(chunks())) as events:
            async for event in events:
                yield event

    @property
    def files(self) -> list[File | Image]:
        return [part for one in self.asked[-1].messages for part in one.parts if isinstance(part, File | Image)]


def attached(name: str = "a.csv") -> dict[str, Any]:
    """Workspace gives an attached file no uuid."""
    return widget(f"file-{name}", uuid=None, origin="Files", params=[], metadata={"originalFilename": name})


def item(content: str, kind: str, name: str) -> dict[str, Any]:
    return {"items": [{"content": content, "data_format": {"data_type": kind, "filename": name}}]}


def packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


async def test_a_file_is_fetched_and_put_beside_the_question_as_it_is(serve: Serve) -> None:
    agent, body = Taking(), question(attached(), text="Convert it.")
    async with serve(app(agent=agent)) as url:
        first = await ask(url, body)
        second = await ask(url, came_back(body, call_of(first), item(packed(CSV), "csv", "a.csv")))

    (source,) = call_of(first)["input_arguments"]["data_sources"]
    assert (source["origin"], source["id"]) == ("Files", "file-a.csv")
    assert text_of(second) == "Taken."
    assert agent.files == [File("document", "text/csv", packed(CSV), name="a.csv")]
    assert [one.text for one in agent.asked[-1].messages if one.role == "user"] == ["Convert it."]
    assert len(agent.asked) == 1, "it is not asked before the file is there"


async def test_a_text_that_comes_as_it_is_becomes_the_same_bytes(serve: Serve) -> None:
    agent, body = Taking(), question(attached())
    async with serve(app(agent=agent)) as url:
        call = call_of(await ask(url, body))
        await ask(url, came_back(body, call, item(CSV.decode(), "csv", "a.csv")))

    assert agent.files == [File("document", "text/csv", packed(CSV), name="a.csv")]


async def test_a_picture_is_one_and_no_question(serve: Serve) -> None:
    agent, body = Taking(), question(attached("a.png"), text="What is it?")
    async with serve(app(agent=agent)) as url:
        call = call_of(await ask(url, body))
        await ask(url, came_back(body, call, item(packed(PNG), "png", "a.png")))

    assert agent.files == [Image("image/png", packed(PNG), name="a.png")]
    assert [one.text for one in agent.asked[-1].messages if one.role == "user"] == ["What is it?"]


async def test_files_are_fetched_together_and_each_once_in_a_chat(serve: Serve) -> None:
    agent, body = Taking(), question(attached("a.csv"), attached("b.csv"))
    async with serve(app(agent=agent)) as url:
        call = call_of(await ask(url, body))
        data = [item(packed(CSV), "csv", "a.csv"), item(packed(CSV), "csv", "b.csv")]
        later = came_back(body, call, *data)
        later["messages"] += [{"role": "ai", "content": "Taken."}, {"role": "human", "content": "And again?"}]
        third = await ask(url, later)

    assert len(call["input_arguments"]["data_sources"]) == 2
    assert "copilotFunctionCall" not in names(third)
    assert [one.name for one in agent.files] == ["a.csv", "b.csv"]


async def test_a_file_that_may_not_be_fetched_is_reported_and_the_agent_continues(serve: Serve) -> None:
    agent, body = Taking(), question(attached())
    elsewhere = {"items": [{"url": "http://127.0.0.1:9/a.csv", "data_format": {"data_type": "csv"}}]}
    async with serve(app(agent=agent)) as url:
        call = call_of(await ask(url, body))
        sent = await ask(url, came_back(body, call, elsewhere))

    warnings = [one["message"] for one in data_of(sent, "copilotStatusUpdate") if one["eventType"] == "WARNING"]
    assert len([one for one in warnings if one.startswith("The file a.csv could not be read.")]) == 1
    assert (text_of(sent), agent.files) == ("Taken.", [])


async def test_other_widgets_are_not_fetched(serve: Serve) -> None:
    agent = Taking()
    async with serve(app(agent=agent)) as url:
        sent = await ask(url, question(widget()))

    assert text_of(sent) == "Taken."


async def test_an_old_client_is_not_asked_for_files(serve: Serve) -> None:
    agent = Taking()
    async with serve(app(agent=agent)) as url:
        sent = await ask(url, {"messages": question()["messages"], "widgets": [attached()]})

    assert text_of(sent) == "Taken."
