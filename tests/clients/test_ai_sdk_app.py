"""examples/ai-sdk-app as a person sees it: `useChat` in Chromium, with a real `rightseat serve` behind it.

What the person does is in `ai-sdk-app.mjs`; it is done once, and judged here.
"""

import json
import os
import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.clients import test_react_app as board

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "ai-sdk-app"

pytestmark = pytest.mark.clients

Seen = Mapping[str, Any]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What was on the page, moment by moment."""
    node, browser = board.find_programs()
    app = tmp_path_factory.mktemp("ai-sdk-app") / "app"
    shutil.copytree(EXAMPLE, app, ignore=shutil.ignore_patterns("node_modules", "dist", ".rightseat"))
    (app / "node_modules").symlink_to(board.install(EXAMPLE))
    slow_down(app / "server" / "rightseat.yaml")
    with board.serving(app / "server") as server:
        environ = os.environ | {"VITE_CHAT_URL": f"{server}/api/chat", "CHROMIUM": browser} | board.picture()
        board.run(["npm", "run", "build", "--", "--logLevel", "error"], app, environ)
        with board.pages(app / "dist") as url:
            told = board.run([node, HERE / "ai-sdk-app.mjs", app, url], app, environ)
    found: Seen = json.loads(told)
    assert "failure" not in found, found["failure"]
    return found


def slow_down(configuration: Path) -> None:
    """So that the page draws between two words, and reloads before the last one, on a busy machine too."""
    text = configuration.read_text()
    slow = text.replace("{type: notes.demo_model}", "{type: notes.demo_model, chunk_delay: 0.1}")
    assert slow != text
    configuration.write_text(slow)


def test_an_answer_grows_word_by_word(seen: Seen) -> None:
    texts = [text for text in seen["growing"] if text.startswith("I look")]

    assert len(set(texts)) > 5
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_a_tool_of_the_server_and_one_of_the_page_are_part_of_the_answer(seen: Seen) -> None:
    assert seen["listed"] == "list_notes done Your notes: • Buy bread • Call Mira • Water the plants"
    assert seen["theme"] == "dark"


def test_a_question_survives_a_reload_and_its_tool_runs_when_it_is_approved(seen: Seen) -> None:
    assert seen["deleted"] == "delete_note Buy bread done Buy bread is deleted."
    assert seen["kept"].startswith("delete_note Call Mira not done")


def test_a_reload_shows_the_same_messages_and_an_unfinished_answer_continues(seen: Seen) -> None:
    assert seen["same"]
    assert seen["resumed"].startswith("I look after your notes.")
    assert seen["resumed"].endswith("change one line in server/rightseat.yaml.")
    assert seen["resumed"].count("I look after") == 1


def test_a_regenerated_answer_takes_the_place_of_the_old_one(seen: Seen) -> None:
    assert seen["again"]


def test_a_new_chat_is_empty_and_the_console_stays_silent(seen: Seen) -> None:
    assert seen["first"] == seen["anew"] == []
    assert seen["complaints"] == []
