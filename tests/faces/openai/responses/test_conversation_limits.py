"""Stored conversations count as requests, and their items for a quota of bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from rightseat import app, config
from tests.conftest import serving

ITEM: Any = {"type": "message", "role": "user", "content": "x" * 100_000}


@asynccontextmanager
async def limited(most: int, quota_mb: float) -> AsyncIterator[httpx2.AsyncClient]:
    text = f"""
        models: {{default: {{type: scripted, chunk_delay: 0}}}}
        log: {{type: memory}}
        threads: {{type: memory}}
        faces: [{{type: openai, conversation_quota_mb: {quota_mb}}}, {{type: usage}}]
        limits: [{{name: few, subject: everyone, requests_per_day: {most}}}]
    """
    built = app.build(config.parse(text, environ={}))
    async with serving(built) as url, httpx2.AsyncClient(base_url=url) as client:
        yield client


async def test_what_stores_a_conversation_or_items_counts_as_a_request() -> None:
    async with limited(3, 100) as client:
        created = await client.post("/v1/conversations", json={"items": [ITEM]})
        path = f"/v1/conversations/{created.json()['id']}"
        added = await client.post(f"{path}/items", json={"items": [ITEM]})
        renamed = await client.post(path, json={"metadata": {"topic": "x"}})
        refused = [await client.post(one, json={"items": [ITEM]}) for one in ("/v1/conversations", f"{path}/items")]
        read = await client.get(f"{path}/items")
        rows = (await client.get("/usage", params={"by": "purpose"})).json()["rows"]

    assert [one.status_code for one in (created, added, renamed, *refused, read)] == [200, 200, 200, 429, 429, 200]
    assert len(read.json()["data"]) == 2
    assert [(row["purpose"], row["requests"], row["refused"]) for row in rows] == [("conversations", 3, 2)]


async def test_items_beyond_the_quota_are_refused_until_a_conversation_is_deleted() -> None:
    async with limited(100, 0.5) as client:
        kept = [await client.post("/v1/conversations", json={"items": [ITEM]}) for _ in range(2)]
        path = f"/v1/conversations/{kept[0].json()['id']}"
        refused = await client.post("/v1/conversations", json={"items": [ITEM]})
        more = await client.post(f"{path}/items", json={"items": [ITEM]})
        await client.delete(path)
        again = await client.post("/v1/conversations", json={"items": [ITEM]})

    assert [one.status_code for one in (*kept, refused, more, again)] == [200, 200, 413, 413, 200]
    error = refused.json()["error"]
    assert error["code"] == "quota_exceeded"
    assert "The quota of each user is 0.50 MB. Delete conversations" in error["message"]
    assert "`conversation_quota_mb`" in error["message"]
