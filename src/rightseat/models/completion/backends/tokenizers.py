"""Reads a model's chat template and its BOS and EOS tokens from its published tokenizer files."""

from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import ConfigError
from rightseat.core.types import JSON_ERRORS
from rightseat.models.completion.backend import Description

FILE = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
TOOL_TEMPLATE = "additional_chat_templates/tool_use.jinja"  # as transformers saves it beside the first


def describe(path: Path) -> Description:
    """`path` is the model's folder or its `tokenizer_config.json`. Raises `ConfigError`."""
    folder = path if path.is_dir() else path.parent
    file = path / FILE if path.is_dir() else path
    try:
        config = msgspec.json.decode(file.read_bytes())
        template, tool_template = _read(folder / TEMPLATE), _read(folder / TOOL_TEMPLATE)
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.") from error
    except JSON_ERRORS as error:
        raise ConfigError(f"{file} is not a valid {FILE}: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{file} is not a valid {FILE}: it must be a JSON object.")
    named = _templates(config.get("chat_template"))
    return Description(
        template=template or named.get("default", ""),
        tool_template=tool_template or ("" if template else named.get("tool_use", "")),
        bos=_token(config.get("bos_token")),
        eos=_token(config.get("eos_token")),
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _templates(value: Any) -> dict[str, str]:
    """`value` is a template, or a list of named ones."""
    entries = value if isinstance(value, list) else [{"name": "default", "template": value}]
    return {
        str(entry.get("name")): template
        for entry in entries
        if isinstance(entry, dict) and isinstance(template := entry.get("template"), str)
    }


def _token(value: Any) -> str:
    """`value` is a text, or an object with the text in `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""
