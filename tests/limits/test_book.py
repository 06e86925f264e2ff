"""Counting: all limits or none, once, and never beyond a limit."""

import random

from rightseat.limits.book import (
    Admitted,
    Book,
    Buckets,
    HeldAmount,
    Hold,
    LimitRefusal,
    Reserve,
    Settle,
    Settled,
    UsageKey,
)
from rightseat.limits.kinds import REQUESTS, RUNS, TOKENS, UsageCounts
from rightseat.limits.rules import AskSource, Charge, CounterKey, Limit, LimitRule, Limits
from rightseat.limits.windows import CalendarWindow, SlidingWindow

DAY, USAGE = CalendarWindow("day"), UsageKey("alice", "", "default", "big")
NOW = 1_800_000_000.0


def test_a_request_that_one_limit_refuses_takes_nothing_from_another() -> None:
    one, two = CounterKey("a", "requests/day", "alice"), CounterKey("b", "requests/day", "everyone")
    book = Book({one: {}, two: {DAY.bucket(NOW): (5, 0)}}, NOW)
    charges = [Charge(one, LimitRule(REQUESTS, 9, DAY), 1), Charge(two, LimitRule(REQUESTS, 5, DAY), 1)]

    outcome = book.apply(Reserve("x", "run", charges, USAGE))

    assert isinstance(outcome, LimitRefusal)
    assert outcome.standing.key == two
    assert book.counters[one] == {}
    assert book.usage == {USAGE: UsageCounts(refused=1)}


def test_a_call_is_reserved_with_its_ask_only_if_it_fits() -> None:
    runs, tokens = CounterKey("a", "concurrent_runs", "alice"), CounterKey("b", "tokens/day", "everyone")
    book = Book({runs: {}, tokens: {}}, NOW)
    call = Reserve("call", "run", [Charge(tokens, LimitRule(TOKENS, 150, DAY), 100)], USAGE)
    asks = [Reserve(f"slot{n}", "run", [Charge(runs, LimitRule(RUNS, 2), 1)], USAGE, call=call) for n in range(3)]

    first, second, third = [book.apply(one) for one in asks]

    assert isinstance(first, Admitted)
    assert first.call is not None
    assert first.call.hold is not None
    assert (first.call.hold.id, [one.amount for one in first.call.hold.amounts]) == ("call", [100])
    assert isinstance(second, Admitted)
    assert second.call is None
    assert isinstance(third, LimitRefusal)
    assert [one.id for one in book.holds] == ["slot0", "call", "slot1"]
    assert book.counters[tokens] == {DAY.bucket(NOW): (0, 100)}


def test_a_run_that_is_taken_over_twice_at_once_has_one_slot() -> None:
    runs = CounterKey("a", "concurrent_runs", "alice")
    book = Book({runs: {}}, NOW)
    taken = Reserve("run:slot", "run", [Charge(runs, LimitRule(RUNS, 1), 1)], USAGE, is_forced=True)

    first, second = book.apply(taken), book.apply(taken)

    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)
    assert second.hold == first.hold
    assert [one.id for one in book.holds] == ["run:slot"]
    assert book.counters[runs] == {0: (0, 1)}


def test_a_hold_is_settled_once_in_the_window_in_which_it_was_reserved() -> None:
    key, today = CounterKey("a", "tokens/day", "alice"), DAY.bucket(NOW)
    hold = Hold("h", "run", [HeldAmount(key, "tokens", today, 100)], USAGE)
    settle = Settle(hold, USAGE, UsageCounts(input_tokens=30, output_tokens=12))
    book = Book({key: {today: (7, 100)}}, NOW + 86400, {"h": hold})

    assert [book.apply(settle), book.apply(settle)] == [Settled(), Settled(is_counted=False)]
    assert book.counters[key] == {today: (49, 0)}
    assert book.usage == {USAGE: UsageCounts(input_tokens=30, output_tokens=12)}


def test_a_window_that_has_ended_is_not_changed_any_more() -> None:
    key = CounterKey("a", "tokens/day", "alice")
    hold = Hold("h", "run", [HeldAmount(key, "tokens", 1, 100)], USAGE)
    book = Book({key: {DAY.bucket(NOW): (7, 0)}}, NOW, {"h": hold})

    book.apply(Settle(hold, USAGE, UsageCounts(output_tokens=12)))

    assert book.counters[key] == {DAY.bucket(NOW): (7, 0)}


def test_used_and_reserved_never_exceed_the_limit_together() -> None:
    """Random reservations and settlements of several limits at once, each within what it reserved."""
    chance = random.Random(7)
    rules = {
        CounterKey("a", "tokens/day", "alice"): LimitRule(TOKENS, 150_000, DAY),
        CounterKey("b", "tokens/60s", "everyone"): LimitRule(TOKENS, 3000, SlidingWindow(60)),
        CounterKey("c", "concurrent_runs", "alice"): LimitRule(RUNS, 4),
    }
    counters: dict[CounterKey, Buckets] = {key: {} for key in rules}
    open_holds, now, admitted = list[tuple[Hold, int]](), NOW, 0
    for number in range(3000):
        now += chance.uniform(0, 3)
        if open_holds and chance.random() < 0.5:
            hold, amount = open_holds.pop(chance.randrange(len(open_holds)))
            book = Book(counters, now, {hold.id: hold})
            book.apply(Settle(hold, USAGE, UsageCounts(output_tokens=chance.randint(0, amount))))
        else:
            amount = chance.randint(1, 900)
            charges = [Charge(key, rule, 1 if rule.kind is RUNS else amount) for key, rule in rules.items()]
            book = Book(counters, now)
            outcome = book.apply(Reserve(f"h{number}", "run", charges, USAGE))
            if isinstance(outcome, Admitted) and outcome.hold is not None:
                admitted += 1
                open_holds.append((outcome.hold, amount))
        counters = book.counters
        for key, rule in rules.items():
            live = [one for at, one in counters[key].items() if rule.window is None or rule.window.is_live(at, now)]
            assert sum(used + reserved for used, reserved in live) <= rule.most

    assert admitted > 100


def test_a_limit_applies_to_subjects_and_agents_that_match() -> None:
    rule = LimitRule(REQUESTS, 1, DAY)
    limits = Limits(
        [
            Limit("guests", "user", [rule], match="guest-*"),
            Limit("keys", "key", [rule]),
            Limit("support", "everyone", [rule], agents=("support",)),
        ]
    )

    def names(source: AskSource) -> list[tuple[str, str]]:
        return [(key.limit, key.subject) for key, _ in limits.rules_for(source)]

    assert names(AskSource("guest-7", "", "::1", "default")) == [("guests", "guest-7")]
    assert names(AskSource("anna", "ci", "::1", "support")) == [("keys", "ci"), ("support", "everyone")]
