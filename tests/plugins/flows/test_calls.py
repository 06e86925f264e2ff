"""choice (7.3), extract (7.4) and llm (7.2)."""

from typing import Any

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Step
from rightseat.plugins.expressions import prompts
from rightseat.plugins.results import StepResult
from rightseat.plugins.scope import Scope
from tests.plugins.flows.playing import Play, exchange, flow_of, get, none, speak

BODY = {"data": {"output": 5}, "a": {"id": 1}, "b": {"id": 2}, "list": [{"n": 1}, {}]}


def choosing(*choices: JsonValue, **params: JsonValue) -> Step:
    return Step("start", "choice", {"instruction": "Which?", "choices": list(choices), **params})


def to(step: str, when: str | None = None) -> JsonValue:
    made: dict[str, JsonValue] = {"step": step, "description": f"goes to {step}"}
    return made | {"when": when} if when else made


async def chosen(step: Step, model: dict[str, Any] | None = None) -> Play:
    return await Play(flow_of(step, none("a"), none("b"), none("c"), answer="none"), model or {}).run()


async def test_R_7_10_the_first_choice_with_a_true_condition_is_taken_without_a_model() -> None:
    play = await chosen(choosing(to("a", "1 == 2"), to("b", "question contains 'What'"), to("c", "1 == 1")))

    assert play.trace.path() == ["start", "b"]
    assert play.model_caller.counts.total() == 0


async def test_R_7_10_without_a_true_condition_the_model_decides_among_the_rest() -> None:
    won = await chosen(choosing(to("a"), to("b", "1 == 1"), to("c")))
    decided = await chosen(choosing(to("a"), to("b", "1 == 2"), to("c")), {"start": {"step": "c"}})

    assert won.trace.path() == ["start", "b"]
    assert decided.trace.path() == ["start", "c"]
    assert "goes to b" not in decided.model_caller.prompts[1]


async def test_R_7_11_the_model_receives_the_choices_the_question_and_the_data() -> None:
    step = Step("pick", "choice", {"instruction": "Which?", "choices": [to("a"), to("b")]})
    flow = flow_of(get("start", "pick"), step, none("a"), none("b"), answer="none")
    play = await Play(flow, {"pick": "b"}, [exchange("GET", "/items", json={"total": 3})]).run()

    for text in ("Which?", "goes to a", "goes to b", "What is there?", '{"total":3}'):
        assert text in play.model_caller.prompts[1]
    assert play.trace.path() == ["start", "pick", "b"]


@pytest.mark.parametrize(
    ("votes", "winner"),
    [(["a", "b", "b"], "b"), (["b", "a", "c"], "a"), (["c", "c", "c"], "c"), (["b", "b", "a", "a", "c"], "a")],
)
async def test_R_7_11_the_majority_of_votes_wins_and_a_tie_goes_to_the_earlier_choice(
    votes: list[str], winner: str
) -> None:
    play = await chosen(choosing(to("a"), to("b"), to("c"), votes=len(votes)), {"start": votes})

    assert play.trace.path() == ["start", winner]
    assert play.model_caller.counts["start"] == len(votes)


async def test_R_7_12_without_a_valid_decision_the_default_is_taken_or_the_step_fails() -> None:
    default = await chosen(choosing(to("a"), to("b"), default="c"), {"start": ["x", {"step": "y"}]})
    failed = await chosen(choosing(to("a"), to("b")), {"start": ["x", "y"], "on_error": "Sorry."})
    unmet = await chosen(choosing(to("a", "1 == 2"), to("b", "1 == 3")), {"on_error": "Sorry."})

    assert default.trace.path() == ["start", "c"]
    assert failed.trace.error_code() == unmet.trace.error_code() == "choice_failed"
    assert failed.model_caller.counts["start"] == 2


async def test_R_7_13_two_choices_may_lead_to_the_same_step_and_next_is_ignored() -> None:
    step = Step("start", "choice", {"instruction": "?", "choices": [to("b", "1 == 2"), to("b", "1 == 1")]}, "a")
    play = await chosen(step)

    assert play.trace.path() == ["start", "b"]


async def extracted(body: Any, *keys: str, **params: JsonValue) -> Play:
    pick = Step("end", "extract", {"keys": list(keys), **params})
    play = Play(
        flow_of(get("start", "end"), pick, answer="none"), {"on_error": "?"}, [exchange("GET", "/items", json=body)]
    )
    return await play.run()


async def test_R_7_14_keys_are_the_last_names_and_whole_paths_where_they_collide() -> None:
    play = await extracted(BODY, "a.id", "b.id", "data", "list[0].n")

    assert play.outputs()["end"] == {"a.id": 1, "b.id": 2, "data": {"output": 5}, "n": 1}


async def test_R_7_15_a_missing_path_is_an_error_that_lists_what_is_there() -> None:
    play = await extracted(BODY, "a.name")

    assert play.trace.error_code() == "extract_missing"
    assert "a has id" in str(play.told("failed"))


async def test_R_7_15_a_missing_path_may_be_null_or_left_out() -> None:
    assert (await extracted(BODY, "a.name", "a.id", missing="null")).outputs()["end"] == {"name": None, "id": 1}
    assert (await extracted(BODY, "a.name", "a.id", missing=None)).outputs()["end"] == {"name": None, "id": 1}
    assert (await extracted(BODY, "a.name", "list[*].n", missing="skip")).outputs()["end"] == {"n": [1]}


async def test_R_7_16_paths_are_relative_to_the_body_itself() -> None:
    assert (await extracted(BODY, "data.output")).outputs()["end"] == {"output": 5}


async def test_a_text_body_is_parsed_as_json_once() -> None:
    assert (await extracted('{"x": "{\\"y\\": 1}"}', "x")).outputs()["end"] == {"x": '{"y": 1}'}


async def test_an_llm_step_with_a_schema_returns_a_valid_value_or_fails() -> None:
    schema: JsonValue = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    flow = flow_of(speak("start", output_schema=schema), answer="none")

    good = await Play(flow, {"start": {"n": 3}}).run()
    bad = await Play(flow, {"start": {"n": "x"}, "on_error": "Sorry."}).run()

    assert good.outputs()["start"] == {"n": 3}
    assert bad.trace.error_code() == "llm_failed"


async def test_R_7_22_a_context_that_is_too_long_is_summarized_by_a_model() -> None:
    flow = flow_of(speak("start", "{context}"))
    long = Scope("?", summary="They talked. " * 1000, window=2000)
    short = Scope("?", summary="They talked.", window=2000)

    told = await Play(flow, {"start": "ok", "context": "In short: they talked."}, scope=long).run()
    plain = await Play(flow, {"start": "ok"}, scope=short).run()
    failed = await Play(flow, {"start": "ok"}, scope=long).run()

    assert told.model_caller.prompts[-1] == "In short: they talked."
    assert plain.model_caller.prompts[-1] == "They talked."
    assert plain.model_caller.counts["context"] == 0
    assert "more characters)" in failed.model_caller.prompts[-1]


async def test_R_7_23_placeholders_of_other_steps_and_of_time_are_filled() -> None:
    flow = flow_of(get("start", "end"), speak("end", "{steps.start.output.items[0].id} {time} {files} {{x}} {nobody}"))
    play = await Play(flow, {"end": "ok"}, [exchange("GET", "/items", json={"items": [{"id": 9}]})]).run()

    user = play.model_caller.prompts[1]
    assert user.startswith('<data source="step:start">9</data> 20')
    assert user.endswith(" {x} {nobody}")


def test_R_7_22_a_step_has_one_line_in_the_context_whatever_its_message() -> None:
    steps = {"a": StepResult(message="Done.\n\nb (api): POST returned HTTP 200."), "c": StepResult()}
    scope = Scope("?", steps=steps, calls={"a": "llm", "c": "none"})

    assert prompts.format_context(scope) == "a (llm): Done. b (api): POST returned HTTP 200.\nc (none):"
