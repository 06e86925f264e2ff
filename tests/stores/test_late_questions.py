"""Questions of transient runs, which are stored when the run ends; and questions that are closed without a run."""

from rightseat.core.approvals import APPROVAL
from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.loop import Loop
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.faces.openai.responses.serving import DELETE

ANNA = Principal("anna")


def build_runtime(threads: Threads) -> Runtime:
    model = ScriptedModel([calls("deleteFile", '{"path": "a.txt"}'), says("Done.")])
    artifacts: Artifacts | None = getattr(threads, "artifacts", None)
    return Runtime(
        {"helper": Loop(model, [FunctionToolbox([DELETE])])},
        log=MemoryLog(),
        threads=threads,
        engine=LocalEngine(),
        artifacts=artifacts,
    )


def question(words: str = "Delete it") -> Ask:
    asked = (user(words),)
    return Ask(messages=asked, agent="helper", principal=ANNA, transient=True, interactive=True, stores_questions=True)


async def run(runtime: Runtime, ask: Ask) -> Ask:
    started = await runtime.start(ask)
    async for _ in runtime.follow(started.run_id):
        pass
    return started


async def test_a_transient_run_that_asks_is_stored_and_can_be_answered(threads: Threads) -> None:
    runtime = build_runtime(threads)
    ask = await run(runtime, question())

    [one] = await runtime.pending(ANNA)
    assert (one.thread_id, one.run_id, one.interrupt.reason) == (ask.thread_id, ask.run_id, APPROVAL)
    thread = await runtime.thread(ask.thread_id, ANNA)
    assert thread is not None
    assert [run.outcome for run in thread.runs] == ["waiting"]

    answers = (Answer(one.interrupt.id, "resolved", {"approved": True}),)
    answering = Ask(messages=(), agent="helper", thread_id=ask.thread_id, principal=ANNA, answers=answers)
    await run(runtime, answering)

    after = await runtime.thread(ask.thread_id, ANNA)
    assert after is not None
    assert [message.text for message in after.messages if message.text] == ["Delete it", "Done."]


async def test_a_question_is_closed_once_and_only_for_its_owner(threads: Threads) -> None:
    runtime = build_runtime(threads)
    ask = await run(runtime, question())

    assert not await runtime.close_questions(ask.thread_id, Principal("bob"), "helper")
    assert await runtime.close_questions(ask.thread_id, ANNA, "helper")
    assert not await runtime.close_questions(ask.thread_id, ANNA, "helper")
    assert await runtime.pending(ANNA) == []


async def test_a_question_that_is_being_answered_is_not_closed(threads: Threads) -> None:
    runtime = build_runtime(threads)
    ask = await run(runtime, question())
    claiming = Ask(messages=(), agent="helper", thread_id=ask.thread_id, principal=ANNA)
    claim = await threads.claim(claiming)

    assert not await runtime.close_questions(ask.thread_id, ANNA, "helper")
    threads.release(claiming.run_id, claim.epoch)
    assert len(await runtime.pending(ANNA)) == 1


async def test_a_transient_run_that_asks_nothing_is_not_stored(threads: Threads) -> None:
    runtime = build_runtime(threads)
    runtime.agents["helper"] = Loop(ScriptedModel([says("Hello.")]))
    ask = await run(runtime, question())

    assert await runtime.thread(ask.thread_id, ANNA) is None
