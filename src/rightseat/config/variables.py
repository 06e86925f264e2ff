"""Expands `${ENV}` in the values of the configuration.

`${NAME}` is the variable's value, and it must have one; `${NAME:-text}` is `text` where it has none; `$${` is `${`.
"""

import os
import re
from collections.abc import Mapping

from rightseat.core.errors import ConfigError

_VARIABLE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Raises `ConfigError` where a variable has no value."""
    return _VARIABLE.sub(lambda match: "${" if match[1] is None else _value(match[1], environ), text)


def _value(inside: str, environ: Mapping[str, str]) -> str:
    name, has_default, default = inside.partition(":-")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"${{{inside}}} does not name a variable. Write ${{NAME}}, or $${{ for a plain ${{.")
    if value := environ.get(name):
        return value
    if has_default:
        return default
    state = "is empty" if name in environ else "is not set"
    raise ConfigError(f"the environment variable {name} {state}. Set it, or write ${{{name}:-default}}.")


def environment(prefix: str) -> dict[str, str]:
    """The variables whose names have this prefix."""
    return {name: value for name, value in os.environ.items() if name.startswith(prefix)}


def proxy_variable(name: str) -> str:
    """`http`, `https` or `no`: the variable `HTTPS_PROXY`, or `https_proxy`, which wins, as in other programs."""
    return os.environ.get(f"{name}_proxy") or os.environ.get(f"{name.upper()}_PROXY") or ""


def is_variable_set(name: str) -> bool:
    return bool(os.environ.get(name))
