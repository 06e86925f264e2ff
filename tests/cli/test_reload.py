"""`rightseat serve --reload`, as a program."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.server_process import WAIT_S, ServerProcess

pytestmark = pytest.mark.whole

CONFIG = """
models: {default: {type: scripted, chunk_delay: %s}}
agents: {default: {tools: ['my_tools:greet']}}
faces: [{type: openai, path: %s}]
server: {shutdown_timeout: 20}
"""
TOOL = "def greet(name: str) -> str:\n    'Greets.'\n    return %r\n"


@contextmanager
def reloading() -> Iterator[tuple[ServerProcess, str]]:
    command = [sys.executable, "-m", "rightseat", "serve", "--reload", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        server = ServerProcess(process)
        try:
            (url,) = re.findall(r"http://127\.0\.0\.1:\d+", server.wait_for("  serves "))
            server.wait_for("  origins ")
            yield server, str(url)
        finally:
            process.send_signal(signal.SIGINT)
            server.reader.join(WAIT_S)
    assert process.returncode == 0


def write(path: str, text: str) -> None:
    """As an editor does: another file takes the place of the old one."""
    Path(f"{path}.new").write_text(text)
    Path(f"{path}.new").replace(path)


def ask(url: str, question: str) -> str:
    body = {"model": "default", "messages": [{"role": "user", "content": question}]}
    return str(
        httpx2.post(f"{url}/chat/completions", json=body, timeout=WAIT_S).json()["choices"][0]["message"]["content"]
    )


def test_changes_restart_the_server_at_the_same_address_and_errors_do_not() -> None:
    write("my_tools.py", TOOL % "Hello")
    write("rightseat.yaml", CONFIG % (0, "/v1"))

    with reloading() as (server, url):
        assert ask(f"{url}/v1", "greet Ada") == "The tool greet returned: Hello"

        write("my_tools.py", TOOL % "Good morning")
        server.wait_for("Changed: my_tools.py.")
        server.wait_for("  origins ")
        assert ask(f"{url}/v1", "greet Ada") == "The tool greet returned: Good morning"

        write("rightseat.yaml", "modles: {}\n")
        server.wait_for("Error: rightseat.yaml:1:1: modles: unknown key.")
        server.wait_for("The server goes on as before, until the next change.")
        assert ask(f"{url}/v1", "greet Ada") == "The tool greet returned: Good morning"

        write("my_tools.py", "def greet(\n")
        server.wait_for("The server goes on as before")

        write("my_tools.py", TOOL % "Good evening")
        server.wait_for("The server goes on as before")  # the configuration still has its error
        write("rightseat.yaml", CONFIG % (0, "/api"))
        server.wait_for("  origins ")
        assert ask(f"{url}/api", "greet Ada") == "The tool greet returned: Good evening"

    assert not any("Address already in use" in line for line in server.lines)


def test_a_run_in_progress_ends_before_the_server_restarts() -> None:
    write("my_tools.py", TOOL % "Hello")
    write("rightseat.yaml", CONFIG % (0.1, "/v1"))
    body = {"model": "default", "messages": [{"role": "user", "content": "Hello"}], "stream": True}

    with (
        reloading() as (server, url),
        httpx2.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=WAIT_S) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        write("my_tools.py", TOOL % "Good morning")
        server.wait_for("Changed: my_tools.py.")
        rest = list(lines)
        server.wait_for("  origins ")
        answer = ask(f"{url}/v1", "greet Ada")

    assert rest[-2:] in (["data: [DONE]", ""], ["", "data: [DONE]"])
    assert '"finish_reason":"stop"' in "".join(rest).replace(" ", "")
    assert answer == "The tool greet returned: Good morning"


@pytest.mark.night  # the gate changes a module and the configuration, which the same watcher sees
def test_a_change_of_a_plugin_restarts_the_server(folder: Path) -> None:
    write("rightseat.yaml", "toolboxes: {mine: {type: plugins, folders: [plugins]}}\n")
    (folder / "plugins").mkdir()
    subprocess.run([sys.executable, "-m", "rightseat", "plugin", "new", "greeter"], check=True)

    with reloading() as (server, _):
        write("plugins/greeter/plugin.json", Path("plugins/greeter/plugin.json").read_text().replace("0.1.0", "0.2.0"))
        server.wait_for("Changed: plugins/greeter/plugin.json.")
        server.wait_for("  origins ")
