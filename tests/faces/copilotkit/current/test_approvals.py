"""Questions to a person: asked, listed, answered from anywhere, once; and calls that a reload left behind."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event, Interrupt, RunFailed, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.history import NOT_RUN
from rightseat.core.loop.tool_calls import REFUSED
from rightseat.core.messages import Message, Result
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Approval, Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conditions import settle, until
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import ALICE, BOB, KEYS, Frame, Reader, app, asking, read, text_of, visiting
from tests.faces.copilotkit.serving import runtime

RUN, CONNECT, STREAM = "/agent/files/run", "/agent/files/connect", "/threads/t-1/stream"
SCHEMA: JsonValue = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
YES = {"status": "resolved", "payload": {"approved": True}}
PAINT = {"name": "paint", "description": "Paint it.", "parameters": {"type": "object"}}


class Files:
    """A tool that deletes a file if a person agrees, and remembers for whom it did."""

    def __init__(self, expires_after: float | None = 60) -> None:
        self.deleted: list[Invocation] = []
        self.may_end = asyncio.Event()
        self.may_end.set()
        approval = Approval("Delete the file?", SCHEMA, expires_after)
        tool = Tool("delete", "Delete a file.", {"type": "object"}, run=self.delete, approval=approval)
        self.model = ScriptedModel(self.answer)
        self.agent = Loop(self.model, [FunctionToolbox([tool])])

    async def delete(self, invocation: Invocation) -> str:
        self.deleted.append(invocation)
        await self.may_end.wait()
        return "deleted"

    def answer(self, prompt: Prompt) -> ScriptedResponse:
        """Call the tool for every question; after its result, repeat what it said."""
        last = prompt.messages[-1]
        if last.role == "user":
            return calls("delete", '{"path": "a.txt"}', id=f"call_{len(self.model.prompts)}")
        return says(*(part.content for part in last.parts if isinstance(part, Result)))


def approvals(frames: list[Frame]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frames[-1].data["outcome"]["interrupts"]
    return found


def resume(interrupt: str, status: str = "resolved", payload: object = True) -> list[dict[str, Any]]:
    return [{"interruptId": interrupt, "status": status, "payload": payload}]


async def asked(client: httpx2.AsyncClient, thread: str = "t-1", run: str = "r-1", **headers: str) -> str:
    """A run that ends with a question; its id."""
    answer = await client.post(RUN, json=asking("Delete it", thread=thread, run=run), headers=headers)
    found: str = approvals(read(answer.content))[0]["id"]
    return found


async def open_questions(client: httpx2.AsyncClient, **headers: str) -> list[str]:
    return [one["id"] for one in (await client.get("/approvals", headers=headers)).json()["approvals"]]


# Asked


async def test_a_question_has_its_schema_and_its_end(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        frames = read((await client.post(RUN, json=asking("Delete it"))).content)
        listed = (await client.get("/approvals")).json()["approvals"]
        of_another = (await client.get("/approvals", params={"threadId": "t-2"})).json()["approvals"]
        history = read((await client.post(CONNECT, json=asking(None))).content)

    (question,) = approvals(frames)
    id, expires_at = question["id"], question["expiresAt"]
    assert question == {
        "id": id,
        "reason": "approval_required",
        "message": "Delete the file?",
        "toolCallId": "call_1",
        "responseSchema": SCHEMA,
        "expiresAt": expires_at,
    }
    assert listed == [
        {
            "id": id,
            "threadId": "t-1",
            "agentId": "files",
            "reason": "approval_required",
            "message": "Delete the file?",
            "responseSchema": SCHEMA,
            "expiresAt": expires_at,
            "toolCall": {"id": "call_1", "name": "delete", "args": '{"path": "a.txt"}'},
        }
    ]
    assert of_another == []
    assert approvals(history) == [question]  # a page that is loaded anew asks again
    assert files.deleted == []


async def test_a_question_of_a_run_without_a_log_is_asked_again(serve: Serve) -> None:
    files, log = Files(), MemoryLog()
    copilot = runtime(log=log, files=files.agent)

    async with serve(app(copilot)) as url, visiting(url) as client:
        seen = read((await client.post(RUN, json=asking("Delete it"))).content)
        thread = await copilot.thread("t-1", ANYONE)
        assert thread is not None
        await log.delete([run.id for run in thread.runs])
        rest = read((await client.get(STREAM, headers={"last-event-id": str(seen[0].id)})).content)
        whole = read((await client.get(STREAM)).content)

    assert approvals(rest) == approvals(whole) == approvals(seen)


# Answered


async def test_an_answer_in_the_next_run_lets_the_call_run(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        given = await going_on(client, run="r-1", resume=resume(id, payload={"approved": True}))  # the same run id
        frames = read((await client.post(RUN, json=given)).content)
        left = await open_questions(client)
        history = read((await client.post(CONNECT, json=asking(None))).content)

    (invocation,) = files.deleted
    assert (invocation.arguments, invocation.approval) == ({"path": "a.txt"}, {"approved": True})
    assert [frame.data["content"] for frame in frames if frame.type == "TOOL_CALL_RESULT"] == ["deleted"]
    assert text_of(frames) == "deleted"
    assert frames[0].data["input"]["messages"] == []
    assert left == []
    assert [frame.data["runId"] for frame in history if frame.type == "RUN_STARTED"] == ["r-1", "r-1"]


async def test_an_answer_comes_from_another_device_while_a_third_looks_on(serve: Serve) -> None:
    files = Files()
    files.may_end.clear()

    async with (
        serve(app(runtime(files=files.agent), headers=("x-tenant",))) as url,
        visiting(url) as client,
    ):
        frames = read((await client.post(RUN, json=asking("Delete it"))).content)
        (id,) = await open_questions(client)
        answer = await client.post(f"/approvals/{id}", json=YES, headers={"x-tenant": "acme"})
        last = {"last-event-id": frames[-1].id or ""}
        async with (
            Reader.open(url, CONNECT, asking(None)) as third,
            Reader.open(url, STREAM, method="GET", **last) as fourth,
        ):
            await fourth.until("RUN_STARTED")
            files.may_end.set()
            await third.rest()
            await fourth.rest()
        left = await open_questions(client)

    assert answer.status_code == 202
    assert answer.json()["threadId"] == "t-1"
    assert fourth.frames[0].data["runId"] == answer.json()["runId"]
    assert (third.text, fourth.text) == ("deleted", "deleted")
    assert third.types[-1] == fourth.types[-1] == "RUN_FINISHED"
    assert files.deleted[0].ask.headers == {"x-tenant": "acme"}
    assert left == []


@pytest.mark.parametrize("by", ["REST", "run"])
async def test_a_refusal_is_reported_to_the_model_and_nothing_is_run(serve: Serve, by: str) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        if by == "run":
            await client.post(RUN, json=await going_on(client, resume=resume(id, "cancelled")))
        else:
            await client.post(f"/approvals/{id}", json={"status": "cancelled"})
        history = read((await client.post(CONNECT, json=asking(None))).content)
        left = await open_questions(client)

    assert text_of(history) == REFUSED
    assert [part.content for part in files.model.prompts[-1].messages[-1].parts if isinstance(part, Result)] == [
        REFUSED
    ]
    assert (files.deleted, left) == ([], [])


NO: list[object] = [
    None,
    False,
    "yes",
    "true",
    1,
    [],
    {},
    {"approved": False},
    {"approved": "true"},
    {"decision": "deny"},
]


@pytest.mark.parametrize("by", ["REST", "run"])
@pytest.mark.parametrize("payload", NO)
async def test_an_answer_other_than_an_explicit_yes_is_a_refusal(serve: Serve, by: str, payload: object) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        if by == "run":
            await client.post(RUN, json=await going_on(client, resume=resume(id, payload=payload)))
        else:
            await client.post(f"/approvals/{id}", json={"status": "resolved", "payload": payload})
        history = read((await client.post(CONNECT, json=asking(None))).content)
        left = await open_questions(client)

    assert text_of(history) == REFUSED
    assert (files.deleted, left) == ([], [])


async def test_an_answer_without_a_payload_is_a_refusal(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        await client.post(f"/approvals/{id}", json={"status": "resolved"})
        history = read((await client.post(CONNECT, json=asking(None))).content)

    assert (text_of(history), files.deleted) == (REFUSED, [])


# While the store is still being told of the run's end


class Lasting(LocalEngine):
    """An engine for durable runs, whose last event is in their log before the store has it."""

    supports_durable = True


class Slow(MemoryThreads):
    """A store that writes the end of a run only after a client has asked for approvals."""

    def __init__(self) -> None:
        super().__init__()
        self._is_requested = asyncio.Event()

    async def finish(
        self,
        ask: Ask,
        said: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        await self._is_requested.wait()
        await settle()
        await super().finish(ask, said, state, last, totals)

    def watching(self, app: ASGIApp) -> ASGIApp:
        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if "/approvals" in scope.get("path", ""):
                self._is_requested.set()
            await app(scope, receive, send)

        return watched


@pytest.mark.parametrize("query", [{}, {"threadId": "t-1"}])
async def test_a_question_is_listed_as_soon_as_its_run_has_ended(serve: Serve, query: dict[str, str]) -> None:
    files = Files()
    agent = Loop(files.model, files.agent.toolboxes, durable=True)
    threads = Slow()
    slow = Runtime({"files": agent}, log=MemoryLog(), threads=threads, engine=Lasting())

    async with serve(threads.watching(app(slow))) as url, visiting(url) as client:
        id = await asked(client)
        listed = (await client.get("/approvals", params=query)).json()["approvals"]

    assert [one["id"] for one in listed] == [id]


async def test_a_question_is_answered_as_soon_as_its_run_has_ended(serve: Serve) -> None:
    files = Files()
    agent = Loop(files.model, files.agent.toolboxes, durable=True)
    threads = Slow()
    slow = Runtime({"files": agent}, log=MemoryLog(), threads=threads, engine=Lasting())

    async with serve(threads.watching(app(slow))) as url, visiting(url) as client:
        answer = await client.post(f"/approvals/{await asked(client)}", json=YES)

    assert answer.status_code == 202


# The audit log


def audited(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records if record.name == "rightseat.audit"]
    return [line for line in lines if line.startswith("approval:")]


def line_of(id: str, decision: str) -> str:
    return f"approval: user='anyone' agent='files' tool='delete' interrupt={id!r} decision={decision}"


@pytest.mark.parametrize(
    ("given", "decision"),
    [(YES, "allow"), ({"status": "resolved", "payload": "no"}, "deny"), ({"status": "cancelled"}, "cancelled")],
)
async def test_a_decision_leaves_one_audit_line(
    serve: Serve, caplog: pytest.LogCaptureFixture, given: dict[str, object], decision: str
) -> None:
    caplog.set_level(logging.INFO)
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        await client.post(f"/approvals/{id}", json=given)
        await client.post(f"/approvals/{id}", json=given)  # too late

    assert audited(caplog) == [line_of(id, decision)]


async def test_a_question_that_expires_leaves_one_audit_line(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("rightseat.core.runtime.EXPIRY_INTERVAL_S", 0.02)
    files = Files(expires_after=-5)

    async with asyncio.timeout(30), serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        await until(lambda: audited(caplog))
        later = await asked(client, thread="t-2", run="r-2")
        await until(lambda: len(audited(caplog)) > 1)  # the search for the later one has seen the earlier one again

    assert audited(caplog) == [line_of(id, "expired"), line_of(later, "expired")]


# Once


@pytest.mark.parametrize("when_busy", ["refuse", "queue", "supersede"])
async def test_a_question_that_is_answered_twice_at_once_is_answered_once(serve: Serve, when_busy: str) -> None:
    files = Files()
    files.may_end.clear()

    async with (
        serve(app(runtime(files=files.agent), when_busy=when_busy)) as url,
        visiting(url) as client,
    ):
        id = await asked(client)
        async with Reader.open(url, RUN, asking("Delete it", resume=resume(id))) as first:
            await first.until("RUN_STARTED")
            second = asyncio.create_task(client.post(RUN, json=asking("Delete it", resume=resume(id))))
            by_rest = await client.post(f"/approvals/{id}", json=YES)
            files.may_end.set()
            await first.rest()
            answer = await second

    assert by_rest.status_code in (404, 409)
    assert (answer.status_code, answer.json()["code"]) == (
        (409, "thread_busy") if when_busy == "refuse" else (400, "bad_request")
    )
    assert len(files.deleted) == 1


async def test_a_question_that_was_answered_cannot_be_answered_again(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        read((await client.post(RUN, json=asking("Delete it", resume=resume(id)))).content)
        by_rest = await client.post(f"/approvals/{id}", json=YES)
        by_run = await client.post(RUN, json=asking("Delete it", resume=resume(id)))

    assert by_rest.status_code == 404
    assert by_rest.json()["message"] == "There is no such open question: it was answered or has expired."
    assert by_run.status_code == 400
    assert by_run.json()["message"] == f"No open question {id!r}: it was answered, or it expired."
    assert len(files.deleted) == 1


async def test_two_answers_in_one_run_are_refused(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        answer = await client.post(RUN, json=asking("Delete it", resume=[*resume(id), *resume(id, "cancelled")]))
        left = await open_questions(client)

    assert (answer.status_code, files.deleted, left) == (400, [], [id])


async def test_a_refused_answer_leaves_nothing_behind(serve: Serve) -> None:
    """What was said with it is still new when it is said again."""
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        given = asking("And now?", run="r-2")
        refused = await client.post(RUN, json=given | {"resume": resume("nothing")})
        messages = (await client.get("/threads/t-1/messages")).json()["messages"]
        left = await open_questions(client)
        again = read((await client.post(RUN, json=given)).content)

    assert refused.status_code == 400
    assert [message["id"] for message in messages] == ["u-r-1", "call_1"]
    assert left == [id]
    assert [message["id"] for message in again[0].data["input"]["messages"]] == ["u-r-2"]


async def test_suggestions_answer_no_question(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        answer = await client.post("/agent/files/suggest", json=asking("What next?", resume=resume(id)))
        left = await open_questions(client)

    assert answer.status_code == 200
    assert (files.deleted, left) == ([], [id])


# Expired, or left


async def test_an_expired_question_cannot_be_answered_and_the_model_gets_a_note(serve: Serve) -> None:
    files = Files(expires_after=-1)

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        listed = await open_questions(client)
        by_rest = await client.post(f"/approvals/{id}", json=YES)
        by_run = await client.post(RUN, json=asking("Delete it", resume=resume(id)))
        await client.post(RUN, json=await going_on(client, said("And now?")))

    assert (listed, by_rest.status_code, by_run.status_code) == ([], 404, 400)
    assert told_results(files.model.prompts[-1]) == [NOT_RUN]
    assert files.deleted == []


async def test_a_run_without_an_answer_leaves_the_question_open(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        first = await asked(client)
        frames = read((await client.post(RUN, json=await going_on(client, said("Another")))).content)
        (second,) = approvals(frames)
        both = await open_questions(client)
        for question in both:
            await client.post(f"/approvals/{question}", json=YES)
            await client.post(CONNECT, json=asking(None))  # to the end of the run
        left = await open_questions(client)

    assert sorted(both) == sorted([first, second["id"]])
    assert sorted(invocation.call_id for invocation in files.deleted) == ["call_1", "call_2"]
    assert left == []


async def test_questions_are_their_owners(serve: Serve) -> None:
    files = Files()

    async with (
        serve(app(runtime(files=files.agent), access=KEYS)) as url,
        visiting(url) as client,
    ):
        id = await asked(client, **ALICE)
        theirs = await open_questions(client, **BOB)
        by_rest = await client.post(f"/approvals/{id}", json=YES, headers=BOB)
        given = asking("Mine!", thread="t-2", resume=resume(id))
        by_run = await client.post(RUN, json=given, headers=BOB)
        left = await open_questions(client, **ALICE)
        threads = (await client.get("/threads", headers=BOB)).json()["threads"]

    assert (theirs, by_rest.status_code, by_run.status_code, left) == ([], 404, 400, [id])
    assert files.deleted == []
    assert [thread["id"] for thread in threads] in ([], ["t-2"])


async def test_a_question_goes_with_its_thread(serve: Serve) -> None:
    files = Files()

    async with serve(app(runtime(files=files.agent))) as url, visiting(url) as client:
        id = await asked(client)
        await client.delete("/threads/t-1")
        left = await open_questions(client)
        answer = await client.post(f"/approvals/{id}", json=YES)

    assert (left, answer.status_code, files.deleted) == ([], 404, [])


class Curious:
    """An agent that asks for a seat before it says anything."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if not ask.answers:
            yield RunFinished("waiting", (Interrupt("q-1", "input_required", "Which seat?"),))
            return
        yield TextStarted("m")
        yield TextDelta("m", f"{ask.answers[0].status}: {ask.answers[0].payload}")
        yield TextEnded("m")


async def test_an_agent_gets_the_answer_to_its_own_question(serve: Serve) -> None:
    async with serve(app(runtime(curious=Curious()))) as url, visiting(url) as client:
        asked = read((await client.post("/agent/curious/run", json=asking())).content)
        listed = (await client.get("/approvals")).json()["approvals"]
        await client.post("/approvals/q-1", json={"status": "resolved", "payload": {"seat": "3C"}})
        history = read((await client.post("/agent/curious/connect", json=asking(None))).content)

    assert approvals(asked) == [{"id": "q-1", "reason": "input_required", "message": "Which seat?"}]
    assert listed[0]["toolCall"] is None
    assert text_of(history) == "resolved: {'seat': '3C'}"


# Calls that the page has to run


async def going_on(client: httpx2.AsyncClient, *more: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A run that a page begins with what it knows of the thread, and what is new."""
    messages = (await client.get("/threads/t-1/messages")).json()["messages"]
    own = [{**message, "toolCalls": [write_call(c) for c in message.pop("toolCalls", ())]} for message in messages]
    return asking(**{"run": "r-2", **given, "messages": [*own, *more]})


def said(text: str) -> dict[str, Any]:
    return {"id": f"u-{text}", "role": "user", "content": text}


def write_call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}


def told_results(prompt: Prompt) -> list[str]:
    return [part.content for message in prompt.messages for part in message.parts if isinstance(part, Result)]


async def test_a_call_that_a_reload_left_open_is_reported_to_the_model_as_not_run(serve: Serve) -> None:
    model = ScriptedModel([calls("paint"), says("Never mind")])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        await client.post("/agent/default/run", json=asking("Paint it", tools=[PAINT]))
        given = await going_on(client, said("Hello?"), tools=[PAINT])
        frames = read((await client.post("/agent/default/run", json=given)).content)

    assert told_results(model.prompts[-1]) == [NOT_RUN]
    assert text_of(frames) == "Never mind"
    assert [message["id"] for message in frames[0].data["input"]["messages"]] == ["u-Hello?"]


async def test_a_call_that_a_reload_left_behind_can_still_be_answered(serve: Serve) -> None:
    model = ScriptedModel([calls("paint"), says("Red it is")])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        await client.post("/agent/default/run", json=asking("Paint it", tools=[PAINT]))
        result = {"id": "x", "role": "tool", "toolCallId": "call_1", "content": "red"}
        given = await going_on(client, result, tools=[PAINT])
        frames = read((await client.post("/agent/default/run", json=given)).content)
        history = read((await client.post("/agent/default/connect", json=asking(None))).content)

    assert told_results(model.prompts[-1]) == ["red"]
    assert text_of(frames) == "Red it is"
    new = [message for frame in history for message in frame.data.get("input", {}).get("messages", ())]
    assert [message["role"] for message in new] == ["user", "tool"]
