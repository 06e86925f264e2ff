"""What the page about OpenBB Workspace says is so."""

import re
from pathlib import Path

import pytest

from rightseat import app, config

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "openbb-workspace.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS)
def test_every_configuration_of_the_page_can_be_served(text: str) -> None:
    found = config.parse(text, environ={"OPENAI_API_KEY": "sk", "DESK_KEY": "a-key-of-the-desk"})

    assert app.build(found).routes


def test_the_page_has_configurations() -> None:
    assert len(BLOCKS) == 3
