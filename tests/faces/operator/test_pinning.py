"""Runs become cases by the operator API: rights, names that are no paths, and servers that write no files."""

import json
from pathlib import Path

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.evals import server as server_module
from rightseat.evals.dataset import DatasetFile, read_dataset
from rightseat.evals.result_store import ResultStore
from rightseat.evals.results import AttemptResult, CaseResult, EvalResult, Variant, make_case_result, make_totals
from tests.conftest import Serve
from tests.faces.operator.test_operator import serving
from tests.faces.operator.test_rights import KEYS, User

AUTHOR = """
    - name: ann
      key: key-ann
      user: ann
      scopes: ["*", "operator.watch:*", "operator.read:*", "operator.author:*"]
"""
SHORT = (
    "models: {default: {type: scripted, chunk_delay: 0}}\nagents: {default: {}, slow: {}}\nfaces: [{type: operator}]\n"
)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"{SHORT}server: {{state_dir: {tmp_path / 'state'}}}\n{KEYS.rstrip()}{AUTHOR}"


def list_files() -> list[Path]:
    return list(Path().rglob("*.yaml*"))


async def test_a_run_is_pinned_by_who_may_author_and_the_case_is_listed(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann, bob, olga = (User(server, name) for name in ("ann", "bob", "olga"))
        run = await bob.start("Mail kim@example.com")
        await bob.ended(run)
        body = {"dataset": "clicked", "name": "click", "wrong": "It must be shorter.", "consent": "bob agreed"}
        refused = [(await one.change("POST", f"runs/{run}/pin", body)).status_code for one in (bob, olga)]
        files = list_files()
        pinned = await ann.change("POST", f"runs/{run}/pin", body)
        again = await ann.change("POST", f"runs/{run}/pin", body)
        listed = await ann.get("evals")
        unlisted = await bob.get("evals")

    assert (refused, files) == ([403, 403], [])
    assert pinned.status_code == 201, pinned.text
    line = pinned.json()
    assert (line["file"], line["redacted"], line["text"]) == ("evals/clicked.yaml", 1, None)
    assert (again.status_code, "has a case 'click' already" in again.text) == (400, True)
    assert listed.json()["rules"] == {"folder": "evals", "needs_consent": False}
    (dataset,) = listed.json()["datasets"]
    (case_line,) = dataset["cases"]
    assert (dataset["name"], case_line["name"], case_line["question"]) == ("clicked", "click", "Mail [email 1]")
    assert (case_line["run"], case_line["scorers"], case_line["outcome"]) == (run, ["judge"], None)
    assert unlisted.status_code == 403
    (case,) = read_dataset(Path("evals"), "clicked").dataset.cases
    assert (case.ask, case.source and case.source.consent) == ("Mail [email 1]", "bob agreed")


async def test_a_dataset_is_a_name_and_a_run_has_to_be_recorded(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ann.start("Hi")
        await ann.ended(run)
        paths = [await ann.change("POST", f"runs/{run}/pin", {"dataset": name}) for name in ("../stolen", "/x", "")]
        unknown = await ann.change("POST", "runs/run_none/pin", {"dataset": "x"})

    assert [answer.status_code for answer in paths] == [400, 400, 400]
    assert (unknown.status_code, "evals: {record: all}" in unknown.text) == (404, True)
    assert list_files() == []


async def test_a_server_that_others_reach_offers_the_case_as_a_download(serve: Serve, text: str) -> None:
    public = text.replace("state_dir:", "public_url: https://copilot.example.com, state_dir:")
    async with serving(serve, public) as server:
        ann = User(server, "ann")
        run = await ann.start("Hi")
        await ann.ended(run)
        line = (await ann.change("POST", f"runs/{run}/pin", {"dataset": "own"})).json()

    assert (line["file"], line["name"], line["files"]) == (None, "hi", {})
    assert "cases:\n  - name: hi\n" in line["text"]
    assert list_files() == []


async def test_datasets_are_read_again_only_if_they_changed(
    serve: Serve, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def read_counted(folder: Path, name: str) -> DatasetFile:
        read.append(name)
        return read_dataset(folder, name)

    monkeypatch.setattr(server_module, "read_dataset", read_counted)
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ann.start("Hi")
        await ann.ended(run)
        counts = []
        for name in ("one", "two"):
            await ann.change("POST", f"runs/{run}/pin", {"dataset": "own", "name": name})
            lists = [(await ann.get("evals")).json()["datasets"] for _ in range(3)]
            counts.append([len(datasets[0]["cases"]) for datasets in lists])

    assert counts == [[1, 1, 1], [2, 2, 2]]
    assert read == ["own", "own"]


async def test_a_recorded_transient_run_is_pinned_by_who_may_read_it(serve: Serve, text: str) -> None:
    async with serving(serve, text + "evals: {record: all}\n") as server:
        ann, wu = User(server, "ann"), User(server, "wu")
        ask = Ask(messages=(user("Hi"),), principal=Principal("bob"), transient=True, face="openai")
        await server.assembly.runtime.start(ask)
        async for _ in server.assembly.runtime.follow(ask.run_id):
            pass
        pinned = await ann.change("POST", f"runs/{ask.run_id}/pin", {"dataset": "own", "name": "short"})
        refused = await wu.change("POST", f"runs/{ask.run_id}/pin", {"dataset": "own", "name": "other"})

    assert (pinned.status_code, refused.status_code) == (201, 403), pinned.text + refused.text
    assert json.loads(pinned.text)["turns"] == 1


async def test_a_preview_writes_nothing_and_says_what_is_replaced(serve: Serve, text: str) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ann.start("Mail kim@example.com")
        await ann.ended(run)
        preview = await ann.change("POST", f"runs/{run}/pin", {"dataset": "own", "preview": True})

    assert preview.status_code == 200, preview.text
    line = preview.json()
    assert (line["file"], line["redacted"], line["name"]) == (None, 1, "mail-email-1"), line
    assert "ask: Mail [email 1]" in line["text"]
    assert list_files() == []


async def test_the_last_outcome_of_a_case_is_listed_until_the_case_is_changed(
    serve: Serve, text: str, tmp_path: Path
) -> None:
    async with serving(serve, text) as server:
        ann = User(server, "ann")
        run = await ann.start("Hi")
        await ann.ended(run)
        await ann.change("POST", f"runs/{run}/pin", {"dataset": "own", "name": "hi"})
        file = read_dataset(Path("evals"), "own")
        (case,) = file.dataset.cases
        attempt = AttemptResult(case="hi", number=1, outcome="failed")
        result = make_result([make_case_result("own", file.dataset, case, [attempt])])
        with ResultStore(tmp_path / "state" / "evals") as store:
            store.add_result(result)
        before = (await ann.get("evals")).json()["datasets"][0]["cases"][0]
        changed = file.path.read_text().replace("ask: Hi", "ask: Hello")
        file.path.write_text(changed)
        after = (await ann.get("evals")).json()["datasets"][0]["cases"][0]

    assert (before["outcome"], before["flaky"], before["at"]) == ("failed", False, result.at)
    assert (after["question"], after["outcome"]) == ("Hello", None)


def make_result(cases: list[CaseResult]) -> EvalResult:
    totals = make_totals(len(cases), cases, 0.0, 1.0)
    return EvalResult(
        id="result_1",
        label=None,
        at="2026-11-19T10:00:00Z",
        repeat=1,
        complete=True,
        stopped=None,
        variant=Variant(config="rightseat.yaml"),
        totals=totals,
        cases=cases,
    )
