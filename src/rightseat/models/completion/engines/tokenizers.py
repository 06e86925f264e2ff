"""A model's chat template and its first and last token, from the files that it is published with."""

from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import ConfigError
from rightseat.core.values import JSON_ERRORS
from rightseat.models.completion.engine import Description

FILE = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"


def describe(path: Path) -> Description:
    """`path` is the model's folder, or the file in it. Raises `ConfigError`."""
    folder = path if path.is_dir() else path.parent
    file = path / FILE if path.is_dir() else path
    try:
        said = msgspec.json.decode(file.read_bytes())
        beside = folder / TEMPLATE
        template = beside.read_text(encoding="utf-8") if beside.is_file() else ""
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    except JSON_ERRORS as error:
        raise ConfigError(f"{file} is no {FILE}: {error}") from error
    if not isinstance(said, dict):
        raise ConfigError(f"{file} is no {FILE}: it should be a mapping.")
    return Description(
        template=template or _template(said.get("chat_template")),
        bos=_token(said.get("bos_token")),
        eos=_token(said.get("eos_token")),
    )


def _template(value: Any) -> str:
    """One, or several with names: then the one for tools, or the default."""
    if isinstance(value, list):
        named = {one.get("name"): one.get("template") for one in value if isinstance(one, dict)}
        value = named.get("tool_use") or named.get("default")
    return value if isinstance(value, str) else ""


def _token(value: Any) -> str:
    """As text, or as an object with its text in `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""
