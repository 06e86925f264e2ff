"""Options of Google's models, and the address of each platform."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.egress.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.network import NetworkOptions
from rightseat.models.upstream import BaseUrl, HeaderName, HeaderSecret
from rightseat.parts import BesidePath

GEMINI = "https://generativelanguage.googleapis.com/v1"


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The name of the model, for example `gemini-3.8-flash`."""
    platform: Literal["gemini", "vertex"] = "gemini"
    """The Gemini API, or Google Cloud's Vertex AI."""
    api_key: HeaderSecret | None = None
    """The key of the Gemini API. Google Cloud uses `credentials` instead."""
    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    """The region of Google Cloud, for example `europe-west1` or `global`."""
    project: str | None = Field(default=None, pattern=r"^[a-z0-9:.-]+$")
    """The Google Cloud project."""
    credentials: BesidePath | None = None
    """A service account file of Google Cloud. Unset: the machine's own credentials."""
    base_url: BaseUrl | None = None
    """The URL before `/models`, or before `/projects`, where it is not the platform's own."""
    client_models: tuple[str, ...] = ()
    """Models that clients may request by name instead of `model`; `*` allows any."""
    temperature: float | None = None
    max_tokens: int | None = None
    """The longest response in tokens, reasoning included, unless the request sets it."""
    thinking: Literal["minimal", "low", "medium", "high"] | int | None = None
    """How much the model reasons: a level, or a token budget for models before Gemini 3. Reasoning is then shown."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request, for example `safetySettings`; mappings are merged with our own."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""

    @model_validator(mode="after")
    def _check_platform(self) -> Self:
        missing = [name for name in ("region", "project") if getattr(self, name) is None]
        if self.platform == "vertex" and missing:
            text = f"the platform vertex needs {' and '.join(f'`{name}`' for name in missing)}"
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
