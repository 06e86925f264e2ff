"""The text of a first configuration file: a model provider, one agent, and the faces of a first start."""

import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from rightseat.config.schema import read_schema
from rightseat.core.errors import ConfigError
from rightseat.parts import private_folder

DEFAULT_PORT = 8000
SCHEMA = Path(".rightseat") / "rightseat.schema.json"  # editors resolve it relative to the configuration


@dataclass(frozen=True, slots=True)
class Provider:
    """A choice of the model. `variable` is the environment variable with its API key."""

    label: str
    model: str = ""
    type: str = ""
    variable: str = ""
    base_url: str = ""


PROVIDERS = {
    "openai": Provider("OpenAI", "gpt-4o-mini", "openai", "OPENAI_API_KEY"),
    "anthropic": Provider("Anthropic", "claude-sonnet-5", "anthropic", "ANTHROPIC_API_KEY"),
    "google": Provider("Google", "gemini-3.8-flash", "google", "GEMINI_API_KEY"),
    "ollama": Provider(
        "Ollama, or another OpenAI-compatible server", "llama3.2", "openai", base_url="http://localhost:11434/v1"
    ),
    "gguf": Provider("a GGUF file on this machine", "model.gguf", "completion"),
    "demo": Provider("none yet: the built-in demo model, which needs no key"),
}

DEMO = """\
    type: scripted   # the built-in demo model: needs no key, does not understand language
    # For a real model, remove the line above and uncomment these:
    # type: openai
    # model: gpt-4o-mini
    # api_key: ${OPENAI_API_KEY}
    # base_url: http://localhost:11434/v1   # any OpenAI-compatible server: Ollama, vLLM, Groq
"""

TEXT = """\
# The configuration of rightseat. `rightseat check` validates it.

models:
  default:
{model}
agents:
  default:
    model: default
    instructions: You are a helpful copilot. Be brief.
    # tools: [my_tools:get_weather]   # Python functions in my_tools.py, beside this file

faces:
  - type: copilotkit
    path: /copilotkit
  - type: openai
    path: /v1
  # The web console at /console/, and its API
  - type: console
  - type: operator

threads:
  # Threads that were not used for so many days are deleted. Without this line they are stored until a user deletes them
  retention_days: 90

server:
  host: 127.0.0.1
  port: {port}
  # origins: ["http://localhost:3000"]   # web pages that may call; default: all pages on this machine
"""


def write_starter(
    provider: Provider, model: str, base_url: str = "", *, has_schema: bool = False, port: int = DEFAULT_PORT
) -> str:
    """The text of the file. With `has_schema` its first line names the file of `write_schema`, for editors."""
    first_line = f"# yaml-language-server: $schema={SCHEMA.as_posix()}\n" if has_schema else ""
    return first_line + TEXT.format(model=write_model(provider, model, base_url), port=port)


def write_model(provider: Provider, model: str, base_url: str) -> str:
    """The block below `models.default`, indented."""
    if not provider.type:
        return DEMO
    values: dict[str, object] = {"type": provider.type}
    values |= {"backend": {"model": model}} if provider.type == "completion" else {"model": model}
    values |= {"api_key": f"${{{provider.variable}}}"} if provider.variable else {}
    values |= {"base_url": base_url} if base_url else {}
    lines = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000).splitlines()
    return "".join(f"    {line}\n" for line in lines)


def create_file(file: Path, text: str, mode: int = 0o666) -> None:
    """Write a new file. Raises `ConfigError`, also if it exists."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise ConfigError(f"{file} already exists. Remove it, or write another: rightseat init FILE.") from None
    except OSError as error:
        raise ConfigError(f"{error.filename or file} cannot be written: {error.strerror}.") from error


def write_schema(folder: Path) -> None:
    """Write the JSON Schema that the first line of a file in this folder names. Raises `ConfigError`."""
    file = folder / SCHEMA
    try:
        private_folder(file.parent)
        file.write_text(read_schema(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename or file} cannot be written: {error.strerror}.") from error
