"""The clients and agents of the tests, and the versions that the tests are locked to."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "tests" / "acceptance"
TESTS = "tests"
"""The result of pytest, beside those of the suites."""

PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}
PINNED = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?==([\w.!+-]+)(?: *; *([^\\\n]+))?", re.MULTILINE)


@dataclass(frozen=True)
class Client:
    """`packages` are names in the file `lock`. `judge` is a suite of tests/acceptance, or `TESTS`.

    `follows` are those of which the newest version is tried each week; the others stay at a version on purpose.
    """

    name: str
    judge: str
    lock: str
    packages: tuple[str, ...]
    follows: tuple[str, ...] = ()

    def versions(self) -> list[str]:
        """Each package with its versions, such as `` `@ag-ui/client` 0.0.59, 1.0.0``."""
        pinned = [read_lock(ROOT / self.lock)[name] for name in self.packages]
        names = dict.fromkeys(package for package, _ in pinned)
        return [f"`{name}` {', '.join(version for one, version in pinned if one == name)}" for name in names]


CURRENT = "tests/acceptance/copilotkit-current/package.json"
GRAPHQL = "tests/acceptance/copilotkit-graphql/package.json"
AI_SDK = "tests/acceptance/ai-sdk/package.json"
ASSISTANT_UI = ("@assistant-ui/react", "@assistant-ui/react-ai-sdk")
RESPONSES_PYTHON = "tests/acceptance/responses/requirements.txt"
AI_SDK_7 = ("ai-7", "ai-sdk-openai-4")
RESPONSES_NODE = "tests/acceptance/responses/package.json"
ANTHROPIC_PYTHON = "tests/acceptance/anthropic/requirements.txt"
ANTHROPIC_NODE = "tests/acceptance/anthropic/package.json"
CLAUDE_CODE = ("@anthropic-ai/claude-code",)
COPILOTKIT = ("@copilotkit/react-core", "@copilotkit/react-ui")
CLIENTS = (
    Client("CopilotKit for React, AG-UI", "copilotkit-current", CURRENT, COPILOTKIT, COPILOTKIT),
    Client("AG-UI's client", "copilotkit-current", CURRENT, ("@ag-ui/client", "ag-ui-client-1"), ("ag-ui-client-1",)),
    Client("CopilotKit for React, GraphQL", "copilotkit-graphql", GRAPHQL, COPILOTKIT),
    Client(
        "CopilotKit's GraphQL client",
        "copilotkit-graphql",
        GRAPHQL,
        ("client-1.8.14", "@copilotkit/runtime-client-gql", "client-1.74.0"),
    ),
    Client("Vercel AI SDK 6, `useChat` for React", "ai-sdk", AI_SDK, ("ai", "@ai-sdk/react")),
    Client(
        "Vercel AI SDK 7, `useChat` for React", "ai-sdk", AI_SDK, ("ai-7", "ai-sdk-react-4"), ("ai-7", "ai-sdk-react-4")
    ),
    Client("assistant-ui", "ai-sdk", AI_SDK, ASSISTANT_UI, ASSISTANT_UI),
    Client("OpenAI's SDK for Python, Responses", "responses", RESPONSES_PYTHON, ("openai",), ("openai",)),
    Client("OpenAI's SDK for Node", "responses", RESPONSES_NODE, ("openai",), ("openai",)),
    Client("OpenAI's Agents SDK", "responses", RESPONSES_PYTHON, ("openai-agents",), ("openai-agents",)),
    Client("[Codex](../how-to/codex.md)", "responses", RESPONSES_NODE, ("@openai/codex",), ("@openai/codex",)),
    Client("OpenAI's Agents SDK for JavaScript", "responses", RESPONSES_NODE, ("@openai/agents",), ("@openai/agents",)),
    Client("Vercel AI SDK 6, OpenAI provider", "responses", RESPONSES_NODE, ("ai", "@ai-sdk/openai")),
    Client("Vercel AI SDK 7, OpenAI provider", "responses", RESPONSES_NODE, AI_SDK_7, AI_SDK_7),
    Client("[Claude Code](../how-to/claude-code.md)", "anthropic", ANTHROPIC_NODE, CLAUDE_CODE, CLAUDE_CODE),
    Client("Anthropic's SDK for Python", "anthropic", ANTHROPIC_PYTHON, ("anthropic",), ("anthropic",)),
    Client("Anthropic's Agent SDK", "anthropic", ANTHROPIC_PYTHON, ("claude-agent-sdk",), ("claude-agent-sdk",)),
    Client("Anthropic's SDK for Node", "anthropic", ANTHROPIC_NODE, ("@anthropic-ai/sdk",), ("@anthropic-ai/sdk",)),
    Client("Vercel AI SDK, Anthropic provider", "anthropic", ANTHROPIC_NODE, ("ai", "@ai-sdk/anthropic")),
    Client(
        "LangChain, `ChatAnthropic`",
        "anthropic",
        "tests/acceptance/anthropic/requirements-langchain.txt",
        ("langchain-anthropic",),
    ),
    Client(
        "OpenBB Workspace, by the models of openbb-ai",
        "openbb",
        "tests/acceptance/openbb/requirements.txt",
        ("openbb-ai",),
        ("openbb-ai",),
    ),
    Client(
        "OpenAI's SDK for Python",
        "tool-calls",
        "tests/acceptance/tool-calls/requirements.txt",
        ("openai",),
        ("openai",),
    ),
    Client("MCP's SDK for Python, as client and as server", TESTS, "requirements/dev.txt", ("mcp",)),
)
AGENTS = (
    Client("pydantic-ai", TESTS, "requirements/servers/pydantic-ai.txt", ("pydantic-ai-slim", "ag-ui-protocol")),
    Client("LangGraph", TESTS, "requirements/servers/langgraph.txt", ("langgraph", "langgraph-api", "ag-ui-langgraph")),
    Client("CrewAI", TESTS, "requirements/servers/crewai.txt", ("crewai", "ag-ui-crewai")),
    Client("CopilotKit's SDK for Python", TESTS, "requirements/servers/langgraph.txt", ("copilotkit",)),
    Client(
        "CopilotKit's SDK for Python, last with JSON lines",
        TESTS,
        "requirements/servers/copilotkit-0.1.63.txt",
        ("copilotkit",),
    ),
)


@cache
def read_lock(file: Path) -> dict[str, tuple[str, str]]:
    """Package and version, by the name in a package.json or in a requirements file, for Python 3.11."""
    text = file.read_text()
    if file.suffix == ".json":
        return {name: read_npm(name, version) for name, version in json.loads(text)["dependencies"].items()}
    return {
        name: (name, version)
        for name, version, marker in PINNED.findall(text)
        if not marker or Marker(marker).evaluate(PYTHON)
    }


def read_npm(name: str, version: str) -> tuple[str, str]:
    """`npm:@ag-ui/client@1.0.0` is another package under this name."""
    package, _, aliased = version.removeprefix("npm:").rpartition("@")
    return (package, aliased) if version.startswith("npm:") else (name, version)
