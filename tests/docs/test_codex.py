"""The page on Codex has the files of examples/codex, as they are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "codex.md").read_text()


@pytest.mark.parametrize(
    ("language", "name"), [("yaml", "rightseat.yaml"), ("toml", "config.toml"), ("text", "instructions.md")]
)
def test_the_page_has_the_file_of_the_example(language: str, name: str) -> None:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)

    assert (ROOT / "examples" / "codex" / name).read_text() in blocks
