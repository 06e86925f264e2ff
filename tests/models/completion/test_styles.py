"""Every style, over every family of models: recognised, held to a grammar, and read back."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import ConfigError, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.models.completion import plan
from rightseat.models.completion.backend import Description
from rightseat.models.completion.grammar.output import lark
from rightseat.models.completion.styles import NATIVE, STYLES, choose, generic
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tool_prompts import format_signatures
from tests.models.completion.families import FAMILIES, NASTY, PARIS, TOOLS, Family, Spoken
from tests.models.completion.grammar.oracle import Judge
from tests.models.completion.playing import calls_of, cut, joined, read, reading

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

ANSWERS: list[tuple[str, Spoken]] = [
    ("Hello, 3 < 4 and {braces} stay.", []),
    ("", [PARIS]),
    ("", [NASTY]),
    ("", [("get_weather", {"city": ""})]),
    ("Let me see: été 🎈", [PARIS]),
    ("", [PARIS, NASTY, PARIS]),
    ("Two things.", [NASTY, PARIS]),
]


def style_of(family: Family) -> Style:
    return choose(Description(template=family.template), family.style)[0]


def without_prompt(family: Family, raw: str) -> tuple[str, str]:
    """What the prompt of this family ends with already, and what is left to say."""
    said = style_of(family).prompt_tail
    return said, raw.removeprefix(said)


@families
def test_a_family_is_recognised_by_its_template(family: Family) -> None:
    style, reason = choose(Description(template=family.template), family.style)

    assert style.name == family.name
    assert reason


def test_every_style_has_a_family_here() -> None:
    assert {family.name for family in FAMILIES} == set(STYLES)


def test_every_style_is_on_the_page_with_its_signs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "tool-calls-on-any-model.md").read_text()
    rows = {line.split("`")[1]: line.replace("\\|", "|") for line in page.splitlines() if line.startswith("| `")}

    for style in NATIVE:
        assert all(f"{sign}`" in rows[style.name] or f"{sign} `" in rows[style.name] for sign in style.template_markers)
    assert all(f"`{name}`" in page for name in STYLES)


def test_a_model_without_a_template_is_forced() -> None:
    style, reason = choose(Description(template=""))

    assert (style.name, reason) == ("forced-hermes", "the model has no chat template")


def test_a_template_with_an_unknown_tool_format_uses_the_forced_style() -> None:
    assert choose(Description(template="{{ tools }} <weird_call>"))[0].name == "forced-hermes"


def test_a_style_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="'hermess'"):
        choose(Description(), "hermess")


@families
@pytest.mark.parametrize("sizes", [(1,), (1, 3, 2, 7, 1, 5), (10_000,)], ids=str)
def test_an_answer_is_read_in_any_pieces(family: Family, sizes: tuple[int, ...]) -> None:
    for text, calls in ANSWERS:
        if len(calls) > 1 and not family.several:
            continue
        said, raw = without_prompt(family, family.speak(text, calls))

        chunks = read(reading(style_of(family), TOOLS, said), cut(raw, sizes))

        assert [(name, json.loads(arguments)) for name, arguments in calls_of(chunks)] == list(calls)
        if not (calls and family.name == "generic"):
            assert joined(chunks).strip() == text


@families
@given(at=st.sets(st.integers(1, 400)))
def test_where_an_answer_is_parted_makes_no_difference(family: Family, at: set[int]) -> None:
    said, raw = without_prompt(family, family.speak("Voilà:", [NASTY]))
    places = [0, *sorted(place for place in at if place < len(raw)), len(raw)]
    parted = [raw[start:end] for start, end in pairwise(places)]

    whole = read(reading(style_of(family), TOOLS, said), [raw])
    pieces = read(reading(style_of(family), TOOLS, said), parted)

    assert (joined(pieces), calls_of(pieces)) == (joined(whole), calls_of(whole))


@families
def test_the_name_and_a_part_of_the_arguments_come_before_the_call_is_whole(family: Family) -> None:
    said, raw = without_prompt(family, family.speak("", [("send_note", {"to": "Ann", "text": "word " * 40})]))
    reader = reading(style_of(family), TOOLS, said)

    chunks = [chunk for piece in cut(raw[: raw.index("word") + 60], (5,)) for chunk in reader.feed(piece)]

    (name, arguments), *_ = calls_of(chunks)
    assert name == "send_note"
    assert len(arguments) > 20


@families
@pytest.mark.parametrize(
    "call",
    [
        ("drop_tables", {"city": "Paris"}),
        ("get_weather", {"city": 5}),
        ("get_weather", {"city": "x", "unit": "kelvin"}),
        ("send_note", {"to": "Ann"}),
    ],
    ids=["unknown", "wrong type", "not in the enum", "missing"],
)
def test_a_call_that_breaks_the_grammar_is_never_a_call(family: Family, call: tuple[str, dict[str, object]]) -> None:
    if family.name in ("qwen3-coder", "glm") and call[1] == {"city": 5}:
        pytest.skip("5 without quotes is a string there")
    said, raw = without_prompt(family, family.speak("", [call]))  # type: ignore[list-item]  # wrong on purpose

    try:
        chunks = read(reading(style_of(family), TOOLS, said), cut(raw, (4,)))
    except ModelUnreachable:
        return

    assert calls_of(chunks) == []
    assert joined(chunks) == raw


@families
def test_a_call_that_ends_in_the_middle_is_an_error_unless_it_was_cut(family: Family) -> None:
    said, raw = without_prompt(family, family.speak("", [("send_note", {"to": "Ann", "text": "A rather long one"})]))
    short = raw[: raw.index("rather")]

    chunks = read(reading(style_of(family), TOOLS, said), [short], was_cut=True)

    assert [name for name, _ in calls_of(chunks)] == ["send_note"]
    with pytest.raises(ModelUnreachable):
        read(reading(style_of(family), TOOLS, said), [short])


@families
def test_marks_never_become_text_wherever_an_answer_is_cut(family: Family) -> None:
    said, raw = without_prompt(family, family.speak("", [PARIS]))
    for end in range(len(raw)):
        chunks = read(reading(style_of(family), TOOLS, said), cut(raw[:end], (2,)), was_cut=True)

        assert joined(chunks) == ""


def allowed(family: Family, raw: str, **asked: object) -> bool:
    """Whether the eager grammar of such a request lets the model say this."""
    prompt = Prompt((user("Hi"),), TOOLS, Parameters(**asked))  # type: ignore[arg-type]  # as each test says
    style = style_of(family)
    constraint = plan.make_plan(prompt, style, triggers=False).constraint(style.prompt_tail, thinks=False)
    assert constraint is not None
    judge = Judge(lark.write(constraint.grammar))
    assert not judge.problem
    return judge.accepts(raw.removeprefix(style.prompt_tail))


@families
def test_a_demanded_call_may_be_of_any_tool_and_nothing_else(family: Family) -> None:
    assert allowed(family, family.speak("", [PARIS]), tool_choice="required")
    assert allowed(family, family.speak("", [("send_note", {"to": "A", "text": "b"})]), tool_choice="required")
    assert not allowed(family, family.speak("Hello.", []), tool_choice="required")
    assert not allowed(family, family.speak("", [("drop_tables", {"city": "x"})]), tool_choice="required")
    assert not allowed(
        family, family.speak("", [("get_weather", {"city": "x", "unit": "kelvin"})]), tool_choice="required"
    )


@families
def test_a_named_call_is_of_that_tool_and_once(family: Family) -> None:
    named = NamedTool("get_weather")

    assert allowed(family, family.speak("", [PARIS]), tool_choice=named)
    assert not allowed(family, family.speak("", [("send_note", {"to": "A", "text": "b"})]), tool_choice=named)
    assert not allowed(family, family.speak("", [PARIS, PARIS]), tool_choice=named)


@families
def test_calls_come_side_by_side_unless_the_client_wants_one(family: Family) -> None:
    two = family.speak("", [PARIS, ("send_note", {"to": "A", "text": "b"})])

    assert allowed(family, two, tool_choice="required") == family.several
    assert not allowed(family, two, tool_choice="required", parallel_calls=False)


@families
def test_where_nothing_is_demanded_a_text_will_do(family: Family) -> None:
    assert allowed(family, family.speak("Hello, how are you?", []))
    assert allowed(family, family.speak("", [PARIS]))
    assert not allowed(family, family.speak("", [("drop_tables", {"city": "x"})]))


@families
def test_an_answer_with_a_schema_is_json_or_a_call(family: Family) -> None:
    wanted = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    said = family.speak("{JSON}", []).replace('"{JSON}"' if family.name == "generic" else "{JSON}", '{"age": 3}')

    assert allowed(family, said, response_schema=wanted)
    assert allowed(family, family.speak("", [PARIS]), response_schema=wanted)
    assert not allowed(family, family.speak("Three.", []), response_schema=wanted)


def test_the_prompt_of_generic_has_no_answer_to_copy() -> None:
    """Small models returned the text of the example as their answer to the user."""
    (turn,) = generic.offer([], TOOLS, "json_schema")
    content = turn["content"].replace("\n".join(format_signatures(TOOLS, "json_schema")), "")

    assert '"result"' in content
    assert re.findall(r'"result": *"', content) == []
