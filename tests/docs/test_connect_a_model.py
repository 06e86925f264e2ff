"""The page on models says what is true."""

import re
from pathlib import Path

import pytest

from rightseat import app, config
from rightseat.core.errors import ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.models.openai import Options

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "connect-a-model.md").read_text()
NAMES = ["OPENAI", "AZURE_OPENAI", "GROQ", "OPENROUTER", "ANTHROPIC", "FOUNDRY", "GEMINI"]
OTHERS = ["AWS_BEARER_TOKEN_BEDROCK", "AZURE_CLIENT_SECRET", "OTHER_KEY_ID", "OTHER_SECRET_KEY"]
KEYS = dict.fromkeys((*(f"{name}_API_KEY" for name in NAMES), *OTHERS), "sk-123456789")


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_can_be_served(text: str) -> None:
    read = config.parse(text, environ=KEYS)

    assert app.assemble(read).owned
    assert read.models


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("Anthropic", "anthropic"),
        ("Google", "google"),
        ("LangChain", "langchain"),
        ("No model", "empty"),
        ("Several models in a row", "fallback"),
    ],
)
def test_every_type_has_its_snippet(name: str, type: str) -> None:
    assert f"type: {type}" in PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    "name", ["OpenAI", "Azure OpenAI", "vLLM", "SGLang", "Ollama", "llama.cpp's server", "Groq", "OpenRouter"]
)
def test_every_server_has_its_snippet(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]

    assert "type: openai" in section


@pytest.mark.parametrize("option", Options.model_fields)
def test_every_option_is_explained(option: str) -> None:
    assert re.search(rf"^- (`\w+`, )?`{option}`", PAGE, re.MULTILINE)


@pytest.mark.parametrize("error", [ModelRefusedKey, ModelRefused, ModelUnreachable])
def test_every_code_is_there(error: type[ModelRefused | ModelRefusedKey | ModelUnreachable]) -> None:
    assert f"| `{error.code}` |" in PAGE
