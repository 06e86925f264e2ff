"""The cases of a user are found by their marks, and cut out of their files."""

from pathlib import Path

import pytest

from rightseat.evals.attempts import Attempt
from rightseat.evals.cases import Case, RecordedCall, Source, Turn
from rightseat.evals.dataset import append_case, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.forgetting import FoundCase, find_cases, forget_attempts, remove_case
from rightseat.evals.recording import mark_user
from rightseat.evals.result_store import FILE, ResultStore

LONG = "zebra " * 1000


def case(name: str, user: str = "bob", thread: str = "t1", **given: object) -> Case:
    return Case.model_validate(
        {"name": name, "source": Source(thread=thread, user=mark_user(user, thread)), "ask": f"Ask {name}", **given}
    )


def names(folder: Path, dataset: str = "d") -> list[str]:
    return [one.name for one in read_dataset(folder, dataset).dataset.cases]


def test_two_threads_of_a_user_have_different_marks() -> None:
    assert mark_user("bob", "t1") == mark_user("bob", "t1")
    assert len({mark_user("bob", "t1"), mark_user("bob", "t2"), mark_user("anna", "t1")}) == 3


@pytest.mark.parametrize("removed", ["a", "b", "c"])
def test_a_case_is_removed_and_the_other_lines_stay(tmp_path: Path, removed: str) -> None:
    for name in "abc":
        append_case(tmp_path, "d", case(name, "bob" if name == removed else "anna"), {})
    path = tmp_path / "d.yaml"
    path.write_text(path.read_text().replace("  - name: b", "  # about b\n  - name: b") + "# the end\n")
    rest = [line for line in path.read_text().splitlines() if removed not in (line[-1:], "x")]

    (found,) = find_cases(tmp_path, "bob").cases
    remove_case(tmp_path, found)

    assert names(tmp_path) == [name for name in "abc" if name != removed]
    text = path.read_text()
    assert text.endswith("# the end\n")
    assert f"Ask {removed}" not in text
    assert [line for line in rest if "about" not in line and "Ask" in line] == [
        line for line in text.splitlines() if "Ask" in line
    ]


def test_the_only_case_leaves_an_empty_dataset_that_takes_cases(tmp_path: Path) -> None:
    append_case(tmp_path, "d", case("a"), {})

    remove_case(tmp_path, FoundCase("d", tmp_path / "d.yaml", "a"))

    assert names(tmp_path) == []
    assert find_cases(tmp_path, "bob").cases == []


def test_files_go_with_their_last_case(tmp_path: Path) -> None:
    asked = Turn(text="Look", files=("x.png",))
    recorded = (RecordedCall(tool="read", result=LONG),)
    for name in "ab":
        append_case(tmp_path, "d", case(name, ask=asked, recorded=recorded), {"x.png": b"\x89PNG"})
    assert len(list((tmp_path / "d.files").iterdir())) == 2

    remove_case(tmp_path, FoundCase("d", tmp_path / "d.yaml", "a"))
    assert len(list((tmp_path / "d.files").iterdir())) == 2
    remove_case(tmp_path, FoundCase("d", tmp_path / "d.yaml", "b"))
    assert list((tmp_path / "d.files").iterdir()) == []


def test_a_dataset_with_errors_is_reported(tmp_path: Path) -> None:
    append_case(tmp_path, "good", case("a"), {})
    (tmp_path / "bad.yaml").write_text("version: 1\ncases: [{nam: x}]\n")

    found = find_cases(tmp_path, "bob")

    assert [one.name for one in found.cases] == ["a"]
    (problem,) = found.problems
    assert "bad.yaml:2:" in problem


def test_a_case_on_one_line_is_left_to_a_person(tmp_path: Path) -> None:
    mark = mark_user("bob", "t1")
    text = f"version: 1\ncases: [{{name: a, ask: x, source: {{thread: t1, user: {mark}}}}}, {{name: b, ask: y}}]\n"
    (tmp_path / "d.yaml").write_text(text)

    with pytest.raises(DatasetError, match="remove it by hand"):
        remove_case(tmp_path, find_cases(tmp_path, "bob").cases[0])

    assert (tmp_path / "d.yaml").read_text() == text


def test_no_byte_of_an_attempt_is_left(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.add_attempt("k1", "d", Attempt(case="a", number=1, text="zebra crossing"), ())
        store.add_attempt("k2", "d", Attempt(case="b", number=1, text="heron"), ())
        store.add_verdict("v", '{"reason": "It names a zebra.", "verdict": "pass"}')

    forget_attempts(tmp_path, [FoundCase("d", tmp_path / "d.yaml", "a")])

    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zebra" not in content
    assert b"heron" in content
    forget_attempts(tmp_path / "none", [])
    assert not (tmp_path / "none" / FILE).exists()
