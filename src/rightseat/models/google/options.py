"""What can be said of a model of Google's, and where it is found."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.network import NetworkOptions
from rightseat.models.upstream import Address, HeaderName, Sendable
from rightseat.parts import BesidePath

GEMINI = "https://generativelanguage.googleapis.com/v1"


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The name of the model, for example `gemini-3.8-flash`."""
    platform: Literal["gemini", "vertex"] = "gemini"
    """The Gemini API, or Vertex AI of Google Cloud."""
    api_key: Sendable | None = None
    """Of the Gemini API. Google Cloud has credentials instead."""
    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    """Of Google Cloud, for example `europe-west1` or `global`."""
    project: str | None = Field(default=None, pattern=r"^[a-z0-9:.-]+$")
    """Of Google Cloud."""
    credentials: BesidePath | None = None
    """A file of Google Cloud's with a service account. Without one, the machine's own credentials are used."""
    base_url: Address | None = None
    """Another address than the platform's own: everything before `/models`, or before `/projects`."""
    client_models: tuple[str, ...] = ()
    """Models that a client may ask for by name instead of `model`; `*` lets it ask for any."""
    temperature: float | None = None
    max_tokens: int | None = None
    """The longest answer, thoughts included, for asks that do not say."""
    thinking: Literal["minimal", "low", "medium", "high"] | int | None = None
    """How much the model thinks: a level, or for models before Gemini 3 a budget of tokens. Thoughts are then shown."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request, for example `safetySettings`; mappings are merged with ours."""
    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""

    @model_validator(mode="after")
    def _check_platform(self) -> Self:
        lacking = [name for name in ("region", "project") if getattr(self, name) is None]
        if self.platform == "vertex" and lacking:
            text = f"the platform vertex needs {' and '.join(f'`{name}`' for name in lacking)}"
            raise PydanticCustomError("platform", "{text}", {"text": text})
        return self

    @property
    def address(self) -> str:
        if self.base_url is not None:
            return self.base_url
        if self.platform == "gemini":
            return GEMINI
        host = "aiplatform" if self.region == "global" else f"{self.region}-aiplatform"
        return f"https://{host}.googleapis.com/v1beta1"
