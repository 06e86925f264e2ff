"""`rightseat usage`"""

import asyncio
import json
from pathlib import Path

import pytest

from rightseat.app import users
from rightseat.cli import setup
from rightseat.limits.book import Settle, UsageKey
from rightseat.limits.kinds import UsageCounts
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def configuration() -> None:
    text = "models: {default: {type: scripted}}\nfaces: [{type: openai}, {type: usage}]\ncurrency: EUR\n"
    Path("rightseat.yaml").write_text(text)


def spend(user: str, cost: int) -> None:
    async def write() -> None:
        async with users.opened_store(setup.load(None)) as store:
            counts = UsageCounts(requests=1, input_tokens=1200, output_tokens=30, cost=cost)
            await store.limits.apply([Settle(None, UsageKey(user, "", "default", "gpt"), counts)])

    asyncio.run(write())


def test_usage_is_a_table_or_the_json_of_the_face(run: Run) -> None:
    spend("alice", 1_500_000)
    spend("alice", 1_500_000)
    spend("bob", 0)

    table = run("usage", "--by", "user").stdout.splitlines()
    report = json.loads(run("usage", "--by", "model,user", "--user", "alice", "--json").stdout)

    assert table == [
        "USER   REQUESTS  REFUSED  INPUT  CACHED  OUTPUT  ESTIMATED  COST (EUR)",
        "alice  2         0        2,400  0       60      0          0.0030",
        "bob    1         0        1,200  0       30      0          0.0000",
    ]
    (row,) = report["rows"]
    assert (row["model"], row["user"], row["requests"], row["cost"]) == ("gpt", "alice", 2, 0.003)


def test_a_wrong_column_is_named_and_no_usage_says_where_it_looked(run: Run) -> None:
    wrong = run("usage", "--by", "colour")
    empty = run("usage", "--since", "2026-11-01", "--until", "2026-11-30")

    assert wrong.exit_code == 2
    assert "use each of these once, separated by commas: day, user, key, agent, model, purpose" in wrong.stderr
    assert empty.stderr.startswith("No usage of these days is stored in ")
