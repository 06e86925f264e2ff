"""Models as Python code writes them, `openai:gpt-4o-mini`, and the environment variables with their keys."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rightseat.config.starter import PROVIDERS
from rightseat.core.errors import ConfigError

DEMO_TYPE = "scripted"
VARIABLES = {one.type: one.variable for one in PROVIDERS.values() if one.variable}


class NamedModel(NamedTuple):
    """The options of a model. `missing` is the variable with its key if that is not set."""

    spec: dict[str, Any]
    missing: str = ""


def read_model_name(text: str, environ: Mapping[str, str]) -> NamedModel:
    """`demo`, or the type of a model and the provider's name, such as `openai:gpt-4o-mini`."""
    type, colon, name = text.partition(":")
    if type in ("demo", DEMO_TYPE):
        return NamedModel({"type": DEMO_TYPE})
    if not colon or not name:
        raise ConfigError(f"The model {text!r} should be like 'openai:gpt-4o-mini', or a name in `models`.")
    variable = VARIABLES.get(type, "")
    spec = {"type": type, "model": name}
    if key := environ.get(variable):
        spec["api_key"] = key
    if type == "openai" and (base_url := environ.get("OPENAI_BASE_URL")):
        spec["base_url"] = base_url  # the key belongs to this server and must not be sent to another
    return NamedModel(spec, variable if variable and not key else "")
