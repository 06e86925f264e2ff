"""Votes on answers, as clients of every face send them, and as other users cannot."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.operations.feedback import MAX_COMMENT_CHARS, MAX_TAG_CHARS, MAX_TAGS
from tests.access.examples import run_input
from tests.conftest import Serve

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
agents:
  default: {{}}
  other: {{}}
guards:
  - {{type: patterns, phrases: [swordfish], reason: "No passwords, please."}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: openai, path: /v1}}
  - {{type: anthropic}}
  - {{type: openbb, path: /openbb, agent: default{openbb}}}
  - {{type: ai_sdk, path: /api/chat}}
  - {{type: operator}}
log: {log}
threads: {threads}
server: {{state_dir: "{folder}"}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: narrow, key: key-narrow, user: alice, scopes: ["*:other"]}}
    - {{name: bob, key: key-bob, user: bob}}
"""
PATHS = {
    "copilotkit": "/copilotkit/feedback",
    "ai_sdk": "/api/chat/feedback",
    "openai": "/v1/feedback",
    "anthropic": "/anthropic/v1/feedback",
}


class Clients:
    """Alice and bob, who ask and judge."""

    def __init__(self, alice: httpx2.AsyncClient, bob: httpx2.AsyncClient, folder: Path) -> None:
        self.alice = alice
        self.bob = bob
        self.folder = folder

    async def ask(self, face: str) -> str:
        """Returns the id of the answer, as the client of the face knows it."""
        match face:
            case "copilotkit":
                answer = await self.alice.post("/copilotkit/agent/default/run", json=run_input())
                return str(
                    next(event["messageId"] for event in events_of(answer) if event["type"] == "TEXT_MESSAGE_START")
                )
            case "ai_sdk":
                message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
                asked = {"id": "c1", "messages": [message], "trigger": "submit-message"}
                return str(events_of(await self.alice.post("/api/chat", json=asked))[0]["messageId"])
            case "anthropic":
                body: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
                body["max_tokens"] = 100
                return str((await self.alice.post("/anthropic/v1/messages", json=body)).json()["id"])
            case "completion":
                body = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
                return str((await self.alice.post("/v1/chat/completions", json=body)).json()["id"])
            case _:
                return str(
                    (await self.alice.post("/v1/responses", json={"model": "default", "input": "Hi"})).json()["id"]
                )

    async def vote(self, face: str, id: str, value: str | None = "up", **more: Any) -> httpx2.Response:
        return await self.alice.post(PATHS[face], json={"id": id, "value": value, **more})

    async def votes(self, face: str, id: str) -> list[dict[str, Any]]:
        answer = await self.alice.get(PATHS[face], params={"id": id})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["feedback"]
        return found


def events_of(answer: httpx2.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    lines = (line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {"))
    return [json.loads(line) for line in lines]


@asynccontextmanager
async def serving(
    serve: Serve, folder: Path, openbb: str = "", *, threads: str = "{type: memory}", log: str = "{type: memory}"
) -> AsyncIterator[Clients]:
    written = CONFIGURATION.format(folder=folder, openbb=openbb, threads=threads, log=log)
    built = app.build(config.parse(written, environ={}))
    async with asyncio.timeout(60), serve(built) as url:
        alice = httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-alice"})
        bob = httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-bob"})
        async with alice, bob:
            yield Clients(alice, bob, folder)


@pytest.mark.parametrize("face", PATHS)
async def test_a_vote_is_stored_changed_and_withdrawn(serve: Serve, tmp_path: Path, face: str) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask(face)
        first = await clients.vote(face, id)
        changed = await clients.vote(face, id, "down", comment=" wrong year ", tags=["wrong", "wrong", "old"])
        (stored,) = await clients.votes(face, id)
        withdrawn = await clients.vote(face, id, None)
        left = await clients.votes(face, id)

    assert (first.status_code, first.json()["value"]) == (200, "up")
    assert changed.json() == stored
    assert stored["id"] == first.json()["id"]
    assert (stored["value"], stored["comment"], stored["tags"]) == ("down", "wrong year", ["wrong", "old"])
    assert stored["runId"].startswith("run_")
    assert (withdrawn.status_code, withdrawn.json()["value"], left) == (200, None, [])


async def test_a_page_that_reloads_receives_the_votes_of_its_user(serve: Serve, tmp_path: Path) -> None:
    asked = run_input()
    async with serving(serve, tmp_path) as clients:
        await clients.alice.post("/copilotkit/agent/default/run", json=asked)
        message = await clients.ask("copilotkit")
        await clients.vote("copilotkit", message)
        query = {"threadId": asked["threadId"]}
        own = (await clients.alice.get("/copilotkit/feedback", params=query)).json()["feedback"]
        others = (await clients.bob.get("/copilotkit/feedback", params=query)).json()["feedback"]
        nothing = await clients.alice.get("/copilotkit/feedback")

    assert [(line["messageId"], line["value"]) for line in own] == [(message, "up")]
    assert others == []
    assert nothing.status_code == 400


@pytest.mark.parametrize("face", [*PATHS, "completion"])
async def test_an_answer_is_judged_by_its_user_alone(serve: Serve, tmp_path: Path, face: str) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask(face)
        run = (await clients.vote("openai" if face == "completion" else face, id)).json()["runId"]
        guesses = [id, run, f"{id}x", "run_1", "*", "%", "", "a\0b", "x" * 2000]
        sent = [
            await clients.bob.post(path, json={"id": guess, "value": "down"})
            for path in PATHS.values()
            for guess in guesses
        ]
        stored = await clients.votes("openai", run)
        narrow = {"x-api-key": "key-narrow"}
        lacking = await clients.bob.post("/v1/feedback", json={"id": run, "value": "up"}, headers=narrow)

    assert {answer.status_code for answer in sent} == {404}
    assert all("that you can judge" in answer.text for answer in sent)
    assert [line["value"] for line in stored] == ["up"]
    assert lacking.status_code == 404  # a key of the same user that may not use the agent


BODIES: list[bytes] = [
    *(b"", b"{", b"[]", b"null", b"{}", b'{"id": "ID"}', b'{"id": "ID", "value": "sideways"}'),
    *(b'{"id": 7, "value": "up"}', b'{"id": ["ID"], "value": "up"}', b'{"id": "ID", "value": "up", "tags": "x"}'),
    *(b'{"id": "ID", "value": "up", "tags": [1]}', b'{"id": "ID", "value": "up", "comment": {}}'),
    b'{"id": "ID", "value": "up", "coment": "typo"}',
    json.dumps({"id": "ID", "value": "up", "comment": "x" * (MAX_COMMENT_CHARS + 1)}).encode(),
    json.dumps({"id": "ID", "value": "up", "tags": ["x" * (MAX_TAG_CHARS + 1)]}).encode(),
    json.dumps({"id": "ID", "value": "up", "tags": [str(number) for number in range(MAX_TAGS + 1)]}).encode(),
]


@pytest.mark.parametrize("face", PATHS)
async def test_a_hostile_body_stores_nothing(serve: Serve, tmp_path: Path, face: str) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask(face)
        sent = [
            await clients.alice.post(
                PATHS[face], content=body.replace(b"ID", id.encode()), headers={"content-type": "application/json"}
            )
            for body in BODIES
        ]
        stored = await clients.votes(face, id)

    assert {answer.status_code for answer in sent} == {400}
    assert all(answer.text for answer in sent)
    assert stored == []


@pytest.mark.parametrize("face", PATHS)
async def test_a_large_body_is_refused_before_it_is_decoded(serve: Serve, tmp_path: Path, face: str) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask(face)
        refused = await clients.vote(face, id, "down", tags=["x"] * 100_000)
        longest = await clients.vote(face, id, "down", comment="\U0001f600" * MAX_COMMENT_CHARS)

    assert (refused.status_code, "0.25 MB" in refused.text) == (413, True)
    assert longest.status_code == 200


async def test_a_text_that_a_guard_denies_is_not_stored(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask("copilotkit")
        refused = [
            await clients.vote("copilotkit", id, "down", comment="It printed swordfish"),
            await clients.vote("copilotkit", id, "down", tags=["swordfish"]),
        ]
        stored = await clients.votes("copilotkit", id)

    assert [(answer.status_code, answer.json()["message"]) for answer in refused] == [
        (403, "No passwords, please.")
    ] * 2
    assert stored == []


async def test_what_no_database_stores_is_removed(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        id = await clients.ask("copilotkit")
        body = f'{{"id": "{id}", "value": "up", "comment": "a\\u0000b \\ud83d", "tags": ["\\u0000", "x\\u0000"]}}'
        answer = await clients.alice.post(
            "/copilotkit/feedback", content=body, headers={"content-type": "application/json"}
        )

    assert (answer.json()["comment"], answer.json()["tags"]) == ("ab \ufffd", ["x"])


async def test_a_reply_of_several_runs_is_judged_as_the_last(serve: Serve, tmp_path: Path) -> None:
    """The client of the AI SDK shows one message for all of them."""
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    async with serving(serve, tmp_path) as clients:
        body = {"id": "c1", "messages": [message], "trigger": "submit-message"}
        first = events_of(await clients.alice.post("/api/chat", json=body))[0]["messageId"]
        again = body | {"trigger": "regenerate-message", "messageId": first}
        second = events_of(await clients.alice.post("/api/chat", json=again))[0]["messageId"]
        votes = [(await clients.vote("ai_sdk", id)).json() for id in (first, second)]

    assert [vote["messageId"] for vote in votes] == [first, second]
    assert votes[0]["runId"] != votes[1]["runId"]


# OpenBB


async def chat_with_openbb(clients: Clients, text: str, chat: str) -> dict[str, Any]:
    """Returns the feedback that Workspace would send."""
    body = {"messages": [{"role": "human", "content": text}]}
    answer = await clients.alice.post("/openbb/v1/query", json=body, headers={"x-trace-id": chat})
    said = "".join(event.get("delta", "") for event in events_of(answer))
    return {"vote": "up", "tags": ["slow"], "ai_response": said, "user_prompt": text, "trace_id": chat}


async def test_the_votes_of_workspace_are_one_row_for_each_answer(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        first, second = [await chat_with_openbb(clients, text, "chat") for text in ("One", "Two")]
        changed = first | {"vote": "down", "user_comment": "no"}
        sent = [await clients.alice.post("/openbb/v1/feedback", json=body) for body in (first, changed, second)]
        unknown = await clients.alice.post("/openbb/v1/feedback", json=first | {"trace_id": "another", "vote": -1})
        rows = (await clients.alice.get("/operator/feedback")).json()["feedback"]
        files = [file.name for file in tmp_path.iterdir()]  # noqa: ASYNC240  # a folder of a few files

    assert {answer.status_code for answer in (*sent, unknown)} == {200}
    assert [(row["value"], row["comment"], row["question"]) for row in rows] == [
        *[("down", None, "One"), ("up", None, "Two"), ("down", "no", "One")],
    ]
    assert [(row["agent"], row["model"]) for row in rows] == [
        (None, None),
        ("default", "default"),
        ("default", "default"),
    ]
    assert rows[1]["run"] != rows[2]["run"]
    assert (rows[2]["through"], rows[2]["tags"], rows[2]["text"]) == ("openbb", ["slow"], first["ai_response"])
    assert "openbb-feedback.jsonl" not in files


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"vote":', b'{"other": 1}', b"\xff", b'{"vote": "sideways"}', b'{"vote": "up", "tags": 1}'],
)
async def test_invalid_feedback_of_workspace_is_refused(serve: Serve, tmp_path: Path, body: bytes) -> None:
    async with serving(serve, tmp_path) as clients:
        sent = await clients.alice.post(
            "/openbb/v1/feedback", content=body, headers={"content-type": "application/json"}
        )
        rows = (await clients.alice.get("/operator/feedback")).json()["feedback"]

    assert sent.status_code == 400
    assert rows == []


async def test_a_configured_file_is_written_too(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    async with serving(serve, tmp_path, f', feedback_file: "{path}"') as clients:
        await clients.alice.post("/openbb/v1/feedback", json={"vote": "up", "user_prompt": "Q", "trace_id": "t"})
        (row,) = (await clients.alice.get("/operator/feedback")).json()["feedback"]

    line = json.loads(path.read_text())
    assert (line["vote"], line["user_prompt"], line["user"], line["row"]) == ("up", "Q", "alice", row["id"])


async def test_a_long_comment_of_workspace_is_truncated_with_a_warning(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(serve, tmp_path) as clients:
        with caplog.at_level(logging.WARNING):
            await clients.alice.post("/openbb/v1/feedback", json={"vote": "up", "user_comment": "x" * 5000})
        (row,) = (await clients.alice.get("/operator/feedback")).json()["feedback"]

    assert len(row["comment"]) == MAX_COMMENT_CHARS
    assert "truncated a comment of 5000 characters" in caplog.text
