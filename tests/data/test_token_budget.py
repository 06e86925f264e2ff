"""What goes into a model's window, and what is told of what does not."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.data.token_budget import TokenBudget, fit_prompt, json_size, prompt_size, truncate_middle

TIGHT = TokenBudget(tokens=1024, answer_tokens=24)


def result(content: str) -> Message:
    return Message("tool", (Result("c1", "read", content),))


@pytest.mark.parametrize(("text", "bytes_"), [("", 0), ("abc", 3), ('"a"\n', 7), ("€", 3), ("\x01", 6)])
def test_text_is_counted_as_it_stands_in_json(text: str, bytes_: int) -> None:
    assert json_size(text) == bytes_


def test_the_default_budget_leaves_tokens_for_the_response_in_a_32k_window() -> None:
    assert TokenBudget().bytes < 131_072 - 4096


def test_a_text_that_fits_is_left_alone() -> None:
    assert truncate_middle("words", 5) == "words"


def test_a_long_text_keeps_its_start_and_end_with_a_note_between() -> None:
    text = "".join(f"{n:04d} " for n in range(2000))

    short = truncate_middle(text, 500, "read_document gives them")

    assert json_size(short) <= 500
    assert short.startswith("0000 0001 ")
    assert short.endswith("1999 ")
    head, _, rest = short.partition("\n[… ")
    missing = len(text) - len(head) - len(rest.partition("…]\n")[2])
    assert f"[… {missing:,} characters omitted; read_document gives them …]" in short


@given(st.text(max_size=300), st.integers(150, 400))
def test_a_truncated_text_never_exceeds_its_budget(text: str, room: int) -> None:
    assert json_size(truncate_middle(text * 5, room)) <= room


def test_a_prompt_that_fits_is_left_alone() -> None:
    prompt = Prompt((system("Be kind."), user("Hi")))

    assert fit_prompt(prompt, TIGHT).prompt is prompt


def test_the_oldest_results_are_shortened_first_with_a_note() -> None:
    question = user("What is it?" * 20)
    messages = (
        system("Be kind."), user("Read."), assistant("Reading."), result("old " * 1000), question, result("new " * 100),
    )  # fmt: skip

    fitted = fit_prompt(Prompt(messages), TIGHT)

    kept = fitted.prompt.messages
    assert prompt_size(fitted.prompt) <= TIGHT.bytes
    assert [kept[place] for place in (0, 1, 2, 4, 5)] == [messages[place] for place in (0, 1, 2, 4, 5)]
    assert isinstance(kept[3].parts[0], Result)
    assert "characters omitted" in kept[3].parts[0].content
    assert fitted.notes == (
        "The conversation is longer than the context window: 1 earlier results or messages were shortened.",
    )


def test_the_last_question_stays_whole_where_everything_else_is_cut() -> None:
    question = user("The question itself. " * 40)
    messages = (
        system("Rules. " * 300),
        user("long ago " * 300),
        assistant("words " * 500),
        question,
        result("r" * 9000),
    )

    fitted = fit_prompt(Prompt(messages), TIGHT)

    assert fitted.prompt.messages[3] == question
    assert prompt_size(fitted.prompt) <= TIGHT.bytes


def test_a_question_over_the_budget_is_sent_unchanged_with_a_warning() -> None:
    prompt = Prompt((user("x" * 5000),))

    fitted = fit_prompt(prompt, TIGHT)

    assert fitted.prompt == prompt
    assert fitted.notes[0].endswith("It is still 1,096 bytes too long, and the model may reject it.")


def test_tools_calls_and_pictures_count_too() -> None:
    tool = Tool("search", "Look for it. " * 50, {"type": "object"})
    call = Message("assistant", (Call("c1", "search", '{"q": "x"}'), Image("image/png", "A" * 10_000)))

    assert prompt_size(Prompt((call,), (tool,))) > 650 + 6000
    assert prompt_size(Prompt((call,), (tool,))) < 650 + 6000 + 500


def test_the_estimate_is_not_below_what_a_request_takes() -> None:
    messages = tuple(Message("user", (Text('say "hi"\n€ ' * n),)) for n in range(50))
    wire = msgspec.json.encode([{"role": "user", "content": message.text} for message in messages])

    assert prompt_size(Prompt(messages)) >= len(wire)
