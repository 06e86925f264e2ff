"""A copilot without HTTP: questions, answers, approvals, streams."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from rightseat import Copilot, Principal, RightseatError
from rightseat.core.errors import ConfigError
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.events import TextDelta
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.copilot.echo import Echo

CALL: ScriptedResponse = [CallChunk(0, '{"number": 21}', "c1", "double"), UsageChunk(100, 10), StopChunk("tool_calls")]
TEXT: ScriptedResponse = [TextChunk("It is "), TextChunk("42."), UsageChunk(200, 20), StopChunk("stop")]


def double(number: int) -> int:
    return 2 * number


async def test_a_result_has_the_text_the_calls_and_the_cost_and_its_thread_goes_on() -> None:
    model = ScriptedModel([CALL, TEXT])
    prices = {"default": {"input": 1.0, "output": 10.0}}
    copilot = Copilot(model, tools=[double], prices=prices, database="memory")

    result = await copilot.ask("What is twice 21?")
    again = await copilot.ask("And then?", thread=result.thread_id)

    assert (result.text, result.output, result.status) == ("It is 42.", "It is 42.", "done")
    assert [(one.name, one.arguments, one.result) for one in result.tool_calls] == [("double", {"number": 21}, "42")]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (300, 30)
    assert result.cost == Decimal("0.0006")
    assert again.thread_id == result.thread_id
    assert "What is twice 21?" in [message.text for message in model.prompts[-1].messages]


async def test_an_approval_is_answered_in_code() -> None:
    sent: list[str] = []
    copilot = Copilot(Echo(), database="memory")

    @copilot.tool(approval="Send this mail?", effect="write")
    def send_mail(to: str) -> str:
        sent.append(to)
        return f"sent to {to}"

    asked = await copilot.ask('call send_mail {"to": "bob"}')
    before = list(sent)
    done = await asked.approve()
    denied = await (await copilot.ask('call send_mail {"to": "eve"}')).reject("Not eve.")

    assert (asked.status, [one.message for one in asked.questions], before) == ("waiting", ["Send this mail?"], [])
    assert (done.status, done.text) == ("done", "echo: sent to bob")
    assert [(call.name, call.arguments, call.result) for call in done.tool_calls] == [
        ("send_mail", {"to": "bob"}, "sent to bob")
    ]
    assert (denied.status, sent) == ("done", ["bob"])
    with pytest.raises(RightseatError, match="has no questions"):
        await done.approve()


async def test_a_failed_run_raises_with_its_code() -> None:
    copilot = Copilot(ScriptedModel([[ConfigError("It is down.")], says("Hello.")]), database="memory")

    with pytest.raises(RightseatError, match=r"It is down\.") as error:
        await copilot.ask("Hello?")

    assert error.value.code == "config_error"
    assert (await copilot.ask("Hello?")).text == "Hello."


class Invoice(BaseModel):
    total: int


async def test_an_answer_may_have_a_type() -> None:
    model = ScriptedModel([says('{"total": 7}'), says("seven")])
    copilot = Copilot(model, database="memory")

    result = await copilot.ask("The invoice?", output_type=Invoice)

    assert result.output == Invoice(total=7)
    assert model.prompts[0].parameters.response_name == "Invoice"
    with pytest.raises(RightseatError, match="is no Invoice"):
        await copilot.ask("The invoice?", output_type=Invoice)


class Endless:
    def __init__(self) -> None:
        self.has_ended = asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("word ")
            await asyncio.Event().wait()
        finally:
            self.has_ended.set()


async def test_leaving_a_stream_early_cancels_its_run_and_frees_the_thread() -> None:
    model = Endless()
    copilot = Copilot(model, database="memory")

    async with asyncio.timeout(30):
        for _ in range(2):
            async with copilot.stream("Hello", thread="t1") as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            await model.has_ended.wait()

    with pytest.raises(ConfigError, match="no result yet"):
        _ = events.result


async def test_a_stream_has_the_result_at_its_end() -> None:
    stream = Copilot(ScriptedModel([says("Hi ", "there")]), database="memory").stream("Hello")

    texts = [event.text async for event in stream if isinstance(event, TextDelta)]

    assert (texts, stream.result.text) == (["Hi ", "there"], "Hi there")
    with pytest.raises(ConfigError, match="read already"):
        stream.__aiter__()


def test_a_job_of_an_application_asks_for_its_user() -> None:
    copilot = Copilot(Echo(), database="memory")
    app = FastAPI()
    app.include_router(copilot.router())

    @app.post("/nightly")
    async def nightly() -> str:
        return (await copilot.ask("Your report", user="alice", thread="report")).text

    @app.post("/in-a-thread")
    def in_a_thread() -> str:
        return copilot.ask_sync("Again", user="alice", thread="report").text

    with TestClient(app) as client:
        assert client.post("/nightly").json() == "echo: Your report"
        assert client.post("/in-a-thread").json() == "echo: Again"
        with copilot.override(principal=Principal("alice")):
            threads = client.get("/copilotkit/threads").json()["threads"]
        others = client.get("/copilotkit/threads").json()["threads"]

    assert ([thread["id"] for thread in threads], others) == (["report"], [])


async def test_asking_in_an_event_loop_does_not_block_it() -> None:
    with pytest.raises(ConfigError, match="would block this event loop"):
        Copilot(Echo(), database="memory").ask_sync("Hi")


def test_a_script_ends_without_warnings() -> None:
    program = """
from rightseat import Copilot
copilot = Copilot("scripted:demo", database="memory")
first = copilot.ask_sync("Hello")
print(copilot.ask_sync("Thanks", thread=first.thread_id).text[:9])
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", program], capture_output=True, text=True
    )

    assert (done.returncode, done.stdout.strip()[:9], "Warning" in done.stderr) == (0, "You said:", False), done.stderr
