"""`rightseat flow draw`"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def test_flows_are_written_as_mermaid(run: Run) -> None:
    every = run("flow", "draw", str(EXAMPLES / "sales_insight")).stdout
    one = run("flow", "draw", str(EXAMPLES / "sales_insight"), "query_sales").stdout

    assert every.startswith("flowchart TD\n")
    assert every.count("subgraph") == 2
    assert one.count("subgraph") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere cannot be read"),
        (
            [str(EXAMPLES / "weather"), "tomorrow"],
            "The plugin has no flow 'tomorrow'. Its flows: current_weather, forecast.",
        ),
    ],
)
def test_draw_reports_a_missing_plugin_or_flow(run: Run, arguments: list[str], said: str) -> None:
    result = run("flow", "draw", *arguments)

    assert result.exit_code == 1
    assert said in result.stderr


@pytest.mark.parametrize("verb", ["plugin check", "plugin test", "flow draw"])
def test_verbs_that_only_read_a_plugin_import_no_web_framework(verb: str) -> None:
    arguments = [*verb.split(), str(EXAMPLES / "weather")]
    program = (
        "import sys\nfrom rightseat.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'strawberry', 'rightseat.app'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
