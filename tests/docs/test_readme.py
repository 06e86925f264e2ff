"""The code of README and the quickstart: Python runs, YAML is a valid configuration, shell has no prompts to copy."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from rightseat.config import read

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / name).read_text() for name in ("README.md", "docs/quickstart.md")}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_when_pasted(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert blocks(page, "python")
    for block in blocks(page, "python"):
        names: dict[str, Any] = {}
        exec(compile(block, page, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", PAGES)
def test_the_yaml_of_a_page_is_a_valid_configuration(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_tools.py").write_text("".join(blocks(page, "python")))
    monkeypatch.syspath_prepend(tmp_path)
    for number, block in enumerate(blocks(page, "yaml")):
        if "models:" not in block:
            block = f"models: {{default: {{type: scripted}}}}\n{block}"
        file = tmp_path / f"{number}.yaml"
        file.write_text(block)

        assert read(file, os.environ).agents


@pytest.mark.parametrize("page", PAGES)
def test_a_copied_shell_block_has_no_prompt(page: str) -> None:
    assert blocks(page, "sh")
    assert not [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith(("$", ">"))]
    assert "```console" not in PAGES[page]
