"""docs/how-to/use-mcp-servers.md says what is so."""

import re
from pathlib import Path

from rightseat import app, config
from rightseat.toolboxes import mcp

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "use-mcp-servers.md").read_text()
SECRETS = dict.fromkeys(("OPENAI_API_KEY", "TICKETS_KEY", "EDITOR_KEY"), "secret")
TOOLS, FORWARD, FACE, AGENTS, SIGN_IN = (
    config.parse(text, environ=SECRETS) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
)


def test_the_configurations_can_be_served() -> None:
    for found in (TOOLS, FORWARD, FACE, AGENTS, SIGN_IN):
        app.assemble(found)

    assert [part.type for part in TOOLS.toolboxes.values()] == ["mcp", "mcp"]
    assert [face.type for face in FACE.faces] == ["mcp"]


def test_every_option_that_it_names_is_one() -> None:
    named = set(re.findall(r"`(\w+)(?::[^`]*)?`", PAGE))
    options = set(mcp.Options.model_fields)

    assert {
        "prefix",
        "read_only_tools",
        "on_tool_change",
        "client_servers",
        "resources",
        "prompts",
        "apps",
        "env",
    } <= named & options


def test_a_header_reaches_a_server_only_where_both_name_it() -> None:
    (toolbox,), (face,) = FORWARD.toolboxes.values(), FORWARD.faces

    assert toolbox.options.forward == face.options.headers == ("x-tickets-token",)  # type: ignore[attr-defined]
