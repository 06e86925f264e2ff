"""The plugin on the page about writing one is in order, on the Chinese page as well."""

import re
from pathlib import Path
from typing import get_args

import pytest

from rightseat.plugins import testing
from rightseat.plugins.call_types import call_types
from rightseat.plugins.expressions import templates
from rightseat.plugins.loading import PluginLimits, flows, load, metadata, steps
from rightseat.plugins.results import StepErrorCode
from rightseat.plugins.testing.cases import ExpectedRun

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "how-to/write-a-plugin.md", "zh": DOCS / "reference/plugin-format.zh.md"}
CHINESE = PAGES["zh"].read_text()


def files(page: str) -> dict[str, str]:
    found = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', page, re.DOTALL | re.MULTILINE)
    return dict(found)


@pytest.mark.parametrize("language", PAGES)
async def test_the_plugin_on_the_page_is_in_order_and_its_cases_pass(language: str, tmp_path: Path) -> None:
    place = tmp_path / "tickets"
    for name, text in files(PAGES[language].read_text()).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)

    found = load(place, "strict")
    reports = await testing.run_all(place)

    assert [str(one) for one in found.diagnostics if one.severity != "information"] == []
    assert found.plugin is not None
    assert [report.problems for report in reports] == [(), (), ()]


def test_both_languages_have_the_same_plugin() -> None:
    assert files(CHINESE) == files(PAGES["en"].read_text())


def test_the_chinese_page_has_every_field_every_parameter_every_placeholder_and_every_error() -> None:
    fields = {
        *metadata.KNOWN_KEYS,
        *flows.KNOWN_KEYS,
        *steps.KNOWN_KEYS,
        *ExpectedRun.model_fields,
        *get_args(StepErrorCode),
        *call_types(),
    }
    keys = {key for call in call_types().values() for key in call.params}
    placeholders = {f"{{{name}}}" for name in (*templates.PLAIN_NAMES, *templates.ERROR_NAMES)}

    assert sorted(name for name in fields | keys | placeholders if f"`{name}`" not in CHINESE) == []


def test_the_chinese_page_has_the_limits_of_the_code() -> None:
    limits = PluginLimits()
    for name in ("max_files", "max_flows", "max_steps", "max_operations", "max_depth"):
        assert f"{getattr(limits, name)}" in CHINESE, name
