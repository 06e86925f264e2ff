"""README and the quickstart, run as they are written, where only the base dependencies and the wheel are installed.

All tests share one environment. A command that needs an extra, npm or a browser is not run. A new command on one of the
pages fails `test_every_command_of_the_pages_is_run` until a test runs it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from rightseat import parts
from tests.cli.terminal import CTRL_D, terminal
from tests.docs.blocks import BLOCK, ROOT, read_blocks
from tests.docs.configuration import KINDS
from tests.docs.test_blocks import INLINE_COMMAND
from tests.servers import installing
from tests.services import free_port

pytestmark = pytest.mark.servers

README, QUICKSTART = ROOT / "README.md", ROOT / "docs" / "quickstart.md"
INSTALL = "python3 -m venv .venv\n. .venv/bin/activate\npip install .\n"
"""What the environment of these tests replaces: it has the pinned versions, and is not made again for each test."""
NOT_RUN = {
    "rightseat serve --model FILE.gguf": "needs the extra `local`, a model and llama-server",
    "pip install '.[local]'": "an extra",
    "pip install '.[dbos]'": "an extra",
}
DOCTOR_FOUND_ERRORS = 1  # unless a server runs at the address of Ollama here
LISTENING = re.compile(r"  origins .*\n")
EXTRA = re.compile(r"pip install \S+\[(\w+)\]'")


@dataclass(frozen=True)
class Installation:
    """The environment, and an empty folder to run commands in."""

    home: Path
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTHON"))}
        return clean | {"PATH": f"{self.home / 'bin'}{os.pathsep}{clean['PATH']}", "VIRTUAL_ENV": str(self.home)}

    def run(self, commands: str, *statuses: int) -> str:
        """What a shell prints for the commands, which end with 0 or with one of the statuses."""
        done = subprocess.run(
            ["bash", "-ec", commands],
            cwd=self.folder, env=self.environ, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
        assert done.returncode in (0, *statuses), f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def serve(self, command: str) -> Iterator[str]:
        """The summary that the server prints."""
        pipe = subprocess.PIPE
        arguments = shlex.split(command)
        program = [str(self.home / "bin" / arguments[0]), *arguments[1:]]
        with subprocess.Popen(program, cwd=self.folder, env=self.environ, stdout=pipe, text=True) as process:
            assert process.stdout is not None
            try:
                summary = ""
                while not LISTENING.search(summary):
                    line = process.stdout.readline()
                    assert line, summary
                    summary += line
                yield summary
            finally:
                process.terminate()
                process.wait()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    installing.run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder])
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, on top of one with `requirements/base.txt`, which is installed once."""
    base, home = installing.install("base"), tmp_path_factory.mktemp("base") / ".venv"
    installing.run([base, "-m", "venv", "--without-pip", home])
    (packages,) = home.glob("lib/python*/site-packages")
    (below,) = base.parents[1].glob("lib/python*/site-packages")
    (packages / "base.pth").write_text(f"{below}\n")
    python = home / "bin" / "python"
    installing.run([*installing.UV, "install", "--quiet", "--python", python, "--no-deps", wheel])
    return home


@pytest.fixture
def installed(home: Path, tmp_path: Path) -> Installation:
    return Installation(home, tmp_path)


def test_the_wheel_has_what_is_not_python(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"

    others = {
        path.relative_to(source).as_posix()
        for path in (source / "rightseat").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert "rightseat/config/rightseat.schema.json" in others
    assert sorted(others - names) == []


def test_readme(installed: Installation) -> None:
    install, ask, serve, curl = shell(README)
    port = free_port()

    assert install == INSTALL
    assert "built-in demo model" in installed.run(ask)
    with installed.serve(f"{serve.strip()} --port {port}") as summary:
        assert as_on_the_page(summary, port) == as_on_the_page(code(README, "text")[0], 8000)
        assert json.loads(installed.run(at(curl, port)))["choices"][0]["message"]["content"]
    installed.run("rightseat init")
    (configuration,) = code(README, "yaml")
    (installed.folder / "rightseat.yaml").write_text(configuration)
    assert "rightseat.yaml: valid." in installed.run("rightseat check")
    assert "http://localhost:11434" in installed.run("rightseat doctor", DOCTOR_FOUND_ERRORS)


def test_the_application_of_readme_can_be_served(installed: Installation) -> None:
    (application,) = code(README, "python")

    (installed.folder / "main.py").write_text(application)

    assert installed.run("python -c 'import main; print(len(main.app.routes) > 4)'") == "True\n"


def test_the_quickstart(installed: Installation) -> None:
    install, ask, serve, curl, init, ask_tool = shell(QUICKSTART)
    agents, model = code(QUICKSTART, "yaml")
    (tools,) = code(QUICKSTART, "python")
    port = free_port()

    assert install == INSTALL
    assert "built-in demo model" in installed.run(ask)
    chat(installed)
    with installed.serve(f"{serve.strip()} --port {port}"):
        assert json.loads(installed.run(at(curl, port)))["choices"][0]["message"]["content"]
    assert "Wrote rightseat.yaml" in installed.run(init)
    (installed.folder / "my_tools.py").write_text(tools)
    change(installed, f"server: {{port: {port}}}")
    change(installed, agents)
    assert "21.5" in installed.run(ask_tool)
    assert "errors 0" in installed.run("rightseat doctor")
    change(installed, model)
    assert "http://localhost:11434" in installed.run("rightseat doctor", DOCTOR_FOUND_ERRORS)


def chat(installed: Installation) -> None:
    program = [str(installed.home / "bin" / "rightseat")]
    with terminal("chat", program=program, **installed.environ) as conversation:
        conversation.wait_for("> ")
        conversation.enter("hello")
        conversation.wait_for("You said")
        conversation.wait_for("> ")
        conversation.type(CTRL_D)

        assert conversation.wait_for_end() == 0


def change(installed: Installation, lines: str) -> None:
    """Write the sections into the configuration, as a reader of the page does."""
    file = installed.folder / "rightseat.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | yaml.safe_load(lines)))


@pytest.mark.parametrize("page", [README, QUICKSTART], ids=["readme", "quickstart"])
def test_every_command_of_the_pages_is_run(page: Path) -> None:
    run = Path(__file__).read_text().partition("def test_readme")[2]
    prose = BLOCK.sub("", page.read_text())
    commands = [*INLINE_COMMAND.findall(prose), *re.findall(r"(?<!`)`(pip install [^`]+)`(?!`)", prose)]

    assert commands
    assert [one for one in commands if one not in NOT_RUN and one.split()[1] not in run] == []


def test_the_parts_are_those_that_there_are_with_all_extras(installed: Installation) -> None:
    """And each that needs an extra names it. `stores/pool.py` is no part, also where a package that it imports is
    missing."""
    (installed.folder / "parts.py").write_text(FIND_PARTS)

    found = json.loads(installed.run("python parts.py"))

    assert found["names"] == {kind: parts.builtin(kind) for kind in KINDS}
    assert {part: EXTRA.findall(message) for part, message in found["refused"].items()} == {
        "engines.dbos": ["dbos"],
        "faces.mcp": ["mcp"],
        "logs.postgres": ["postgres"],
        "logs.redis": ["redis"],
        "toolboxes.mcp": ["mcp"],
        **{text: [extra] for text, extra in NEEDING.items()},
    }


NEEDING = {
    "faces: [{type: metrics}]": "metrics",
    "models: {default: {type: langchain, model: 'openai:m'}}": "langchain",
    "models: {default: {type: completion, backend: {model: m.gguf}}}": "local",
    "models: {default: {type: google, model: m, platform: vertex, project: p, region: r}}": "vertex",
    "models: {default: {type: openai, model: m, base_url: 'https://x.openai.azure.com/openai/v1', entra: {}}}": "azure",
    "models: {default: {type: anthropic, model: m, platform: bedrock, region: r, aws: {}}}": "bedrock",
    "agents: {default: {type: langgraph, graph: 'json:loads'}}": "langgraph",
    "threads: {type: sql, url: 'postgresql://localhost/x'}": "postgres",
    "telemetry: {traces: 'http://localhost'}": "telemetry",
}
FIND_PARTS = f"""
import json
from rightseat import app, config, parts
from rightseat.core.errors import ConfigError

names, refused = {{}}, {{}}
for kind in {KINDS}:
    names[kind] = parts.builtin(kind)
    for name in names[kind]:
        try:
            parts.find(kind, name)
        except ConfigError as error:
            refused[f"{{kind}}.{{name}}"] = error.message
for text in {list(NEEDING)}:
    try:
        app.build(config.parse(text))
    except ConfigError as error:
        refused[text] = error.message
print(json.dumps({{"names": names, "refused": refused}}))
"""


def shell(page: Path) -> list[str]:
    return code(page, "sh")


def code(page: Path, language: str) -> list[str]:
    return [block.code for block in read_blocks(page) if block.language == language]


def at(command: str, port: int) -> str:
    """Tests run side by side, so none can have port 8000."""
    return command.replace(":8000/", f":{port}/")


def as_on_the_page(summary: str, port: int) -> str:
    return re.sub(r"setup=[\w-]+", "setup=…", summary).replace(f":{port}/", ":8000/")
