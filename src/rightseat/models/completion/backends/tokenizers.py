"""Reads a model's chat template and its BOS and EOS tokens from its published tokenizer files."""

from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import ConfigError
from rightseat.core.types import JSON_ERRORS
from rightseat.models.completion.backend import Description

FILE = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"


def describe(path: Path) -> Description:
    """`path` is the model's folder or its `tokenizer_config.json`. Raises `ConfigError`."""
    folder = path if path.is_dir() else path.parent
    file = path / FILE if path.is_dir() else path
    try:
        config = msgspec.json.decode(file.read_bytes())
        template_file = folder / TEMPLATE
        template = template_file.read_text(encoding="utf-8") if template_file.is_file() else ""
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.") from error
    except JSON_ERRORS as error:
        raise ConfigError(f"{file} is not a valid {FILE}: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{file} is not a valid {FILE}: it must be a JSON object.")
    return Description(
        template=template or _template(config.get("chat_template")),
        bos=_token(config.get("bos_token")),
        eos=_token(config.get("eos_token")),
    )


def _template(value: Any) -> str:
    """`value` is a template, or a list of named ones: then the one for tools, or the default."""
    if isinstance(value, list):
        named = {one.get("name"): one.get("template") for one in value if isinstance(one, dict)}
        value = named.get("tool_use") or named.get("default")
    return value if isinstance(value, str) else ""


def _token(value: Any) -> str:
    """`value` is a text, or an object with the text in `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""
