"""Which threads and runs of others an operator sees, reads and acts on, by the rights that the key names."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.operations.feedback import SentJudgement
from rightseat.operations.own_annotations import SentAnnotation
from rightseat.operations.own_memories import SentMemory
from tests.access.examples import OPERATOR
from tests.conftest import Serve
from tests.faces.operator.test_operator import CHANGING, CONFIGURATION, Server, Stream, deleted, serving

SECRET = "bobs-secret"
KEYS = """
access:
  keys:
    - {name: alice, key: key-alice, user: alice, scopes: ["*"]}
    - {name: bob, key: key-bob, user: bob, scopes: ["*"]}
    - {name: olga, key: key-olga, user: olga, scopes: ["*", "operator.watch:*", "operator.read:*", "operator.act:*"]}
    - {name: wu, key: key-wu, user: wu, scopes: ["operator.watch:*"]}
    - {name: adam, key: key-adam, user: adam, scopes: ["operator.act:*"]}
    - {name: root, key: key-root, user: root, scopes: ["operator.*:*"]}
    - {name: slow, key: key-slow, user: sam, scopes: ["operator:slow", "operator.watch:slow", "operator.read:slow"]}
"""


class User:
    """One user's way to the server."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.headers = {"authorization": f"Bearer key-{name}"}

    async def get(self, path: str, **query: str) -> httpx2.Response:
        return await self.server.client.get(f"/operator/{path}", params=query or None, headers=self.headers)

    async def change(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = self.headers | CHANGING
        return await self.server.client.request(method, f"/operator/{path}", json=body or {}, headers=headers)

    async def start(self, text: str, agent: str = "default", thread: str = "t1") -> str:
        answer = await self.change("POST", f"agents/{agent}/runs", {"thread": thread, "text": text})
        assert answer.status_code == 202, answer.text
        run: str = answer.json()["run"]
        return run

    async def ended(self, run: str) -> str:
        line: dict[str, Any] = (await self.get(f"runs/{run}")).json()
        async with self.live(thread=line["thread"]) as stream:
            while line["outcome"] == "running":
                await stream.until_event("RunFinished")
                line = (await self.get(f"runs/{run}")).json()
        return str(line["outcome"])

    async def thread_ids(self, **query: str) -> list[str]:
        answer = await self.get("threads", **query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["threads"]]

    @asynccontextmanager
    async def live(self, **query: str) -> AsyncIterator[Stream]:
        request = self.server.client.stream("GET", "/operator/live", params=query, headers=self.headers)
        async with request as answer:
            assert answer.status_code == 200
            yield Stream(answer.aiter_lines())


@asynccontextmanager
async def with_bobs_question(serve: Serve, keys: str = KEYS) -> AsyncIterator[tuple[Server, str, str]]:
    """Bob's run asks whether a file may be deleted. The ids of the run and of the question."""
    deleted.clear()
    async with serving(serve, CONFIGURATION + keys) as server:
        bob = User(server, "bob")
        run = await bob.start(f"delete_file {SECRET}")
        assert await bob.ended(run) == "waiting"
        (question,) = (await bob.get("approvals")).json()
        yield server, run, question["id"]


def routes(run: str, question: str) -> list[tuple[str, str, Any]]:
    """Every route that takes an id, with Bob's."""
    return [
        ("GET", "threads/t1", None),
        ("PATCH", "threads/t1", {"name": "mine now"}),
        ("DELETE", "threads/t1", None),
        ("GET", f"runs/{run}", None),
        ("GET", f"runs/{run}/entries", None),
        ("POST", f"runs/{run}/stop", None),
        ("POST", f"approvals/{question}", {"status": "resolved", "payload": True}),
    ]


async def statuses(user: User, run: str, question: str) -> list[int]:
    found = []
    for method, path, body in routes(run, question):
        answer = await (user.get(path) if method == "GET" else user.change(method, path, body))
        found.append(answer.status_code)
    return found


async def test_without_a_right_the_threads_of_others_do_not_exist(serve: Serve) -> None:
    async with with_bobs_question(serve) as (server, run, question):
        alice, bob = User(server, "alice"), User(server, "bob")
        me = (await alice.get("me")).json()
        found = await statuses(alice, run, question)
        lists = [(await alice.get(path)).text for path in ("threads", "runs", "approvals")]
        refused = [(await alice.get(path, owner="*")).status_code for path in ("threads", "runs", "approvals")]
        audit = (await alice.get("audit")).status_code
        thread = (await bob.get("threads/t1")).json()

    assert me["rights"] == {"use": ["*"], "watch": None, "read": None, "act": None, "author": None}
    assert found == [404] * 7
    assert [text for text in lists if SECRET in text or run in text] == []
    assert refused == [403, 403, 403]
    assert audit == 403
    assert (len(thread["pending"]), thread["thread"]["name"]) == (1, f"delete_file {SECRET}")
    assert deleted == []


async def test_to_watch_shows_runs_and_no_word(serve: Serve) -> None:
    async with with_bobs_question(serve) as (server, run, question):
        wu = User(server, "wu")
        me = (await wu.get("me")).json()
        thread = await wu.get("threads/t1")
        line = await wu.get(f"runs/{run}")
        listed = await wu.get("threads", owner="*")
        found = await statuses(wu, run, question)
        searched = await wu.get("threads", owner="*", q=SECRET)
        texts = [thread.text, line.text, listed.text, (await wu.get("runs", owner="bob")).text]

    assert me["rights"] == {"use": None, "watch": ["*"], "read": None, "act": None, "author": None}
    assert [text for text in texts if SECRET in text or "Delete the file" in text] == []
    (row,) = listed.json()["threads"]
    assert (row["id"], row["name"], row["last"], row["owner"], row["state"]) == ("t1", None, None, "bob", "waiting")
    shown = thread.json()
    assert (shown["readable"], shown["messages"], shown["state"], shown["files"]) == (False, [], None, [])
    assert [(one["id"], one["message"], one["call"]) for one in shown["pending"]] == [(question, "", None)]
    assert [one["outcome"] for one in shown["runs"]] == ["waiting"]
    assert found == [200, 404, 404, 200, 403, 403, 403]
    assert (searched.status_code, "operator.read" in searched.json()["message"]) == (403, True)
    assert deleted == []


async def test_to_watch_alone_starts_no_run(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        wu = User(server, "wu")
        agents = (await wu.get("agents")).json()
        answer = await wu.change("POST", "agents/default/runs", {"text": "Hi"})

    assert agents == []
    assert answer.status_code == 403


async def test_the_stream_of_a_watcher_has_steps_and_ends_and_no_word(serve: Serve) -> None:
    async with with_bobs_question(serve) as (server, run, _), User(server, "wu").live(thread="t1") as stream:
        frames = list[dict[str, str]]()
        while not frames or frames[-1]["event"] != "caught_up":
            frames.append(await stream.next())
        later = await User(server, "bob").start(SECRET, thread="t1")
        while frames[-1]["event"] != "run" or json.loads(frames[-1]["data"])["outcome"] == "running":
            frames.append(await stream.next())

    events = [json.loads(frame["data"]) for frame in frames if frame["event"] == "entry"]
    assert {entry["run"] for entry in events} == {run, later}
    types = {entry["event"]["type"] for entry in events}
    assert {"RunStarted", "RunFinished"} <= types
    assert types.isdisjoint({"TextDelta", "ToolCallStarted", "ToolCallDelta", "ToolCallReturned", "Custom"})
    assert [frame for frame in frames if SECRET in frame["data"]] == []


async def test_the_stream_of_a_reader_has_the_words_and_writes_an_audit_line(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with with_bobs_question(serve) as (server, _, _), User(server, "olga").live(thread="t1") as stream:
        _, started = await stream.until_event("RunStarted")

    assert SECRET in str(started["new_messages"])
    assert "operator: olga read thread t1 of bob" in caplog.messages


async def test_to_read_shows_the_words_and_writes_one_audit_line(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with with_bobs_question(serve) as (server, run, _):
        olga = User(server, "olga")
        thread = (await olga.get("threads/t1")).json()
        entries = await olga.get(f"runs/{run}/entries")
        found = await olga.thread_ids(owner="*", q=SECRET)
        own = await olga.thread_ids()
        changes = [await olga.change(method, "threads/t1", {"name": "x"}) for method in ("PATCH", "DELETE")]
        trail = (await olga.get("audit")).json()["lines"]
        bobs = [line for line in caplog.messages if "read thread" in line]

    assert (thread["readable"], thread["thread"]["name"]) == (True, f"delete_file {SECRET}")
    assert SECRET in str(thread["messages"])
    assert SECRET in entries.text
    assert (found, own) == (["t1"], [])
    assert [answer.status_code for answer in changes] == [404, 404]
    assert bobs == ["operator: olga read thread t1 of bob"]
    assert [line["text"] for line in trail] == ["operator: olga read thread t1 of bob"]
    assert trail[0]["request"]


async def test_a_file_of_another_user_is_read_with_an_audit_line(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with with_bobs_question(serve) as (server, _, _):
        artifacts = server.assembly.runtime.artifacts
        assert artifacts is not None
        ask = Ask(messages=(), thread_id="t1", principal=Principal("bob"))
        file = await artifacts.put(ask, "report.txt", "text/plain", SECRET.encode())
        answers = [await User(server, "olga").get(f"files/{file}") for _ in range(2)]
        listed = (await User(server, "olga").get("threads/t1")).json()["files"]

    assert [answer.text for answer in answers] == [SECRET, SECRET]
    assert [one["name"] for one in listed] == ["report.txt"]
    assert [line for line in caplog.messages if " read file " in line] == [f"operator: olga read file {file} of bob"]


async def test_a_key_for_one_agent_sees_no_name_of_its_users_other_threads(serve: Serve) -> None:
    keys = KEYS + "    - {name: narrow, key: key-narrow, user: bob, scopes: ['operator:slow', 'operator.watch:*']}\n"
    async with with_bobs_question(serve, keys) as (server, _, _):
        narrow = User(server, "narrow")
        listed = (await narrow.get("threads", owner="*")).json()["threads"]
        thread = (await narrow.get("threads/t1")).json()

    assert [(one["id"], one["name"]) for one in listed] == [("t1", None)]
    assert (thread["readable"], thread["messages"]) == (False, [])


async def test_requests_leave_no_line_in_the_list_of_the_audit_log(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        await User(server, "nobody").get("me")
        await User(server, "wu").change("POST", "agents/default/runs", {"text": "Hi"})
        lines = (await User(server, "olga").get("audit")).json()["lines"]

    assert lines == []


async def test_the_owner_of_a_thread_writes_no_audit_line(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with with_bobs_question(serve) as (server, run, _):
        await User(server, "bob").get("threads/t1")
        await User(server, "bob").get(f"runs/{run}/entries")

    assert [line for line in caplog.messages if line.startswith("operator: ")] == []


async def test_to_act_answers_for_others_and_the_run_stays_that_of_its_owner(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with with_bobs_question(serve) as (server, _, question):
        adam, bob = User(server, "adam"), User(server, "bob")
        (shown,) = (await adam.get("approvals", owner="*")).json()
        own = (await adam.get("approvals")).json()
        answer = await adam.change("POST", f"approvals/{question}", {"status": "resolved", "payload": True})
        outcome = await bob.ended(answer.json()["run"])
        again = await adam.change("POST", f"approvals/{question}", {"status": "resolved", "payload": True})
        lines = (await bob.get("runs")).json()["runs"]
        entries = (await bob.get(f"runs/{answer.json()['run']}/entries")).text.splitlines()

    started = json.loads(entries[0])["event"]
    assert started["answered"] == [{"interrupt_id": question, "status": "resolved", "by": "adam"}]
    assert (shown["owner"], shown["call"]["name"], own) == ("bob", "delete_file", [])
    assert SECRET in shown["call"]["arguments"]
    assert (answer.status_code, outcome, deleted) == (202, "done", [SECRET])
    assert again.status_code in (404, 409)
    assert {line["owner"] for line in lines} == {"bob"}
    assert f"operator: adam answered question {question} of bob" in caplog.messages
    decided = [line for line in caplog.messages if line.startswith("approval: ")]
    assert decided == [
        f"approval: user='adam' agent='default' tool='delete_file' interrupt={question!r} decision=allow",
    ]


async def test_to_act_stops_runs_of_others(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, CONFIGURATION + KEYS) as server:
        bob, olga = User(server, "bob"), User(server, "olga")
        run = await bob.start("Hi", agent="slow")
        refused = await User(server, "wu").change("POST", f"runs/{run}/stop")
        stopped = await olga.change("POST", f"runs/{run}/stop")
        outcome = await bob.ended(run)

    assert refused.status_code == 403
    assert stopped.json() == {"stopped": True}
    assert outcome == "cancelled"
    assert f"operator: olga stopped run {run} of bob" in caplog.messages


async def test_a_right_for_an_agent_is_for_no_other(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        bob, sam = User(server, "bob"), User(server, "slow")
        slow = await bob.start("Hi", agent="slow", thread="t-slow")
        default = await bob.start(f"Hello {SECRET}", thread="t-default")
        await bob.ended(default)
        mixed = await bob.start(SECRET, thread="t-mixed")
        await bob.ended(mixed)
        await bob.start("Hi", agent="slow", thread="t-mixed")

        seen = await sam.thread_ids(owner="*")
        runs = {one["thread"] for one in (await sam.get("runs", owner="*")).json()["runs"]}
        found = [(await sam.get(f"threads/{one}")).status_code for one in ("t-slow", "t-default", "t-mixed")]
        names = [one["name"] for one in (await sam.get("agents")).json()]
        audit = (await sam.get("audit")).status_code
        async with sam.live(thread="t-mixed") as stream:
            assert await stream.until("caught_up") == {"thread": "t-mixed"}
        await bob.change("POST", f"runs/{slow}/stop")

    assert seen == ["t-slow"]
    assert "t-default" not in runs
    assert found == [200, 404, 404]
    assert names == ["slow"]
    assert audit == 403


async def test_all_rights_have_one_name(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        me = (await User(server, "root").get("me")).json()

    assert set(map(str, me["rights"].values())) == {"['*']"}


async def test_without_keys_the_one_user_has_all_rights(serve: Serve) -> None:
    async with serving(serve) as server:
        me = (await server.client.get("/operator/me")).json()
        audit = await server.client.get("/operator/audit")

    assert set(map(str, me["rights"].values())) == {"['*']"}
    assert (me["edit"], me["access"], audit.status_code) == (False, "open", 200)


async def test_signing_in_and_out_is_in_the_audit_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, CONFIGURATION + KEYS) as server:
        olga = User(server, "olga")
        await olga.change("POST", "session")
        await olga.change("DELETE", "session")
        texts = [line["text"] for line in (await olga.get("audit")).json()["lines"]]

    assert texts == ["operator: olga signed out", "operator: olga signed in"]


async def test_control_characters_in_an_id_are_escaped_in_the_audit_log(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, CONFIGURATION + KEYS) as server:
        bob = User(server, "bob")
        await bob.ended(await bob.start("Hi", thread="t\x9boperator: eve signed in"))
        answer = await User(server, "olga").get("threads/t\x9boperator: eve signed in")

    assert answer.status_code == 200
    assert "operator: olga read thread 't\\x9boperator: eve signed in' of bob" in caplog.messages


# Every route × every right

GRANTS = {
    "none": ["*"],
    "watch": ["operator.watch:*"],
    "read": ["operator.watch:*", "operator.read:*"],
    "act": ["operator.act:*"],
    "author": ["operator.author:*"],
    "another agent": ["*", "operator.watch:slow", "operator.read:slow", "operator.act:slow"],
}
WITHOUT_IDS = {"GET me", "POST session", "DELETE session", "GET agents", "POST agents/{agent:path}/runs", "GET flows"}
WITHOUT_IDS |= {"GET flows/{plugin}/{flow}", "GET snippets", "GET snippets/{face}"}
"""They are about the user who asks, and the agents that this user may use."""
ANSWER = {"status": "resolved", "payload": True}
EXPECTED: dict[str, tuple[str, Any, list[int]]] = {
    # route: its address with Bob's ids, a body, and the status for each of GRANTS
    "GET threads": ("threads?owner=bob", None, [403, 200, 200, 403, 403, 200]),
    "GET threads/{thread:path}": ("threads/t1", None, [404, 200, 200, 404, 404, 404]),
    "PATCH threads/{thread:path}": ("threads/t1", {"name": "mine now"}, [404] * 6),
    "DELETE threads/{thread:path}": ("threads/t1", None, [404] * 6),
    "GET runs": ("runs?owner=bob", None, [403, 200, 200, 403, 403, 200]),
    "GET runs/{run}": ("runs/RUN", None, [404, 200, 200, 404, 404, 404]),
    "GET runs/{run}/entries": ("runs/RUN/entries", None, [404, 403, 200, 404, 404, 404]),
    "GET runs/{run}/calls": ("runs/RUN/calls", None, [404, 403, 200, 404, 404, 404]),
    "POST runs/{run}/stop": ("runs/RUN/stop", None, [404, 403, 403, 200, 404, 404]),
    # 400: this store has no recordings. `test_pinning.py` pins in one that has.
    "POST runs/{run}/pin": ("runs/RUN/pin", {"dataset": "d"}, [400, 403, 403, 400, 400, 400]),
    "GET runs/{run}/rerun": ("runs/RUN/rerun", None, [400, 403, 403, 400, 400, 400]),
    "POST runs/{run}/rerun": ("runs/RUN/rerun", {}, [400, 403, 403, 400, 400, 400]),
    "GET evals": ("evals", None, [403, 403, 400, 403, 403, 403]),
    "GET feedback": ("feedback?owner=bob", None, [403, 403, 200, 403, 403, 200]),
    "GET feedback/counts": ("feedback/counts?owner=bob", None, [403, 200, 200, 403, 403, 200]),
    "POST feedback": ("feedback", {"value": "up"}, [404] * 6),
    "GET memories": ("memories?owner=bob", None, [403, 403, 200, 403, 403, 200]),
    "DELETE memories/{memory}": ("memories/memory_1?owner=bob", None, [403, 403, 403, 404, 403, 403]),
    "GET annotations": ("annotations?owner=bob", None, [403, 403, 200, 403, 403, 200]),
    "GET files/{file}": ("files/FILE", None, [404, 404, 200, 404, 404, 404]),
    "GET approvals": ("approvals?owner=bob", None, [403, 403, 403, 200, 403, 200]),
    "POST approvals/{interrupt:path}": ("approvals/QUESTION", ANSWER, [404, 403, 403, 202, 404, 404]),
    "GET audit": ("audit", None, [403, 200, 200, 403, 403, 403]),
    "GET access": ("access", None, [403, 200, 200, 403, 403, 403]),
    "POST access/keys": ("access/keys", {"name": "new"}, [403] * 6),
    "POST access/keys/{name:path}/rotate": ("access/keys/bob/rotate", None, [403] * 6),
    "POST access/keys/{name:path}/revoke": ("access/keys/bob/revoke", None, [403] * 6),
    "POST access/keys/{name:path}/restore": ("access/keys/bob/restore", None, [403] * 6),
    "GET setup": ("setup", None, [409] * 6),
    "POST setup/check": ("setup/check", {"choice": "ollama"}, [409] * 6),
    "POST setup/write": ("setup/write", {"code": "AAAA-AAAA", "choice": "ollama"}, [409] * 6),
    "GET health": ("health", None, [403, 200, 200, 403, 403, 403]),
    "GET failures": ("failures", None, [403, 200, 200, 403, 403, 200]),
    "GET metrics": ("metrics", None, [403, 200, 200, 403, 403, 200]),
    "GET usage": ("usage", None, [200] * 6),
    "GET usage/limits": ("usage/limits", None, [200] * 6),
    "GET plugins": ("plugins", None, [403, 200, 200, 403, 200, 403]),
    "POST plugins": ("plugins", {"id": "new"}, [403] * 6),
    "GET plugins/{plugin}": ("plugins/steps", None, [403, 404, 404, 403, 404, 403]),
    "GET plugins/{plugin}/files/{path:path}": ("plugins/steps/files/plugin.json", None, [403] * 4 + [404, 403]),
    "PUT plugins/{plugin}/files/{path:path}": ("plugins/steps/files/plugin.json", {"text": "{}"}, [403] * 6),
    "POST drafts/check": ("drafts/check", {"plugin": "steps"}, [403] * 4 + [404, 403]),
    "POST drafts/try": ("drafts/try", {"plugin": "steps", "flow": "five", "question": "five"}, [403] * 4 + [404, 403]),
    "POST drafts/cases": ("drafts/cases", {"plugin": "steps"}, [403] * 4 + [404, 403]),
    "GET live": ("live?thread=t1", None, [200] * 6),
}
SHOWN = {("GET threads", "read"), ("GET threads/{thread:path}", "read"), ("GET runs/{run}/entries", "read")}
SHOWN |= {("GET files/{file}", "read"), ("GET approvals", "act"), ("GET feedback", "read"), ("GET memories", "read")}
SHOWN |= {("GET annotations", "read")}
"""Where Bob's words are in the response; nowhere else. The stream has a test of its own."""


def test_every_route_is_in_the_matrix() -> None:
    assert OPERATOR.keys() - WITHOUT_IDS == EXPECTED.keys()


@pytest.mark.parametrize("grant", GRANTS)
async def test_a_route_needs_its_right(serve: Serve, grant: str) -> None:
    keys = KEYS + f"    - {{name: given, key: key-given, user: gina, scopes: {json.dumps(GRANTS[grant])}}}\n"
    async with with_bobs_question(serve, keys) as (server, run, question):
        ask = Ask(messages=(), thread_id="t1", principal=Principal("bob"))
        artifacts = server.assembly.runtime.artifacts
        assert artifacts is not None
        file = await artifacts.put(ask, "report.txt", "text/plain", SECRET.encode())
        feedback = server.assembly.feedback
        assert feedback is not None
        await feedback.give(Principal("bob"), run, SentJudgement("down", SECRET), "operator")
        memories = server.assembly.memories
        assert memories is not None
        await memories.add(Principal("bob"), SentMemory(text=SECRET, kind="topical"), may_share=False)
        annotations = server.assembly.annotations
        assert annotations is not None
        action = SentAnnotation(thread="t1", type="user_action", payload={"title": SECRET})
        await annotations.add(Principal("bob"), action)
        gina, found, shown = User(server, "given"), dict[str, int](), set[tuple[str, str]]()
        for route, (address, body, _) in EXPECTED.items():
            path = address.replace("RUN", run).replace("QUESTION", question).replace("FILE", file)
            if route == "GET live":
                async with gina.live(thread="t1"):
                    found[route] = 200
                continue
            method = route.partition(" ")[0]
            sent = body | {"id": run} if route == "POST feedback" else body
            answer = await (gina.get(path) if method == "GET" else gina.change(method, path, sent))
            found[route] = answer.status_code
            if SECRET in answer.text:
                shown.add((route, grant))

    column = list(GRANTS).index(grant)
    assert found == {route: expected[column] for route, (_, _, expected) in EXPECTED.items()}
    assert shown == {one for one in SHOWN if one[1] == grant}


async def test_filters_have_the_agents_that_one_may_watch_and_the_chat_those_that_one_may_use(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        wu, slow, alice = (User(server, name) for name in ("wu", "slow", "alice"))
        names = [
            [one["name"] for one in (await user.get("agents", **query)).json()]
            for user in (wu, slow, alice)
            for query in ({}, {"right": "watch"})
        ]
        wrong = await wu.get("agents", right="act")

    assert names == [[], ["default", "slow"], ["slow"], ["slow"], ["default", "slow"], []]
    assert wrong.status_code == 400
