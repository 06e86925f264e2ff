"""Failed runs of the last minutes, which the console shows beside the checks of the server."""

from rightseat.core.events import Usage
from rightseat.core.usage import ModelUsage
from rightseat.faces.operator.failures import FailureGroups, FailureList
from rightseat.faces.operator.metric_series import read_seconds
from rightseat.limits.prices import Price, Prices
from rightseat.operations.records import RunRecord
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, serving
from tests.faces.operator.test_rights import KEYS, User

DEAD = CONFIGURATION.replace(
    "{type: scripted, chunk_delay: 0}",
    "{type: openai, base_url: 'http://127.0.0.1:9/v1', model: gone, api_key: none}",
)


def make_run(agent: str, minute: int, code: str | None = None, *, user: str = "ann", model: str = "main") -> RunRecord:
    time = f"2026-11-19T10:{minute:02}:00.000000Z"
    outcome = "failed" if code else "done"
    used = [ModelUsage(model, 1, Usage(1_000_000, 0))]
    return RunRecord(
        f"run_{minute}", "thread", user, agent, None, time, ended_at=time, outcome=outcome, code=code, models=used
    )


def group(*runs: RunRecord, is_complete: bool = True) -> FailureList:
    groups = FailureGroups(read_seconds("2026-11-19T10:10:00Z"), Prices({"main": Price(input=2.0, output=1.0)}))
    for run in runs:
        groups.add(run)
    return FailureList(groups.list(), groups.find_begin(is_complete=is_complete))


def test_failures_are_grouped_by_agent_code_and_model_with_users_and_cost() -> None:
    found = group(
        make_run("night", 31, "model_unreachable", user="bob"),
        make_run("night", 30, "model_unreachable", model="spare"),
        make_run("clerk", 29),
        make_run("clerk", 28, "model_busy"),
        make_run("night", 27, "model_unreachable"),
        make_run("night", 9, "model_unreachable"),
    )

    assert found.since is None
    assert [(line.agent, line.code, line.model, line.failed, line.ended) for line in found.groups] == [
        ("night", "model_unreachable", "main", 2, 3),
        ("clerk", "model_busy", "main", 1, 2),
        ("night", "model_unreachable", "spare", 1, 3),
    ]
    first, _, spare = found.groups
    assert (first.users, first.cost, spare.cost) == (2, 4.0, None)
    assert (first.since[11:16], first.last[11:16]) == ("10:27", "10:31")


def test_a_list_that_was_cut_says_since_when_it_is_complete() -> None:
    newest = [make_run("night", 31, "model_busy"), make_run("night", 20)]

    assert group(*newest, is_complete=False).since == "2026-11-19T10:20:00.000000Z"
    assert group(*newest, make_run("night", 5), is_complete=False).since is None


async def test_runs_that_fail_are_seen_without_asking_the_model(serve: Serve) -> None:
    async with serving(serve, DEAD + KEYS) as server:
        alice, olga = User(server, "alice"), User(server, "olga")
        before = (await olga.get("failures")).json()["groups"]
        assert await alice.ended(await alice.start("Hello")) == "failed"
        (after,) = (await olga.get("failures?window=1h")).json()["groups"]
        other = (await olga.get("failures?agent=slow")).json()["groups"]
        unseen = (await User(server, "slow").get("failures")).json()["groups"]
        refused = await alice.get("failures")

    assert (before, other) == ([], [])
    assert (after["agent"], after["code"], after["failed"], after["ended"]) == ("default", "model_unreachable", 1, 1)
    assert (unseen, refused.status_code) == ([], 403)
