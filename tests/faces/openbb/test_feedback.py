"""What users say of answers is kept, and never more of it than there is room for."""

import json
from pathlib import Path

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb import feedback
from rightseat.faces.openbb.feedback import Feedback

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
    kept = Feedback(path)

    await kept.append(json.dumps(SAID).encode())
    await kept.append(b'{"vote": -1, "unheard-of": 1}', "from-the-header")

    first, second = lines(path)
    assert first.pop("at")
    assert first == SAID
    assert (second["vote"], second["trace_id"], "unheard-of" in second) == (-1, "from-the-header", False)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_text_that_is_too_long_is_truncated_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"

    await Feedback(path).append(json.dumps({"vote": "up", "ai_response": "x" * 30_000}).encode())

    (line,) = lines(path)
    assert line["ai_response"] == "x" * 20_000
    assert line["cut"] == ["ai_response"]


async def test_a_full_feedback_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "MAX_FILE_BYTES", 200)
    path = tmp_path / "feedback.jsonl"
    kept = Feedback(path)

    for number in range(5):
        await kept.append(json.dumps({"vote": "up", "user_comment": str(number)}).encode())

    assert path.stat().st_size <= 200
    assert lines(path)[-1]["user_comment"] == "4"
    assert lines(tmp_path / "feedback.jsonl.1")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"vote":', b'{"other": 1}', b"\xff"])
async def test_invalid_feedback_is_refused(body: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="vote"):
        await Feedback(tmp_path / "feedback.jsonl").append(body)
