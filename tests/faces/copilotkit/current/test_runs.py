"""Run, connect, stop and suggest: their frames, and what becomes of a run when somebody comes or goes."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ModelUnreachable
from rightseat.core.events import Event, StateChanged, StateReplaced, TextDelta, TextEnded, TextStarted
from rightseat.core.hooks import Hooks
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import StopChunk, TextChunk
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, says
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import (
    ALICE,
    BASE,
    BOB,
    KEYS,
    Frame,
    Reader,
    Told,
    app,
    asking,
    read,
    text_of,
    visiting,
)
from tests.faces.copilotkit.serving import Way, chat, connected, http, read_chunks, runtime

RUN, CONNECT = "/agent/default/run", "/agent/default/connect"
FRONTEND = {"name": "paint", "description": "Paint it.", "parameters": {"type": "object"}}


def post(body: object, path: str = RUN) -> bytes:
    """The bytes of a request."""
    content = json.dumps(body).encode()
    head = f"POST {BASE}{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(content) + content


def types(frames: list[Frame]) -> list[str]:
    return [frame.type for frame in frames]


# Run


FRAMES = """\
id: 1-1
data: {"type":"RUN_STARTED","threadId":"t-1","runId":"r-1","input":{"tools":[],"context":[],"threadId":"t-1",\
"runId":"r-1","state":{},"messages":[{"id":"u-r-1","role":"user","content":"Hi"}],"forwardedProps":{}}}

id: 1-4
data: {"type":"TEXT_MESSAGE_START","messageId":"MSG","role":"assistant"}

id: 1-5
data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"MSG","delta":"Hel"}

id: 1-6
data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"MSG","delta":"lo"}

id: 1-7
data: {"type":"TEXT_MESSAGE_END","messageId":"MSG"}

id: 1-999999999
data: {"type":"RUN_FINISHED","threadId":"t-1","runId":"r-1"}

"""


async def test_a_run_is_framed_to_the_byte(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        answer = await client.post(url + BASE + RUN, json=asking())
        envelope = {"method": "agent/run", "params": {"agentId": "default"}, "body": asking(run="r-2")}
        by_envelope = await client.post(url + BASE, json=envelope)

    body = re.sub(r"run_[0-9a-f]+", "RUN", answer.text)
    assert re.sub(r"msg_[0-9a-f]+", "MSG", body) == FRAMES
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-length" not in answer.headers
    assert types(read(by_envelope.content)) == types(read(answer.content))


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/vnd.ag-ui.event+proto", "text/event-stream"]
)
async def test_a_client_gets_events_whatever_it_would_take(serve: Serve, accept: str) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post(url + BASE + RUN, json=asking(), headers={"accept": accept})

    assert read(answer.content)[-1].type == "RUN_FINISHED"


async def test_a_delta_is_sent_at_once_and_the_body_ends_with_the_run(serve: Serve, way: Way) -> None:
    """Frontend tools run only when the body has ended: the end of both is one write."""
    model = Told()

    async with serve(app(runtime(model), way)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        writer.write(post(asking()))
        chunks = read_chunks(reader)
        for word in ("Hel", "lo"):
            model.say(word)
            seen = b""
            while not seen.endswith(b'"delta":"%b"}\n\n' % word.encode()):
                seen += await anext(chunks)
        model.say(None)
        rest = [chunk async for chunk in chunks]

    assert rest[-1].endswith(b'"type":"RUN_FINISHED","threadId":"t-1","runId":"r-1"}\n\n')


async def test_a_connection_serves_one_run_after_another(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        for number in range(3):
            writer.write(post(asking(run=f"r-{number}")))
            body = b"".join([chunk async for chunk in read_chunks(reader)])
            assert text_of(read(body)) == "Hello"


async def test_the_start_of_a_run_has_only_the_messages_that_are_new(serve: Serve) -> None:
    """The log is their only home: who reads it later must find each once."""
    model = ScriptedModel([says("One"), says("Two")])
    first = asking("First?", run="r-1")

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        one = read((await client.post(RUN, json=first)).content)
        answer = {"id": one[1].data["messageId"], "role": "assistant", "content": "One"}
        second = {"id": "u-2", "role": "user", "content": "Second?"}
        given = asking(None, run="r-2") | {"messages": [*first["messages"], answer, second]}
        two = read((await client.post(RUN, json=given)).content)
        again = read((await client.post(RUN, json=given | {"runId": "r-3"})).content)

    said = [[message["id"] for message in frames[0].data["input"]["messages"]] for frames in (one, two, again)]
    assert said == [["u-r-1"], ["u-2"], []]
    assert [message.text for message in model.prompts[-1].messages] == ["First?", "One", "Second?"]


async def test_a_client_may_use_the_id_of_a_run_again(serve: Serve) -> None:
    """It does so when it answers a question. Nothing is found by it, in any thread."""
    model = ScriptedModel([says("One"), says("Two"), says("Three")])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        for number, thread in enumerate(["t-1", "t-1", "t-2"]):
            said = [{"id": f"u-{number}", "role": "user", "content": str(number)}]
            answer = read((await client.post(RUN, json=asking(thread=thread, run="same", messages=said))).content)
            assert {frame.data["runId"] for frame in (answer[0], answer[-1])} == {"same"}
        replays = [read((await client.post(CONNECT, json=asking(None, thread=t))).content) for t in ("t-1", "t-2")]

    assert [text_of(frames) for frames in replays] == ["OneTwo", "Three"]
    assert [frame.data["runId"] for frame in replays[0] if frame.type == "RUN_STARTED"] == ["same", "same"]
    assert len({frame.id.partition("/")[0] for frames in replays for frame in frames if frame.id}) == 3


async def test_a_failed_run_has_the_reason_in_its_last_event(serve: Serve, way: Way) -> None:
    model = ScriptedModel([[TextChunk("Hel"), ModelUnreachable("The model hung up.")]])

    async with serve(app(runtime(model), way)) as url, visiting(url) as client:
        answer = await client.post(url + BASE + RUN, json=asking())

    *_, end, last = read(answer.content)
    assert end.type == "TEXT_MESSAGE_END"
    assert last.data == {"type": "RUN_ERROR", "message": "The model hung up.", "code": "model_unreachable"}


async def test_a_call_that_the_page_has_to_run_ends_the_run(serve: Serve) -> None:
    model = ScriptedModel([calls("paint", '{"color": "red"}')])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        old = read((await client.post(RUN, json=asking(tools=[FRONTEND]))).content)
        given = asking(thread="t-2", tools=[FRONTEND], protocolVersion="1.0")
        new = read((await client.post(RUN, json=given)).content)

    assert "TOOL_CALL_RESULT" not in types(old)
    assert old[-1].data == {"type": "RUN_FINISHED", "threadId": "t-1", "runId": "r-1"}
    assert new[-1].data["outcome"] == {"type": "success", "pendingToolCallIds": ["call_1"]}


async def test_the_context_of_the_page_reaches_the_model_and_the_hooks(serve: Serve) -> None:
    asks: list[Ask] = []

    async def remember(ask: Ask) -> None:
        asks.append(ask)

    model = ScriptedModel([says("Hi")])
    given = asking(
        context=[{"description": "User", "value": "Ada"}],
        tools=[FRONTEND],
        state={"count": 1},
        forwardedProps={"toolChoice": "required", "tenant": 7},
    )
    async with (
        serve(app(runtime(model, hooks=Hooks(before_request=[remember])), headers=("X-Tenant", "x-none"))) as url,
        visiting(url) as client,
    ):
        headers = {"x-tenant": "acme", "x-other": "secret", "authorization": "Bearer secret"}
        await client.post(RUN, json=given, headers=headers)

    (ask,) = asks
    assert (ask.thread_id, ask.client_run_id, ask.agent, ask.principal) == ("t-1", "r-1", "default", ANYONE)
    assert (ask.state, ask.properties["tenant"]) == ({"count": 1}, 7)
    assert ask.headers == {"X-Tenant": "acme"}
    assert "Ada" in model.prompts[0].messages[0].text
    assert [tool.name for tool in model.prompts[0].tools] == ["paint"]
    assert model.prompts[0].parameters.tool_choice == "required"


# Connect


class Reciting:
    """An agent that changes a state, in steps of one message."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield StateReplaced({"count": 0})
        yield TextStarted("m-1")
        for number in range(3):
            yield TextDelta("m-1", str(number))
            yield StateChanged([{"op": "replace", "path": "/count", "value": number + 1}])
        yield TextEnded("m-1")


async def test_an_unknown_thread_connects_to_an_empty_stream(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        answer = await client.post(CONNECT, json=asking(None))
        threads = await client.get("/threads")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/event-stream"
    assert threads.json()["threads"] == []


async def test_history_is_compact_and_has_everything_once(serve: Serve) -> None:
    async with serve(app(runtime(reciting=Reciting()))) as url, visiting(url) as client:
        await client.post("/agent/reciting/run", json=asking("Count!"))
        await client.post(RUN, json=asking("Hi", run="r-2"))
        frames = read((await client.post(CONNECT, json=asking(None))).content)

    assert types(frames) == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
        *("STATE_SNAPSHOT", "RUN_FINISHED"),
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    assert text_of(frames) == "012Hello"
    assert frames[4].data["snapshot"] == {"count": 3}
    said = [message["content"] for frame in frames for message in frame.data.get("input", {}).get("messages", ())]
    assert said == ["Count!", "Hi"]


async def test_a_page_that_connects_again_is_sent_what_it_does_not_show(serve: Serve, way: Way) -> None:
    """A client adds the deltas of a message to the text that it has."""
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        told = read((await client.post(RUN, json=asking("Hi"))).content)
        [id] = {frame.data["messageId"] for frame in told if frame.data["type"] == "TEXT_MESSAGE_START"}
        found = []
        pages: tuple[list[Any], ...] = (
            [],
            [{"id": id, "role": "assistant", "content": "Hello"}],
            [{"id": id, "role": "assistant", "content": "Hel"}],
            [{"id": [], "content": {}, "toolCalls": 7}, None, 7, {"toolCalls": [None, {"id": []}]}],
        )
        for messages in pages:
            answer = await client.post(CONNECT, json=asking(None) | {"messages": messages})
            found.append((answer.status_code, text_of(read(answer.content))))

    assert found == [(200, "Hello"), (200, ""), (200, "Hello"), (200, "Hello")]


async def test_a_client_that_connects_to_a_live_run_gets_all_of_it(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url, Reader.open(url, RUN, asking()) as first:
        model.say("One, ", "two, ")
        await first.until("TEXT_MESSAGE_CONTENT", delta="two, ")
        async with Reader.open(url, CONNECT, asking(None, run="other")) as second:
            await second.until("TEXT_MESSAGE_CONTENT", delta="two, ")
            model.say("three.", None)
            assert await second.rest() == await first.rest()

    assert second.text == "One, two, three."
    assert second.types[0] == "RUN_STARTED"


async def test_a_connected_client_does_not_follow_the_next_run(serve: Serve) -> None:
    model = Told()

    async with (
        serve(app(runtime(model))) as url,
        Reader.open(url, RUN, asking()) as run,
        Reader.open(url, CONNECT, asking(None)) as second,
    ):
        model.say("One", None)
        await run.rest()
        async with Reader.open(url, RUN, asking("And?", run="r-2")) as next_run:
            await next_run.until("RUN_STARTED", runId="r-2")
            await second.rest()  # ends, though the thread is busy
            model.say("Two", None)
            await next_run.rest()

    assert second.text == "One"
    assert second.types.count("RUN_STARTED") == 1


async def test_earlier_runs_come_before_the_live_one(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url:
        model.say("Ear", "lier. ", None)
        async with Reader.open(url, RUN, asking()) as first:
            await first.rest()
        async with Reader.open(url, RUN, asking("And?", run="r-2")) as second:
            model.say("No", "w.")
            await second.until("TEXT_MESSAGE_CONTENT", delta="w.")
            async with Reader.open(url, CONNECT, asking(None)) as reader:
                await reader.until("TEXT_MESSAGE_CONTENT", delta="w.")
                model.say(None)
                await reader.rest()

    pieces = [frame.data["delta"] for frame in reader.frames if frame.type == "TEXT_MESSAGE_CONTENT"]
    assert pieces == ["Earlier. ", "No", "w."]


# Those who go away


async def test_a_connection_that_is_closed_does_not_end_the_run(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url:
        for path in (RUN, CONNECT):
            async with Reader.open(url, path, asking()) as leaving:
                model.say("More, ")
                await leaving.until("TEXT_MESSAGE_CONTENT")
        async with Reader.open(url, CONNECT, asking(None)) as staying:
            await staying.until("TEXT_MESSAGE_START")
            model.say("to the end.", None)
            await staying.rest()

    assert staying.text == "More, More, to the end."
    assert staying.types[-1] == "RUN_FINISHED"


async def test_a_client_keeps_its_stream_when_another_disconnects(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url, Reader.open(url, RUN, asking()) as staying:
        model.say("One, ")
        await staying.until("TEXT_MESSAGE_CONTENT")
        async with Reader.open(url, CONNECT, asking(None)) as leaving:
            await leaving.until("TEXT_MESSAGE_CONTENT")
        model.say("two.", None)
        await staying.rest()

    assert staying.text == "One, two."


# Stop


async def stop(url: str, thread: str = "t-1", body: object = None, **headers: str) -> dict[str, Any]:
    content: dict[str, Any] = {} if body is None else {"json": body}
    async with visiting(url) as client:
        answer = await client.post(f"/agent/default/stop/{thread}", headers=headers, **content)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_a_run_is_stopped_by_its_own_id_or_by_none(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url:
        for number, body in enumerate([{"runId": "r-0"}, None]):
            model.closed.clear()
            async with Reader.open(url, RUN, asking(run=f"r-{number}", protocolVersion="1.0")) as reader:
                model.say("Hel")
                await reader.until("TEXT_MESSAGE_CONTENT")
                stopped = await stop(url, body=body)
                *_, end, last = await reader.rest()

            assert stopped["stopped"] is True
            assert stopped["interrupt"]["code"] == "STOPPED"
            assert model.closed.is_set()
            assert end.type == "TEXT_MESSAGE_END"
            assert (last.type, last.data["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})


async def test_a_stop_that_means_another_run_changes_nothing(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url:
        assert await stop(url) == {"stopped": False, "message": "No active run for thread 't-1'."}
        async with Reader.open(url, RUN, asking()) as reader:
            model.say("Hel")
            await reader.until("TEXT_MESSAGE_CONTENT")
            assert (await stop(url, body={"runId": "r-0"}))["stopped"] is False
            assert (await stop(url, thread="t-2"))["stopped"] is False
            model.say("lo", None)
            await reader.rest()
        assert (await stop(url))["stopped"] is False

    assert reader.text == "Hello"


async def test_a_run_that_no_client_began_is_stopped_by_the_id_that_is_shown(serve: Serve) -> None:
    """As one that goes on after a question was answered from elsewhere."""
    model = Told()
    served = runtime(model)

    async with serve(app(served)) as url:
        ask = await served.start(Ask(messages=(), thread_id="t-1"))
        async with Reader.open(url, CONNECT, asking(None)) as reader:
            shown = (await reader.until("RUN_STARTED")).data["runId"]
            stopped = await stop(url, body={"runId": shown})
            await reader.rest()

    assert shown == ask.run_id
    assert stopped["stopped"] is True
    assert model.closed.is_set() or not model.asked.is_set()


async def test_a_user_cannot_stop_the_run_of_another(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model), access=KEYS)) as url, Reader.open(url, RUN, asking(), **ALICE) as reader:
        model.say("Hel")
        await reader.until("TEXT_MESSAGE_CONTENT")
        theirs = await stop(url, **BOB)
        model.say("lo", None)
        await reader.rest()

    assert theirs == {"stopped": False, "message": "No active run for thread 't-1'."}
    assert reader.text == "Hello"


async def test_after_a_stop_the_thread_is_released_with_its_messages(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url:
        async with Reader.open(url, RUN, asking()) as reader:
            model.say("Half")
            await reader.until("TEXT_MESSAGE_CONTENT")
            await stop(url)
        model.say("Whole", None)
        async with Reader.open(url, RUN, asking("Again", run="r-2")) as again:
            await again.rest()
        async with Reader.open(url, CONNECT, asking(None)) as replay:
            await replay.rest()

    assert again.text == "Whole"
    assert replay.text == "HalfWhole"


# Suggest


SUGGEST = {"name": "copilotkitSuggest", "description": "", "parameters": {"type": "object"}}


FORCED = {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}}


@pytest.mark.parametrize(("path", "forwarded"), [("/agent/default/suggest", {}), (RUN, FORCED)])
async def test_suggestions_leave_no_trace(serve: Serve, path: str, forwarded: dict[str, Any]) -> None:
    """Pages with `useSingleEndpoint` ask for them by an ordinary run that must call the tool."""
    model = ScriptedModel([calls("copilotkitSuggest", '{"suggestions": []}')])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        body = asking(tools=[SUGGEST], forwardedProps=forwarded)
        frames = read((await client.post(path, json=body)).content)
        threads = await client.get("/threads", params={"includeArchived": "true"})
        connect = await client.post(CONNECT, json=asking(None))
        messages = await client.get("/threads/t-1/messages")

    assert [frame.data["toolCallName"] for frame in frames if frame.type == "TOOL_CALL_START"] == ["copilotkitSuggest"]
    assert frames[-1].type == "RUN_FINISHED"
    assert (threads.json()["threads"], connect.content, messages.json()) == ([], b"", {"messages": []})


async def test_suggestions_are_made_beside_a_live_run_and_change_nothing_in_its_thread(serve: Serve) -> None:
    model = Told()
    suggesting = Loop(ScriptedModel([says("Say hello")]))

    async with serve(app(runtime(model, suggesting=suggesting))) as url:
        async with Reader.open(url, RUN, asking()) as reader:
            model.say("Hel")
            await reader.until("TEXT_MESSAGE_CONTENT")
            async with Reader.open(url, "/agent/suggesting/suggest", asking("What next?", run="r-2")) as other:
                await other.rest()
            model.say("lo", None)
            await reader.rest()
        async with visiting(url) as client:
            messages = (await client.get("/threads/t-1/messages")).json()["messages"]

    assert (reader.text, other.text) == ("Hello", "Say hello")
    assert [message["content"] for message in messages] == ["Hi", "Hello"]


async def test_suggestions_end_with_their_reader(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url:
        async with Reader.open(url, "/agent/default/suggest", asking()) as reader:
            model.say("Per")
            await reader.until("TEXT_MESSAGE_CONTENT")
        async with asyncio.timeout(1):
            await model.closed.wait()


async def test_suggestions_are_stopped_by_the_name_of_their_thread(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        async with Reader.open(url, RUN, asking(tools=[SUGGEST], forwardedProps=FORCED)) as reader:
            model.say("Per")
            await reader.until("TEXT_MESSAGE_CONTENT")
            stopped = await client.post("/agent/default/stop/t-1")
            async with asyncio.timeout(30):
                await model.closed.wait()
                await reader.rest()
        again = await client.post("/agent/default/stop/t-1")

    assert (stopped.json()["stopped"], again.json()["stopped"]) == (True, False)
    assert reader.frames[-1].type in ("RUN_FINISHED", "RUN_ERROR")


# A thread that is busy


async def test_a_run_on_a_busy_thread_is_refused_in_words(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url, visiting(url) as client:
        async with Reader.open(url, RUN, asking()) as first:
            await first.until("RUN_STARTED")
            second = await client.post(RUN, json=asking("Second?", run="r-2"))
            model.say("One", None)
            await first.rest()
        replay = read((await client.post(CONNECT, json=asking(None))).content)

    assert second.status_code == 409
    assert second.json() == {
        "error": "thread_busy",
        "message": "Thread 't-1' has a run in progress. Wait until it ends, or stop it.",
        "code": "thread_busy",
    }
    assert first.text == "One"
    assert "Second?" not in json.dumps([frame.data for frame in replay])


async def test_a_run_on_a_busy_thread_waits_for_its_turn(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way, when_busy="queue")) as url:
        async with Reader.open(url, RUN, asking()) as first:
            await first.until("RUN_STARTED")
            waiting = [
                asyncio.create_task(whole(url, RUN, asking(f"{number}?", run=f"r-{number}"))) for number in (2, 3)
            ]
            model.say("One", None, "Two", None, "Three", None)
            await first.rest()
        second, third = [await task for task in waiting]
        async with Reader.open(url, CONNECT, asking(None)) as replay:
            await replay.rest()

    assert [first.text, text_of(second), text_of(third)] == ["One", "Two", "Three"]
    assert replay.text == "OneTwoThree"
    assert [frame.data["runId"] for frame in replay.frames if frame.type == "RUN_STARTED"] == ["r-1", "r-2", "r-3"]


async def test_a_run_on_a_busy_thread_takes_the_others_place(serve: Serve, way: Way) -> None:
    model = Told()

    async with (
        serve(app(runtime(model), way, when_busy="supersede")) as url,
        Reader.open(url, RUN, asking(protocolVersion="1.0")) as first,
    ):
        model.say("Half")
        await first.until("TEXT_MESSAGE_CONTENT")
        async with Reader.open(url, RUN, asking("Second?", run="r-2")) as second:
            *_, end, last = await first.rest()
            model.say("Two", None)
            await second.rest()

    assert (end.type, last.type, last.data["outcome"]) == ("TEXT_MESSAGE_END", "RUN_FINISHED", {"type": "cancelled"})
    assert second.text == "Two"
    assert [message.text for message in model.prompts[-1].messages] == ["Second?"]


class Forgetful(MemoryThreads):
    """A store that is not told, once, that a run has ended."""

    forgot = False

    async def finish(self, ask: Ask, *rest: Any) -> None:
        if self.forgot:
            return await super().finish(ask, *rest)
        self.forgot = True
        raise OSError("the disk is full")


@pytest.mark.parametrize("when_busy", ["queue", "supersede"])
async def test_a_thread_that_is_never_free_again_is_not_waited_for(serve: Serve, when_busy: str) -> None:
    async with serve(app(runtime(threads=Forgetful()), when_busy=when_busy)) as url, visiting(url) as client:
        first = read((await client.post(RUN, json=asking())).content)
        second = await client.post(RUN, json=asking("Second?", run="r-2"))

    assert (first[-1].type, first[-1].data["code"]) == ("RUN_ERROR", "internal_error")
    assert (second.status_code, second.json()["code"]) == (409, "thread_busy")


@pytest.mark.parametrize("when_busy", ["refuse", "queue", "supersede"])
async def test_the_thread_of_another_is_not_waited_for(serve: Serve, when_busy: str) -> None:
    model = Told()

    async with (
        serve(app(runtime(model), access=KEYS, when_busy=when_busy)) as url,
        Reader.open(url, RUN, asking(), **ALICE) as first,
    ):
        await first.until("RUN_STARTED")
        async with visiting(url) as client:
            theirs = await client.post(RUN, json=asking("Mine!", run="r-2"), headers=BOB)
        model.say("One", None)
        await first.rest()

    assert (theirs.status_code, theirs.json()["code"]) == (404, "thread_not_found")
    assert first.text == "One"


async def whole(url: str, path: str, body: object) -> list[Frame]:
    async with Reader.open(url, path, body) as reader:
        return await reader.rest()


# Silence


class Silent:
    """A model that says one word, and another when it is told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def stream(self, prompt: object) -> AsyncIterator[TextChunk | StopChunk]:
        yield TextChunk("Hel")
        await self.go_on.wait()
        yield TextChunk("lo")
        yield StopChunk("stop")


async def test_a_silent_stream_is_kept_open_with_comments(serve: Serve, way: Way) -> None:
    model = Silent()

    async with serve(app(runtime(model), way, keep_alive=0.02)) as url, connected(url) as (reader, writer):
        writer.write(post(asking()))
        async with asyncio.timeout(30):
            chunks, seen = read_chunks(reader), b""
            while seen.count(b": keep-alive\n\n") < 3:
                seen += await anext(chunks)
            model.go_on.set()
            seen += b"".join([chunk async for chunk in chunks])

    assert text_of(read(seen)) == "Hello"


async def test_the_graphql_face_keeps_its_events_open_too_and_no_parts(serve: Serve) -> None:
    for accept, keeps in (("text/event-stream", True), ("multipart/mixed", False)):
        model = Silent()
        async with serve(app(runtime(model), keep_alive=0.02)) as url, connected(url) as (reader, writer):
            writer.write(http(json.dumps(chat()).encode(), accept=accept))
            async with asyncio.timeout(30):
                chunks, seen = read_chunks(reader), b""
                while b"Hel" not in seen:
                    seen += await anext(chunks)
                if keeps:
                    while b": keep-alive\n\n" not in seen:
                        seen += await anext(chunks)
                model.go_on.set()
                seen += b"".join([chunk async for chunk in chunks])

        assert (b": keep-alive" in seen) is keeps
