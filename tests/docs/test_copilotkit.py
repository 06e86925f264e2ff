"""The page on CopilotKit from 1.50 on: what it writes can be served, and its tools do what it says."""

import importlib
import re
from pathlib import Path

import pytest

from rightseat import app, config
from rightseat.core.loop.toolset import with_approval
from rightseat.core.tools import Approval
from rightseat.toolboxes.functions import make_tool
from tests.docs.blocks import forget_module

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "copilotkit.md").read_text()
KEYS = {"OPENAI_API_KEY": "sk-123456789", "ALICE_KEY": "key-of-alice-1234567", "BOB_KEY": "key-of-bob-123456789"}


@pytest.fixture
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's Python, in one module from its first block to its last."""
    (tmp_path / "my_tools.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)))
    monkeypatch.syspath_prepend(tmp_path)
    forget_module("my_tools", monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_tools")
@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_can_be_served(text: str) -> None:
    read = config.parse(text, environ=KEYS)

    assert app.assemble(read).faces[0].type == "copilotkit"


@pytest.mark.usefixtures("_tools")
def test_the_tools_that_ask_are_those_that_the_page_says_do() -> None:
    my_tools = importlib.import_module("my_tools")

    delete, rename, read = map(make_tool, (my_tools.delete_file, my_tools.rename_file, my_tools.get_weather))

    assert delete.approval == Approval("Delete the file?")
    assert with_approval(rename, "writes").approval is not None
    assert with_approval(read, "writes").approval is None
    assert with_approval(delete, "never").approval is None
