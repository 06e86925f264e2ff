"""examples/plugins-app as a person sees it: CopilotKit in Chromium, a real `rightseat serve` with the example plugins.

What the person does is in `plugins-app.mjs`; it is done once, and judged here.
"""

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.clients import test_react_app as board
from tests.faces.plugged import SECRETS, move

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"

pytestmark = pytest.mark.clients

Seen = Mapping[str, Any]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What was on the page, moment by moment."""
    node, browser = board.find_programs()
    folder = tmp_path_factory.mktemp("examples")
    for name in ("plugins", "plugins-app"):
        unwanted = shutil.ignore_patterns("node_modules", "dist", ".rightseat")
        shutil.copytree(EXAMPLES / name, folder / name, ignore=unwanted)
    app = folder / "plugins-app"
    (app / "node_modules").symlink_to(board.install())  # the two examples have the same packages
    (folder / "a.csv").write_text("name,amount\nApple,3\nPear,5\n")
    with apis(app / "server", folder / "plugins"), secrets(), board.serving(app / "server") as runtime:
        environ = os.environ | {"VITE_RUNTIME_URL": f"{runtime}/copilotkit", "CHROMIUM": browser} | pictures()
        board.run(["npm", "run", "build", "--", "--logLevel", "error"], app, environ)
        with board.pages(app / "dist") as url:
            told = board.run([node, HERE / "plugins-app.mjs", app, url, folder / "a.csv"], app, environ)
    found: Seen = json.loads(told)
    assert "failure" not in found, found["failure"]
    return found


def test_the_examples_have_the_same_packages() -> None:
    ours, boards = (
        json.loads((EXAMPLES / name / "package-lock.json").read_text()) for name in ("plugins-app", "react-app")
    )
    for lock in (ours, boards):
        del lock["name"], lock["packages"][""]["name"]

    assert ours == boards


def test_a_chart_is_drawn_in_the_answer(seen: Seen) -> None:
    assert seen["chart"] == {"name": "Revenue by region, 2025", "width": 800, "kind": "svg"}


def test_the_steps_of_the_flow_are_listed(seen: Seen) -> None:
    assert seen["steps"] == ["start", "has_rows", "draw", "conclude", "end"]


def test_copilotkits_chat_shows_what_a_flow_suggests_and_shows_it_again_after_a_reload(seen: Seen) -> None:
    assert seen["suggested"] == ["How many orders in 2025?"]
    assert seen["whileAsked"] == []
    assert seen["suggestedAgain"] == ["What is in this file?"]


def test_an_approval_shows_what_would_be_sent_and_is_clicked(seen: Seen) -> None:
    assert seen["question"].startswith("Allow Host security to run this? POST http://127.0.0.1:")
    assert "host_id: db-01 (question) depth: quick (default)" in seen["question"]
    assert seen["scanned"].startswith("The scan has begun. Its number is scan-db-01-1.")


def test_what_is_not_allowed_is_not_done(seen: Seen) -> None:
    assert seen["refused"].startswith("All right, nothing was scanned.")


def test_what_is_missing_is_asked_for_in_a_form(seen: Seen) -> None:
    assert seen["form"] == "Weather needs some input from you: city. city Send Stop"
    assert re.match(r"The forecast of the demo API: \d{4}-\d\d-\d\d .*, \d+ to \d+ °C", seen["weather"])


def test_a_question_beside_an_open_one_is_refused_in_the_chat(seen: Seen) -> None:
    assert seen["beside"] == "Please answer the open question first, or stop it. Dismiss"


def test_a_file_is_attached_converted_and_downloaded(seen: Seen) -> None:
    assert seen["file"].startswith("a.md")
    assert seen["download"]["name"] == "a.md"
    assert seen["download"]["content"].splitlines()[2] == "| Apple | 3 |"


def test_after_a_reload_all_of_it_is_there(seen: Seen) -> None:
    assert seen["reloaded"] == {"same": True, "chart": seen["chart"]}


def test_the_console_stays_silent(seen: Seen) -> None:
    assert seen["complaints"] == []


@contextmanager
def apis(server: Path, plugins: Path) -> Iterator[None]:
    """The plugins' demo APIs on free ports, which the copies of the plugins and of the configuration then name."""
    demo = load(server / "ops" / "apis.py")
    written = yaml.safe_load((server / "rightseat.yaml").read_text())
    with ExitStack() as stack:
        for plugin, old in demo.PORTS.items():
            api = stack.enter_context(demo.serve(plugin, 0))
            stack.callback(api.shutdown)
            move(plugins / plugin, old, api.server_port)
            toolbox, place = written["toolboxes"]["ops"], [f"127.0.0.1:{api.server_port}"]
            toolbox["allow_private"][plugin] = place
            for binding in toolbox["secrets"]:
                binding["hosts"] = place if binding["plugins"] == [plugin] else binding["hosts"]
        (server / "rightseat.yaml").write_text(yaml.safe_dump(written, allow_unicode=True))
        yield


@contextmanager
def secrets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in SECRETS:
            patch.setenv(f"RIGHTSEAT_SECRET_{name}", "demo")
        yield


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_apis", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pictures() -> dict[str, str]:
    """Where to put pictures of the page, if any are wanted."""
    wanted = os.environ.get("RIGHTSEAT_SCREENSHOTS")
    return {"RIGHTSEAT_SCREENSHOTS": str(Path(wanted).absolute())} if wanted else {}
