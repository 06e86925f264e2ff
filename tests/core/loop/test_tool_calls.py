"""Tools that are runs of their own: what they say is heard, what they ask is asked, and they go on with the answer."""

from collections.abc import AsyncIterator, Sequence

from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import Steps as StepsLike
from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, TextDelta, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, user
from rightseat.core.tools import Invocation, StreamTool, Tool
from rightseat.testing import ScriptedModel, calls, says
from tests.core.loop.test_agent_loop import Steps


class Box:
    def __init__(self, stream: StreamTool) -> None:
        self._tools = [Tool("deploy", "Deploys.", {"type": "object"}, stream=stream)]

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return self._tools


async def deploy(invocation: Invocation, steps: StepsLike) -> AsyncIterator[Event]:
    """Asks before it deploys."""
    if not invocation.answers:
        yield Custom("deploy.plan", {"hosts": 2})
        yield RunFinished("waiting", (Interrupt("q1", "approval_required", "Deploy?", memo={"at": "plan"}),))
        return
    (answer,) = invocation.answers
    assert answer.memo == {"at": "plan"}
    yield ToolCallReturned(invocation.call_id, "deploy", f"deployed: {answer.payload}")


async def broken(invocation: Invocation, steps: StepsLike) -> AsyncIterator[Event]:
    yield Custom("deploy.plan", {"hosts": 2})
    raise BadRequest("There is no such host.")


async def silent(invocation: Invocation, steps: StepsLike) -> AsyncIterator[Event]:
    yield Custom("deploy.plan", {"hosts": 2})


async def run(loop: Loop, ask: Ask) -> list[Event]:
    return [event async for event in loop.run(ask, Steps())]


def loop(stream: StreamTool) -> Loop:
    return Loop(ScriptedModel([calls("deploy", '{"to": "all"}'), says("Done.")]), [Box(stream)])


async def test_a_streaming_tool_emits_events_and_interrupts_the_run() -> None:
    events = await run(loop(deploy), Ask(messages=(user("Deploy"),)))

    assert Custom("deploy.plan", {"hosts": 2}) in events
    last = events[-1]
    assert isinstance(last, RunFinished)
    (asked,) = last.interrupts
    assert (asked.id, asked.memo) == ("q1", {"at": "plan"})
    assert asked.call_id is not None


async def test_a_streaming_tool_resumes_with_the_answer_and_returns_its_result_to_the_model() -> None:
    call = Call("c1", "deploy", '{"to": "all"}')
    answer = Answer("q1", "resolved", True, call, {"at": "plan"})
    again = Loop(ScriptedModel([says("Done.")]), [Box(deploy)])

    events = await run(again, Ask(messages=(user("Deploy"),), answers=(answer,)))

    assert ToolCallReturned("c1", "deploy", "deployed: True") in events
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Done."


async def test_an_error_of_a_streaming_tool_becomes_its_result_after_its_events() -> None:
    events = await run(loop(broken), Ask(messages=(user("Deploy"),)))

    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    assert (returned.content, returned.error) == ("There is no such host.", BadRequest.code)
    assert events.index(Custom("deploy.plan", {"hosts": 2})) < events.index(returned)


async def test_a_streaming_tool_that_ends_without_a_result_has_failed() -> None:
    events = await run(loop(silent), Ask(messages=(user("Deploy"),)))

    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    assert returned.error == "tool_failed"


async def test_half_an_emoji_in_the_arguments_of_a_call_or_in_its_result_does_not_end_the_run() -> None:
    """Models write one as an escape, and names of files may have one."""

    async def echo(invocation: Invocation) -> str:
        return f"{invocation.arguments['to']} \ud83d"

    class Echo:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("echo", "Echoes.", {"type": "object"}, run=echo)]

    model = ScriptedModel([calls("echo", '{"to": "\\ud83d \\ud83d\\ude00"}'), says("Done.")])
    events = await run(Loop(model, [Echo()]), Ask(messages=(user("Hi"),)))

    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    assert returned.content == "\ufffd 😀 \ufffd"
