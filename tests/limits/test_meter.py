"""Model calls of runs: the bound that is sent, what is counted, and runs that end because of a budget."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context, copy_context
from types import SimpleNamespace
from typing import Any

import pytest

from rightseat.core.agent import Agent
from rightseat.core.ask import Answer, Ask, Parameters, Principal
from rightseat.core.errors import BudgetExceeded, ModelUnreachable
from rightseat.core.events import Custom, Event, ModelResponseEnded, RunFailed, RunFinished
from rightseat.core.guard import Guard
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox
from rightseat.core.messages import Message, user
from rightseat.core.model import (
    CallChunk,
    Chunk,
    Model,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
    set_model_key,
)
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunClaim
from rightseat.core.tools import Tool
from rightseat.engines.local import LocalEngine
from rightseat.guards.judge import Judge
from rightseat.guards.judge import Options as JudgeOptions
from rightseat.limits import first_call
from rightseat.limits.admission import LimitedAdmission
from rightseat.limits.book import Operation, Outcome, Reserve
from rightseat.limits.kinds import COST, NANO, REQUESTS, RUNS, TOKENS
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter import METER
from rightseat.limits.meter_context import Metering
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.prices import Price, Prices
from rightseat.limits.response_headers import RESPONSE_HEADERS
from rightseat.limits.rules import CounterKey, DowngradePolicy, Limit, LimitRule, Limits
from rightseat.limits.store import UsageQuery
from rightseat.limits.windows import CalendarWindow
from rightseat.logs.memory import MemoryLog
from rightseat.models.fallback import Fallback
from rightseat.models.fallback import Options as FallbackOptions
from rightseat.stores.memory import MemoryThreads
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conditions import settle

DAY = CalendarWindow("day")
ANNA = Principal("anna")


class Scripted:
    """A model that streams the given chunks, and records the bound of each prompt."""

    def __init__(self, *answers: Sequence[Chunk | Exception], name: str = "big", max_tokens: int | None = None) -> None:
        self._answers = list(answers)
        self.options = SimpleNamespace(model=name, max_tokens=max_tokens)
        self.bounds: list[int | None] = []
        set_model_key(self, name)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.bounds.append(prompt.parameters.max_tokens)
        for chunk in self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


def metered(model: Model) -> Model:
    """As the application builds every model."""
    return meter_model(model, CallCounter())


class Served:
    def __init__(
        self,
        model: Model,
        *rules: LimitRule,
        tools: Sequence[Callable[[], str] | Tool] = (),
        agents: Mapping[str, Agent] | None = None,
        guards: Sequence[Guard] = (),
        reserve: Mapping[str, int] | None = None,
        small: Model | None = None,
    ) -> None:
        """A limit with these rules downgrades to the model `small`, if there is one."""
        threads = MemoryThreads()
        limit = Limit("day", "user", list(rules), policy=DowngradePolicy("small") if small else None)
        self.store, limits = threads.limits, Limits([limit] if rules else [])
        prices = Prices({"big": Price(10, 30, 1), "small": Price(1, 3)})
        self.counter = counter = CallCounter()
        models = {"small": meter_model(small, counter)} if small else {}
        self.metering = metering = Metering(limits, Ledger(self.store), prices, reserve=reserve or {}, models=models)
        counter.metering = metering
        self.runtime = Runtime(
            {"default": Loop(meter_model(model, counter), [FunctionToolbox(tools), AgentToolbox(agents or {})])},
            log=MemoryLog(),
            threads=threads,
            engine=LocalEngine(),
            admission=LimitedAdmission(None, metering),
            guards=guards,
        )

    async def ask(self, max_tokens: int | None = None, *, transient: bool = True, purpose: str = "answer") -> Event:
        return (await self.ask_all(max_tokens, transient=transient, purpose=purpose))[-1]

    async def ask_all(
        self, max_tokens: int | None = None, *, transient: bool = True, purpose: str = "answer"
    ) -> list[Event]:
        ask = Ask(
            messages=(user("Hi"),),
            principal=ANNA,
            transient=transient,
            parameters=Parameters(max_tokens=max_tokens),
            purpose=purpose,
        )
        begun = await self.runtime.start(ask)
        async with asyncio.timeout(30), aclosing(self.runtime.follow(begun.run_id)) as batches:
            return [entry.event async for entries in batches for entry in entries]

    async def used(self, rule: str = "tokens/day") -> tuple[int, int]:
        _, rows = await self.store.counters()
        found = next(row.buckets for row in rows if row.key == CounterKey("day", rule, "anna"))
        return sum(one[0] for one in found.values()), sum(one[1] for one in found.values())

    async def usage(self) -> dict[str, tuple[int, ...]]:
        rows = await self.store.usage(UsageQuery(("model",)))
        return {
            row.group[0]: (row.counts.requests, row.counts.input_tokens, row.counts.output_tokens, row.counts.cost)
            for row in rows
        }

    async def purposes(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """Requests and tokens by model and purpose."""
        rows = await self.store.usage(UsageQuery(("model", "purpose")))
        tokens = [(row.counts.requests, row.counts.input_tokens + row.counts.output_tokens) for row in rows]
        return dict(zip((row.group for row in rows), tokens, strict=True))


SAID = (TextChunk("Hello"), StopChunk("stop"))


@pytest.mark.parametrize("transient", [True, False])
async def test_what_a_provider_reports_replaces_the_reservation(transient: bool) -> None:
    model = Scripted([*SAID, UsageChunk(30, 12, 10)])
    served = Served(model, LimitRule(TOKENS, 10_000, DAY), LimitRule(COST, NANO, DAY))

    assert isinstance(await served.ask(500, transient=transient), RunFinished)

    assert model.bounds == [500]
    assert await served.used() == (42, 0)
    cost = (20 * 10 + 10 * 1 + 12 * 30) * 1000
    assert await served.used("cost/day") == (cost, 0)
    assert await served.usage() == {"big": (1, 30, 12, cost)}


async def test_an_ask_without_a_bound_gets_one_only_where_a_budget_applies() -> None:
    limited, free = Scripted([*SAID, UsageChunk(1, 1)]), Scripted([*SAID, UsageChunk(1, 1)])

    await Served(limited, LimitRule(TOKENS, 10_000, DAY)).ask()
    await Served(free, LimitRule(REQUESTS, 10, DAY)).ask()

    assert (limited.bounds, free.bounds) == ([4096], [None])


@pytest.mark.parametrize(
    ("own", "reserve", "asked", "sent"),
    [
        (None, {}, None, 4096),
        (None, {"big": 900}, None, 900),
        (None, {"small": 900}, None, 4096),
        (None, {"big": 900}, 2000, 2000),
        (8192, {}, None, 4096),
        (500, {"big": 900}, None, 500),
        (500, {}, 2000, 500),
    ],
)
async def test_the_bound_is_that_of_the_ask_or_what_is_reserved_for_the_model(
    own: int | None, reserve: Mapping[str, int], asked: int | None, sent: int
) -> None:
    model = Scripted([*SAID, UsageChunk(1, 1)], max_tokens=own)

    await Served(model, LimitRule(TOKENS, 10_000, DAY), reserve=reserve).ask(asked)

    assert model.bounds == [sent]


@pytest.mark.parametrize(("asked", "is_warned"), [(None, True), (900, False)])
async def test_an_answer_that_ends_at_a_bound_of_the_budget_has_a_warning(asked: int | None, is_warned: bool) -> None:
    model = Scripted([TextChunk("Hello"), UsageChunk(1, 900), StopChunk("length")])
    served = Served(model, LimitRule(TOKENS, 10_000, DAY), reserve={"big": 900})
    headers: dict[str, str] = {}
    RESPONSE_HEADERS.set(headers)

    events = await served.ask_all(asked)

    assert [event.reason for event in events if isinstance(event, ModelResponseEnded)] == ["length"]
    text = "The answer was cut at 900 tokens, because a budget applies."
    assert headers.get("x-rightseat-warning", "").startswith(text) is is_warned
    notes = [str(event.value) for event in events if isinstance(event, Custom) and event.name == "model.warning"]
    assert [note.startswith(text) for note in notes] == [True] * is_warned


async def test_usage_that_is_not_reported_is_estimated() -> None:
    served = Served(Scripted([TextChunk("four" * 10), StopChunk("stop")]), LimitRule(TOKENS, 10_000, DAY))

    await served.ask(500)

    (row,) = await served.store.usage(UsageQuery())
    assert row.counts.estimated_tokens >= 10 + 1
    assert await served.used() == (row.counts.estimated_tokens, 0)


@pytest.mark.parametrize("chunk", [TextChunk("long" * 1000), ReasoningChunk("long" * 1000)])
async def test_an_estimate_is_never_more_than_what_was_reserved(chunk: Chunk) -> None:
    served = Served(Scripted([chunk, ModelUnreachable("broke off")]), LimitRule(TOKENS, 10_000, DAY))

    await served.ask(100)

    (row,) = await served.store.usage(UsageQuery())
    assert 100 < row.counts.estimated_tokens < 200
    assert await served.used() == (row.counts.estimated_tokens, 0)


async def test_a_refused_ask_counts_as_refused_and_as_nothing_else() -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]), LimitRule(REQUESTS, 1, DAY))
    await served.ask(transient=False)

    with pytest.raises(BudgetExceeded):
        await served.ask(transient=False)

    assert await served.used("requests/day") == (1, 0)
    (row,) = await served.store.usage(UsageQuery())
    assert (row.counts.requests, row.counts.refused, row.counts.input_tokens) == (1, 1, 30)


async def test_the_judge_of_a_guard_counts_as_tokens_of_its_own_purpose_and_not_as_a_request() -> None:
    verdict = TextChunk('{"verdict": "allowed", "reason": ""}')
    judge = Scripted([verdict, UsageChunk(50, 5), StopChunk("stop")], name="small")
    guards = [Judge(metered(judge), JudgeOptions(deny=("pets",)))]
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]), LimitRule(TOKENS, 10_000, DAY), guards=guards)

    await served.ask(500)

    assert await served.used() == (95, 0)
    assert await served.purposes() == {("small", "guard"): (0, 55), ("big", "answer"): (1, 40)}


async def test_two_suggestions_come_with_each_counted_request_and_count_as_tokens() -> None:
    rules = LimitRule(TOKENS, 10_000, DAY), LimitRule(REQUESTS, 1, DAY)
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]), *rules)
    await served.ask(500)

    for _ in range(2):
        await served.ask(500, purpose="suggestions")
    with pytest.raises(BudgetExceeded):
        await served.ask(500, purpose="suggestions")

    assert await served.used() == (120, 0)
    assert await served.used("requests/day") == (1, 0)
    assert await served.purposes() == {
        ("", "suggestions"): (0, 0),
        ("big", "answer"): (1, 40),
        ("big", "suggestions"): (0, 80),
    }


async def test_suggestions_beyond_those_of_counted_requests_count_as_requests() -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]), LimitRule(REQUESTS, 2, DAY))

    for _ in range(2):
        await served.ask(500, purpose="suggestions")
    with pytest.raises(BudgetExceeded):
        await served.ask(500, purpose="suggestions")

    assert await served.used("requests/day") == (2, 0)
    assert (await served.purposes())["big", "suggestions"] == (2, 80)


async def test_an_agent_as_a_tool_counts_for_the_same_user_under_its_own_name() -> None:
    calls: list[Chunk] = [CallChunk(0, '{"question": "How?"}', "c1", "expert"), UsageChunk(20, 1)]
    model = Scripted([*calls, StopChunk("tool_calls")], [*SAID, UsageChunk(30, 10)])
    expert = Loop(metered(Scripted([*SAID, UsageChunk(5, 2)], name="small")))
    served = Served(model, LimitRule(TOKENS, 10_000, DAY), agents={"expert": expert})

    await served.ask(500)

    rows = await served.store.usage(UsageQuery(("user", "agent", "model")))
    assert [(row.group, row.counts.requests, row.counts.input_tokens) for row in rows] == [
        (("anna", "default", "big"), 1, 50),
        (("anna", "expert", "small"), 0, 5),
    ]


async def test_a_provider_that_fails_before_its_first_token_costs_nothing() -> None:
    served = Served(Scripted([ModelUnreachable("gone")]), LimitRule(TOKENS, 10_000, DAY), LimitRule(REQUESTS, 10, DAY))

    assert isinstance(await served.ask(500), RunFailed)

    assert await served.used() == (0, 0)
    assert await served.used("requests/day") == (1, 0)
    assert await served.usage() == {"big": (1, 0, 0, 0)}


async def test_a_run_ends_at_the_call_that_does_not_fit() -> None:
    def again() -> str:
        """Again."""
        return "again"

    calls: list[Chunk] = [CallChunk(0, "{}", "c1", "again"), UsageChunk(300, 100), StopChunk("tool_calls")]
    model = Scripted(calls)
    served = Served(model, LimitRule(TOKENS, 1000, DAY), tools=[again])

    last = await served.ask(300)

    assert isinstance(last, RunFailed)
    assert last.code == "budget_exceeded"
    assert len(model.bounds) == 2
    assert await served.used() == (800, 0)


async def test_an_ask_is_refused_before_it_starts_if_a_budget_is_used_up() -> None:
    served = Served(Scripted([*SAID, UsageChunk(700, 100)]), LimitRule(TOKENS, 800, DAY))
    await served.ask(100)

    with pytest.raises(BudgetExceeded, match="The budget 'day' of 800 tokens per day is used up"):
        await served.ask(100, transient=False)


async def test_each_model_of_a_fallback_counts_under_its_own_name() -> None:
    big, small = Scripted([ModelUnreachable("gone")]), Scripted([*SAID, UsageChunk(30, 10)], name="small")
    fallback = Fallback(
        FallbackOptions(models=("big", "small"), retries=0), {"big": metered(big), "small": metered(small)}
    )
    served = Served(fallback, LimitRule(TOKENS, 10_000, DAY))

    await served.ask(500)

    assert await served.used() == (40, 0)
    assert await served.usage() == {"big": (1, 0, 0, 0), "small": (0, 30, 10, 60_000)}


async def test_a_run_that_is_cancelled_gives_its_slot_back_and_is_estimated() -> None:
    started = asyncio.Event()

    class Slow(Scripted):
        async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            yield TextChunk("Hello")
            started.set()
            await asyncio.Event().wait()

    served = Served(Slow(), LimitRule(RUNS, 1), LimitRule(TOKENS, 10_000, DAY))
    begun = await served.runtime.start(Ask(messages=(user("Hi"),), principal=ANNA, transient=True))
    async with asyncio.timeout(30):
        await started.wait()
        assert await served.used("concurrent_runs") == (0, 1)
        await served.runtime.cancel(begun.run_id)

    assert await served.used("concurrent_runs") == (0, 0)
    used, reserved = await served.used()
    assert used > 1
    assert reserved == 0


async def test_a_run_that_has_ended_frees_its_messages_although_connections_keep_its_context() -> None:
    words = "These words are in no other message."
    contexts: list[Context] = []

    class Connecting(Scripted):
        async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            contexts.append(copy_context())
            yield TextChunk("Hello")
            yield StopChunk("stop")

    served = Served(Connecting(), LimitRule(TOKENS, 10_000, DAY))
    run_id = (await served.runtime.start(Ask(messages=(user(words),), principal=ANNA, transient=True))).run_id
    async with asyncio.timeout(30), aclosing(served.runtime.follow(run_id)) as batches:
        async for _ in batches:
            pass
    await settle()
    gc.collect()

    assert contexts[0][METER] is not None
    assert not [one for one in gc.get_objects() if type(one) is Message and one.text == words]


async def test_without_limits_usage_is_counted_and_nothing_is_reserved() -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]))

    await served.ask()

    assert await served.usage() == {"big": (1, 30, 10, 600_000)}
    assert (await served.store.counters())[1] == []


async def test_a_budget_that_is_nearly_used_up_is_logged_once_and_its_refusal_is_in_the_audit_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    served = Served(Scripted([*SAID, UsageChunk(300, 90)]), LimitRule(TOKENS, 1000, DAY))

    await served.ask(500)
    assert not [one for one in caplog.records if one.name.endswith("budget_watch")]
    await served.ask(500)  # 390 used, and over 500 reserved
    refused = [await served.ask(900) for _ in range(2)]

    assert {one.code for one in refused if isinstance(one, RunFailed)} == {"budget_exceeded"}
    warnings = [one.getMessage() for one in caplog.records if one.name.endswith("budget_watch")]
    (warning,) = warnings
    assert warning.startswith("the budget 'day' of 1,000 tokens per day is used to 9")
    assert warning.endswith("for 'anna', with what is reserved")
    audit = [one for one in caplog.records if one.name == "rightseat.audit"]
    assert [(one.getMessage(), one.audit_kind) for one in audit] == [  # type: ignore[attr-defined]  # set by `extra`
        ("limits: refused 'anna': the budget 'day' of 1,000 tokens per day is used up", "limit")
    ]


async def test_a_budget_without_room_for_the_first_call_lets_another_model_answer() -> None:
    big, small = Scripted([*SAID, UsageChunk(30, 50)]), Scripted([*SAID, UsageChunk(20, 5)], name="small")
    served = Served(big, LimitRule(TOKENS, 560, DAY), small=small)

    for _ in range(3):
        assert isinstance(await served.ask(500), RunFinished)

    assert (big.bounds, small.bounds) == ([500], [500, 500])
    assert await served.used() == (80, 0)
    assert await served.usage() == {
        "big": (1, 30, 50, (30 * 10 + 50 * 30) * 1000),
        "small": (2, 40, 10, (40 * 1 + 10 * 3) * 1000),
    }


async def test_a_call_in_the_middle_of_a_run_that_does_not_fit_is_made_with_the_other_model() -> None:
    def again() -> str:
        return "once more"

    called = (CallChunk(0, "c1", "again", "{}"), StopChunk("tool_calls"), UsageChunk(100, 400))
    big, small = Scripted(called), Scripted([*SAID, UsageChunk(20, 5)], name="small")
    served = Served(big, LimitRule(TOKENS, 800, DAY), tools=[again], small=small)

    assert isinstance(await served.ask(500), RunFinished)

    assert (big.bounds, small.bounds) == ([500], [500])
    assert await served.used() == (500, 0)


async def test_a_model_that_is_already_the_other_one_is_refused() -> None:
    small = Scripted([*SAID, UsageChunk(20, 5)], name="small")
    served = Served(small, LimitRule(REQUESTS, 1, DAY), small=small)
    await served.ask()

    with pytest.raises(BudgetExceeded):
        await served.ask()


def record_batches(served: Served) -> list[list[str]]:
    """The operations of each transaction from now on. A reservation that has its first call is `Reserve+call`."""
    found: list[list[str]] = []
    apply = served.store.apply

    async def record(operations: Sequence[Operation]) -> Sequence[Outcome]:
        has_call = [isinstance(one, Reserve) and one.call is not None for one in operations]
        names = [type(one).__name__ for one in operations]
        found.append([f"{name}+call" if has else name for name, has in zip(names, has_call, strict=True)])
        return await apply(operations)

    served.store.apply = record  # type: ignore[method-assign]  # as a spy
    return found


RUNS_AND_TOKENS = (LimitRule(RUNS, 5), LimitRule(TOKENS, 10_000, DAY))


async def test_the_first_call_is_reserved_with_its_ask_as_the_last_run_of_the_agent_made_it() -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 12)]), *RUNS_AND_TOKENS)
    batches = record_batches(served)

    for _ in range(2):
        await served.ask(500)

    assert batches == [["Reserve"], ["Reserve"], ["Settle", "Settle"], ["Reserve+call"], ["Settle", "Settle"]]
    assert await served.used() == (84, 0)
    assert await served.used("concurrent_runs") == (0, 0)
    assert await served.usage() == {"big": (2, 60, 24, (60 * 10 + 24 * 30) * 1000)}


@pytest.mark.parametrize("added_weight", [-3000, 300_000], ids=["too small", "too large"])
async def test_a_call_that_was_predicted_wrongly_replaces_its_reservation_in_one_transaction(added_weight: int) -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 12)]), *RUNS_AND_TOKENS)
    served.metering.first_calls.record("default", added_weight)
    batches = record_batches(served)

    await served.ask(500)

    assert batches == [["Reserve+call"], ["Settle", "Reserve"], ["Settle", "Settle"]]
    assert await served.used() == (42, 0)


async def test_a_call_that_is_predicted_beyond_the_budget_is_made_if_it_fits() -> None:
    served = Served(Scripted([*SAID, UsageChunk(30, 12)]), LimitRule(TOKENS, 600, DAY))
    served.metering.first_calls.record("default", 9_000)

    assert isinstance(await served.ask(500), RunFinished)
    assert await served.used() == (42, 0)


async def test_the_first_call_does_not_take_the_budget_of_a_judge_that_is_called_before() -> None:
    verdict = TextChunk('{"verdict": "allowed", "reason": ""}')
    judge = Scripted([verdict, UsageChunk(50, 5), StopChunk("stop")], name="small")
    guards = [Judge(metered(judge), JudgeOptions(deny=("pets",)))]
    served = Served(Scripted([*SAID, UsageChunk(30, 10)]), LimitRule(TOKENS, 5_000, DAY), guards=guards)
    served.metering.first_calls.record("default", 0)
    batches = record_batches(served)

    for _ in range(2):
        assert isinstance(await served.ask(500), RunFinished)

    assert [one for batch in batches for one in batch].count("Reserve+call") == 1  # the second is not predicted
    assert await served.used() == (190, 0)


@pytest.mark.parametrize("starts", [True, False])
async def test_a_run_that_makes_no_call_gives_its_reservation_back(starts: bool) -> None:
    model = Scripted(SAID)
    served = Served(model, *RUNS_AND_TOKENS)
    served.metering.first_calls.record("default", 0)

    slot = await served.runtime.admission.admit(Ask(messages=(user("Hi"),), principal=ANNA), model)
    assert (await served.used())[1] > 4096
    if not starts:
        slot.give_back()
    await slot.close()

    assert await served.used() == (0, 0)
    assert (served.metering.first_calls.find("default") is None) == starts


async def test_an_ask_that_answers_a_question_reserves_no_call_before_its_tool_has_run() -> None:
    model = Scripted(SAID)
    served = Served(model, *RUNS_AND_TOKENS)
    served.metering.first_calls.record("default", 0)

    ask = Ask(messages=(user("Hi"),), principal=ANNA, answers=(Answer("i1", "resolved"),))
    slot = await served.runtime.admission.admit(ask, model)

    assert await served.used() == (0, 0)
    await slot.close()


async def test_a_first_call_that_comes_late_is_reserved_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may have settled the reservation of the admission."""
    monkeypatch.setattr(first_call, "MAX_WAIT_S", -1.0)
    served = Served(Scripted([*SAID, UsageChunk(30, 12)]), *RUNS_AND_TOKENS)
    served.metering.first_calls.record("default", 0)
    batches = record_batches(served)

    for _ in range(2):
        await served.ask(500)

    assert batches[:3] == [["Reserve+call"], ["Settle", "Reserve"], ["Settle", "Settle"]]
    assert batches[3:] == [["Reserve"], ["Reserve"], ["Settle", "Settle"]]
    assert await served.used() == (84, 0)


@pytest.mark.parametrize(("max_wait_s", "needs_slot"), [(-1.0, True), (60.0, False)])
async def test_a_transient_run_that_starts_late_looks_for_its_slot(
    max_wait_s: float, needs_slot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have stood still since the admission, and the slot have been given back."""
    monkeypatch.setattr(first_call, "MAX_WAIT_S", max_wait_s)
    seen: list[bool] = []
    claim = MemoryThreads.claim

    async def record(self: MemoryThreads, ask: Ask, **options: Any) -> RunClaim:
        seen.append(options["needs_slot"])
        return await claim(self, ask, **options)

    monkeypatch.setattr(MemoryThreads, "claim", record)

    await Served(Scripted([*SAID, UsageChunk(30, 12)]), LimitRule(RUNS, 2)).ask(500)

    assert seen == [needs_slot]


async def test_a_call_that_is_larger_than_the_whole_limit_counts_as_refused() -> None:
    served = Served(Scripted([*SAID]), LimitRule(TOKENS, 100, DAY))

    last = await served.ask(500)

    rows = await served.store.usage(UsageQuery(("model",)))
    assert isinstance(last, RunFailed)
    assert last.code == "request_too_large"
    assert {row.group[0]: row.counts.refused for row in rows} == {"": 0, "big": 1}
