"""Answers to interrupts, typed at a terminal."""

import click
import pytest
from click.testing import CliRunner

from rightseat.cli.terminal_answers import prompt_for_answer
from rightseat.core.ask import Answer
from rightseat.core.events import Interrupt
from rightseat.core.types import JsonValue


def answer(interrupt: Interrupt, typed: str) -> Answer:
    with CliRunner().isolation(input=typed):
        return prompt_for_answer(interrupt)


@pytest.mark.parametrize(("typed", "approved"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_an_approval_takes_yes_or_no(typed: str, approved: bool) -> None:
    asked = Interrupt("interrupt_1", "approval_required", "May add be run?", memo={"step": 1})

    assert answer(asked, typed) == Answer("interrupt_1", "resolved", approved, memo={"step": 1})


def test_a_form_takes_a_value_for_each_field_and_asks_again_for_one_that_does_not_fit() -> None:
    schema: JsonValue = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where to"},
            "days": {"type": "integer"},
            "unit": {"enum": ["celsius", "kelvin"]},
            "is_detailed": {"type": "boolean"},
            "note": {"type": "string"},
            "weight": {"type": "number"},
        },
        "required": ["city", "days", "unit", "is_detailed"],
    }
    asked = Interrupt("interrupt_1", "input_required", "Where?", schema=schema)

    given = answer(asked, "007\nthree\n3\nfahrenheit\nkelvin\ny\n\n2.5\n")

    assert given.payload == {"city": "007", "days": 3, "unit": "kelvin", "is_detailed": True, "weight": 2.5}


@pytest.mark.parametrize(
    ("schema", "typed", "payload"),
    [
        (None, "Some text\n", "Some text"),
        (None, '{"a": 1}\n', {"a": 1}),
        ({"type": "boolean", "description": "Whether it was done."}, "y\n", True),
        ({"type": "string", "enum": ["repeat", "skip", "stop"]}, "skip\n", "skip"),
    ],
    ids=str,
)
def test_other_questions_accept_values_that_fit_their_schema(schema: JsonValue, typed: str, payload: JsonValue) -> None:
    assert answer(Interrupt("interrupt_1", "outcome_unknown", "Go on?", schema=schema), typed).payload == payload


def test_the_end_of_the_input_answers_nothing() -> None:
    with pytest.raises(click.Abort):
        answer(Interrupt("interrupt_1", "approval_required", "May add be run?"), "")


def test_escape_sequences_of_a_question_are_not_printed() -> None:
    asked = Interrupt("interrupt_1", "input_required", "City\x1b[2J\u202e?")
    with CliRunner().isolation(input="Ulm\n") as (_, errors, _):
        prompt_for_answer(asked)
        shown = errors.getvalue().decode()

    assert shown.startswith("City[2J?\nAnswer: ")
