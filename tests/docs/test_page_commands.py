"""Pages whose files and commands are tried as they stand."""

import os
import sys
from pathlib import Path

import pytest

from tests.access.credentials import ISSUER, RSA, jwks, token
from tests.conftest import Serve
from tests.docs import page_commands
from tests.docs.blocks import forget_module
from tests.models.completion.backends.test_process import STAND_IN
from tests.models.completion.test_gguf import WHOLE, head

PAGES = [
    "coming-from-copilotkit-runtime",
    "coming-from-eulercopilot",
    "coming-from-llama-server",
    "coming-from-openbb-examples",
    "evaluations",
    "langgraph-without-a-langsmith-licence",
    "runs-that-survive-a-closed-tab",
    "teams-by-claims",
]
MODULES = ("my_tools", "my_graph", "my_scorers")
"""Of the pages, each in a folder of its own."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    monkeypatch.syspath_prepend(tmp_path)
    for name in MODULES:
        forget_module(name, monkeypatch)
    return tmp_path


@pytest.fixture
def _model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GGUF file, and a `llama-server` on the PATH that stands in for the real one and makes a call."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "llama-server").write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    (programs / "llama-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    template = "{% for tool in tools %}<tool_call>{% endfor %}"
    (folder / "model.gguf").write_bytes(head(WHOLE | {"tokenizer.chat_template": template}))
    (folder / "answer").write_text('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>')


@pytest.fixture
def _tokens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an identity provider publishes, and tokens of three people."""
    (folder / "jwks.json").write_text(jwks(RSA))
    for name, scopes in {"ALICE": ["openai:support"], "BOB": ["openai:finance"], "EVE": None}.items():
        monkeypatch.setenv(name, token(sub=name.lower(), rightseat=scopes))


@pytest.mark.usefixtures("_model", "_tokens")
@pytest.mark.parametrize("name", PAGES)
async def test_every_command_of_the_page_prints_what_the_page_says(name: str, folder: Path, serve: Serve) -> None:
    async with page_commands.reader(folder, serve) as reader:
        reader.prepare = lambda text: text.replace(f"{ISSUER}/.well-known/jwks.json", str(folder / "jwks.json"))
        await reader.follow(page_commands.page(name))

    assert reader.commands


@pytest.mark.parametrize(
    ("expected", "printed", "is_equal"),
    [
        ("", "anything", True),
        ("ok", "ok\n", True),
        ("ok", "ok then", False),
        ("a …", "a b c", True),
        ("a\n…", "a\nb\nc", True),
        ("a …\nz", "a b\nc\nz", True),
        ("a …\nz", "a b\nc\ny", False),
        ("http://localhost:7777/x", "http://127.0.0.1:8000/x", True),
        ("http://localhost:7777/x", "http://127.0.0.1:8000/y", False),
    ],
)
def test_what_is_printed_is_compared_but_for_what_the_page_leaves_out(
    expected: str, printed: str, is_equal: bool
) -> None:
    assert page_commands.matches(expected, printed) == is_equal


def test_a_command_ends_where_its_quotes_do() -> None:
    assert page_commands.split_command("curl x \\\n  -d '{\n}'\nprinted") == ("curl x \\\n  -d '{\n}'", "printed")
