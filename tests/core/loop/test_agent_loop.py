"""A model and its tools, in turns."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest

from rightseat.core.ask import Answer, Ask, Context, NamedTool, Parameters, ToolChoice, ToolOffer
from rightseat.core.errors import BadRequest, MaxTurnsExceeded, ModelUnreachable
from rightseat.core.events import (
    Custom,
    Event,
    RunFinished,
    TextDelta,
    TextEnded,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, Message, Result, assistant, system, user
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.stream.reducer import Reducer
from rightseat.core.tools import Effect, Invocation, RunTool, Tool
from rightseat.core.types import JsonValue
from rightseat.testing import ScriptedModel, calls, check_pairs, says

T = TypeVar("T")


class Steps:
    """Steps that are simply done, and remembered by name."""

    is_shutting_down = False
    resumed = None

    def __init__(self) -> None:
        self.done: list[str] = []

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        self.done.append(name)
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        self.done.append(name)
        return source()


class Box:
    """A toolbox with these tools, for every ask."""

    def __init__(self, **tools: RunTool) -> None:
        self._tools = [Tool(name, "", {"type": "object"}, run) for name, run in tools.items()]

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return self._tools


CHART = ToolOffer("show_chart", "Draw a chart.", {"type": "object"})


async def run(loop: Loop, ask: Ask, steps: Steps | None = None) -> list[Event]:
    events: list[Event] = []
    await listen(loop, ask, events, steps)
    return events


async def listen(loop: Loop, ask: Ask, into: list[Event], steps: Steps | None = None) -> None:
    """Like `run`, for when it fails: what was said before is wanted too."""
    async with asyncio.timeout(30):
        async for event in loop.run(ask, steps or Steps()):
            into.append(event)  # noqa: PERF401
    check_pairs(event for event in into if not isinstance(event, RunFinished))


def results(events: Sequence[Event]) -> list[tuple[str, str, str | None]]:
    return [(event.call_id, event.content, event.error) for event in events if isinstance(event, ToolCallReturned)]


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def both(*names: str) -> list[Chunk]:
    """An answer that calls several tools at once."""
    chunks: list[Chunk] = [CallChunk(number, "{}", f"c{number}", name) for number, name in enumerate(names, 1)]
    return [*chunks, StopChunk("tool_calls")]


async def give_ok(invocation: Invocation) -> str:
    return "ok"


# Turns


async def test_an_answer_in_words_is_the_whole_run() -> None:
    model = ScriptedModel([says("Hel", "lo")])

    events = await run(Loop(model), Ask(messages=(user("Hi"),)))

    assert text_of(events) == "Hello"
    assert len(model.prompts) == 1


async def test_the_model_is_asked_again_with_the_results_of_its_calls() -> None:
    model = ScriptedModel([[TextChunk("Let me see."), *calls("search", '{"q":1}')], says("Found it.")])
    asked = user("Find it.")

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(asked,)))

    assert text_of(events) == "Let me see.Found it."
    [first, second] = model.prompts
    assert first.messages == (asked,)
    [_, spoken, returned] = second.messages
    assert (spoken.text, spoken.parts[1]) == ("Let me see.", Call("call_1", "search", '{"q":1}'))
    assert returned.parts == (Result("call_1", "search", "ok"),)


async def test_a_tool_gets_its_arguments_the_ask_and_a_key() -> None:
    got: list[Invocation] = []

    async def search(invocation: Invocation) -> str:
        got.append(invocation)
        return "ok"

    ask = Ask(messages=(user("Hi"),), run_id="r")
    await run(Loop(ScriptedModel([calls("search", '{"q": [1]}'), says("Done")]), [Box(search=search)]), ask)

    assert [(one.call_id, one.arguments, one.ask, one.key) for one in got] == [("call_1", {"q": [1]}, ask, "r:call_1")]


async def test_tools_run_side_by_side_and_their_results_come_in_the_order_of_the_calls() -> None:
    second_is_done = asyncio.Event()

    async def slow(invocation: Invocation) -> str:
        await second_is_done.wait()
        return "slow"

    async def quick(invocation: Invocation) -> str:
        second_is_done.set()
        return "quick"

    model = ScriptedModel([both("slow", "quick"), says("Done")])
    events = await run(Loop(model, [Box(slow=slow, quick=quick)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("c1", "slow", None), ("c2", "quick", None)]


async def test_calls_that_come_with_the_same_id_in_every_answer_are_different_calls() -> None:
    """Some servers count from 0 again with each answer; steps, results and clients go by the id."""
    model = ScriptedModel([calls("search", id="0"), calls("search", id="0"), says("Done")])
    steps = Steps()

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),)), steps)

    started = [event.call_id for event in events if isinstance(event, ToolCallStarted)]
    assert len(set(started)) == 2
    first, second = started
    assert steps.done == ["answer:0", f"tool:{first}", "answer:1", f"tool:{second}", "answer:2"]
    assert [
        part.call_id for message in model.prompts[-1].messages for part in message.parts if isinstance(part, Result)
    ] == started


async def test_a_call_does_not_take_the_id_of_one_that_the_conversation_has_already() -> None:
    before = Message("assistant", (Call("0", "search", "{}"),)), Message("tool", (Result("0", "search", "ok"),))
    model = ScriptedModel([calls("search", id="0"), says("Done")])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"), *before, user("Again"))))

    [started] = [event.call_id for event in events if isinstance(event, ToolCallStarted)]
    assert started != "0"


async def test_a_model_that_goes_round_in_circles_is_stopped() -> None:
    model = ScriptedModel([calls("search")])
    events: list[Event] = []

    with pytest.raises(MaxTurnsExceeded, match="3 consecutive responses"):
        await listen(Loop(model, [Box(search=give_ok)], max_turns=3), Ask(messages=(user("Hi"),)), events)

    assert len(model.prompts) == 3
    assert len(results(events)) == 3


async def test_a_client_that_sends_results_back_itself_has_the_model_asked_once() -> None:
    model = ScriptedModel([calls("search")])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), max_turns=1))

    assert len(model.prompts) == 1
    assert isinstance(events[-1], ToolCallReturned)


async def test_a_run_that_is_to_conclude_asks_the_last_time_without_tools() -> None:
    model = ScriptedModel(lambda prompt: calls("search") if prompt.tools else says("That is all."))

    events = await run(
        Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), max_turns=3, final_answer_without_tools=True)
    )

    assert [len(prompt.tools) for prompt in model.prompts] == [1, 1, 0]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["That is all."]


async def test_a_model_that_calls_what_it_is_not_offered_does_not_conclude() -> None:
    model = ScriptedModel([calls("search")])

    with pytest.raises(MaxTurnsExceeded):
        await run(Loop(model), Ask(messages=(user("Hi"),), max_turns=2, final_answer_without_tools=True))


async def test_a_client_cannot_have_more_rounds_than_the_agent() -> None:
    model = ScriptedModel([calls("search")])

    await run(Loop(model, [Box(search=give_ok)], max_turns=2), Ask(messages=(user("Hi"),), max_turns=99))

    assert len(model.prompts) == 2


@pytest.mark.parametrize("choice", ["required", NamedTool("search")])
async def test_a_call_that_the_client_demands_is_demanded_once(choice: ToolChoice) -> None:
    """Demanded of every answer, it would never come to an end."""
    model = ScriptedModel([calls("search"), says("Done")])
    parameters = Parameters(temperature=0, tool_choice=choice)

    await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), parameters=parameters))

    assert [prompt.parameters for prompt in model.prompts] == [parameters, Parameters(temperature=0)]


async def test_a_client_that_wants_no_calls_gets_none_in_any_answer() -> None:
    model = ScriptedModel([calls("search"), says("Done")])
    parameters = Parameters(tool_choice="none")

    await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), parameters=parameters))

    assert [prompt.parameters for prompt in model.prompts] == [parameters, parameters]


# Tools that the client runs


async def test_a_frontend_tool_ends_the_turn_as_waiting() -> None:
    model = ScriptedModel([calls("show_chart")])

    events = await run(Loop(model), Ask(messages=(user("Chart?"),), tools=(CHART,)))

    assert results(events) == []
    assert events[-1] == RunFinished("waiting")
    assert len(model.prompts) == 1


@pytest.mark.parametrize(("arguments", "code"), [('{"x": 1}', "bad_request"), ("[]", "invalid_arguments")])
async def test_a_call_that_the_client_could_not_use_goes_back_to_the_model(arguments: str, code: str) -> None:
    def check(arguments: object) -> None:
        raise BadRequest("x must be a text.")

    class Strict:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("show_chart", "Draw a chart.", {"type": "object"}, check=check)]

    model = ScriptedModel([calls("show_chart", arguments), says("I was mistaken.")])

    events = await run(Loop(model, [Strict()]), Ask(messages=(user("Chart?"),)))

    assert [error for _, _, error in results(events)] == [code]
    assert text_of(events) == "I was mistaken."


async def test_in_a_mixed_answer_the_server_runs_its_own_tools_and_leaves_the_rest_to_the_client() -> None:
    model = ScriptedModel([both("show_chart", "search")])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Both?"),), tools=(CHART,)))

    assert results(events) == [("c2", "ok", None)]
    assert events[-1] == RunFinished("waiting")


async def test_a_client_cannot_take_the_place_of_a_server_tool() -> None:
    model = ScriptedModel([calls("search"), says("Done")])
    theirs = ToolOffer("search", "Not what you think.", {"type": "object"})

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), tools=(theirs,)))

    assert results(events) == [("call_1", "ok", None)]
    assert [(tool.name, tool.description) for tool in model.prompts[0].tools] == [("search", "")]
    assert events[0] == Custom("tools.shadowed", ["search"])


async def test_the_model_is_offered_the_tools_of_both_sides() -> None:
    model = ScriptedModel([says("Hi")])

    await run(Loop(model, [Box(search=give_ok), Box(draw=give_ok)]), Ask(messages=(user("Hi"),), tools=(CHART,)))

    assert {tool.name: tool.run is None for tool in model.prompts[0].tools} == {
        "show_chart": True,
        "search": False,
        "draw": False,
    }


# What goes wrong with a call


async def test_an_answer_with_a_call_that_goes_along_with_it_is_complete() -> None:
    class Closing:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("hint", "", {"type": "object"}, give_ok, ends_turn=True)]

    together, alone = ScriptedModel([[TextChunk("Yes."), *calls("hint")]]), ScriptedModel([calls("hint"), says("Yes.")])

    for model, times in ((together, 1), (alone, 2)):
        events = await run(Loop(model, [Closing()]), Ask(messages=(user("Hi"),)))

        assert text_of(events) == "Yes."
        assert results(events) == [("call_1", "ok", None)]
        assert len(model.prompts) == times


async def test_a_call_of_an_unknown_tool_returns_an_error_to_the_model() -> None:
    model = ScriptedModel([calls("serach"), says("Sorry")])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("call_1", "There is no tool named 'serach'.", "unknown_tool")]
    assert text_of(events) == "Sorry"


async def test_a_call_of_a_tool_that_the_client_does_not_list_waits_for_the_client() -> None:
    model = ScriptedModel([[*calls("search"), CallChunk(1, "{}", "call_2", "own")]])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),), has_unlisted_tools=True))

    assert results(events) == [("call_1", "ok", None)]
    assert events[-1] == RunFinished("waiting")


class Searching:
    """Has one tool with a schema, which runs here: plainly, or as a stream."""

    def __init__(self, *, streams: bool = False, checks: bool = False) -> None:
        self.ran: list[object] = []
        self._streams = streams
        self._checks = checks

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        schema: dict[str, JsonValue] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        how: dict[str, Any] = {"stream": self._stream} if self._streams else {"run": self._run}
        return [Tool("search", "Find things.", schema, checks_arguments=self._checks, **how)]

    async def _run(self, invocation: Invocation) -> str:
        self.ran.append(invocation.arguments)
        return "found"

    async def _stream(self, invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        yield ToolCallReturned(invocation.call_id, "search", await self._run(invocation))


@pytest.mark.parametrize("streams", [False, True])
async def test_arguments_that_do_not_fit_are_not_run_and_the_model_tries_again(streams: bool) -> None:
    box = Searching(streams=streams)
    model = ScriptedModel([calls("search", '{"q": 1}'), calls("search", '{"q": "cats"}'), says("Here.")])

    events = await run(Loop(model, [box]), Ask(messages=(user("Hi"),)))

    told = 'The arguments do not match the schema of search: q: 1 is not of type "string". The call was not run.'
    assert [(text, error) for _, text, error in results(events)] == [(told, "invalid_arguments"), ("found", None)]
    assert box.ran == [{"q": "cats"}]
    assert text_of(events) == "Here."


async def test_a_tool_that_checks_its_arguments_gets_them_as_they_are() -> None:
    box = Searching(checks=True)
    model = ScriptedModel([calls("search", '{"q": 1}'), says("Here.")])

    await run(Loop(model, [box]), Ask(messages=(user("Hi"),)))

    assert box.ran == [{"q": 1}]


async def test_a_schema_that_can_check_nothing_is_logged_and_the_tool_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def give(invocation: Invocation) -> str:
        return "found"

    class Broken:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("search", "", {"$ref": "https://example.com/none"}, give)]

    model = ScriptedModel([calls("search", "{}"), says("Here.")])

    events = await run(Loop(model, [Broken()]), Ask(messages=(user("Hi"),)))

    assert [text for _, text, _ in results(events)] == ["found"]
    assert "The arguments of the tool search are not checked" in caplog.text


@pytest.mark.parametrize("arguments", ['{"q":', "[1]", "null", '"q"', "{} {}", "[" * 100_000, "1" * 5_000])
async def test_arguments_that_are_no_json_object_return_an_error_to_the_model(arguments: str) -> None:
    model = ScriptedModel([calls("search", arguments), says("Sorry")])

    events = await run(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("call_1", "The arguments are not a JSON object.", "invalid_arguments")]
    assert text_of(events) == "Sorry"


@pytest.mark.parametrize("arguments", ["", "  \n"])
async def test_no_arguments_at_all_are_an_empty_object(arguments: str) -> None:
    got: list[Invocation] = []

    async def search(invocation: Invocation) -> str:
        got.append(invocation)
        return "ok"

    model = ScriptedModel([calls("search", arguments), says("Done")])
    await run(Loop(model, [Box(search=search)]), Ask(messages=(user("Hi"),)))

    assert [invocation.arguments for invocation in got] == [{}]


async def test_an_exception_of_a_tool_reaches_the_model_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def search(invocation: Invocation) -> str:
        raise ConnectionError("postgres://admin:secret@db is down")

    model = ScriptedModel([both("search", "draw"), says("Sorry")])
    ask = Ask(messages=(user("Hi"),), run_id="run_7")
    events = await run(Loop(model, [Box(search=search, draw=give_ok)]), ask)

    assert results(events) == [("c1", "The tool 'search' failed.", "tool_failed"), ("c2", "ok", None)]
    assert text_of(events) == "Sorry"
    [record] = caplog.records
    assert "run_7" in record.getMessage()
    assert record.exc_info


async def test_a_rightseat_error_of_a_tool_reaches_the_model_with_its_message() -> None:
    async def search(invocation: Invocation) -> str:
        raise BadRequest("`q` must not be empty.")

    model = ScriptedModel([calls("search"), says("Sorry")])
    events = await run(Loop(model, [Box(search=search)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("call_1", "`q` must not be empty.", "bad_request")]


async def test_a_tool_that_fails_before_it_is_awaited_has_failed_too() -> None:
    def search(invocation: Invocation) -> Awaitable[str]:
        raise ValueError("not even a coroutine")

    model = ScriptedModel([calls("search"), says("Sorry")])
    events = await run(Loop(model, [Box(search=search)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("call_1", "The tool 'search' failed.", "tool_failed")]


async def test_a_tool_whose_own_task_is_cancelled_has_failed_and_the_run_continues() -> None:
    async def search(invocation: Invocation) -> str:
        connection = asyncio.get_running_loop().create_future()
        connection.cancel()
        return str(await connection)

    model = ScriptedModel([both("search", "draw"), says("Sorry")])
    events = await run(Loop(model, [Box(search=search, draw=give_ok)]), Ask(messages=(user("Hi"),)))

    assert results(events) == [("c1", "The tool 'search' failed.", "tool_failed"), ("c2", "ok", None)]
    assert text_of(events) == "Sorry"


async def test_a_run_that_is_cancelled_cancels_its_tools() -> None:
    begun, cancelled = asyncio.Barrier(3), list[str]()

    async def wait(invocation: Invocation) -> str:
        try:
            await begun.wait()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(invocation.call_id)
            raise
        return "never"

    async with asyncio.timeout(30):
        loop = Loop(ScriptedModel([both("wait", "wait")]), [Box(wait=wait)])
        running = asyncio.create_task(run(loop, Ask(messages=(user("Hi"),))))
        await begun.wait()
        running.cancel()
        await asyncio.wait((running,))

    assert running.cancelled()
    assert sorted(cancelled) == ["c1", "c2"]


# What the model is told


async def test_instructions_come_first_and_the_context_after_the_pages_own_system_message() -> None:
    model = ScriptedModel([says("Hi")])
    page, asked, later = system("You are on the sales page."), user("Hi"), system("Be brief.")
    context = (Context("The user", "Anna"), Context("The page", "sales"))

    await run(Loop(model, instructions="Be kind."), Ask(messages=(page, asked, later), context=context))

    assert [(message.role, message.text) for message in model.prompts[0].messages] == [
        ("system", "Be kind."),
        ("system", "You are on the sales page."),
        ("system", "Current data of the application:\nThe user: Anna\nThe page: sales"),
        ("user", "Hi"),
        ("system", "Be brief."),
    ]


async def test_without_instructions_and_context_the_model_gets_the_messages_alone() -> None:
    model = ScriptedModel([says("Hi")])
    messages = (user("Hi"), assistant("Hello"), user("How are you?"))

    await run(Loop(model), Ask(messages=messages))

    assert model.prompts[0].messages == messages


async def test_parameters_go_to_the_model() -> None:
    model = ScriptedModel([says("Hi")])
    parameters = Parameters(model="big", temperature=0, max_tokens=5, stop=("\n",), tool_choice="auto")

    await run(Loop(model), Ask(messages=(user("Hi"),), parameters=parameters))

    assert model.prompts[0].parameters == parameters


# Answers that break off


async def test_a_model_that_fails_in_the_middle_leaves_nothing_open() -> None:
    model = ScriptedModel([[TextChunk("Let me"), CallChunk(0, '{"q"', "c1", "search"), ModelUnreachable("gone")]])
    events: list[Event] = []

    with pytest.raises(ModelUnreachable, match="gone"):
        await listen(Loop(model, [Box(search=give_ok)]), Ask(messages=(user("Hi"),)), events)

    check_pairs(events)
    assert results(events) == []
    assert events[-1] == ToolCallEnded("c1", complete=False)
    assert [event.complete for event in events if isinstance(event, TextEnded)] == [True]


async def test_closing_the_run_closes_the_model_at_once() -> None:
    closed: list[str] = []

    class Model:
        async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            try:
                yield TextChunk("Hi")
                yield TextChunk("!")
            finally:
                closed.append("closed")

    events = Loop(Model()).run(Ask(messages=(user("Hi"),)), Steps())
    await anext(events)
    await events.aclose()  # type: ignore[attr-defined]  # it is a generator, whatever it is declared as

    assert closed == ["closed"]


@pytest.mark.parametrize(("reason", "line"), [("length", "token limit"), ("filtered", "filtered")])
async def test_an_answer_that_was_cut_is_noted_in_the_log(
    reason: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer: list[Chunk] = [TextChunk("Hi"), StopChunk("length" if reason == "length" else "filtered")]

    with caplog.at_level(logging.WARNING):
        await run(Loop(ScriptedModel([answer])), Ask(messages=(user("Hi"),), run_id="run_7"))

    [record] = caplog.records
    assert line in record.getMessage()
    assert "run_7" in record.getMessage()


class Kept(Steps):
    """Steps whose results are kept; one that is in `cuts` is cut off after its work was done."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Any] = {}
        self.cuts: set[str] = set()

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        if name not in self.kept:
            result = await work()
            if name.partition(":")[0] in self.cuts:
                raise asyncio.CancelledError
            self.kept[name] = result
        found: T = self.kept[name]
        return found

    async def _again(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        if name not in self.kept:
            self.kept[name] = [event async for event in source()]
        for event in self.kept[name]:
            yield event

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return self._again(name, source)


async def cut_off_and_gone_on(effect: Effect) -> tuple[list[Event], list[str], Loop, Ask]:
    """A tool that writes is cut off after its effect, and its run goes on."""
    keys: list[str] = []

    async def charge(invocation: Invocation) -> str:
        keys.append(invocation.key)
        return "charged"

    class Shop:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("charge", "", {"type": "object"}, charge, effect=effect)]

    loop = Loop(ScriptedModel([calls("charge"), says("Done")]), [Shop()], approval="never", durable=True)
    ask, steps = Ask(messages=(user("Hi"),), durable=True), Kept()
    steps.cuts = {"tool"}
    with pytest.raises(BaseException):  # noqa: B017, PT011  # a task group may wrap it
        await run(loop, ask, steps)
    steps.cuts = set()
    return await run(loop, ask, steps), keys, loop, ask


async def test_a_call_that_was_cut_off_is_repeated_under_its_key_if_it_may_be() -> None:
    events, keys, _, _ = await cut_off_and_gone_on("idempotent_write")

    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert [content for _, content, _ in results(events)] == ["charged"]


async def test_a_person_is_asked_about_a_call_that_was_cut_off_and_may_not_be_repeated() -> None:
    events, keys, _, _ = await cut_off_and_gone_on("write")

    assert len(keys) == 1
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome == "waiting"
    assert [one.reason for one in last.interrupts] == ["outcome_unknown"]


@pytest.mark.parametrize(
    ("decision", "made", "answers"), [("repeat", 2, 2), ("skip", 1, 2), ("stop", 1, 1), ("ok", 1, 2)]
)
async def test_what_the_person_decides_about_it_is_done(decision: str, made: int, answers: int) -> None:
    events, keys, loop, ask = await cut_off_and_gone_on("write")
    reducer = Reducer()
    for event in events:
        reducer.add(event)
    (call,) = [part for message in reducer.messages() for part in message.parts if isinstance(part, Call)]
    answer = Answer("i", "resolved", decision, call, reason="outcome_unknown")
    again = Ask(messages=(*ask.messages, *reducer.messages()), answers=(answer,), durable=True)

    async with asyncio.timeout(30):
        said = [event async for event in loop.run(again, Kept())]

    assert len([event for event in said if isinstance(event, ToolCallReturned)]) == 1
    assert len(keys) == made
    assert isinstance(loop.model, ScriptedModel)
    assert len(loop.model.prompts) == answers


class Taker(Box):
    """A toolbox that asks with a property `page` are for: those that name it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def initial_events(self, ask: Ask) -> Sequence[Event]:
        return [Custom(f"{self._name}.changed", None)]

    def intercept(self, ask: Ask) -> AsyncIterator[Event] | None:
        if "page" not in ask.properties:
            return None
        if ask.properties["page"] != self._name:
            raise BadRequest(f"This is {self._name}.")
        return self._answer()

    async def _answer(self) -> AsyncIterator[Event]:
        yield RunFinished("done", result=self._name)


async def test_an_ask_that_is_for_a_toolbox_never_reaches_the_model() -> None:
    model = ScriptedModel([])
    loop = Loop(model, [Taker("one"), Taker("two")])

    events = await run(loop, Ask(messages=(), properties={"page": "two"}))

    assert events == [RunFinished("done", result="two")]
    assert not model.prompts


async def test_an_ask_for_a_toolbox_that_no_toolbox_takes_is_refused() -> None:
    with pytest.raises(BadRequest, match="This is two"):
        await run(Loop(ScriptedModel([]), [Taker("one"), Taker("two")]), Ask(messages=(), properties={"page": "three"}))


async def test_the_events_of_a_toolbox_about_its_tools_come_first() -> None:
    loop = Loop(ScriptedModel([says("Hi")]), [Taker("one")])

    first, *_ = await run(loop, Ask(messages=(user("Hi"),)))

    assert first == Custom("one.changed", None)


async def test_a_call_that_was_cut_off_is_not_run_and_no_client_runs_it() -> None:
    half: list[Chunk] = [CallChunk(0, '{"text": "I', "c1", "send"), StopChunk("length")]
    for loop, ask in [
        (Loop(ScriptedModel([half]), [Box(send=give_ok)]), Ask(messages=(user("Hi"),))),
        (Loop(ScriptedModel([half])), Ask(messages=(user("Hi"),), tools=(ToolOffer("send", "", {}),))),
    ]:
        events = await run(loop, ask)

        assert [(name, error) for name, _, error in results(events)] == [("c1", "cut_off")]
        assert not any(isinstance(event, RunFinished) for event in events)


async def test_calls_beside_one_that_was_cut_off_are_run() -> None:
    both_calls: list[Chunk] = [CallChunk(0, "{}", "c1", "send"), CallChunk(1, '{"a', "c2", "send"), StopChunk("length")]
    model = ScriptedModel([both_calls, says("Sent once.")])

    events = await run(Loop(model, [Box(send=give_ok)]), Ask(messages=(user("Hi"),)))

    assert sorted((id, error) for id, _, error in results(events)) == [("c1", None), ("c2", "cut_off")]
    assert text_of(events) == "Sent once."
    assert [part.call_id for message in model.prompts[1].messages for part in message.parts if isinstance(part, Result)]
