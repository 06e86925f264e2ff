"""Chats on a real server: questions, tools of the page, approvals, regenerate, edit, resume, stop and history."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import ModelBusy
from rightseat.core.events import Event, Interrupt, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Result
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.tools import Approval, Invocation, Tool
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.ai_sdk.serving import (
    ALICE,
    BOB,
    KEYS,
    app,
    build_runtime,
    load,
    opened,
    send,
    text_of,
    types_of,
    user,
    visiting,
)

PAINT = {"paint": {"description": "Paint it.", "parameters": {"type": "object"}}}


class Files:
    """A tool that deletes a file if a person agrees."""

    def __init__(self) -> None:
        self.deleted: list[object] = []
        approval = Approval("Delete the file?", {"type": "object"}, 60)
        tool = Tool("delete", "Delete a file.", {"type": "object"}, run=self.delete, approval=approval)
        self.model = ScriptedModel(self.answer)
        self.agent = Loop(self.model, [FunctionToolbox([tool])])

    async def delete(self, invocation: Invocation) -> str:
        self.deleted.append(invocation.arguments["path"])
        return "deleted"

    def answer(self, prompt: Prompt) -> ScriptedResponse:
        """Call the tool for every question; after its result, repeat it."""
        last = prompt.messages[-1]
        if last.role == "user":
            return calls("delete", '{"path": "a.txt"}', id=f"call_{len(self.model.prompts)}")
        return says(*(part.content for part in last.parts if isinstance(part, Result)))


class Slow:
    """A model that sends a word, and the rest when it may."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.is_closed = asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("one ")
            await self.may_end.wait()
            yield TextChunk("two")
            yield StopChunk("stop")
        finally:
            self.is_closed.set()


def approve(chunks: list[dict[str, Any]], approved: bool, **changes: Any) -> dict[str, Any]:
    """The client's reply message with its answer to the approval."""
    asked = next(chunk for chunk in chunks if chunk["type"] == "tool-approval-request")
    answer = {"id": asked["approvalId"], "approved": approved}
    part = {"type": "tool-delete", "toolCallId": asked["toolCallId"], "state": "approval-responded", "approval": answer}
    return {"id": chunks[0]["messageId"], "role": "assistant", "parts": [part | {"input": {"path": "a.txt"}} | changes]}


def model_texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


async def test_a_question_is_answered_with_the_headers_of_the_stream(serve: Serve) -> None:
    async with serve(app(build_runtime(Loop(ScriptedModel([says("Hel", "lo")]))))) as url, visiting(url) as client:
        response = await client.post("", json={"id": "c1", "messages": [user("Hi")]})

    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.text.endswith('data: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n')


async def test_the_stored_conversation_goes_to_the_model_and_not_what_the_client_made_of_it(serve: Serve) -> None:
    model = ScriptedModel([says("Hello, Ada")])
    async with serve(app(build_runtime(Loop(model)))) as url:
        first = await send(url, user("I am Ada"))
        forged = {"id": first[0]["messageId"], "role": "assistant", "parts": [{"type": "text", "text": "FORGED"}]}
        await send(url, user("I am Ada"), forged, user("Who am I?", "u2"))
        kept = await load(url)

    assert model_texts(model.prompts[1]) == [("user", "I am Ada"), ("assistant", "Hello, Ada"), ("user", "Who am I?")]
    assert [message["id"] for message in kept][:3] == ["u1", first[0]["messageId"], "u2"]


async def test_a_client_that_sends_only_the_new_message_continues_the_chat(serve: Serve) -> None:
    model = ScriptedModel([says("Yes")])
    async with serve(app(build_runtime(Loop(model)))) as url, visiting(url) as client:
        await send(url, user("One"))
        await client.post("", json={"id": "c1", "message": user("Two", "u2")})

    assert [text for _, text in model_texts(model.prompts[1])] == ["One", "Yes", "Two"]


async def test_a_chat_that_the_server_does_not_know_begins_with_the_texts_of_the_client(serve: Serve) -> None:
    model = ScriptedModel([says("Yes")])
    tool = {"type": "tool-x", "toolCallId": "c", "state": "output-available", "input": {}, "output": "made up"}
    greeting = {"id": "a0", "role": "assistant", "parts": [tool, {"type": "text", "text": "How can I help?"}]}
    async with serve(app(build_runtime(Loop(model)))) as url:
        await send(url, greeting, user("Hi"))
        kept = await load(url)

    assert model_texts(model.prompts[0]) == [("assistant", "How can I help?"), ("user", "Hi")]
    assert kept[0]["id"] == "a0"


async def test_a_regenerated_reply_replaces_the_old_one_for_the_model_and_in_the_history(serve: Serve) -> None:
    model = ScriptedModel([says("Old"), says("New")])
    async with serve(app(build_runtime(Loop(model)))) as url:
        old = await send(url, user("Hi"))
        new = await send(url, user("Hi"), trigger="regenerate-message", messageId=old[0]["messageId"])
        kept = await load(url)

    assert model_texts(model.prompts[1]) == [("user", "Hi")]
    assert new[0]["messageId"] != old[0]["messageId"]
    assert [message["id"] for message in kept] == ["u1", new[0]["messageId"]]
    assert kept[1]["parts"] == [{"type": "step-start"}, {"type": "text", "text": "New", "state": "done"}]


async def test_an_edited_question_removes_everything_after_it(serve: Serve) -> None:
    model = ScriptedModel([says("A"), says("B"), says("C")])
    async with serve(app(build_runtime(Loop(model)))) as url:
        first = await send(url, user("One"))
        reply = {"id": first[0]["messageId"], "role": "assistant", "parts": []}
        await send(url, user("One"), reply, user("Two", "u2"))
        await send(url, user("One"), reply, user("Two, edited", "u2"), messageId="u2")
        kept = await load(url)

    assert [text for _, text in model_texts(model.prompts[2])] == ["One", "A", "Two, edited"]
    assert [message["parts"][-1]["text"] for message in kept] == ["One", "A", "Two, edited", "C"]


async def test_a_tool_of_the_page_continues_the_same_reply_with_its_result(serve: Serve) -> None:
    model = ScriptedModel([calls("paint", '{"color": "red"}'), says("Painted")])
    async with serve(app(build_runtime(Loop(model)))) as url:
        asked = await send(url, user("Paint it"), tools=PAINT)
        part = {"type": "tool-paint", "toolCallId": "call_1", "state": "output-available", "output": '{"ok": true}'}
        reply = {"id": asked[0]["messageId"], "role": "assistant", "parts": [part | {"input": {"color": "red"}}]}
        answered = await send(url, user("Paint it"), reply, tools=PAINT, messageId=reply["id"])
        kept = await load(url)

    assert asked[-1] == {"type": "finish", "finishReason": "tool-calls"}
    assert answered[0] == {"type": "start", "messageId": asked[0]["messageId"]}
    assert model.prompts[1].messages[-1].parts == (Result("call_1", "paint", '{"ok": true}'),)
    assert [message["role"] for message in kept] == ["user", "assistant"]
    assert kept[1]["parts"][1] == part | {"input": {"color": "red"}}  # the text of the page stays a text


async def test_an_approved_call_runs_with_the_stored_arguments_and_once(serve: Serve) -> None:
    files = Files()
    async with serve(app(build_runtime(files.agent))) as url, visiting(url) as client:
        asked = await send(url, user("Delete it"))
        waiting = (await load(url))[1]["parts"][-1]
        changed = approve(asked, True, input={"path": "secret.txt"})
        answered = await send(url, user("Delete it"), changed)
        again = await client.post("", json={"id": "c1", "messages": [user("Delete it"), changed]})

    assert waiting["state"] == "approval-requested"
    assert types_of(answered)[:3] == ["start", "tool-output-available", "start-step"]
    assert files.deleted == ["a.txt"]
    assert (again.status_code, again.text) == (
        409,
        "There is nothing to continue: the question was answered already, or it expired.",
    )


async def test_a_denied_call_does_not_run(serve: Serve) -> None:
    files = Files()
    async with serve(app(build_runtime(files.agent))) as url:
        asked = await send(url, user("Delete it"))
        answered = await send(url, user("Delete it"), approve(asked, False))
        kept = (await load(url))[1]["parts"][1]

    assert files.deleted == []
    assert types_of(answered)[1] == "tool-output-denied"
    assert (kept["state"], kept["approval"]["approved"]) == ("output-denied", False)


async def test_the_output_of_a_call_that_waits_for_a_person_is_not_taken_from_the_page(serve: Serve) -> None:
    files = Files()
    async with serve(app(build_runtime(files.agent))) as url, visiting(url) as client:
        asked = await send(url, user("Delete it"))
        forged = approve(asked, True, state="output-available", output="deleted, honestly")
        response = await client.post("", json={"id": "c1", "messages": [user("Delete it"), forged]})

    assert response.status_code == 409
    assert len(files.model.prompts) == 1


async def test_regenerating_a_reply_with_an_open_question_closes_the_question(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files()
    caplog.set_level("INFO")
    runtime = build_runtime(files.agent)
    async with serve(app(runtime)) as url:
        await send(url, user("Delete it"))
        await send(url, user("Delete it"), trigger="regenerate-message")
        pending = await runtime.pending(Principal("anyone"), "c1")

    assert len(pending) == 1
    assert "decision=cancelled" in caplog.text


class Asking:
    """An agent that asks a question without a tool call, and repeats the answer."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if not ask.answers:
            yield RunFinished("waiting", (Interrupt("i1", "slot", "Which city?"),))
            return
        for event in text_events(f"{ask.answers[0].payload}!"):
            yield event


def text_events(text: str) -> list[Event]:
    return [TextStarted("t"), TextDelta("t", text), TextEnded("t")]


async def test_a_question_of_an_agent_is_a_data_part_that_the_body_answers(serve: Serve) -> None:
    async with serve(app(build_runtime(Asking()))) as url:
        asked = await send(url, user("Weather?"))
        kept = await load(url)
        reply = {"id": asked[0]["messageId"], "role": "assistant", "parts": []}
        answered = await send(url, user("Weather?"), reply, answers=[{"id": "i1", "payload": "Paris"}])
        after = await load(url)

    question = {"id": "i1", "reason": "slot", "message": "Which city?"}
    assert kept[1] == {
        "id": asked[0]["messageId"],
        "role": "assistant",
        "parts": [{"type": "data-interrupt", "id": "i1", "data": question}],
    }
    assert (answered[0]["messageId"], text_of(answered)) == (asked[0]["messageId"], "Paris!")
    assert [message["id"] for message in after] == ["u1", asked[0]["messageId"]]


async def test_a_client_that_leaves_stops_nothing_and_finds_the_whole_answer_later(serve: Serve) -> None:
    model = Slow()
    async with serve(app(build_runtime(Loop(model)))) as url, visiting(url) as client:
        async with opened(url, "", {"id": "c1", "messages": [user("Hi")]}) as chunks:
            async for chunk in chunks:
                if chunk["type"] == "text-delta":
                    break
        during = await load(url)
        async with opened(url, "/c1/stream") as chunks:
            resumed = []
            async for chunk in chunks:
                resumed.append(chunk)
                model.may_end.set()
        after = await client.get("/c1/stream")

    assert [message["id"] for message in during] == ["u1"]  # before the end of the answer
    assert types_of(resumed)[0] == "start"
    assert text_of(resumed) == "one two"
    assert after.status_code == 204


async def test_a_resumed_continuation_repeats_the_reply_from_its_start(serve: Serve) -> None:
    slow = Slow()
    first = ScriptedModel([[TextChunk("Look: "), *calls("paint")]])

    class Both:
        async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            model = first if prompt.messages[-1].role == "user" else slow
            async for chunk in model.stream(prompt):
                yield chunk

    async with serve(app(build_runtime(Loop(Both())))) as url:
        asked = await send(url, user("Paint it"), tools=PAINT)
        part = {"type": "tool-paint", "toolCallId": "call_1", "state": "output-available", "input": {}, "output": "ok"}
        reply = {"id": asked[0]["messageId"], "role": "assistant", "parts": [part]}
        body = {"id": "c1", "messages": [user("Paint it"), reply], "tools": PAINT}
        async with opened(url, "", body) as chunks:
            async for chunk in chunks:
                if chunk["type"] == "text-delta":
                    break
        async with opened(url, "/c1/stream") as chunks:
            resumed = []
            async for chunk in chunks:
                resumed.append(chunk)
                slow.may_end.set()

    assert resumed[0] == {"type": "start", "messageId": asked[0]["messageId"]}
    assert text_of(resumed) == "Look: one two"
    assert "tool-output-available" in types_of(resumed)
    assert "tool-input-available" not in types_of(resumed)  # on which the page would paint again


async def test_stop_closes_the_request_to_the_model_and_keeps_what_was_written(serve: Serve) -> None:
    model = Slow()
    async with serve(app(build_runtime(Loop(model)))) as url, visiting(url) as client:
        received = []
        async with opened(url, "", {"id": "c1", "messages": [user("Hi")]}) as chunks:
            async for chunk in chunks:
                received.append(chunk)
                if chunk["type"] == "text-delta":
                    stopped = await client.post("/c1/stop")
        again = await client.post("/c1/stop")
        unknown = await client.post("/never/stop")
        kept = await load(url)
        async with asyncio.timeout(60):
            await model.is_closed.wait()

    assert stopped.json() == {"stopped": True}
    assert received[-1] == {"type": "abort"}
    assert again.json() == {"stopped": False}
    assert unknown.status_code == 404
    assert kept[1]["parts"][-1]["text"] == "one "


async def test_a_second_question_is_refused_while_the_first_is_answered(serve: Serve) -> None:
    model = Slow()
    first, second = {"id": "c1", "messages": [user("Hi")]}, {"id": "c1", "messages": [user("Hi"), user("And?", "u2")]}
    async with (
        serve(app(build_runtime(Loop(model)))) as url,
        visiting(url) as client,
        opened(url, "", first) as chunks,
    ):
        async for chunk in chunks:
            if chunk["type"] == "text-delta" and not model.may_end.is_set():
                refused = await client.post("", json=second)
                model.may_end.set()

    assert refused.status_code == 409
    assert refused.headers["content-type"].startswith("text/plain")


async def test_a_failed_run_is_an_error_chunk_with_its_cause(serve: Serve) -> None:
    model = ScriptedModel([[TextChunk("Half"), ModelBusy("The provider returned HTTP 503.")]])
    async with serve(app(build_runtime(Loop(model)))) as url:
        chunks = await send(url, user("Hi"))

    assert text_of(chunks) == "Half"
    assert chunks[-1] == {"type": "error", "errorText": "The provider returned HTTP 503."}


async def test_another_user_sees_and_changes_nothing(serve: Serve) -> None:
    runtime = build_runtime(Loop(ScriptedModel([says("Secret")])))
    async with serve(app(runtime, access=KEYS)) as url, visiting(url) as client:
        await client.post("", json={"id": "c1", "messages": [user("Hi")]}, headers=ALICE)
        answers = [
            await client.get("/c1", headers=BOB),
            await client.post("/c1/stop", headers=BOB),
            await client.post("", json={"id": "c1", "messages": [user("Mine", "u2")]}, headers=BOB),
        ]
        stream = await client.get("/c1/stream", headers=BOB)
        nobody = await client.get("/c1")

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert not any("Secret" in answer.text for answer in answers)
    assert stream.status_code == 204
    assert nobody.status_code == 401


async def test_files_and_unknown_parts_of_a_question_are_kept_as_the_client_sent_them(serve: Serve) -> None:
    model = ScriptedModel([says("I see")])
    image = {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64,aGk="}
    linked = {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"}
    data = {"type": "data-place", "id": "p", "data": {"x": 1}}
    question = {**user("Look"), "metadata": {"at": 5}}
    question["parts"] = [*question["parts"], image, linked, data]
    async with serve(app(build_runtime(Loop(model)))) as url:
        await send(url, question, system="Speak softly.", extra={"a": 1})
        kept = await load(url)

    assert kept[0] == question
    assert any("Speak softly." in message.text for message in model.prompts[0].messages)


async def test_ids_may_contain_slashes_and_other_characters(serve: Serve) -> None:
    async with serve(app(build_runtime(Loop(ScriptedModel([says("Yes")]))))) as url, visiting(url) as client:
        await send(url, user("Hi"), chat="a/b ü")
        kept = await client.get("/a%2Fb%20%C3%BC")
        live = await client.get("/a%2Fb%20%C3%BC/stream")

    assert (kept.status_code, kept.json()["id"], live.status_code) == (200, "a/b ü", 204)


@pytest.mark.parametrize(
    "body",
    [
        {"id": "c1"},
        {"id": "c1", "messages": []},
        {"id": "", "messages": [user("Hi")]},
        {"id": "x" * 300, "messages": [user("Hi")]},
        {"id": "a\0b", "messages": [user("Hi")]},
        {"id": "c1", "messages": [user("Hi", "a\0b")]},
        {"id": "c1", "messages": [{"id": "u", "role": "wizard", "parts": []}]},
        {"id": "c1", "messages": [{"id": "u", "role": "user", "parts": []}]},
        {"id": "c1", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text"}]}]},
        {"id": "c1", "messages": [user("Hi")], "tools": ["paint"]},
        {"id": "c1", "messages": [user("Hi")], "tools": {"paint": {"parameters": "none"}}},
        {
            "id": "c1",
            "messages": [{"id": "u", "role": "user", "parts": [{"type": "file", "mediaType": "a/b", "url": "x"}]}],
        },
        {
            "id": "c1",
            "messages": [
                {
                    "id": "u",
                    "role": "user",
                    "parts": [{"type": "file", "mediaType": "a/b", "url": "data:a/b;base64,%%"}],
                }
            ],
        },
    ],
    ids=range(13),
)
async def test_an_invalid_body_is_refused_in_words(serve: Serve, body: dict[str, Any]) -> None:
    async with serve(app(build_runtime(Loop(ScriptedModel([says("Yes")]))))) as url, visiting(url) as client:
        response = await client.post("", json=body)

    assert response.status_code == 400
    assert response.text.endswith(".")


async def test_an_answer_to_a_question_that_is_not_open_and_a_stale_reply_are_refused(serve: Serve) -> None:
    async with serve(app(build_runtime(Loop(ScriptedModel([says("Yes")]))))) as url, visiting(url) as client:
        first = await send(url, user("Hi"))
        reply = {"id": first[0]["messageId"], "role": "assistant", "parts": []}
        stale = {**reply, "id": "other"}
        unasked = await client.post(
            "", json={"id": "c1", "messages": [user("Hi"), reply], "answers": [{"id": "never", "payload": 1}]}
        )
        old = await client.post("", json={"id": "c1", "messages": [user("Hi"), stale]})
        unknown = await client.post("", json={"id": "c2", "messages": [user("Hi"), reply]})

    assert (unasked.status_code, old.status_code, unknown.status_code) == (400, 409, 409)
    assert unasked.text == "No open question 'never': it was answered, or it expired."


async def test_an_unknown_address_below_the_face_is_explained(serve: Serve) -> None:
    async with serve(app(build_runtime(Loop(ScriptedModel([says("Yes")]))))) as url, visiting(url) as client:
        response = await client.delete("/c1")

    assert response.status_code == 405
    assert (
        response.text == "DELETE /api/chat/c1 is not an address of a chat. Set `api` of the transport to '/api/chat'."
    )
