"""What a model sees of long data (section 7.8)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.types import JsonValue
from rightseat.plugins.expressions import prompts, truncation
from rightseat.plugins.expressions.truncation import count_bytes, truncate_value
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.scope import Scope

ROWS: JsonValue = [{"id": number, "text": "x" * 50} for number in range(5000)]


def test_R_7_21_short_data_is_not_truncated() -> None:
    assert truncate_value({"名": [1, None]}, 100) == ('{"名":[1,null]}', False)


def test_R_7_21_a_list_keeps_its_first_and_last_elements_with_a_count() -> None:
    text, was_cut = truncate_value(ROWS, 3000)

    shown = json.loads(text)
    assert was_cut
    assert count_bytes(text) <= 3000
    assert (shown[0]["id"], shown[-1]["id"]) == (0, 4999)
    assert any("of 5000 elements left out" in one for one in shown if isinstance(one, str))


def test_R_7_21_a_long_text_is_cut_with_a_note() -> None:
    text, was_cut = truncate_value({"log": "a" * 100_000, "level": "high"}, 2000)

    assert was_cut
    assert json.loads(text)["level"] == "high"
    assert "more characters)" in json.loads(text)["log"]


def test_R_7_21_deeply_nested_objects_keep_their_keys() -> None:
    deep: JsonValue = {"secret_of_the_deep": 1, "other": "x" * 3000}
    for _ in range(30):
        deep = {"inner": deep}

    text, was_cut = truncate_value(deep, 400)

    assert was_cut
    assert "an object with inner" in text
    json.loads(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner, max_size=20),
    max_leaves=100,
)


@given(json_values, st.integers(10, 2000))
def test_R_7_21_truncated_data_is_valid_json_within_its_limit(value: JsonValue, most: int) -> None:
    text, was_cut = truncate_value(value, most)

    assert count_bytes(text) <= max(most, count_bytes(text) if not was_cut else 5)
    if not isinstance(value, str):
        read = json.loads(text)
        assert was_cut or read == value


def scope(data: JsonValue, window: int = 4000) -> Scope:
    history = tuple(("user", f"turn {number} " + "y" * 200) for number in range(100))
    steps = {"start": StepResult(data, "5000 rows")}
    return Scope(
        "Why?", data=data, data_from="start", steps=steps, calls={"start": "api"}, history=history, window=window
    )


def test_R_7_20_R_7_21_a_prompt_uses_at_most_80_percent_of_the_window_and_notes_truncation() -> None:
    written = prompts.write("Be short.", "{question} {data} {context} {history}", scope(ROWS))

    assert count_bytes(written.system) + count_bytes(written.user) <= truncation.compute_byte_budget(4000)
    assert truncation.compute_byte_budget(4000) == int(4000 * 0.8 * 3)
    assert truncation.TRUNCATION_NOTICE in written.system
    assert written.user.startswith("Why? <data source=")


def test_R_7_20_data_has_priority_over_context_and_context_over_history() -> None:
    written = prompts.write("", "{history}|{context}|{data}", scope([1, 2, 3], window=1024))

    history, context, data = written.user.split("|")
    assert data == '<data source="step:start">[1,2,3]</data>'
    assert context == "start (api): 5000 rows"
    assert "more characters)" in history


def test_R_7_20_a_prompt_over_the_window_without_data_is_an_error() -> None:
    with pytest.raises(StepFailed) as failure:
        prompts.write("x" * 20_000, "{question}", scope(None))

    assert failure.value.code == "llm_context"


def test_R_7_21_arguments_of_steps_are_not_truncated() -> None:
    assert prompts.fill_argument("{data}", scope(ROWS)) == ROWS
    assert prompts.fill_argument({"a": ["{steps.start.output[-1].id}"]}, scope(ROWS)) == {"a": [4999]}
    assert prompts.fill_argument("id {steps.start.output[0].id}!", scope(ROWS)) == "id 0!"


def test_R_7_22_the_context_has_the_summary_and_a_line_for_each_step() -> None:
    seen = Scope(
        "?", summary="They talked.", steps={"a": StepResult(1, "one"), "b": StepResult(2, "two")}, calls={"a": "api"}
    )

    assert prompts.format_context(seen) == "They talked.\na (api): one\nb (): two"


def test_R_7_27_output_of_trusted_steps_is_not_marked_as_data() -> None:
    steps = {"said": StepResult("Hi"), "pick": StepResult({"a": 1})}
    seen = Scope("?", data="Hi", data_from="said", steps=steps, trusted={"said"})

    written = prompts.write("", "{data} {steps.pick.output}", seen)

    assert written.user == 'Hi <data source="step:pick">{"a":1}</data>'
