"""What the models of a run were sent, by the operator API: rights, contents, and runs that are not recorded."""

import logging
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.toolboxes.functions import tool
from tests.conftest import Serve
from tests.faces.operator.test_operator import serving
from tests.faces.operator.test_rights import KEYS, User


@tool
async def add(first: int, second: int) -> str:
    """Adds."""
    return str(first + second)


tools = [add]
SHORT = """
models: {default: {type: scripted, chunk_delay: 0}}
agents: {default: {instructions: Answer in one word., tools: ["tests.faces.operator.test_model_calls:tools"]}, slow: {}}
faces: [{type: operator}]
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"{SHORT}server: {{state_dir: {tmp_path / 'state'}}}\n{KEYS}evals: {{record_prompts: true"


async def test_an_operator_who_may_read_sees_what_the_model_was_sent(
    serve: Serve, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, text + "}\n") as server:
        olga, bob, wu = (User(server, name) for name in ("olga", "bob", "wu"))
        run = await bob.start("Hi")
        await bob.ended(run)
        spans = (await olga.get(f"runs/{run}")).json()["spans"]
        page: dict[str, Any] = (await olga.get(f"runs/{run}/calls")).json()
        refused = [(await one.get(f"runs/{run}/calls")).status_code for one in (bob, wu)]
        missing = (await olga.get("runs/run_none/calls")).status_code

    (call,) = page["calls"]
    assert (page["is_on"], page["next"], page["currency"]) == (True, None, "USD")
    assert [page["messages"][hash]["parts"][0]["text"] for hash in call["instructions"]] == ["Answer in one word."]
    assert [page["messages"][hash] for hash in call["messages"]] == [
        {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    ]
    assert (call["agent"], call["model"], call["purpose"], call["error"]) == ("default", "default", "answer", None)
    assert [span["kind"] for span in spans if span["span"] == call["span"]] == ["model"]
    assert [page["tools"][hash]["description"] for hash in call["tools"]] == ["Adds."]
    assert call["at"] <= call["ended_at"]
    assert (refused, missing) == ([403, 403], 404)
    assert [line for line in caplog.messages if " read thread " in line] == ["operator: olga read thread t1 of bob"]


async def test_prompts_are_recorded_by_choice(serve: Serve, text: str) -> None:
    async with serving(serve, text.replace("true", "false") + "}\n") as server:
        olga = User(server, "olga")
        run = await olga.start("Hi")
        await olga.ended(run)
        page = (await olga.get(f"runs/{run}/calls")).json()

    assert (page["is_on"], page["calls"], page["messages"]) == (False, [], {})


@pytest.mark.parametrize(("record", "statuses"), [("all", [200, 403]), ("stored", [404, 404])])
async def test_prompts_of_transient_runs_are_recorded_with_all(
    serve: Serve, text: str, record: str, statuses: list[int]
) -> None:
    async with serving(serve, f"{text}, record: {record}}}\n") as server:
        olga, wu = User(server, "olga"), User(server, "wu")
        ask = Ask(messages=(user("Hi"),), principal=Principal("bob"), transient=True, face="openai")
        await server.assembly.runtime.start(ask)
        async for _ in server.assembly.runtime.follow(ask.run_id):
            pass
        found = [await one.get(f"runs/{ask.run_id}/calls") for one in (olga, wu)]

    assert [one.status_code for one in found] == statuses
    assert len(found[0].json().get("calls", [])) == (1 if record == "all" else 0)


async def test_the_calls_of_a_run_come_in_pages(serve: Serve, text: str) -> None:
    async with serving(serve, text + "}\n") as server:
        olga = User(server, "olga")
        run = await olga.start('add {"first": 1, "second": 2}')
        await olga.ended(run)
        whole = (await olga.get(f"runs/{run}/calls")).json()
        first = (await olga.get(f"runs/{run}/calls", limit="1")).json()
        second = (await olga.get(f"runs/{run}/calls", limit="1", after=first["next"] or "")).json()

    assert [one["call"] for page in (first, second) for one in page["calls"]] == [one["call"] for one in whole["calls"]]
    assert len(whole["calls"]) == 2
