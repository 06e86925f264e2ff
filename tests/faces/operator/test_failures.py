"""Failed runs of the last minutes, which the console shows beside the checks of the server."""

from rightseat.faces.operator.failures import FailedRuns, sum_failures
from rightseat.operations.tally import Tally
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, serving
from tests.faces.operator.test_rights import KEYS, User

DEAD = CONFIGURATION.replace(
    "{type: scripted, chunk_delay: 0}",
    "{type: openai, base_url: 'http://127.0.0.1:9/v1', model: gone, api_key: none}",
)


def count(*outcomes: str | None) -> Tally:
    tally = Tally()
    for code in outcomes:
        tally.add_run("failed" if code else "done", code, None)
    return tally


def test_failures_are_summed_by_agent_and_code_from_their_first_minute() -> None:
    tallies = [
        (60.0, "clerk", count(None, "model_busy")),
        (120.0, "night", count("model_unreachable")),
        (180.0, "night", count("model_unreachable", None)),
        (180.0, "quiet", count(None)),
    ]

    assert sum_failures(tallies) == [
        FailedRuns("night", "model_unreachable", 2, 3, "1970-01-01T00:02:00.000000Z"),
        FailedRuns("clerk", "model_busy", 1, 2, "1970-01-01T00:01:00.000000Z"),
    ]


async def test_runs_that_fail_are_seen_without_asking_the_model(serve: Serve) -> None:
    async with serving(serve, DEAD + KEYS) as server:
        alice, olga = User(server, "alice"), User(server, "olga")
        before = (await olga.get("failures")).json()
        assert await alice.ended(await alice.start("Hello")) == "failed"
        (after,) = (await olga.get("failures")).json()
        unseen = (await User(server, "slow").get("failures")).json()
        refused = await alice.get("failures")

    assert before == []
    assert (after["agent"], after["code"], after["failed"], after["ended"]) == ("default", "model_unreachable", 1, 1)
    assert (unseen, refused.status_code) == ([], 403)
