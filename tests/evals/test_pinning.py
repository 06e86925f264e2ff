"""Cases made of real runs: SQLite and PostgreSQL stores, and logs in a file, in PostgreSQL and in Redis."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from rightseat.config import parse
from rightseat.core.ask import Answer, Ask, Context, Principal, ToolOffer
from rightseat.core.log import Log
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, Image, Message, Result, Text, user
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.run.observers import RunObservers
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.evals import recording, sources
from rightseat.evals.cases import Case
from rightseat.evals.pinning import ConsentRequired, build_pinner
from rightseat.evals.recording import PinnedCase, PinOptions, mark_user
from rightseat.evals.sources import NotRecorded, RunUnknown, Sources, TooLargeToPin
from rightseat.logs import postgres, redis, sqlite
from rightseat.operations.run_recorder import RunRecorder
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.toolboxes.functions import FunctionToolbox, tool
from tests.databases import migrated_file
from tests.services import own_redis, schema

BOB = Principal("bob")
CHART = ToolOffer("show_chart", "Shows a chart.", {"type": "object"})
PIXEL = "iVBORw0KGgo="
CONFIG = "guards: [{type: patterns, phrases: [project nightjar]}]\n"


class Calling:
    """A model that calls what the question says, `name {json}`, and then says what came back."""

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        asked = max(place for place, one in enumerate(prompt.messages) if one.role == "user")
        results = [part for one in prompt.messages[asked:] for part in one.parts if isinstance(part, Result)]
        name, _, arguments = prompt.messages[asked].text.partition(" ")
        if results or not arguments.startswith("{"):
            yield TextChunk(f"It is {results[-1].content}." if results else f"Hello, {prompt.messages[asked].text}.")
        else:
            yield CallChunk(0, arguments, name=name)
            yield StopChunk("tool_calls")


@tool(effect="read")
def get_order(id: int) -> str:
    """Look up an order."""
    return f"120 for kim@example.com, order {id}"


@tool(effect="write")
def refund(id: int) -> str:
    """Refund an order."""
    return "refunded"


@dataclass
class Server:
    """`record` is a recorder of transient runs."""

    threads: SqlThreads
    log: Log
    runtime: Runtime

    async def ask(self, text: str = "", thread: str = "t", **given: Any) -> str:
        known: dict[str, Any] = {"messages": (user(text),) if text else (), "thread_id": thread, "principal": BOB}
        ask = Ask(**(known | given))
        await self.runtime.start(ask)
        async for _ in self.runtime.follow(ask.run_id):
            pass
        return ask.run_id

    async def pin(self, id: str, config: str = CONFIG, **options: Any) -> PinnedCase:
        read_config = parse(config, environ={})
        sources = Sources(self.threads.records, self.threads.recordings, self.threads.load, self.log)
        return await build_pinner(read_config, sources, self.log).build(id, PinOptions(**options))


@pytest.fixture(params=["sqlite", "postgres", "redis"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with AsyncExitStack() as stack:
        file = migrated_file(tmp_path / "state" / "rightseat.db")
        where: Path | str = file
        log: Any
        if request.param == "postgres":
            where = await stack.enter_async_context(schema())
            log = postgres.build(postgres.Options.model_validate({"url": where}))
        elif request.param == "redis":
            own = await stack.enter_async_context(own_redis(tmp_path))
            log = redis.build(redis.Options.model_validate({"url": own.url}))
        else:
            log = sqlite.build(sqlite.Options(path=file))
        threads = await stack.enter_async_context(SqlThreads(connect(where)))
        await stack.enter_async_context(log)
        runtime = Runtime(
            {"default": Loop(Calling(), [FunctionToolbox([get_order, refund])])},
            log=log,
            threads=threads,
            engine=LocalEngine(),
            observers=RunObservers(record=RunRecorder(threads.recordings, 14).record),
        )
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield Server(threads, log, runtime)


def written(case: Case) -> dict[str, Any]:
    return case.model_dump(mode="json", exclude_defaults=True)


async def test_a_run_is_a_case_with_its_call_and_what_the_client_sent(server: Server) -> None:
    context = (Context("The page", "orders of kim@example.com"),)
    run = await server.ask('get_order {"id": 7}', tools=(CHART,), context=context, state={"cart": [7]})

    pinned = await server.pin(run, name="order", consent="a test")

    assert written(pinned.case) == {
        "name": "order",
        "source": {"run": run, "thread": "t", "user": mark_user("bob", "t"), "consent": "a test"},
        "agent": "default",
        "ask": 'get_order {"id": 7}',
        "tools": [{"name": "show_chart", "description": "Shows a chart.", "parameters": {"type": "object"}}],
        "context": [{"description": "The page", "value": "orders of [email 1]"}],
        "state": {"cart": [7]},
        "recorded": [{"tool": "get_order", "arguments": {"id": 7}, "result": "120 for [email 1], order 7"}],
        "expected": "It is 120 for [email 1], order 7.",
        "scorers": [
            {"outcome": "done"},
            {"tool_calls": {"expect": [{"name": "get_order", "arguments": {"id": 7}}], "order": "in_order"}},
        ],
    }
    assert (pinned.redacted, pinned.turns, pinned.notes) == (1, 1, [])


async def test_an_approval_joins_two_runs(server: Server) -> None:
    first = await server.ask('refund {"id": 7}')
    waiting = (await server.pin(first)).case
    assert [one.approval for one in waiting.recorded if hasattr(one, "approval")] == ["waiting"]
    assert waiting.scorers[0] == {"outcome": "waiting"}

    (question,) = await server.threads.pending(BOB, "t")
    answer = Answer(question.interrupt.id, "resolved", {"approved": True, "note": "ok, kim@example.com"})
    second = await server.ask(answers=(answer,))

    for run in (first, second):
        (call,) = written((await server.pin(run)).case)["recorded"]
        assert call["approval"] == {"payload": {"approved": True, "note": "ok, [email 1]"}}
        assert call["result"] == "refunded"


async def test_a_denied_call_stays_denied(server: Server) -> None:
    run = await server.ask('refund {"id": 8}')
    (question,) = await server.threads.pending(BOB, "t")
    await server.ask(answers=(Answer(question.interrupt.id, "cancelled"),))

    (call,) = written((await server.pin(run)).case)["recorded"]

    assert (call["approval"], call["error"]) == ("denied", "refused")


async def test_a_call_of_the_page_has_the_result_that_the_page_sent(server: Server) -> None:
    question = user('show_chart {"kind": "bar"}')
    run = await server.ask(messages=(question,), tools=(CHART,))
    thread = await server.threads.load("t", BOB)
    assert thread is not None
    call = next(part for part in thread.messages[-1].parts if isinstance(part, Call))
    shown = Message("tool", (Result(call.id, call.name, "shown"),))
    await server.ask(messages=(*thread.messages, shown), tools=(CHART,))

    pinned = await server.pin(run)

    assert written(pinned.case)["recorded"] == [{"tool": "show_chart", "arguments": {"kind": "bar"}, "result": "shown"}]
    assert pinned.case.expected == "It is shown."


async def test_earlier_turns_are_history_and_a_thread_has_all_turns(server: Server) -> None:
    first = await server.ask("Kim")
    second = await server.ask('get_order {"id": 1}')

    assert written((await server.pin(second)).case)["history"] == [{"user": "Kim"}, {"assistant": "Hello, Kim."}]
    assert (await server.pin(first)).case.history == ()
    whole = (await server.pin("t")).case
    assert whole.ask == ("Kim", 'get_order {"id": 1}')
    assert whole.source is not None
    assert (whole.source.run, len(whole.recorded), whole.history) == (None, 1, ())


async def test_a_replaced_question_is_pinned_with_what_came_before_and_not_with_its_thread(server: Server) -> None:
    await server.ask("Kim")
    old = user("old")
    replaced = await server.ask(messages=(old,))
    await server.ask("new", truncate_at=old.id)

    case = (await server.pin(replaced)).case

    assert (case.ask, len(case.history)) == ("old", 2)
    assert (await server.pin("t")).case.ask == ("Kim", "new")


async def test_a_transient_run_is_pinned_from_its_recording(server: Server) -> None:
    messages = (user("Kim"), Message("assistant", (Text("Hello."),)), user('get_order {"id": 7}'))
    run = await server.ask(messages=messages, transient=True, face="openai", thread="x")

    case = (await server.pin(run)).case

    assert (case.ask, case.source and case.source.face, len(case.recorded)) == (messages[-1].text, "openai", 1)
    assert written(case)["history"] == [{"user": "Kim"}, {"assistant": "Hello."}]


async def test_an_image_is_a_file_and_an_address_is_named(server: Server) -> None:
    parts = (Text("Look"), Image("image/png", PIXEL), Image("image/png", "", "https://example.com/x.png"))
    pinned = await server.pin(await server.ask(messages=(Message("user", parts),)))

    (name,) = pinned.case.turns[0].files
    assert (name[-4:], pinned.files) == (".png", {name: b"\x89PNG\r\n\x1a\n"})
    assert pinned.notes == ["The case lacks an attachment at 'https://example.com/x.png'."]


async def test_what_went_wrong_is_not_expected(server: Server) -> None:
    run = await server.ask('get_order {"id": 7}')
    judged = "models: {a: {type: scripted}, judge: {type: scripted}}\nagents: {default: {model: a}}\n"

    assert (await server.pin(run, judged, wrong="Ask first.")).case.scorers == (
        {"judge": {"rubric": "Ask first.", "model": "judge"}},
    )
    assert (await server.pin(run, is_bad=True)).case.scorers == ()


async def test_phrases_of_guards_and_secrets_are_replaced_also_if_personal_data_is_kept(server: Server) -> None:
    run = await server.ask("Project Nightjar, kim@example.com, sk-abcdefghijklmnopqrst")

    assert (await server.pin(run)).case.ask == "[phrase 1], [email 1], [secret 1]"
    kept = (await server.pin(run, keeps_personal_data=True)).case
    assert (kept.ask, kept.source and kept.source.redacted) == ("Project Nightjar, kim@example.com, [secret 1]", False)


async def test_guards_that_redact_nothing_are_named(server: Server) -> None:
    run = await server.ask("Kim")
    config = CONFIG.replace("]}]", "]}, {type: judge, deny: [names]}, {type: judge, deny: [places]}]")

    assert (await server.pin(run)).notes == []
    assert (await server.pin(run, config)).notes == [
        "The guards 'judge' do not say where they find what they deny, so nothing is redacted by them. "
        "Read the case before you commit it."
    ]
    assert (await server.pin(run, config, keeps_personal_data=True)).notes == []


async def test_consent_is_required_if_the_configuration_says_so(server: Server) -> None:
    run = await server.ask("Kim")

    with pytest.raises(ConsentRequired, match="--consent"):
        await server.pin(run, "evals: {consent: required}\n", consent=" ")
    assert (await server.pin(run, "evals: {consent: required}\n", consent="a test")).case.source is not None


async def test_a_run_whose_events_are_gone_is_refused_by_its_reason(server: Server) -> None:
    run = await server.ask("Kim")
    await server.log.delete([run])

    with pytest.raises(NotRecorded, match=f"lost the events of run '{run}'"):
        await server.pin(run)
    with pytest.raises(RunUnknown, match="There is no stored run or thread 'run_none'"):
        await server.pin("run_none")


async def test_a_run_that_is_too_large_for_a_case_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await server.ask("Kim " * 100)

    monkeypatch.setattr(recording, "MAX_CASE_CHARS", 500)
    with pytest.raises(TooLargeToPin, match=r"[0-9]{3} characters of text with what came before it; .* at most 500"):
        await server.pin(run)
    monkeypatch.setattr(sources, "MAX_THREAD_BYTES", 300)
    with pytest.raises(TooLargeToPin, match="The thread 't' has more than 0 MB of events"):
        await server.pin(run)


async def test_a_run_of_an_earlier_version_is_pinned_with_a_note(server: Server) -> None:
    run = await server.ask("Kim", tools=(CHART,))
    recordings = cast(Any, server.threads.recordings)

    async def read_none(thread: str) -> dict[str, object]:
        return {}

    recordings.read_asks = read_none

    pinned = await server.pin(run)

    assert pinned.case.tools == ()
    assert pinned.notes == ["An earlier version stored a run without the tools and the context of its client."]
    assert msgspec.json.encode(written(pinned.case))
