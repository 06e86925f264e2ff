"""The page on CopilotKit's GraphQL wire says what is true."""

import re

from rightseat.faces.copilotkit.graphql import failures
from tests.docs.configuration import REFERENCE

PAGE = (REFERENCE / "copilotkit-graphql-wire.md").read_text()


def test_every_code_that_is_sent_is_on_the_page_and_no_other() -> None:
    sent = PAGE.split("these are sent by rightseat")[1].split("The result of an action")[0]

    assert set(re.findall(r"^\| `([A-Z_]+)` \|", sent, re.MULTILINE)) == {
        kind.code for kind in (*failures.KINDS.values(), failures.UNKNOWN)
    }
