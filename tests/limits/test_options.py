"""The section `limits` of the configuration, and what `rightseat check` refuses or warns about."""

import pytest

from rightseat import app, config
from rightseat.core.errors import ConfigError
from rightseat.health.warnings import warnings
from rightseat.limits.options import build_limits
from rightseat.limits.rules import DowngradePolicy, QueuePolicy
from rightseat.limits.windows import CalendarWindow, SlidingWindow

BASE = "{log: {type: memory}, threads: {type: memory}, models: {big: {type: scripted}}, agents: {default: {model: big}}"


def parse(text: str) -> config.Config:
    return config.parse(f"{BASE}, {text}}}", environ={})


def test_every_key_becomes_a_rule() -> None:
    parsed = parse(
        "limits: [{name: a, subject: user, concurrent_runs: 2, requests_per_minute: 3, tokens_per_month: 4, "
        "cost_per_day: 0.5, requests: {most: 5, per: 10s}, cost: {most: 2, per: 7d}}], timezone: Asia/Tokyo, "
        "prices: {big: {input: 1, output: 2}}"
    )

    (limit,) = build_limits(parsed.limits, parsed.timezone).limits
    assert [(rule.name, rule.most, rule.window) for rule in limit.rules] == [
        ("concurrent_runs", 2, None),
        ("requests/60s", 3, SlidingWindow(60)),
        ("tokens/month", 4, CalendarWindow("month", "Asia/Tokyo")),
        ("cost/day", 500_000_000, CalendarWindow("day", "Asia/Tokyo")),
        ("requests/10s", 5, SlidingWindow(10)),
        ("cost/604800s", 2_000_000_000, SlidingWindow(604800)),
    ]


def test_a_limit_can_queue_or_downgrade() -> None:
    parsed = config.parse(
        "{log: {type: memory}, threads: {type: memory}, models: {big: {type: scripted}, small: {type: scripted}}, "
        "agents: {default: {model: big}, thrifty: {model: small}}, limits: ["
        "{name: a, subject: user, concurrent_runs: 2, on_exceed: queue, queue: {wait: 5, most: 7}},"
        "{name: b, subject: user, requests_per_minute: 2, on_exceed: queue},"
        "{name: c, subject: user, tokens_per_day: 2, on_exceed: downgrade, downgrade: small}]}",
        environ={},
    )

    limits = build_limits(parsed.limits, parsed.timezone)
    policies = [QueuePolicy(5, 7), QueuePolicy(30, 100), DowngradePolicy("small")]
    assert [one.policy for one in limits.limits] == policies
    assert limits.has_queues


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("limits: [{name: a, subject: user}]", "limits nothing"),
        ("limits: [{name: a, subject: team, concurrent_runs: 1}]", "limits"),
        ("limits: [{name: a, subject: user, requests: {most: 1, per: 40d}}]", "at most 31d"),
        ("limits: [{name: a, subject: user, concurrent_runs: 0}]", "limits"),
        ("limits: [{name: a, subject: user, requests_per_day: 1, on_exceed: queue}]", "cannot queue"),
        ("limits: [{name: a, subject: user, tokens_per_month: 1, on_exceed: queue}]", "cannot queue"),
        ("limits: [{name: a, subject: user, concurrent_runs: 1, queue: {wait: 3}}]", "needs `on_exceed: queue`"),
        ("limits: [{name: a, subject: user, concurrent_runs: 1, on_exceed: queue, queue: {wait: 0}}]", "wait"),
        ("limits: [{name: a, subject: user, concurrent_runs: 1, on_exceed: downgrade}]", "downgrade: MODEL"),
        ("limits: [{name: a, subject: user, concurrent_runs: 1, downgrade: big}]", "on_exceed: downgrade"),
        (
            "limits: [{name: a, subject: user, concurrent_runs: 1, on_exceed: downgrade, downgrade: bug}]",
            "no model is named 'bug'. Did you mean 'big'",
        ),
        (
            "limits: [{name: a, subject: user, concurrent_runs: 1, on_exceed: downgrade, downgrade: big}]",
            "'big' is the model of the agent 'default' already",
        ),
        ("limits: [{name: a, subject: user, concurrent_runs: 1, agents: [nobody]}]", "no agent is named 'nobody'"),
        ("limits: [{name: a, subject: user, cost_per_day: 1}]", "the model 'big' has no price"),
        (
            "limits: [{name: a, subject: user, concurrent_runs: 1}, {name: a, subject: key, concurrent_runs: 1}]",
            "the name of another limit",
        ),
        ("timezone: Mars/Base", "time zone"),
    ],
)
def test_a_limit_that_cannot_hold_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(text)


def test_a_limit_for_users_without_keys_is_warned_about() -> None:
    parsed = parse(
        "limits: [{name: a, subject: user, concurrent_runs: 1}, {name: b, subject: key, concurrent_runs: 1}]"
    )

    assert [line for line in warnings(parsed) if line.startswith("limits")] == [
        "limits: 'a' is for each user, but there are no keys, so it counts all clients as one user. "
        "Use `subject: address`.",
        "limits: 'b' is for each key, but there are no keys, so it never applies. Use `subject: address`.",
    ]


def test_a_budget_over_a_model_that_reports_no_usage_is_warned_about() -> None:
    model = "{type: openai, model: gpt, api_key: k, include_usage: false}"
    parsed = config.parse(
        f"models: {{default: {model}}}\nlimits: [{{name: a, subject: everyone, tokens_per_day: 1}}]", environ={}
    )

    (line,) = (line for line in warnings(parsed) if line.startswith("models"))
    assert line.startswith("models.default: `include_usage` is false, so limits of tokens and cost count an estimate")


def test_a_configuration_with_limits_can_be_built() -> None:
    app.build(parse("limits: [{name: a, subject: everyone, concurrent_runs: 1}]"))
