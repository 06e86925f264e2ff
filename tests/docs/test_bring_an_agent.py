"""The page on agents that are built elsewhere says what is true."""

import re
import sys
from pathlib import Path

import pytest

from rightseat import app, config
from rightseat.agents.event_normalizer import InvalidAgentEvent
from rightseat.core.errors import AgentEndpointNotFound, AgentRefused, AgentUnreachable, RightseatError
from rightseat.core.loop.subagents import AgentFailed
from tests.servers.running import PROGRAMS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "bring-an-agent.md").read_text()
KEYS = {"OPENAI_API_KEY": "sk-123456789", "AGENT_KEY": "123456789"}


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_can_be_served(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(PROGRAMS)
    monkeypatch.syspath_prepend(tmp_path)
    for name, code in re.findall(r"```python\n# (\w+)\.py, beside the configuration\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.delitem(sys.modules, name, raising=False)

    read = config.parse(text.replace("research.graph:graph", "graph:served"), environ=KEYS)

    assert app.assemble(read).owned


@pytest.mark.parametrize(
    "error", [AgentUnreachable, AgentRefused, AgentEndpointNotFound, AgentFailed, InvalidAgentEvent]
)
def test_every_code_is_there(error: type[RightseatError]) -> None:
    assert f"| `{error.code}` |" in PAGE
