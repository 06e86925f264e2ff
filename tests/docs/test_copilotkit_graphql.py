"""The page on CopilotKit: what it writes can be served, and what it says of errors is so."""

import re
from pathlib import Path

import pytest

from rightseat import app, config
from rightseat.core.errors import AgentNotFound, InternalError
from rightseat.core.events import RunFinished
from rightseat.faces.copilotkit.graphql import values
from tests.docs.blocks import forget_module

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "copilotkit-graphql.md").read_text()
TOOLS, HOOKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    (tmp_path / "my_hooks.py").write_text(HOOKS)
    for module in ("my_tools", "my_hooks"):
        forget_module(module, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_modules")
@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_can_be_served(text: str) -> None:
    read = config.parse(text, environ={})

    assert app.assemble(read).faces[0].type == "copilotkit"


@pytest.mark.parametrize(
    "message",
    [
        AgentNotFound("x", []).message.replace("none.", "…"),
        InternalError("run_…").message.removesuffix("."),
        values.response_status(RunFinished("cancelled"))["details"]["description"],
    ],
)
def test_a_banner_says_what_the_page_says_it_does(message: str) -> None:
    assert f"`{message}`" in PAGE
