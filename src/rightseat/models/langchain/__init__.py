"""Adapter of LangChain's chat models: your own object, or one that LangChain makes from a name.

LangChain is imported only when such a model is built: it is large.
"""

from importlib import import_module
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat import parts
from rightseat.core.errors import ConfigError
from rightseat.core.model import Model
from rightseat.egress.deadlines import ANSWER_SECONDS, SILENCE_SECONDS, Timeouts
from rightseat.egress.options import HeaderSecret
from rightseat.egress.redaction import find_secrets
from rightseat.installation import install_command
from rightseat.parts import Reference


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str | None = None
    """The name passed to LangChain's `init_chat_model`, for example `mistralai:mistral-large-latest`."""
    object: Reference | None = None
    """Your own chat model instead, or a function that makes one, as `module:name`."""
    api_key: HeaderSecret | None = None
    """Passed to `init_chat_model` as `api_key`."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """More arguments of `init_chat_model`, for example `{temperature: 0}`."""
    accepts: tuple[str, ...] = ()
    """Request parameters that the model supports: `temperature`, `max_tokens`, `response_format`, …"""

    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.model is None) == (self.object is None):
            raise PydanticCustomError("one_of", "set either `model` or `object`")
        return self


def build(options: Options) -> Model:
    try:
        model = make_model(options)
        adapter = import_module("rightseat.models.langchain.model")
    except ImportError as error:
        raise ConfigError(f"The model 'langchain' needs a package that is not installed: {_advice(error)}") from error
    except ValueError as error:  # an unknown provider, or a missing key
        raise ConfigError(f"LangChain cannot make the model {options.model!r}: {_redact(options, error)}") from None
    if not hasattr(model, "astream"):
        raise ConfigError(f"{options.object!r} is not a LangChain chat model: it has no `astream`.")
    key = options.api_key.get_secret_value() if options.api_key else ""
    timeouts = Timeouts(options.timeout, options.total_timeout)
    name = options.model or options.object or ""
    built: Model = adapter.LangChain(model, options.accepts, (key, *find_secrets(options.arguments)), timeouts, name)
    return built


def make_model(options: Options) -> Any:
    if options.object is not None:
        found = parts.load(options.object)
        return found if hasattr(found, "astream") and not isinstance(found, type) else found()
    arguments: dict[str, Any] = dict(options.arguments)
    if options.api_key is not None:
        arguments["api_key"] = options.api_key.get_secret_value()
    return import_module("langchain.chat_models").init_chat_model(options.model, **arguments)


def _advice(error: ImportError) -> str:
    """For the package of a provider it is LangChain's own text, which names that package."""
    is_ours = (error.name or "").partition(".")[0] in ("langchain", "langchain_core")
    return install_command("langchain") if is_ours else str(error)


def _redact(options: Options, error: ValueError) -> str:
    """Return the error on one line with the key masked."""
    text = " ".join(str(error).split())[:500]
    return text.replace(options.api_key.get_secret_value(), "[key]") if options.api_key else text
