"""Takes the pictures of the console in docs/images, in Chromium: python -m tests.docs.pictures [FOLDER] [--review]

It starts a server with the example plugins, their demo APIs and a model that goes by keywords, and a second one without
a configuration. What a person does there is in `pictures.mjs`. With `--review` every screen is pictured in both color
schemes, both languages and two widths. Needs node, npm and Chromium.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.clients import test_react_app as board
from tests.clients.test_plugins_app import EXAMPLES, apis, secrets

HERE = Path(__file__).parent
IMAGES = HERE.parent.parent / "docs" / "images"
SETUP_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/console/#/\S*setup=[\w-]+")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
SMALL = {"type": "loop", "model": "small"}
SHOP = {
    "type": "loop",
    "model": "shop",
    "instructions": "You help customers of a shop. Look up the order before you answer.",
    "tools": ["ops.picture_shop:tools"],
}
"""Its run is run again with a change."""
USERS = {"alice": ["*", "operator.*:*"], "bob": ["*"], "carol": ["*"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.docs.pictures")
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    parser.add_argument("--review", action="store_true")
    options = parser.parse_args()
    node, browser = board.find_programs()
    packages = board.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = copy_examples(folder)
        empty = folder / "new"
        empty.mkdir()
        with (
            apis(app, folder / "plugins"),
            secrets(),
            serving(app, ADDRESS) as server,
            serving(empty, SETUP_ADDRESS) as first_start,
        ):
            task = {"server": server, "firstStart": first_start, "folder": str(options.folder.absolute())}
            arguments = json.dumps(task | {"packages": str(packages.parent), "isReview": options.review})
            environ = os.environ | {"CHROMIUM": browser}
            taken = subprocess.run([node, HERE / "pictures.mjs", arguments], check=False, env=environ)
    sys.exit(taken.returncode)


def copy_examples(folder: Path) -> Path:
    """The folder of the server, whose configuration gets users, prices, and a model that reports tokens."""
    unwanted = shutil.ignore_patterns("node_modules", "dist", ".rightseat")
    for name in ("plugins", "plugins-app"):
        shutil.copytree(EXAMPLES / name, folder / name, ignore=unwanted)
    server = folder / "plugins-app" / "server"
    for name in ("picture_model.py", "picture_shop.py"):
        shutil.copy(HERE / name, server / "ops")
    path = server / "rightseat.yaml"
    path.write_text(yaml.safe_dump(change_configuration(yaml.safe_load(path.read_text())), allow_unicode=True))
    return server


def change_configuration(written: dict[str, Any]) -> Mapping[str, Any]:
    keys = [{"name": name, "key": f"key-{name}", "user": name, "scopes": scopes} for name, scopes in USERS.items()]
    faces = [face | {"edit": True} if face["type"] == "operator" else face for face in written["faces"]]
    return written | {
        "models": {
            "default": {"type": "ops.picture_model"},
            "small": {"type": "scripted"},
            "shop": {"type": "ops.picture_shop"},
        },
        "agents": written["agents"] | {"support": SMALL, "research": SMALL | {"memory": {}}, "shop": SHOP},
        "evals": {"record_prompts": True},
        "prices": {name: {"input": 0.15, "output": 0.6} for name in ("default", "shop")},
        "access": {"keys": keys},
        "faces": faces,
    }


@contextmanager
def serving(folder: Path, address: re.Pattern[str]) -> Iterator[str]:
    """A server on a free port, and the address that it prints."""
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0"]
    environ = {name: value for name, value in os.environ.items() if name not in PROVIDER_KEYS} | {"HOME": str(folder)}
    with (
        (folder / "errors.log").open("w+") as errors,
        subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            found = next((match[0] for line in process.stdout if (match := address.search(line))), None)
            assert found, (folder / "errors.log").read_text()
            yield found
        finally:
            process.kill()


if __name__ == "__main__":
    main()
