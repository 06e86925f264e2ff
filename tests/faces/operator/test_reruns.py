"""A stored run is run again with changes by the operator API: what changes, who may, its bounds, and what is left."""

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.log import Log
from rightseat.core.messages import user
from rightseat.evals import rerun as rerun_module
from rightseat.evals.dataset import read_dataset
from tests.conditions import Paced, until
from tests.conftest import Serve
from tests.evals.directed_model import PROMPTS
from tests.evals.replays import tell
from tests.evals.test_replay import RAN
from tests.faces.operator.test_operator import CHANGING, Server, serving
from tests.faces.operator.test_pinning import AUTHOR
from tests.faces.operator.test_rights import KEYS, User

SHOP = """
models:
  default: {{type: tests.evals.directed_model, gate: "{gate}"}}
  other: {{type: tests.evals.directed_model}}
agents:
  default: {{instructions: Be brief., tools: ["tests.evals.test_replay:tools"]}}
  slow: {{}}
prices: {{default: {{input: 1, output: 2}}, other: {{input: 1, output: 2}}}}
faces: [{{type: operator}}, {{type: usage}}]
server: {{state_dir: "{folder}/state"}}
"""
MORE_AUTHORS = """
    - {name: eve, key: key-eve, user: eve, scopes: ["*", "operator.watch:*", "operator.author:*"]}
    - {name: rex, key: key-rex, user: rex, scopes: ["*", "operator.read:*", "operator.watch:*", "operator.author:*"]}
"""
ORDER = [[["get_order", {"id": 7}]]]
Lines = list[Mapping[str, Any]]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    PROMPTS.clear()
    RAN.clear()
    return SHOP.format(folder=tmp_path, gate=tmp_path / "gate") + KEYS.rstrip() + AUTHOR.rstrip() + MORE_AUTHORS


async def run_again(one: User, run: str, **changes: Any) -> httpx2.Response:
    return await one.change("POST", f"runs/{run}/rerun", changes)


def read_lines(response: httpx2.Response) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events, and the outcome."""
    assert response.status_code == 200, response.text
    lines = [json.loads(line) for line in response.text.splitlines() if line]
    return [line["event"] for line in lines[:-1]], lines[-1]["outcome"]


async def ended(one: User, question: str, thread: str = "t1") -> str:
    run = await one.start(question, thread=thread)
    assert await one.ended(run) == "done"
    return run


async def test_a_run_is_run_again_with_every_change_and_no_tool_runs(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann, bob = User(server, "ann"), User(server, "bob")
        run = await ended(bob, tell("$results", calls=ORDER))
        form = (await ann.get(f"runs/{run}/rerun")).json()
        PROMPTS.clear()
        RAN.clear()
        changes = {
            "instructions": "Be long.",
            "model": "other",
            "temperature": 0.5,
            "messages": [{"place": 0, "text": tell("$results", calls=ORDER, new=True)}],
            "results": [{"place": 0, "text": "typed"}],
        }
        events, outcome = read_lines(await run_again(ann, run, **changes))

    assert form["thread"] == "t1"
    assert (form["agent"], form["instructions"], form["model"]) == ("default", "Be brief.", "default")
    assert (form["models"], form["runs"], form["temperature"]) == (["default", "other"], [run], None)
    assert [message["role"] for message in form["messages"]] == ["user"]
    (result,) = form["results"]
    assert (result["name"], result["arguments"], result["result"]) == ("get_order", {"id": 7}, "live 7")
    assert (outcome["text"], outcome["outcome"], outcome["error"], outcome["diverged"]) == ("typed", "done", None, None)
    assert [(call["name"], call["served"], call["result"]) for call in outcome["calls"]] == [
        ("get_order", "recorded", "typed")
    ]
    assert (outcome["model_calls"], outcome["input_tokens"], outcome["cost"]) == (2, 200, 0.00028)
    assert PROMPTS[0].messages[0].text == "Be long."
    assert PROMPTS[0].parameters.temperature == 0.5
    assert '"new": true' in PROMPTS[0].messages[-1].text
    models = {event["name"] for event in events if event["type"] == "SpanStarted" and event["kind"] == "model"}
    assert (events[0]["type"], events[-1]["type"], models) == ("RunStarted", "RunFinished", {"other"})
    assert RAN == []


async def test_a_call_that_is_not_recorded_ends_the_rerun_until_its_result_is_typed(serve: Serve, text: str) -> None:
    other = {"place": 0, "text": tell("$results", calls=[[["send_mail", {"to": "x"}]]])}
    typed = {"tool": "send_mail", "arguments": {"to": "x"}, "result": "sent, says the operator"}
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("$results", calls=ORDER))
        RAN.clear()
        _, without = read_lines(await run_again(ann, run, messages=[other]))
        _, stubbed = read_lines(await run_again(ann, run, messages=[other], missing="stub"))
        _, with_it = read_lines(await run_again(ann, run, messages=[other], added=[typed]))

    assert 'send_mail({"to": "x"}) is not in the recording' in without["diverged"]
    assert [(call["name"], call["served"]) for call in without["calls"]] == [("send_mail", "none")]
    assert stubbed["text"].startswith("No result is recorded")
    assert with_it["text"] == "sent, says the operator"
    assert RAN == []


async def test_nothing_of_a_rerun_is_stored_but_its_cost(
    serve: Serve, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, text + "evals: {record: all, record_prompts: true}\n") as server:
        root, ann, bob = (User(server, name) for name in ("root", "ann", "bob"))
        run = await ended(bob, tell("Yes."))
        secret = {"place": 0, "text": tell("A word that is only in the rerun: zyzzyva.")}
        before = [(await root.get(path)).text for path in ("threads/t1", "runs?owner=*", "threads?owner=*")]
        _, outcome = read_lines(await run_again(ann, run, messages=[secret]))
        after = [(await root.get(path)).text for path in ("threads/t1", "runs?owner=*", "threads?owner=*")]
        purposes = await read_usage(root, "purpose", "rerun")
        users = await read_usage(root, "user", "ann")
    stored = [path for path in Path().rglob("*") if path.is_file() and b"zyzzyva" in path.read_bytes()]  # noqa: ASYNC240

    assert "zyzzyva" in outcome["text"]
    assert after == before
    assert stored == []
    assert purposes["rerun"] == users["ann"] == (100, 20)
    assert f"operator: ann ran run {run} again" in caplog.messages


async def read_usage(one: User, by: str, wanted: str) -> dict[str, tuple[int, int]]:
    """Input and output tokens by group, once they are written."""
    async with asyncio.timeout(30):
        async for _ in Paced(itertools.count()):
            groups = (await one.get("usage", by=by)).json()["groups"]
            found = {group[by]: (group["input_tokens"], group["output_tokens"]) for group in groups}
            if wanted in found:
                return found
    raise AssertionError


async def test_only_those_who_may_author_and_read_run_again(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        run = await ended(User(server, "bob"), tell("Yes."))
        PROMPTS.clear()
        found = {}
        for name in ("alice", "bob", "wu", "olga", "adam", "eve", "slow"):
            one = User(server, name)
            answers = (await one.get(f"runs/{run}/rerun"), await run_again(one, run))
            found[name] = [answer.status_code for answer in answers]
            assert "Yes." not in answers[0].text + answers[1].text

    assert found == {
        "alice": [404, 404],  # a user without rights of operators
        "bob": [403, 403],  # his own run
        "wu": [403, 403],
        "olga": [403, 403],  # reads and acts
        "adam": [404, 404],  # acts, and sees nothing
        "eve": [403, 403],  # authors and watches, and does not read
        "slow": [404, 404],  # another agent
    }
    assert PROMPTS == []


async def test_a_run_without_a_recording_says_why(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        transient = await start_transient(server)
        unknown = await run_again(ann, transient)
        run = await ended(ann, tell("Yes."))
        await cast(Log, server.assembly.owned[0]).delete([run])
        expired = [await ann.get(f"runs/{run}/rerun"), await run_again(ann, run)]

    assert (unknown.status_code, "evals: {record: all}" in unknown.text) == (404, True)
    assert [(one.status_code, "log.retention_minutes" in one.text) for one in expired] == [(409, True), (409, True)]


async def test_a_transient_run_that_was_recorded_is_run_again(serve: Serve, text: str) -> None:
    async with serving(serve, text + "evals: {record: all}\n") as server:
        ann = User(server, "ann")
        run = await start_transient(server)
        _, outcome = read_lines(await run_again(ann, run, messages=[{"place": 0, "text": tell("Again.")}]))

    assert outcome["text"] == "Again."


async def start_transient(server: Server) -> str:
    ask = Ask(messages=(user(tell("Yes.")),), principal=Principal("bob"), transient=True, face="openai")
    await server.assembly.runtime.start(ask)
    async for _ in server.assembly.runtime.follow(ask.run_id):
        pass
    return ask.run_id


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"messages": [{"place": 0, "text": "x" * 2_100_000}]}, 413, "characters of text"),
        ({"instructions": "x" * 2_100_000}, 413, "Instructions have at most"),
        ({"messages": [{"place": 1, "text": "x"}]}, 400, "no such message"),
        ({"results": [{"place": 0, "text": "x"}]}, 400, "no such message or result"),
        ({"messages": [{"place": -1, "text": "x"}]}, 400, "place"),
        ({"model": "gone"}, 400, "No model is named 'gone'"),
        ({"temperature": 9}, 400, "temperature"),
        ({"missing": "live"}, 400, "missing"),
        ({"added": [{"tool": "x", "arguments": [], "result": ""}]}, 400, "arguments"),
    ],
    ids=["message", "instructions", "place", "result", "negative", "model", "temperature", "live", "arguments"],
)
async def test_changes_that_do_not_fit_are_refused_before_a_model_is_asked(
    serve: Serve, text: str, changes: dict[str, Any], status: int, message: str
) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("Yes."))
        PROMPTS.clear()
        answer = await run_again(ann, run, **changes)

    assert (answer.status_code, message in answer.text) == (status, True), answer.text[:500]
    assert PROMPTS == []


async def test_the_outage_of_the_model_is_the_outcome(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("Yes."))
        down = {"place": 0, "text": tell(fail="The provider is down.")}
        events, outcome = read_lines(await run_again(ann, run, messages=[down]))
        _, again = read_lines(await run_again(ann, run))

    assert "The provider is down." in outcome["error"]
    assert (outcome["outcome"], events[-1]["type"]) == ("failed", "RunFailed")
    assert again["text"] == "Yes."


WAITS = {"place": 0, "text": tell("Late.", waits=True, name="one")}


@asynccontextmanager
async def waiting(server: Server, run: str, gate: Path, name: str = "ann") -> AsyncIterator[httpx2.Response]:
    """A rerun whose model does not answer yet."""
    headers = {"authorization": f"Bearer key-{name}"} | CHANGING
    request = server.client.stream("POST", f"/operator/runs/{run}/rerun", json={"messages": [WAITS]}, headers=headers)
    async with request as response:
        assert response.status_code == 200
        await until(gate.with_name("gate.one").exists)
        yield response


async def test_an_operator_has_one_rerun_at_a_time_and_a_closed_page_stops_it(
    serve: Serve, text: str, tmp_path: Path
) -> None:
    async with serving(serve, text) as server:
        ann, rex = User(server, "ann"), User(server, "rex")
        run = await ended(ann, tell("Yes."))
        async with waiting(server, run, tmp_path / "gate"):
            second = await run_again(ann, run)
            of_another = await run_again(rex, run)
            asked = len(PROMPTS)
        answers = []

        async def is_free() -> bool:
            answers.append(await run_again(ann, run))
            return answers[-1].status_code == 200

        async with asyncio.timeout(30):
            while not await is_free():
                pass
        (tmp_path / "gate").touch()

    assert (second.status_code, "running a run again already" in second.text) == (429, True)
    assert read_lines(of_another)[1]["text"] == "Yes."
    assert len(PROMPTS) == asked + 1  # the stopped one asked its model nothing more


async def test_a_rerun_ends_after_its_time(
    serve: Serve, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun_module, "MAX_RERUN_S", 0.2)
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("Yes."))
        _, outcome = read_lines(await run_again(ann, run, messages=[WAITS]))
        monkeypatch.setattr(rerun_module, "MAX_RERUN_S", 30.0)
        _, again = read_lines(await run_again(ann, run))

    assert outcome["error"] == "It was stopped after 0.2 seconds."
    assert again["text"] == "Yes."


async def test_a_rerun_ends_after_so_many_model_calls(serve: Serve, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerun_module, "MAX_MODEL_CALLS", 2)
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("$results", calls=ORDER))
        PROMPTS.clear()
        many = {"place": 0, "text": tell(calls=ORDER * 5)}
        _, outcome = read_lines(await run_again(ann, run, messages=[many]))

    assert (outcome["error"], len(PROMPTS)) == ("It was stopped after 2 model calls.", 2)


async def test_few_reruns_are_in_progress_at_once(
    serve: Serve, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun_module, "MAX_RERUNS", 1)
    async with serving(serve, text) as server:
        ann, rex = User(server, "ann"), User(server, "rex")
        run = await ended(ann, tell("Yes."))
        async with waiting(server, run, tmp_path / "gate"):
            refused = await run_again(rex, run)
        (tmp_path / "gate").touch()

    assert refused.status_code == 429


async def test_a_changed_run_becomes_a_case_that_expects_nothing_of_the_earlier_one(serve: Serve, text: str) -> None:
    changes = {
        "messages": [{"place": 0, "text": "Mail kim@example.com"}],
        "results": [{"place": 0, "text": "typed"}],
        "temperature": 0.5,
        "model": "other",
    }
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ended(ann, tell("$results", calls=ORDER))
        pinned = await ann.change("POST", f"runs/{run}/pin", {"dataset": "kept", "name": "k", "changes": changes})

    assert pinned.status_code == 201, pinned.text
    (case,) = read_dataset(Path("evals"), "kept").dataset.cases
    assert (case.ask, case.expected, case.scorers) == ("Mail [email 1]", None, ())
    assert (case.recorded[0].result, case.parameters) == ("typed", {"temperature": 0.5})
    assert "belong to the configuration" in pinned.json()["notes"][0]
