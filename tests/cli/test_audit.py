"""`rightseat audit`"""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def configuration() -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: scripted}}\naccess: {required: true}\n")


def test_changes_of_keys_are_in_the_audit_log(run: Run) -> None:
    run("keys", "new", "alice")
    run("keys", "rotate", "alice")
    run("keys", "revoke", "alice")
    run("keys", "restore", "alice")
    run("keys", "revoke", "nobody")
    run("keys", "list")

    lines = [json.loads(line) for line in run("audit", "--json").stdout.splitlines()]
    table = run("audit", "--since", "1h", "--kind", "key_change", "--limit", "1").stdout.splitlines()

    assert [line["text"] for line in reversed(lines)] == [
        f"command line: {did} the key alice" for did in ("created", "rotated", "revoked", "restored")
    ]
    assert {line["kind"] for line in lines} == {"key_change"}
    assert [line.split()[0] for line in table][:1] == ["TIME"]
    assert table[1].endswith("command line: restored the key alice")
    assert len(table) == 2


def test_an_empty_audit_log_says_where_it_looked(run: Run) -> None:
    result = run("audit", "--user", "olga")

    assert result.stdout == ""
    assert result.stderr.startswith("No such line is stored in ")
