"""Votes while the database or the log is away, and on answers that are erased."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest
from redis.asyncio import Redis

from rightseat.app import users
from rightseat.config import parse
from tests.conditions import until
from tests.conftest import Serve
from tests.databases import migrated_database
from tests.faces.test_feedback import PATHS, Clients, serving
from tests.services import REDIS, keys, proxy

WORKSPACE_VOTE = {"vote": "up", "user_prompt": "Q", "ai_response": "A", "trace_id": "t"}


async def vote_everywhere(clients: Clients, id: str) -> Sequence[httpx2.Response]:
    votes = [clients.vote(face, id, "down", comment="Wrong year") for face in PATHS]
    return await asyncio.gather(*votes, clients.alice.post("/openbb/v1/feedback", json=WORKSPACE_VOTE))


@pytest.mark.night  # requests wait some seconds for a database that is away
async def test_an_outage_of_the_database_is_named_and_ends(serve: Serve, tmp_path: Path) -> None:
    async with migrated_database() as url, proxy(5432) as way:
        threads = f'{{type: sql, url: "{url.replace(":5432", f":{way.port}")}"}}'
        async with serving(serve, tmp_path, threads=threads) as clients:
            id = await clients.ask("copilotkit")
            way.cut()
            refused = await vote_everywhere(clients, id)
            way.mend()

            async def is_stored() -> bool:
                return (await clients.vote("copilotkit", id)).status_code == 200

            await until(is_stored, within_s=30)  # connections that the pool took for good may fail once more
            stored = await vote_everywhere(clients, id)
            votes = await clients.votes("copilotkit", id)

    assert [answer.status_code for answer in refused] == [503] * (len(PATHS) + 1)
    assert all("The database of threads cannot be reached" in answer.text for answer in refused)
    assert not any(str(way.port) in answer.text for answer in refused)
    assert [answer.status_code for answer in stored] == [200] * (len(PATHS) + 1)
    assert [(vote["value"], vote["comment"]) for vote in votes] == [("down", "Wrong year")]


async def test_a_vote_extends_the_retention_of_its_run(serve: Serve, tmp_path: Path) -> None:
    async with (
        keys() as prefix,
        Redis.from_url(REDIS) as client,
        serving(serve, tmp_path, log=f'{{type: redis, url: "{REDIS}", prefix: "{prefix}"}}') as clients,
    ):
        judged, other = [await clients.ask("responses") for _ in range(2)]
        run = (await clients.vote("openai", judged)).json()["runId"]
        kept = await client.ttl(f"{prefix}log:{run}")
        left = await client.ttl(f"{prefix}log:run_{other.removeprefix('resp_')}")

    assert 0 < left <= 3600
    assert kept > 13 * 86_400


async def test_a_vote_is_stored_while_the_log_is_away(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with keys() as prefix, proxy(6379) as way:
        log = f'{{type: redis, url: "{REDIS.replace(":6379", f":{way.port}")}", prefix: "{prefix}"}}'
        async with serving(serve, tmp_path, log=log) as clients:
            id = await clients.ask("copilotkit")
            way.cut()
            with caplog.at_level(logging.WARNING):
                vote = await clients.vote("copilotkit", id)
            way.mend()

    assert vote.status_code == 200
    assert f"run {vote.json()['runId']} is judged, but the log deletes it as soon as others" in caplog.text


async def test_the_answers_of_an_erased_user_cannot_be_judged(serve: Serve, tmp_path: Path) -> None:
    async with migrated_database() as url:
        threads = f'{{type: sql, url: "{url}"}}'
        async with serving(serve, tmp_path, threads=threads) as clients:
            id = await clients.ask("copilotkit")
            run = (await clients.vote("copilotkit", id, "down", comment="Wrong year")).json()["runId"]
            async with users.opened(parse(f"threads: {threads}", environ={})) as data:
                counts = await data.forget("alice")
            later = [await clients.vote(face, gone) for face in PATHS for gone in (id, run)]
            votes = (await clients.alice.get("/operator/feedback")).json()["feedback"]

    assert counts.records["feedback"] == 1
    assert {answer.status_code for answer in later} == {404}
    assert votes == []
