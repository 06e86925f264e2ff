"""The operator API over HTTP, as the console calls it: runs, the event stream, questions, sessions."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from rightseat import app, config
from rightseat.app import Assembly
from rightseat.toolboxes.functions import tool
from tests.conditions import until
from tests.conftest import Serve

deleted: list[str] = []


@tool(name="delete_file", approval="Delete the file?")
async def delete_file(path: str) -> str:
    deleted.append(path)
    return f"deleted {path}"


@tool(
    name="refund",
    title={"en": "Refund an order", "zh-CN": "订单退款"},
    approval={"en": "Refund order {order}?", "zh-CN": "为订单 {order} 退款?"},
)
async def refund(order: str) -> str:
    return f"refunded {order}"


tools = [delete_file]
refunds = [refund]

CONFIGURATION = """
models: {default: {type: scripted, chunk_delay: 0}, slow: {type: scripted, chunk_delay: 60}}
agents: {default: {tools: ["tests.faces.operator.test_operator:tools"]}, slow: {model: slow}}
log: {type: memory}
threads: {type: memory}
faces: [{type: operator, keep_alive: 0.2}]
"""
KEYS = """
access:
  keys:
    - {name: desk, key: key-alice, user: alice, scopes: ["*", "operator.watch:default"]}
"""
CHANGING = {"x-rightseat": "1"}


class Stream:
    """The frames of `live`, one after the other."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> dict[str, str]:
        frame: dict[str, str] = {}
        async with asyncio.timeout(30):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if line and name:
                    frame[name] = value
                elif not line and frame:
                    return frame
        raise AssertionError("the stream has ended")

    async def until(self, name: str) -> dict[str, Any]:
        while (frame := await self.next()).get("event") != name:
            pass
        found: dict[str, Any] = json.loads(frame["data"])
        return found

    async def until_event(self, type: str) -> tuple[str, dict[str, Any]]:
        """The next log entry of this type, and the id of its frame."""
        while (frame := await self.next()).get("event") != "entry" or entry_of(frame)["type"] != type:
            pass
        return frame["id"], entry_of(frame)


def entry_of(frame: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(frame["data"])["event"]
    return found


class Server:
    def __init__(self, assembly: Assembly, client: httpx2.AsyncClient) -> None:
        self.assembly = assembly
        self.client = client

    async def start(self, text: str, agent: str = "default", thread: str = "t1") -> str:
        answer = await self.post(f"agents/{agent}/runs", {"thread": thread, "text": text})
        assert answer.status_code == 202, answer.text
        assert answer.json()["thread"] == thread
        run: str = answer.json()["run"]
        return run

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        return await self.client.post(f"/operator/{path}", json=body or {}, headers=CHANGING | headers)

    @asynccontextmanager
    async def live(self, **query: str | list[str]) -> AsyncIterator[Stream]:
        async with self.client.stream("GET", "/operator/live", params=query) as answer:
            assert answer.status_code == 200
            yield Stream(answer.aiter_lines())


@asynccontextmanager
async def serving(serve: Serve, text: str = CONFIGURATION) -> AsyncIterator[Server]:
    found = config.parse(text, environ={})
    assembly = app.assemble(found)
    async with serve(app.application(assembly, found.server)) as url, httpx2.AsyncClient(base_url=url) as client:
        yield Server(assembly, client)


# Runs and the event stream


async def test_every_entry_of_several_threads_is_sent_once_and_in_order(serve: Serve) -> None:
    paced = CONFIGURATION.replace("chunk_delay: 0}", "chunk_delay: 0.005}")
    names = ["t1", "t2", "t3"]
    async with serving(serve, paced) as server, server.live(thread=names) as stream:
        runs = {await server.start("Tell me a story", thread=name): name for name in names}
        sent: dict[str, list[str]] = {run: [] for run in runs}
        texts = dict.fromkeys(runs, "")
        unfinished = set(runs)
        while unfinished:
            frame = await stream.next()
            if frame["event"] != "entry":
                continue
            run, _, id = frame["id"].rpartition("/")
            event = entry_of(frame)
            sent[run].append(id)
            texts[run] += event["text"] if event["type"] == "TextDelta" else ""
            if event["type"] == "RunFinished":
                unfinished.remove(run)
        logged = {run: [entry.id for entry in await server.assembly.runtime.read(run)] for run in runs}
        threads = [(await server.client.get(f"/operator/threads/{name}")).json() for name in names]

    for run, ids in sent.items():
        assert ids == sorted(set(ids), key=logged[run].index)
        assert ids[-1] == logged[run][-1]
    assert list(texts.values()) == [thread["messages"][-1]["parts"][0]["text"] for thread in threads]


async def test_a_stream_follows_a_thread_from_run_to_run(serve: Serve) -> None:
    async with serving(serve) as server, server.live(thread="t1") as stream:
        assert await stream.until("caught_up") == {"thread": "t1"}
        for text in ("First", "Second"):
            run = await server.start(text)
            _, started = await stream.until_event("RunStarted")
            assert started["run_id"] == run
            assert [message["parts"][0]["text"] for message in started["new_messages"]] == [text]
            _, finished = await stream.until_event("RunFinished")
            assert finished["outcome"] == "done"


async def test_a_stream_that_is_opened_again_sends_only_what_comes_after(serve: Serve) -> None:
    async with serving(serve) as server:
        run = await server.start("First")
        async with server.live(thread="t1") as stream:
            id, _ = await stream.until_event("TextStarted")
            assert id.startswith(f"{run}/1-")
        async with server.live(thread="t1", after=id) as stream:
            while (frame := await stream.next())["event"] != "entry":
                pass
            assert entry_of(frame)["type"] == "TextDelta"
            await stream.until_event("RunFinished")


async def test_a_question_is_edited_and_asked_again_in_place_of_what_followed(serve: Serve) -> None:
    async def ask(server: Server, **body: Any) -> list[tuple[str, str, str]]:
        """The messages of the thread after the run, as (id, role, text)."""
        async with server.live() as stream:
            answer = await server.post("agents/default/runs", {"thread": "t1", **body})
            assert answer.status_code == 202, answer.text
            while (await stream.until("run"))["outcome"] == "running":
                pass
        messages = (await server.client.get("/operator/threads/t1")).json()["messages"]
        return [(one["id"], one["role"], one["parts"][0]["text"]) for one in messages]

    file = {"media_type": "text/plain", "data": "aGk=", "name": "hi.txt"}
    async with serving(serve) as server:
        first = await ask(server, text="First", parts=[file])
        second = await ask(server, text="Second")
        edited = await ask(server, text="Other", replaces=first[0][0])
        again = await ask(server, replaces=edited[0][0])
        stored = (await server.client.get("/operator/threads/t1")).json()["messages"]
        gone = await server.post("agents/default/runs", {"thread": "t1", "text": "x", "replaces": first[0][0]})
        not_the_users = await server.post("agents/default/runs", {"thread": "t1", "text": "x", "replaces": again[1][0]})

    assert [role for _, role, _ in second] == ["user", "assistant"] * 2
    assert [(role, text) for _, role, text in edited][:1] == [("user", "Other")]
    assert len(edited) == len(again) == 2
    assert again[0] == edited[0], "the same message"
    assert again[1][0] != edited[1][0], "another response"
    assert stored[0]["parts"][1]["name"] == "hi.txt", "the attachment is kept"
    assert (gone.status_code, not_the_users.status_code) == (404, 404)


async def test_deltas_of_a_finished_run_are_joined(serve: Serve) -> None:
    async with serving(serve) as server:
        run = await server.start("A question with several words")
        async with server.live(thread="t1") as stream:
            await stream.until("run")
        entries = (await server.client.get(f"/operator/runs/{run}/entries")).text.splitlines()
        types = [json.loads(line)["event"]["type"] for line in entries]
        assert types == [
            "RunStarted",
            *["SpanStarted"] * 2,
            *["TextStarted", "TextDelta", "TextEnded", "ModelResponseEnded"],
            *["SpanEnded"] * 2,
            "RunFinished",
        ]
        later = await server.client.get(
            f"/operator/runs/{run}/entries", params={"after": json.loads(entries[-2])["id"]}
        )
        assert later.text.splitlines() == entries[-1:]


async def test_a_stream_reports_starts_and_ends_of_runs_in_other_threads(serve: Serve) -> None:
    async with serving(serve) as server, server.live() as stream:
        run = await server.start("Hi", thread="elsewhere")
        started, ended = await stream.until("run"), await stream.until("run")
        assert [started["id"], started["outcome"]] == [run, "running"]
        assert [ended["id"], ended["outcome"], ended["thread"]] == [run, "done", "elsewhere"]


async def test_a_run_is_stopped(serve: Serve) -> None:
    async with serving(serve) as server, server.live(thread="t1") as stream:
        run = await server.start("Hi", agent="slow")
        await stream.until_event("RunStarted")
        assert (await server.client.get(f"/operator/runs/{run}")).json()["outcome"] == "running"
        assert (await server.post(f"runs/{run}/stop")).json() == {"stopped": True}
        assert (await stream.until_event("RunFinished"))[1]["outcome"] == "cancelled"
        assert (await server.post(f"runs/{run}/stop")).json() == {"stopped": False}


async def test_a_server_that_stops_says_so_and_opens_no_further_stream(serve: Serve) -> None:
    async with serving(serve) as server:
        async with server.live(thread="t1") as stream:
            await stream.until("caught_up")
            server.assembly.runtime.begin_shutdown()
            assert await stream.until("bye") == {}
            with pytest.raises(AssertionError, match="has ended"):
                await stream.next()
        assert (await server.client.get("/operator/live")).status_code == 503


async def test_a_quiet_stream_sends_comments(serve: Serve) -> None:
    async with serving(serve) as server, server.client.stream("GET", "/operator/live") as answer:
        lines = answer.aiter_lines()
        assert [await anext(lines) for _ in range(4)] == [": keep-alive", "", ": keep-alive", ""]


# Questions


async def ask_for_deletion(server: Server) -> dict[str, Any]:
    deleted.clear()
    async with server.live(thread="t1") as stream:
        await server.start("delete_file a.txt")
        asked = await stream.until("asked")
    (question,) = (await server.client.get("/operator/approvals")).json()
    assert question["id"] == asked["id"]
    return dict(question)


async def test_a_question_is_answered_and_the_run_continues(serve: Serve) -> None:
    async with serving(serve) as server:
        question = await ask_for_deletion(server)
        assert question["message"] == "Delete the file?"
        assert question["call"]["name"] == "delete_file"
        async with server.live(thread="t1") as stream:
            answer = await server.post(f"approvals/{question['id']}", {"status": "resolved", "payload": True})
            assert answer.status_code == 202
            assert (await stream.until("answered"))["id"] == question["id"]
            while (ended := await stream.until("run"))["outcome"] == "running":
                pass
            assert ended["id"] == answer.json()["run"]
        assert deleted == ["a.txt"]
        first = (await server.client.get(f"/operator/runs/{question['run']}")).json()
        second = (await server.client.get(f"/operator/runs/{ended['id']}")).json()
        assert first["waited"] is None
        assert 0 <= second["waited"] < 10_000
        listed = (await server.client.get("/operator/runs")).json()["runs"]
        assert [one["waited"] for one in listed] == [second["waited"], None]


async def test_an_approval_is_in_the_words_of_the_business_and_a_denial_says_why(serve: Serve) -> None:
    refunding = CONFIGURATION.replace(":tools", ":refunds")
    async with serving(serve, refunding) as server, server.live(thread="t1") as stream:
        await server.start("refund 1042")
        asked = await stream.until("asked")
        (question,) = (await server.client.get("/operator/approvals")).json()
        denial = {"status": "resolved", "payload": {"approved": False, "reason": "Ask legal first"}}
        await server.post(f"approvals/{asked['id']}", denial)
        returned = (await stream.until_event("ToolCallReturned"))[1]["content"]

    assert (question["title"], question["message"]) == ("Refund an order", "Refund order 1042?")
    assert question["translations"]["zh-CN"] == {"title": "订单退款", "message": "为订单 1042 退款?"}
    assert question["asked_at"] is not None
    assert returned.endswith("The user's reason: Ask legal first")


async def test_a_second_answer_is_refused(serve: Serve) -> None:
    async with serving(serve) as server:
        question = await ask_for_deletion(server)
        decision = {"status": "resolved", "payload": True}
        answers = await asyncio.gather(*(server.post(f"approvals/{question['id']}", decision) for _ in range(2)))
        refused = [answer for answer in answers if answer.status_code != 202]
        assert [answer.status_code in (404, 409) for answer in refused] == [True]
        assert "was answered" in refused[0].json()["message"]
        async with server.live(thread="t1") as stream:
            while "a.txt" not in (await stream.until_event("ToolCallReturned"))[1]["content"]:
                pass
        assert deleted == ["a.txt"]


# Ids that clients choose


@pytest.mark.parametrize("thread", ["a/b", "/a//b/", "a?b#c", "entries", "../a", "é/漢", "x" * 512])
async def test_a_thread_with_any_id_is_opened_renamed_and_deleted(serve: Serve, thread: str) -> None:
    async with serving(serve) as server:
        await server.start("Hi", thread=thread)
        path = f"/operator/threads/{quote(thread, safe='')}"
        opened = await server.client.get(path)
        renamed = await server.client.patch(path, json={"name": "Plans"}, headers=CHANGING)
        deleted = await server.client.request("DELETE", path, json={}, headers=CHANGING)
        listed = (await server.client.get("/operator/threads")).json()["threads"]

    assert (opened.json()["thread"]["id"], renamed.json()["name"]) == (thread, "Plans")
    assert (deleted.status_code < 300, listed) == (True, [])


@pytest.mark.parametrize("thread", [".", "..", "a\nb", "a\0b", "\x7f", "x" * 513])
async def test_a_thread_with_an_id_that_no_url_can_hold_is_not_started(serve: Serve, thread: str) -> None:
    async with serving(serve) as server:
        answer = await server.post("agents/default/runs", {"thread": thread, "text": "Hi"})
        listed = (await server.client.get("/operator/threads")).json()["threads"]

    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")
    assert "cannot be the id of a thread" in answer.json()["message"]
    assert listed == []


# Sign-in and other pages


async def test_an_unknown_agent_is_refused_without_the_names_of_agents_that_the_key_may_not_use(serve: Serve) -> None:
    narrow = KEYS.replace('["*", "operator.watch:default"]', '["operator:default"]')
    async with serving(serve, CONFIGURATION + narrow) as server:
        answer = await server.post("agents/nothing/runs", {"text": "Hi"}, authorization="Bearer key-alice")

    assert answer.status_code == 404
    assert "default" in answer.json()["message"]
    assert "slow" not in answer.json()["message"]


async def test_behind_a_proxy_with_https_the_cookie_is_for_https_only(serve: Serve) -> None:
    text = CONFIGURATION + KEYS + "server: {public_url: 'https://copilot.example'}\n"
    async with serving(serve, text) as server:
        signed_in = await server.post("session", authorization="Bearer key-alice")

    assert signed_in.headers["set-cookie"].startswith("__Host-rightseat=")
    assert "Secure" in signed_in.headers["set-cookie"]


async def test_a_key_is_exchanged_for_a_session(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        assert (await server.client.get("/operator/me")).status_code == 401
        signed_in = await server.post("session", authorization="Bearer key-alice")
        assert signed_in.status_code == 204
        cookie = signed_in.headers["set-cookie"]
        assert "HttpOnly; Path=/; SameSite=strict" in cookie
        assert "key-alice" not in cookie
        me = (await server.client.get("/operator/me")).json()
        assert me["user"] == "alice"
        assert me["rights"] == {"use": ["*"], "watch": ["default"], "read": None, "act": None, "author": None}
        assert (await server.client.delete("/operator/session", headers=CHANGING)).status_code == 204
        assert (await server.client.get("/operator/me")).status_code == 401
    assert (tmp_path / ".rightseat" / "session.key").stat().st_mode & 0o777 == 0o600


async def test_a_session_ends_with_its_key_and_survives_a_restart(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        cookie = (
            (await server.post("session", authorization="Bearer key-alice")).headers["set-cookie"].partition(";")[0]
        )
    async with serving(serve, CONFIGURATION + KEYS) as server:
        assert (await server.client.get("/operator/me", headers={"cookie": cookie})).json()["user"] == "alice"
    async with serving(serve, CONFIGURATION + KEYS.replace("key-alice", "key-new")) as server:
        refused = await server.client.get("/operator/me", headers={"cookie": cookie})
        assert (refused.status_code, refused.json()["message"]) == (401, "The session has ended. Sign in again.")


async def test_a_session_expires(serve: Serve) -> None:
    text = CONFIGURATION.replace("type: operator", "type: operator, session_hours: 0.00001") + KEYS
    async with serving(serve, text) as server:
        await server.post("session", authorization="Bearer key-alice")

        async def is_signed_out() -> bool:
            return (await server.client.get("/operator/me")).status_code == 401

        await until(is_signed_out)


@pytest.mark.parametrize(
    "headers",
    [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://allowed.example"}],
)
async def test_pages_of_other_origins_are_refused_even_if_the_server_allows_them(
    serve: Serve, headers: dict[str, str]
) -> None:
    text = CONFIGURATION + 'server: {origins: ["http://allowed.example"]}\n'
    async with serving(serve, text) as server:
        assert (await server.client.get("/operator/threads", headers=headers)).status_code == 403


FORM = "application/x-www-form-urlencoded"
EVIL = "https://evil.example"
FORGED: dict[str, dict[str, str]] = {
    "form": {"content-type": FORM, "origin": EVIL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    "form of a page whose browser sends no origin": {"content-type": FORM},
    "form with a file": {"content-type": "multipart/form-data; boundary=x"},
    "form of plain text": {"content-type": "text/plain"},
    "no-cors": {
        "content-type": "text/plain",
        "origin": EVIL,
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "no-cors",
    },
    "no-cors without a type": {"origin": EVIL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    "no-cors without anything": {},
    "two types": {"content-type": "text/plain, application/json"},
    "a type as a parameter": {"content-type": "text/plain; application/json"},
    "beacon": {"content-type": "text/plain;charset=UTF-8", "origin": EVIL, "sec-fetch-site": "cross-site"},
    "beacon with a type, of a browser that did not ask": {"content-type": "application/json", "origin": EVIL},
    "null origin": {"content-type": "application/json", "origin": "null"},
    "null origin, a sandboxed frame": {"content-type": "text/plain", "origin": "null", "sec-fetch-site": "cross-site"},
    "sister domain": {"content-type": "application/json", "sec-fetch-site": "same-site"},
    "rebinding": {"content-type": "application/json", "host": "evil.example", "origin": "http://evil.example"},
    "rebinding of a browser that sends no origin": {"content-type": "application/json", "host": "evil.example:80"},
    "basic authentication that a browser remembers": {"authorization": "Basic YTpi"},
    "an empty key": {"x-api-key": ""},
}


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("text", [CONFIGURATION, CONFIGURATION + KEYS], ids=["open", "keys"])
async def test_a_page_of_another_origin_cannot_change_anything(
    serve: Serve, headers: dict[str, str], text: str
) -> None:
    """The cookie of a session is sent in any case, as by a browser that knows no `SameSite`."""
    async with serving(serve, text) as server:
        if "keys" in text:
            session = await server.post("session", authorization="Bearer key-alice")
            headers = headers | {"cookie": session.headers["set-cookie"].partition(";")[0]}
            server.client.cookies.clear()
        content = b'{"text": "Hi", "thread": "forged"}'
        answer = await server.client.post("/operator/agents/default/runs", content=content, headers=headers)
        threads = await server.client.get("/operator/threads", headers={"authorization": "Bearer key-alice"})

    assert answer.status_code in (400, 403, 421), answer.text
    assert threads.json()["threads"] == []


@pytest.mark.parametrize("headers", [{"authorization": "Bearer key-alice"}, {"x-api-key": "key-alice"}])
async def test_a_script_with_a_key_needs_no_header_of_its_own(serve: Serve, headers: dict[str, str]) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        started = await server.client.post("/operator/agents/default/runs", json={"text": "Hi"}, headers=headers)
        renamed = await server.client.delete(f"/operator/threads/{started.json()['thread']}", headers=headers)

    assert started.status_code == 202
    assert renamed.status_code == 204


async def test_without_keys_a_body_of_json_is_enough_and_a_request_without_a_body_has_the_header(serve: Serve) -> None:
    async with serving(serve) as server:
        started = await server.client.post("/operator/agents/default/runs", json={"text": "Hi"})
        path = f"/operator/threads/{started.json()['thread']}"
        refused = await server.client.delete(path)
        deleted = await server.client.delete(path, headers=CHANGING)

    assert started.status_code == 202
    assert refused.status_code == 400
    assert "`x-rightseat: 1`" in refused.json()["message"]
    assert deleted.status_code == 204


async def test_a_page_of_an_origin_that_the_server_allows_can_neither_call_nor_read(serve: Serve) -> None:
    sister = "http://page.sister.test"
    async with serving(serve, CONFIGURATION + f"server: {{origins: ['{sister}']}}") as server:
        read = await server.client.get("/operator/me", headers={"origin": sister})
        elsewhere = await server.client.get("/health", headers={"origin": sister})
        asked = {"origin": sister, "access-control-request-method": "GET"}
        preflight = await server.client.options("/operator/threads/t1", headers=asked)
        own = await server.client.get("/operator/me", headers={"origin": str(server.client.base_url).rstrip("/")})

    assert read.status_code == 403
    assert elsewhere.headers["access-control-allow-origin"] == sister
    assert "access-control-allow-origin" not in read.headers
    assert "access-control-allow-origin" not in preflight.headers
    assert own.status_code == 200
