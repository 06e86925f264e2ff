"""Any chat model of LangChain's: an object of yours, or one that LangChain makes from a name.

LangChain is imported when such a model is built, and not before: it is large.
"""

from importlib import import_module
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat import parts
from rightseat.core.deadlines import ANSWER_SECONDS, SILENCE_SECONDS, Timeouts
from rightseat.core.errors import ConfigError
from rightseat.core.model import Model
from rightseat.egress.options import Sendable
from rightseat.egress.redaction import secrets_in
from rightseat.parts import Reference


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str | None = None
    """What LangChain's `init_chat_model` makes a model of, for example `mistralai:mistral-large-latest`."""
    object: Reference | None = None
    """A chat model of yours instead, or a function that makes one, as `module:name`."""
    api_key: Sendable | None = None
    """Given to `init_chat_model` as `api_key`."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """What else `init_chat_model` is given, for example `{temperature: 0}`."""
    accepts: tuple[str, ...] = ()
    """Parameters of an ask that the model takes with a call: `temperature`, `max_tokens`, `response_format`, …"""

    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.model is None) == (self.object is None):
            raise PydanticCustomError("one_of", "either `model` or `object` should be there")
        return self


def build(options: Options) -> Model:
    try:
        model = make(options)
        adapter = import_module("rightseat.models.langchain.model")
    except ImportError as error:
        raise ConfigError(f"The model 'langchain' needs a package that is not installed: {error}") from error
    except ValueError as error:  # of `init_chat_model`: a provider that it does not know, a key that is missing
        raise ConfigError(f"LangChain makes no model of {options.model!r}: {_said(options, error)}") from None
    if not hasattr(model, "astream"):
        raise ConfigError(f"{options.object!r} is no chat model of LangChain's: it cannot be streamed.")
    key = options.api_key.get_secret_value() if options.api_key else ""
    timeouts = Timeouts(options.patience, options.answer_timeout)
    name = options.model or options.object or ""
    built: Model = adapter.LangChain(model, options.accepts, (key, *secrets_in(options.arguments)), timeouts, name)
    return built


def make(options: Options) -> Any:
    if options.object is not None:
        found = parts.load(options.object)
        return found if hasattr(found, "astream") and not isinstance(found, type) else found()
    arguments: dict[str, Any] = dict(options.arguments)
    if options.api_key is not None:
        arguments["api_key"] = options.api_key.get_secret_value()
    return import_module("langchain.chat_models").init_chat_model(options.model, **arguments)


def _said(options: Options, error: ValueError) -> str:
    """In one line, and without the key."""
    text = " ".join(str(error).split())[:500]
    return text.replace(options.api_key.get_secret_value(), "[key]") if options.api_key else text
