"""The pages on databases, charts and Python tools in flows say what is true."""

import re
from pathlib import Path

import pytest

from rightseat import config
from rightseat.plugins.definition import Identity, Plugin, PluginTexts
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql import catalog

FOLDER = Path(__file__).parent.parent.parent / "docs" / "how-to"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", (FOLDER / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["sql-in-flows.md", "python-tools-in-plugins.md"])
def test_a_configuration_on_these_pages_is_one(page: str) -> None:
    (text,) = blocks(page, "yaml")

    read = config.parse(text, environ={"SALES_PASSWORD": "secret"})

    assert [*read.toolboxes] == ["plugins"]


def test_the_catalog_on_the_page_is_one() -> None:
    (text,) = blocks("sql-in-flows.md", 'yaml title="sales-catalog.yaml"')

    assert [*catalog.parse(text.encode()).tables] == ["orders", "customers"]


async def test_the_tool_on_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for block in blocks("python-tools-in-plugins.md", "python"):
        name = block.split("\n")[0].removeprefix("# lib/")
        (tmp_path / "lib" / name).write_text(block)
    plugin = Plugin(Identity("p", "1.0.0", "d"), tmp_path, PluginTexts("P", "A plugin."), lib="d")

    async with ToolRunner(["d"]) as tool_runner:
        result = await tool_runner.run(
            plugin, "count_words", {"least": 3}, Scope("?", data="to be or not to be"), Mute()
        )

    assert (result.output, result.message) == (1, "1 words")


class Mute:
    async def call(self, wanted: ModelRequest) -> ModelResponse:
        raise AssertionError("nobody is asked")
