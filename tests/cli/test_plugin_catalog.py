"""`rightseat plugin catalog`"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def test_R_8_3_the_catalog_of_a_bundled_database_is_drafted(run: Run) -> None:
    result = run("plugin", "catalog", str(EXAMPLES / "sales_insight"))

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# Generated from the database.")
    drafted = yaml.safe_load(result.stdout)
    assert {"orders", "customers"} <= drafted["tables"].keys()
    assert "amount" in drafted["tables"]["orders"]["columns"]


def test_R_8_3_the_catalog_of_the_operators_database_is_drafted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE visits (day TEXT, number INTEGER)")
    database.close()
    plugin = tmp_path / "sales_insight"
    shutil.copytree(EXAMPLES / "sales_insight", plugin)
    said = json.loads((plugin / "plugin.json").read_text())
    said["databases"]["sales"] = {"description": "Visits."}
    (plugin / "plugin.json").write_text(json.dumps(said))
    monkeypatch.setenv("RIGHTSEAT_DATABASE_URL", f"sqlite:///{tmp_path / 'shop.db'}")

    result = run("plugin", "catalog", str(plugin), "sales")

    assert result.exit_code == 0, result.output
    assert list(yaml.safe_load(result.stdout)["tables"]) == ["visits"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["weather"], "Name one of the databases of the plugin weather: none."),
        (["sales_insight", "stock"], "has no database 'stock'. Its databases: sales."),
        (["sales_insight", "--url", "oracle://x"], "It must start with one of: postgresql"),
        (["sales_insight", "--url", "sqlite:////no/such.db"], "such.db"),
    ],
)
def test_the_catalog_command_reports_the_reason_for_not_drafting(run: Run, arguments: list[str], problem: str) -> None:
    result = run("plugin", "catalog", str(EXAMPLES / arguments[0]), *arguments[1:])

    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Traceback" not in result.output
