"""What a flow can see of a conversation."""

from rightseat.core.ask import Ask
from rightseat.core.messages import Message, Result, assistant, user
from rightseat.plugins.ask_scope import MAX_SUMMARY_BYTES, MAX_SUMMARY_LINE_CHARACTERS, build_scope
from rightseat.plugins.expressions import prompts as prompting


def seen(*said: Message) -> Ask:
    return Ask(messages=said)


def test_R_7_22_the_summary_has_a_line_for_each_message_before_the_question() -> None:
    talk = [user("Which hosts\nare there?"), assistant("db-01 and web-01."), user("Scan the first.")]

    scope = build_scope(seen(*talk))

    assert scope.summary == "user: Which hosts are there?\nassistant: db-01 and web-01."
    assert prompting.format_context(scope) == scope.summary


def test_R_7_22_a_first_question_has_no_summary() -> None:
    assert build_scope(seen(user("Scan db-01."))).summary == ""


def test_R_7_22_a_long_message_is_cut_and_results_of_tools_are_left_out() -> None:
    result = Message("tool", (Result("c", "t", "a canary"),))

    scope = build_scope(seen(user("x" * 500), result, user("And?")))

    assert scope.summary == f"user: {'x' * (MAX_SUMMARY_LINE_CHARACTERS - 1)}…"


def test_R_7_22_the_summary_of_a_long_conversation_keeps_its_end_with_a_note() -> None:
    talk = [user(f"Question {number}, {'x' * 80}") for number in range(100)]

    first, *lines = build_scope(seen(*talk, user("And now?"))).summary.splitlines()

    assert first == f"… ({100 - len(lines)} earlier messages)"
    assert lines[-1].startswith("user: Question 99,")
    assert len("\n".join(lines).encode()) <= MAX_SUMMARY_BYTES
    assert 15 <= len(lines) <= 25


def test_R_7_23_a_template_has_the_summary() -> None:
    scope = build_scope(seen(user("I live in Oslo."), assistant("Nice."), user("Will it rain?")))

    prompts = prompting.write("Before: {summary}", "{question}", scope)

    assert prompts.system == "Before: user: I live in Oslo.\nassistant: Nice."
