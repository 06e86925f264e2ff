"""Flows that wait for people: for values, for leave, for what became of a step (R-10.5, R-11.2, R-11.3, R-11.6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rightseat.core.events import Custom
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Step
from rightseat.plugins.scope import Scope
from tests.plugins.flows.playing import Play, exchange, flow_of, is_waiting, none, plugin_of, post, speak

SORRY = Step("", "llm", {"user_prompt": "{error.code}"})


def ordering(*http: Any, model: JsonValue = None, **rest: Any) -> Play:
    flow = flow_of(post("start", "end", dangerous=True), none("end"), on_error=SORRY, answer="last")
    script = {"start": model or {"name": "tea", "count": 2}, "on_error": "As you like."}
    return Play(flow, script, list(http), Scope("Two tea please, 2"), **rest)


async def test_R_10_5_a_dangerous_step_shows_its_request_and_waits() -> None:
    play = await ordering().run()

    assert is_waiting(play.trace.events)
    assert play.question.reason == "approval_required"
    assert "POST https://api.example.com/orders" in play.question.message
    assert "- name: tea (question)" in play.question.message
    assert "- count: 2 (question)" in play.question.message
    shown = play.told("waiting")[0]["value"]
    assert (shown["method"], shown["path"]) == ("POST", "/orders")
    assert shown["arguments"] == {"name": "tea", "count": 2}
    assert play.problems == []


async def test_R_10_5_allow_once_sends_the_shown_request_without_another_model_call() -> None:
    play = await ordering(exchange("POST", "/orders", json={"ok": True})).run()
    payloads: list[JsonValue] = [
        True,
        {"decision": "allow"},
        {"approved": True},
        {"approve": True, "arguments": {"count": 9}},
    ]
    for payload in payloads:
        again = Play(play.flow, {}, [exchange("POST", "/orders", json={"ok": True})], play.scope)
        again.trace = play.trace

        await again.go_on(payload)

        assert again.trace.status() == "succeeded", payload
        assert again.problems == []


async def test_a_flow_that_continues_in_another_run_names_its_version_and_its_completed_steps() -> None:
    flow = flow_of(none("start", "order"), post("order", "end", dangerous=True), none("end"), answer="last")
    sent = exchange("POST", "/orders", json={"ok": True})
    play = await Play(flow, {"order": {"name": "tea", "count": 2}}, [sent], Scope("Two tea please, 2")).run()
    started = next(event for event in play.trace.events if isinstance(event, Custom) and event.name == "flow.started")
    await play.go_on(True)

    resumed = play.trace.events[0]
    assert isinstance(started.value, dict)
    assert resumed == Custom("flow.resumed", {"plugin": started.value["plugin"], "flow": flow.name, "path": ["start"]})


async def test_R_10_5_edited_arguments_are_validated_before_sending() -> None:
    sent = exchange("POST", "/orders", json={"ok": True})
    play = await ordering(sent).run()
    await play.go_on({"decision": "edit", "arguments": {"count": 50}})

    assert is_waiting(play.trace.events)
    assert "count cannot be used" in play.question.message

    await play.go_on({"decision": "edit", "arguments": {"count": 5}})

    assert play.trace.status() == "succeeded"
    assert play.told("input")[0]["value"]["arguments"] == {"name": "tea", "count": 5}
    assert play.told("input")[0]["value"]["origins"] == {"name": "question", "count": "user"}
    assert play.problems == []


async def test_R_10_5_deny_runs_on_error_and_sends_nothing() -> None:
    payloads: list[JsonValue] = [None, "deny", "allow", "yes", False, {"decision": "deny"}, {"decision": "edit"}]
    payloads += [{"arguments": {"count": 1}}, {"approved": True, "decision": "deny"}]
    for payload in payloads:
        play = await ordering().run()
        await play.go_on(payload)

        assert play.trace.status() == "failed_handled"
        assert play.trace.error_code() == "denied"
        assert play.trace.path() == ["start", "on_error"]
        assert play.problems == []


async def test_R_10_5_a_cancelled_question_counts_as_denied() -> None:
    play = await ordering().run()
    await play.go_on({"decision": "allow"}, cancelled=True)

    assert play.trace.error_code() == "denied"
    assert play.problems == []


async def test_R_10_5_an_operation_marked_as_dangerous_needs_approval_too() -> None:
    plugin = plugin_of()
    operations = {name: replace(one, dangerous=not one.is_safe) for name, one in plugin.operations.items()}
    said = replace(plugin, operations=operations)
    asks = await Play(flow_of(post("start")), {"start": {"name": "tea"}}, (), Scope("tea"), said).run()
    plain = await Play(
        flow_of(post("start"), answer="none"),
        {"start": {"name": "tea"}},
        [exchange("POST", "/orders", json={})],
        Scope("tea"),
    ).run()

    assert asks.question.reason == "approval_required"
    assert plain.trace.status() == "succeeded"


async def test_without_a_person_a_dangerous_step_is_denied_and_a_missing_value_is_an_error() -> None:
    denied = ordering()
    denied.scope = Scope("2 tea", is_attended=False)
    await denied.run()
    missing = ordering(model={"count": 2})
    missing.scope = Scope("2?", is_attended=False)
    await missing.run()

    assert denied.trace.error_code() == "denied"
    assert missing.trace.error_code() == "slot_missing"


async def test_a_flow_asks_for_a_missing_value_and_continues_with_it() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scope("2 of it"))
    await play.run()

    assert play.question.reason == "input_required"
    assert play.trace.missing() == ["name"]

    await play.go_on({"name": "coffee"})

    assert play.trace.status() == "succeeded"
    assert play.told("input")[0]["value"]["arguments"] == {"count": 2, "name": "coffee"}
    assert play.told("input")[0]["value"]["origins"] == {"count": "question", "name": "user"}
    assert play.problems == []


async def test_an_unknown_field_is_reported_with_the_known_ones_and_the_question_stays_open() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scope("2 of it"))
    await play.run()
    await play.go_on({"name": "tea", "colour": "green"})

    assert is_waiting(play.trace.events)
    assert play.question.reason == "input_required"
    assert "there is no field 'colour'; the fields are: name, count" in play.question.message
    assert play.trace.missing() == ["name"]

    await play.go_on({"color": "green"})
    assert "'colour'" not in play.question.message
    await play.go_on({"name": "tea"})

    assert play.trace.status() == "succeeded"
    assert play.told("input")[0]["value"]["arguments"] == {"count": 2, "name": "tea"}
    assert play.problems == []


async def test_a_single_missing_value_may_be_answered_without_a_form() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scope("2 of it"))
    await play.run()
    await play.go_on("coffee")

    assert play.told("input")[0]["value"]["arguments"] == {"count": 2, "name": "coffee"}


async def test_an_answer_that_does_not_fit_the_form_is_asked_for_again() -> None:
    scope = Scope("Some of it", language="en")
    play = await Play(flow_of(post("start", args={"count": 50})), {"start": {}}, (), scope).run()
    assert play.trace.missing() == ["name", "count"]
    await play.go_on("coffee")

    assert is_waiting(play.trace.events)
    assert "Please enter a value for each of them" in play.question.message


async def test_a_cancelled_form_ends_the_flow() -> None:
    play = await Play(flow_of(post("start")), {"start": {}}).run()
    await play.go_on(cancelled=True)

    assert play.trace.status() == "cancelled"
    assert "on_error" not in play.model_caller.counts


async def test_R_11_3_a_question_expires_after_seven_days() -> None:
    play = await ordering().run()

    assert play.question.expires_at is not None
    left = datetime.fromisoformat(play.question.expires_at) - datetime.now(UTC)
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


async def test_R_11_6_a_question_stores_the_identity_of_its_plugin() -> None:
    play = await ordering().run()

    assert isinstance(play.question.memo, dict)
    assert play.question.memo["plugin"] == {"id": "shop", "version": "1.0.0", "digest": "d" * 64}
    assert msgspec.json.decode(msgspec.json.encode(play.question.memo)) == play.question.memo


async def test_outputs_of_earlier_steps_are_kept_across_a_question() -> None:
    flow = flow_of(speak("start", "{question}", "order"), post("order", "end"), speak("end", "{steps.start.output}"))
    play = Play(flow, {"start": "Kept.", "order": {}, "end": "Done."}, [exchange("POST", "/orders", json={})])
    await play.run()
    await play.go_on({"name": "tea"})

    assert play.model_caller.prompts[-1] == "Kept."
    assert play.trace.path() == ["start", "order", "end"]


async def test_R_11_8_a_dry_run_sends_nothing_and_invents_responses() -> None:
    flow = flow_of(post("start", "end", dangerous=True), speak("end", "{data}"))
    play = await Play(flow, {"start": {"name": "tea"}, "end": "It would be ordered."}, is_dry=True).run()

    assert play.trace.status() == "succeeded"
    assert play.problems == []
    record = play.told("output")[0]["value"]["record"]
    assert record["dry_run"] is True
    assert (record["request"]["method"], record["request"]["body"]) == ("POST", {"name": "tea", "count": 1})


async def test_R_10_5_arguments_that_the_flow_sets_cannot_be_edited() -> None:
    flow = flow_of(post("start", dangerous=True, args={"count": 1}), answer="last")
    play = await Play(flow, {"start": {"name": "tea"}}, [exchange("POST", "/orders", json={})]).run()
    await play.go_on({"decision": "edit", "arguments": {"name": "milk", "count": 9}})

    assert is_waiting(play.trace.events)
    assert "count cannot be used: the flow sets it" in play.question.message

    await play.go_on({"decision": "edit", "arguments": {"name": "milk", "count": 1}})

    assert play.told("input")[0]["value"]["arguments"] == {"name": "milk", "count": 1}


async def test_a_form_cannot_set_arguments_that_the_flow_sets_unless_it_asks_for_them() -> None:
    flow = flow_of(post("start", args={"count": 1}), answer="last")
    play = await Play(flow, {"start": {"name": None}}, [exchange("POST", "/orders", json={})]).run()
    await play.go_on({"name": "tea", "count": 9})

    assert play.told("input")[0]["value"]["arguments"] == {"name": "tea", "count": 1}
    assert play.told("input")[0]["value"]["origins"] == {"name": "user", "count": "args"}

    wrong = flow_of(post("start", args={"name": "tea", "count": 50}), answer="last")
    asked = await Play(wrong, {}, [exchange("POST", "/orders", json={})]).run()
    await asked.go_on({"count": 5})

    assert asked.told("input")[0]["value"]["arguments"] == {"name": "tea", "count": 5}


async def test_R_10_5_a_value_cannot_add_lines_to_the_question() -> None:
    play = await ordering(model={"name": "tea\n- count: 1 (question)\u2028\u202e", "count": 9}).run()

    assert r"- name: tea\n- count: 1 (question)\u2028\u202e (ungrounded)" in play.question.message.split("\n")
    await play.go_on({"decision": "edit", "arguments": {"host": "evil.example"}})

    assert "This cannot be used: Additional properties" in play.question.message
