"""Every agent through every face: a call of a tool, a question where the agent asks one, and a stop.

What was run is the table of `docs/reference/agents-and-faces.md`. `WRITE_DOCS=1` writes it anew.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import yaml

from rightseat import app, config
from tests.conftest import Serve
from tests.contracts.agents import SUBJECTS, Subject
from tests.databases import migrated_file
from tests.faces.copilotkit import recorded
from tests.faces.copilotkit.serving import chat
from tests.faces.copilotkit.urql import merge, parts
from tests.servers.running import Server, Start, start

__all__ = ["start"]

pytestmark = [pytest.mark.servers, pytest.mark.night]  # test_agents has each agent, tests/faces each face

FACES = ("CopilotKit, GraphQL", "CopilotKit, AG-UI", "OpenBB", "OpenAI")
WAIT_S = 90.0
"""Some of these agents import for many seconds at their first request."""

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "reference" / "agents-and-faces.md"
DONE: dict[tuple[str, str], dict[str, str]] = {}
"""What was run: agent and face → what of it came about."""


class Client:
    """What a client of one face does. `ask` gives the text of the answer, and the question that it ends with."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.http = http
        self.thread = str(uuid4())

    async def ask(self, word: str, answer: Any = None, asked: Any = None) -> tuple[str, Any]:
        raise NotImplementedError

    def request(self, word: str) -> tuple[str, Any]:
        """The path and the body of a question."""
        raise NotImplementedError

    async def stop(self, word: str) -> None:
        """Go away as soon as the answer has begun."""
        path, body = self.request(word)
        async with self.http.stream("POST", self.url + path, json=body, headers={"accept": recorded.ACCEPT}) as answer:
            said = ""
            async for piece in answer.aiter_text():
                said += piece
                if "tick" in said:
                    return


class GraphQL(Client):
    def request(self, word: str, **more: Any) -> tuple[str, Any]:
        return "/copilotkit", chat(word, thread=self.thread, agent="subject", **more)

    async def ask(self, word: str, answer: Any = None, asked: Any = None) -> tuple[str, Any]:
        events = []
        if answer is not None:
            response = answer if isinstance(answer, str) else json.dumps(answer)
            events = [{"name": asked["name"], "value": asked["value"], "response": response}]
        path, body = self.request(word, metaEvents=events)
        got = await self.http.post(self.url + path, json=body, headers={"accept": recorded.ACCEPT})
        response = merge(parts(got.content))["generateCopilotResponse"]
        texts = ["".join(one.get("content", ())) for one in response["messages"]]
        return "".join(texts), next(iter(response["metaEvents"]), None)


class AGUI(Client):
    def request(self, word: str, **more: Any) -> tuple[str, Any]:
        message = {"id": f"user-{self.thread}", "role": "user", "content": word}
        given = {"threadId": self.thread, "runId": str(uuid4()), "messages": [message], "tools": [], "context": []}
        return "/copilotkit/agui/subject", given | {"state": {}, "forwardedProps": {}} | more

    async def ask(self, word: str, answer: Any = None, asked: Any = None) -> tuple[str, Any]:
        resume = [] if answer is None else [{"interruptId": asked["id"], "status": "resolved", "payload": answer}]
        path, body = self.request(word, resume=resume)
        events = frames((await self.http.post(self.url + path, json=body)).text)
        text = "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT")
        assert events[-1]["type"] == "RUN_FINISHED"
        outcome = events[-1].get("outcome") or {}
        return text, next(iter(outcome.get("interrupts", ())), None)

    async def stop(self, word: str) -> None:
        """This face lets a run go on without its reader; it is stopped by name."""
        await super().stop(word)
        kind = {"content-type": "application/json"}
        answer = await self.http.post(f"{self.url}/copilotkit/agent/subject/stop/{self.thread}", headers=kind)
        assert answer.json()["stopped"]


class OpenBB(Client):
    def request(self, word: str) -> tuple[str, Any]:
        return "/v1/query", {"messages": [{"role": "human", "content": word}]}

    async def ask(self, word: str, answer: Any = None, asked: Any = None) -> tuple[str, Any]:
        path, body = self.request(word)
        events = frames((await self.http.post(self.url + path, json=body)).text)
        return "".join(one["delta"] for one in events if "delta" in one), None


class OpenAI(Client):
    def request(self, word: str) -> tuple[str, Any]:
        return "/v1/chat/completions", {
            "model": "subject",
            "messages": [{"role": "user", "content": word}],
            "stream": True,
        }

    async def ask(self, word: str, answer: Any = None, asked: Any = None) -> tuple[str, Any]:
        path, body = self.request(word)
        events = frames((await self.http.post(self.url + path, json=body)).text)
        deltas = [choice["delta"].get("content") or "" for one in events for choice in one.get("choices", ())]
        return "".join(deltas) + "".join(one["error"]["message"] for one in events if "error" in one), None


def frames(body: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line.startswith("{")] or [json.loads(body)]


CLIENTS: dict[str, type[Client]] = dict(zip(FACES, (GraphQL, AGUI, OpenBB, OpenAI), strict=True))
ANSWERS = FACES[:2]
"""Faces whose clients can answer a question of an agent. The others tell their user that it waits for an answer."""


@pytest.fixture(params=SUBJECTS)
def named(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def subject(named: str) -> Subject:
    return SUBJECTS[named]


@pytest.fixture
def server(subject: Subject, start: Start) -> Server:
    return start(subject.server)


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(subject: Subject, server: Server, face: str, serve: Serve, tmp_path: Path) -> AsyncIterator[Client]:
    async with running(subject, server, serve, tmp_path) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:
        yield CLIENTS[face](url, http)


@asynccontextmanager
async def running(subject: Subject, server: Server, serve: Serve, folder: Path) -> AsyncIterator[str]:
    """rightseat, from a configuration file with this agent in it."""
    file = folder / "rightseat.yaml"
    faces = [{"type": "copilotkit", "agent": "subject", "agents": ["subject"]}, {"type": "openbb"}, {"type": "openai"}]
    given = {
        "agents": {"subject": subject.configured(server.url)},
        "faces": faces,
        "server": {"state_dir": str(folder)},
    }
    models = {"default": {"type": "scripted"}}
    file.write_text(yaml.safe_dump(given | {"models": models}))
    migrated_file(folder / "rightseat.db")
    async with serve(app.build(config.read(file))) as url:
        yield url


def note(named: str, face: str, what: str, came: str) -> None:
    DONE.setdefault((named, face), {})[what] = came


async def test_a_tool_is_called_and_the_answer_comes(client: Client, named: str, face: str) -> None:
    async with asyncio.timeout(WAIT_S):
        text, _ = await client.ask("weather")

    assert text == "Done: sunny in Paris"
    note(named, face, "tool", "yes")


async def test_a_question_is_asked_and_answered(client: Client, named: str, face: str, subject: Subject) -> None:
    if subject.answer is None:
        note(named, face, "question", "not tried")
        return
    async with asyncio.timeout(WAIT_S):
        text, asked = await client.ask("ask")
        if face not in ANSWERS:
            assert "What is your name?" in text or "approved" in text or "needs approval" in text
            note(named, face, "question", "notice")
            return
        assert asked is not None
        text, asked = await client.ask("ask", subject.answer, asked)

    assert text == subject.agreed
    assert asked is None
    note(named, face, "question", "yes")


async def test_a_stop_reaches_the_agent(
    client: Client, named: str, face: str, subject: Subject, server: Server
) -> None:
    earlier = server.notes().count(subject.stops)

    async with asyncio.timeout(WAIT_S):
        await client.stop("slow")
        await server.notes_more(subject.stops, earlier)

    note(named, face, "stop", "yes" if subject.stops == "gone" else "answer broken off")


COLUMNS = ("tool", "question", "stop")


def test_the_documentation_has_the_table_of_what_was_run() -> None:
    if len(DONE) < len(SUBJECTS) * len(FACES) or any(len(done) < len(COLUMNS) for done in DONE.values()):
        pytest.skip("only a part was run")
    head, _, _ = DOCUMENT.read_text().partition("| agent |")
    written = head + table()
    if os.environ.get("WRITE_DOCS"):
        DOCUMENT.write_text(written)

    assert DOCUMENT.read_text() == written


def table() -> str:
    lines = ["| agent | face | a tool | a question | a stop |", "|---|---|---|---|---|"]
    for named in SUBJECTS:
        for face in FACES:
            done = DONE[named, face]
            cells = " | ".join(done[what] for what in COLUMNS)
            lines.append(f"| {named} | {face} | {cells} |")
    return "\n".join(lines) + "\n"
