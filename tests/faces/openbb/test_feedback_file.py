"""What users say of answers is kept, and never more of it than there is room for."""

import json
from pathlib import Path

import pytest

from rightseat.faces.openbb import feedback_file
from rightseat.faces.openbb.feedback_file import FeedbackFile

SAID = {
    "vote": "up",
    "tags": ["clear"],
    "user_comment": "Grüße",
    "ai_response": "A",
    "user_prompt": "Q",
    "trace_id": "t",
}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_each_vote_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "openbb" / "feedback.jsonl"
    kept = FeedbackFile(path)

    await kept.append(SAID, row="feedback_1")
    await kept.append({"vote": -1}, "from-the-header", "anna")

    first, second = lines(path)
    assert first.pop("at")
    assert first == SAID | {"row": "feedback_1"}
    assert (second["vote"], second["trace_id"], second["user"]) == (-1, "from-the-header", "anna")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_text_that_is_too_long_is_truncated_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"

    await FeedbackFile(path).append({"vote": "up", "ai_response": "x" * 30_000})

    (line,) = lines(path)
    assert line["ai_response"] == "x" * 20_000
    assert line["cut"] == ["ai_response"]


async def test_a_full_feedback_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback_file, "MAX_FILE_BYTES", 200)
    path = tmp_path / "feedback.jsonl"
    kept = FeedbackFile(path)

    for number in range(5):
        await kept.append({"vote": "up", "user_comment": str(number)})

    assert path.stat().st_size <= 200
    assert lines(path)[-1]["user_comment"] == "4"
    assert lines(tmp_path / "feedback.jsonl.1")
