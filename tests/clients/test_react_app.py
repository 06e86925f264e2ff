"""examples/react-app as a person sees it: CopilotKit in Chromium, with a real `rightseat serve` behind it.

What the person does is in `react-app.mjs`; it is done once, and judged here.
"""

import faulthandler
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "react-app"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "examples"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

pytestmark = pytest.mark.clients

Seen = Mapping[str, Any]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What was on the page, moment by moment."""
    node, browser = find_programs()
    app = tmp_path_factory.mktemp("react-app") / "app"
    shutil.copytree(EXAMPLE, app, ignore=shutil.ignore_patterns("node_modules", "dist", ".rightseat"))
    (app / "node_modules").symlink_to(install())
    with serving(app / "server") as runtime:
        environ = os.environ | {"VITE_RUNTIME_URL": f"{runtime}/copilotkit", "CHROMIUM": browser} | picture()
        run(["npm", "run", "build", "--", "--logLevel", "error"], app, environ)
        with pages(app / "dist") as url:
            told = run([node, HERE / "react-app.mjs", app, url], app, environ)
    found: Seen = json.loads(told)
    assert "failure" not in found, found["failure"]
    return found


def test_a_new_board_has_its_first_tasks(seen: Seen) -> None:
    assert seen["first"] == {
        "columns": {
            "todo": ["HB-21 Mira", "HB-22 Jonas", "HB-24 Priya"],
            "doing": ["HB-17 Jonas", "HB-19 Priya", "HB-20 Mira"],
            "done": ["HB-12 Mira", "HB-14 Jonas", "HB-15 Priya"],
        },
        "marked": [],
        "said": [],
        "answers": [],
    }


def test_an_answer_grows_word_by_word(seen: Seen) -> None:
    first = "The release waits"
    texts = [text[text.index(first) :] for text in seen["growing"] if first in text]

    assert len(texts) > 10
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_the_browser_marks_the_tasks_that_the_copilot_speaks_of(seen: Seen) -> None:
    assert seen["marked"]["marked"] == ["HB-22", "HB-19"]
    assert seen["marked"]["columns"] == seen["first"]["columns"]


def test_a_change_is_asked_about_and_made_when_it_is_approved(seen: Seen) -> None:
    assert seen["question"] == "May I change this task? Write the release notes To do → Done Approve Keep as it is"
    assert seen["before"]["columns"] == seen["first"]["columns"]
    assert seen["reminded"] == seen["question"], "the same question after a reload"

    assert "HB-21 Mira" not in seen["approved"]["columns"]["todo"]
    assert "HB-21 Mira" in seen["approved"]["columns"]["done"]
    assert seen["approved"]["answers"][-1] == "Write the release notes is in Done now, with Mira."


def test_a_change_that_is_refused_is_not_made(seen: Seen) -> None:
    assert seen["refused"]["columns"] == seen["approved"]["columns"]
    assert seen["refused"]["answers"][-1] == "All right, the board stays as it is."


def test_a_reload_shows_the_conversation_once_and_the_board_as_it_was(seen: Seen) -> None:
    assert seen["reloaded"] == seen["refused"]
    assert seen["reloaded"]["said"] == [
        "What is holding up the release?",
        "Mark the release notes as done",
        "Give the launch webinar to Jonas",
    ]


def test_the_conversation_continues_after_a_reload(seen: Seen) -> None:
    """And the copilot knows from the page who is signed in."""
    assert seen["afterwards"]["answers"][-1] == "Mira has 1 open task: Test on small screens, in progress"


def test_the_thumbs_below_an_answer_store_one_vote(seen: Seen) -> None:
    first, second = seen["voted"]

    assert (first["value"], second["value"]) == ("up", "down")
    assert first["id"] == second["id"]
    assert first["messageId"] == second["messageId"]


def test_starting_over_gives_an_empty_chat_and_the_first_board(seen: Seen) -> None:
    assert seen["anew"] == seen["first"]


def test_the_console_stays_silent(seen: Seen) -> None:
    assert seen["complaints"] == []


def find_programs() -> tuple[str, str]:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium), nor named in CHROMIUM")
    return node, browser


def picture() -> dict[str, str]:
    """Where to put a picture of the page, if one is wanted."""
    wanted = os.environ.get("RIGHTSEAT_SCREENSHOT")
    return {"RIGHTSEAT_SCREENSHOT": str(Path(wanted).absolute())} if wanted else {}


def install(example: Path = EXAMPLE) -> Path:
    """The folder of the packages that the example's lock names. They are installed once, in some minutes."""
    lock = (example / "package-lock.json").read_bytes()
    cache = CACHE / example.name
    home = cache / hashlib.sha256(lock).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (home / ".installed").exists():
            faulthandler.cancel_dump_traceback_later()  # it would end the test after five minutes
            for earlier in cache.glob("*/"):
                shutil.rmtree(earlier)
            home.mkdir()
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(example / name, home)
            run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], home, timeout=600)
            (home / ".installed").touch()
    return home / "node_modules"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The copilot's server, on a free port."""
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0"]
    with (
        (folder / "errors.log").open("w+") as errors,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            found = next((url for line in process.stdout for url in re.findall(r"http://127\.0\.0\.1:\d+", line)), None)
            assert found, (folder / "errors.log").read_text()
            yield found
        finally:
            process.kill()


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """A web server for the built page, on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def run(command: list[Any], folder: Path, environ: Mapping[str, str] = os.environ, timeout: float = 120) -> str:
    done = subprocess.run(command, cwd=folder, env=dict(environ), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout
