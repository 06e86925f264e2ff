"""What a model sees of long data (section 7.8)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.values import JsonValue
from rightseat.plugins import prompting, shortening
from rightseat.plugins.results import Result, StepFailed
from rightseat.plugins.scene import Scene
from rightseat.plugins.shortening import shorten, size

ROWS: JsonValue = [{"id": number, "text": "x" * 50} for number in range(5000)]


def test_R_7_21_short_data_is_left_alone() -> None:
    assert shorten({"名": [1, None]}, 100) == ('{"名":[1,null]}', False)


def test_R_7_21_a_list_keeps_its_first_and_last_elements_with_a_count() -> None:
    text, was_cut = shorten(ROWS, 3000)

    shown = json.loads(text)
    assert was_cut
    assert size(text) <= 3000
    assert (shown[0]["id"], shown[-1]["id"]) == (0, 4999)
    assert any("of 5000 elements left out" in one for one in shown if isinstance(one, str))


def test_R_7_21_a_long_text_is_cut_with_a_note() -> None:
    text, was_cut = shorten({"log": "a" * 100_000, "level": "high"}, 2000)

    assert was_cut
    assert json.loads(text)["level"] == "high"
    assert "more characters)" in json.loads(text)["log"]


def test_R_7_21_deep_objects_show_their_names() -> None:
    deep: JsonValue = {"secret_of_the_deep": 1, "other": "x" * 3000}
    for _ in range(30):
        deep = {"inner": deep}

    text, was_cut = shorten(deep, 400)

    assert was_cut
    assert "an object with inner" in text
    json.loads(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner, max_size=20),
    max_leaves=100,
)


@given(json_values, st.integers(10, 2000))
def test_R_7_21_it_stays_valid_json_and_within_its_room(value: JsonValue, most: int) -> None:
    text, was_cut = shorten(value, most)

    assert size(text) <= max(most, size(text) if not was_cut else 5)
    if not isinstance(value, str):
        read = json.loads(text)
        assert was_cut or read == value


def scene(data: JsonValue, window: int = 4000) -> Scene:
    history = tuple(("user", f"turn {number} " + "y" * 200) for number in range(100))
    steps = {"start": Result(data, "5000 rows")}
    return Scene(
        "Why?", data=data, data_from="start", steps=steps, calls={"start": "api"}, history=history, window=window
    )


def test_R_7_20_R_7_21_a_prompt_uses_at_most_80_percent_of_the_window_and_says_that_it_was_shortened() -> None:
    written = prompting.write("Be short.", "{question} {data} {context} {history}", scene(ROWS))

    assert size(written.system) + size(written.user) <= shortening.room(4000)
    assert shortening.room(4000) == int(4000 * 0.8 * 3)
    assert written.was_shortened
    assert shortening.NOTE in written.system
    assert written.user.startswith("Why? <data source=")


def test_R_7_20_data_comes_before_context_and_context_before_history() -> None:
    written = prompting.write("", "{history}|{context}|{data}", scene([1, 2, 3], window=1024))

    history, context, data = written.user.split("|")
    assert data == '<data source="step:start">[1,2,3]</data>'
    assert context == "start (api): 5000 rows"
    assert "more characters)" in history


def test_R_7_20_a_prompt_that_is_too_long_by_itself_is_an_error() -> None:
    with pytest.raises(StepFailed) as failure:
        prompting.write("x" * 20_000, "{question}", scene(None))

    assert failure.value.code == "llm_context"


def test_R_7_21_other_steps_get_everything() -> None:
    assert prompting.argument("{data}", scene(ROWS)) == ROWS
    assert prompting.argument({"a": ["{steps.start.output[-1].id}"]}, scene(ROWS)) == {"a": [4999]}
    assert prompting.argument("id {steps.start.output[0].id}!", scene(ROWS)) == "id 0!"


def test_R_7_22_the_context_is_the_summary_and_a_line_for_each_step() -> None:
    seen = Scene("?", summary="They talked.", steps={"a": Result(1, "one"), "b": Result(2, "two")}, calls={"a": "api"})

    assert prompting.context(seen) == "They talked.\na (api): one\nb (): two"


def test_R_7_27_a_text_of_a_model_is_not_marked_and_an_extract_of_a_reply_is() -> None:
    steps = {"said": Result("Hi"), "pick": Result({"a": 1})}
    seen = Scene("?", data="Hi", data_from="said", steps=steps, calls={"said": "llm", "pick": "extract"})

    written = prompting.write("", "{data} {steps.pick.output}", seen)

    assert written.user == 'Hi <data source="step:pick">{"a":1}</data>'
