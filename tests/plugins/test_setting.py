"""What a flow can see of a conversation."""

from rightseat.core.ask import Ask
from rightseat.core.messages import Message, Result, assistant, user
from rightseat.plugins import prompting
from rightseat.plugins.setting import LINE, SUMMARY, scene_of


def seen(*said: Message) -> Ask:
    return Ask(messages=said)


def test_R_7_22_the_summary_has_a_line_for_each_message_before_the_question() -> None:
    talk = [user("Which hosts\nare there?"), assistant("db-01 and web-01."), user("Scan the first.")]

    scene = scene_of(seen(*talk))

    assert scene.summary == "user: Which hosts are there?\nassistant: db-01 and web-01."
    assert prompting.context(scene) == scene.summary


def test_R_7_22_there_is_no_summary_of_a_first_question() -> None:
    assert scene_of(seen(user("Scan db-01."))).summary == ""


def test_R_7_22_a_long_message_is_cut_and_results_of_tools_are_left_out() -> None:
    result = Message("tool", (Result("c", "t", "a canary"),))

    scene = scene_of(seen(user("x" * 500), result, user("And?")))

    assert scene.summary == f"user: {'x' * (LINE - 1)}…"


def test_R_7_22_of_a_long_conversation_the_summary_has_the_end_and_says_so() -> None:
    talk = [user(f"Question {number}, {'x' * 80}") for number in range(100)]

    first, *lines = scene_of(seen(*talk, user("And now?"))).summary.splitlines()

    assert first == f"… ({100 - len(lines)} earlier messages)"
    assert lines[-1].startswith("user: Question 99,")
    assert len("\n".join(lines).encode()) <= SUMMARY
    assert 15 <= len(lines) <= 25


def test_R_7_23_a_template_has_the_summary() -> None:
    scene = scene_of(seen(user("I live in Oslo."), assistant("Nice."), user("Will it rain?")))

    prompts = prompting.write("Before: {summary}", "{question}", scene)

    assert prompts.system == "Before: user: I live in Oslo.\nassistant: Nice."
