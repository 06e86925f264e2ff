"""The weight of a prompt, from which its tokens are estimated."""

from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.limits.estimate import measure_prompt, weigh_messages


def test_messages_that_were_weighed_before_are_not_weighed_again() -> None:
    messages = (user("Hello there."), user("12345"))
    known = weigh_messages(messages)
    whole = Prompt((*messages, user("More.")))

    assert measure_prompt(whole, known) == measure_prompt(whole)
    assert measure_prompt(whole, dict.fromkeys(known, 0)).weight == measure_prompt(Prompt(whole.messages[2:])).weight
