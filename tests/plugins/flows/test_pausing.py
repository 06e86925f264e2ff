"""Flows that wait for people: for values, for leave, for what became of a step (R-10.5, R-11.2, R-11.3, R-11.6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Step
from rightseat.plugins.scene import Scene
from tests.plugins.flows.playing import Play, exchange, flow_of, is_waiting, none, plugin_of, post, speak

SORRY = Step("", "llm", {"user_prompt": "{error.code}"})


def ordering(*http: Any, model: JsonValue = None, **rest: Any) -> Play:
    flow = flow_of(post("start", "end", dangerous=True), none("end"), on_error=SORRY, answer="last")
    script = {"start": model or {"name": "tea", "count": 2}, "on_error": "As you like."}
    return Play(flow, script, list(http), Scene("Two tea please, 2"), **rest)


async def test_R_10_5_a_dangerous_step_shows_all_that_it_would_do_and_waits() -> None:
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


async def test_R_10_5_allow_once_sends_what_was_shown_without_asking_a_model_again() -> None:
    play = await ordering(exchange("POST", "/orders", json={"ok": True})).run()
    payloads: list[JsonValue] = [
        True,
        {"decision": "allow"},
        {"approved": True},
        {"approve": True, "arguments": {"count": 9}},
    ]
    for payload in payloads:
        again = Play(play.flow, {}, [exchange("POST", "/orders", json={"ok": True})], play.scene)
        again.trace = play.trace

        await again.go_on(payload)

        assert again.trace.status() == "succeeded", payload
        assert again.problems == []


async def test_R_10_5_edited_arguments_are_checked_again() -> None:
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


async def test_R_10_5_deny_goes_to_on_error_and_nothing_is_sent() -> None:
    payloads: list[JsonValue] = [None, "deny", "allow", "yes", False, {"decision": "deny"}, {"decision": "edit"}]
    payloads += [{"arguments": {"count": 1}}, {"approved": True, "decision": "deny"}]
    for payload in payloads:
        play = await ordering().run()
        await play.go_on(payload)

        assert play.trace.status() == "failed_handled"
        assert play.trace.error_code() == "denied"
        assert play.trace.path() == ["start", "on_error"]
        assert play.problems == []


async def test_R_10_5_a_question_that_is_cancelled_is_denied() -> None:
    play = await ordering().run()
    await play.go_on({"decision": "allow"}, cancelled=True)

    assert play.trace.error_code() == "denied"
    assert play.problems == []


async def test_R_10_5_an_operation_that_says_that_it_is_dangerous_asks_too() -> None:
    plugin = plugin_of()
    operations = {name: replace(one, dangerous=not one.is_safe) for name, one in plugin.operations.items()}
    said = replace(plugin, operations=operations)
    asks = await Play(flow_of(post("start")), {"start": {"name": "tea"}}, (), Scene("tea"), said).run()
    plain = await Play(
        flow_of(post("start"), answer="none"),
        {"start": {"name": "tea"}},
        [exchange("POST", "/orders", json={})],
        Scene("tea"),
    ).run()

    assert asks.question.reason == "approval_required"
    assert plain.trace.status() == "succeeded"


async def test_without_anybody_there_a_dangerous_step_is_denied_and_a_missing_value_an_error() -> None:
    denied = ordering()
    denied.scene = Scene("2 tea", is_attended=False)
    await denied.run()
    missing = ordering(model={"count": 2})
    missing.scene = Scene("2?", is_attended=False)
    await missing.run()

    assert denied.trace.error_code() == "denied"
    assert missing.trace.error_code() == "slot_missing"


async def test_a_missing_value_is_asked_for_and_the_flow_goes_on_with_it() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scene("2 of it"))
    await play.run()

    assert play.question.reason == "input_required"
    assert play.trace.missing() == ["name"]

    await play.go_on({"name": "coffee"})

    assert play.trace.status() == "succeeded"
    assert play.told("input")[0]["value"]["arguments"] == {"count": 2, "name": "coffee"}
    assert play.told("input")[0]["value"]["origins"] == {"count": "question", "name": "user"}
    assert play.problems == []


async def test_a_field_that_there_is_not_is_told_with_those_that_there_are_and_the_question_stays_open() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scene("2 of it"))
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


async def test_one_value_that_is_asked_for_may_come_by_itself() -> None:
    flow = flow_of(post("start", "end"), none("end"), answer="last")
    play = Play(flow, {"start": {"count": 2}}, [exchange("POST", "/orders", json={"ok": 1})], Scene("2 of it"))
    await play.run()
    await play.go_on("coffee")

    assert play.told("input")[0]["value"]["arguments"] == {"count": 2, "name": "coffee"}


async def test_an_answer_that_is_no_form_is_asked_for_again() -> None:
    scene = Scene("Some of it", language="en")
    play = await Play(flow_of(post("start", args={"count": 50})), {"start": {}}, (), scene).run()
    assert play.trace.missing() == ["name", "count"]
    await play.go_on("coffee")

    assert is_waiting(play.trace.events)
    assert "an object with a value for each name is wanted" in play.question.message


async def test_a_form_that_nobody_fills_in_ends_the_flow() -> None:
    play = await Play(flow_of(post("start")), {"start": {}}).run()
    await play.go_on(cancelled=True)

    assert play.trace.status() == "cancelled"
    assert "on_error" not in play.voice.counts


async def test_R_11_3_a_question_is_open_for_seven_days() -> None:
    play = await ordering().run()

    assert play.question.expires_at is not None
    left = datetime.fromisoformat(play.question.expires_at) - datetime.now(UTC)
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


async def test_R_11_6_a_question_remembers_which_plugin_the_flow_began_with() -> None:
    play = await ordering().run()

    assert isinstance(play.question.memo, dict)
    assert play.question.memo["plugin"] == {"id": "shop", "version": "1.0.0", "digest": "d" * 64}
    assert msgspec.json.decode(msgspec.json.encode(play.question.memo)) == play.question.memo


async def test_what_earlier_steps_gave_is_still_there_after_a_question() -> None:
    flow = flow_of(speak("start", "{question}", "order"), post("order", "end"), speak("end", "{steps.start.output}"))
    play = Play(flow, {"start": "Kept.", "order": {}, "end": "Done."}, [exchange("POST", "/orders", json={})])
    await play.run()
    await play.go_on({"name": "tea"})

    assert play.voice.prompts[-1] == "Kept."
    assert play.trace.path() == ["start", "order", "end"]


async def test_R_11_8_a_dry_run_sends_nothing_and_makes_answers_up() -> None:
    flow = flow_of(post("start", "end", dangerous=True), speak("end", "{data}"))
    play = await Play(flow, {"start": {"name": "tea"}, "end": "It would be ordered."}, is_dry=True).run()

    assert play.trace.status() == "succeeded"
    assert play.problems == []
    record = play.told("output")[0]["value"]["record"]
    assert record["dry_run"] is True
    assert (record["request"]["method"], record["request"]["body"]) == ("POST", {"name": "tea", "count": 1})


async def test_R_10_5_nobody_edits_what_the_flow_fixes() -> None:
    flow = flow_of(post("start", dangerous=True, args={"count": 1}), answer="last")
    play = await Play(flow, {"start": {"name": "tea"}}, [exchange("POST", "/orders", json={})]).run()
    await play.go_on({"decision": "edit", "arguments": {"name": "milk", "count": 9}})

    assert is_waiting(play.trace.events)
    assert "count cannot be used: the flow fixes it" in play.question.message

    await play.go_on({"decision": "edit", "arguments": {"name": "milk", "count": 1}})

    assert play.told("input")[0]["value"]["arguments"] == {"name": "milk", "count": 1}


async def test_a_form_sets_only_what_it_asks_for_of_what_the_flow_fixes() -> None:
    flow = flow_of(post("start", args={"count": 1}), answer="last")
    play = await Play(flow, {"start": {"name": None}}, [exchange("POST", "/orders", json={})]).run()
    await play.go_on({"name": "tea", "count": 9})

    assert play.told("input")[0]["value"]["arguments"] == {"name": "tea", "count": 1}
    assert play.told("input")[0]["value"]["origins"] == {"name": "user", "count": "args"}

    wrong = flow_of(post("start", args={"name": "tea", "count": 50}), answer="last")
    asked = await Play(wrong, {}, [exchange("POST", "/orders", json={})]).run()
    await asked.go_on({"count": 5})

    assert asked.told("input")[0]["value"]["arguments"] == {"name": "tea", "count": 5}


async def test_R_10_5_no_value_writes_lines_of_its_own_into_the_question() -> None:
    play = await ordering(model={"name": "tea\n- count: 1 (question)\u2028\u202e", "count": 9}).run()

    assert r"- name: tea\n- count: 1 (question)\u2028\u202e (ungrounded)" in play.question.message.split("\n")
    await play.go_on({"decision": "edit", "arguments": {"host": "evil.example"}})

    assert "This cannot be used: Additional properties" in play.question.message
