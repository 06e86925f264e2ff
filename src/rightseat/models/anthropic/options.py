"""Options of Anthropic's models, and the address of each platform."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.egress.credentials.aws import AwsOptions
from rightseat.egress.credentials.entra import EntraOptions
from rightseat.egress.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.network import NetworkOptions
from rightseat.models.upstream import BaseUrl, HeaderName, HeaderSecret
from rightseat.parts import BesidePath

Platform = Literal["anthropic", "bedrock", "bedrock-runtime", "vertex", "foundry"]

ADDRESSES: dict[Platform, str] = {
    "anthropic": "https://api.anthropic.com",
    "bedrock": "https://bedrock-mantle.{region}.api.aws/anthropic",
    "bedrock-runtime": "https://bedrock-runtime.{region}.amazonaws.com",
    "vertex": "https://{region}-aiplatform.googleapis.com/v1",
    "foundry": "https://{resource}.services.ai.azure.com/anthropic",
}
MULTI_REGION_ADDRESSES = {
    "global": "https://aiplatform.googleapis.com/v1",
    "us": "https://aiplatform.us.rep.googleapis.com/v1",
    "eu": "https://aiplatform.eu.rep.googleapis.com/v1",
}
"""Google's addresses of multi-region locations."""
SERVICES: dict[Platform, str] = {"bedrock": "bedrock-mantle", "bedrock-runtime": "bedrock"}
"""Service names in AWS signatures."""

REQUIRED_OPTIONS: dict[Platform, tuple[str, ...]] = {
    "anthropic": (),
    "bedrock": ("region",),
    "bedrock-runtime": ("region",),
    "vertex": ("region", "project"),
    "foundry": ("resource",),
}


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The model's name at the platform."""
    platform: Platform = "anthropic"
    """The platform that runs the model. Bedrock has two endpoints: `bedrock`, the newer one, has Anthropic's own API;
    `bedrock-runtime` has the models and inference profiles of InvokeModel."""
    api_key: HeaderSecret | None = None
    """The key of Anthropic, Foundry or Bedrock. Google Cloud uses `credentials` instead."""
    aws: AwsOptions | None = None
    """AWS credentials that sign requests to Bedrock, instead of an `api_key`. `{}` finds them as AWS's own tools do."""
    entra: EntraOptions | None = None
    """Microsoft Entra ID tokens for Foundry, instead of an `api_key`. `{}` finds them as Azure's own tools do."""
    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    """The region of Bedrock or Google Cloud, for example `us-east-1` or `global`."""
    project: str | None = Field(default=None, pattern=r"^[a-z0-9:.-]+$")
    """The Google Cloud project."""
    credentials: BesidePath | None = None
    """A service account file of Google Cloud. Unset: the machine's own credentials."""
    resource: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$")
    """The Foundry resource: the first part of its host name."""
    base_url: BaseUrl | None = None
    """The URL before `/v1/messages`, where it is not the platform's own."""
    version: Literal["2026-10-21", "2023-06-01"] = "2026-10-21"
    """The API version. The older one still supports `temperature` and `top_p`, with models that do."""
    client_models: tuple[str, ...] = ()
    """Models that clients may request by name instead of `model`; `*` allows any."""
    max_tokens: int = Field(default=8192, gt=0)
    """The longest response in tokens, reasoning included, unless the request sets it."""
    temperature: float | None = None
    """Supported by the older `version` only."""
    thinking: Literal["adaptive", "disabled"] | int | None = None
    """`adaptive` lets the model decide how long it reasons; a number is a token budget of at least 1024."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """How much work the model puts into a response."""
    client_effort: bool | None = None
    """Pass on the effort that a client asks for. Unset: only if the model has an `effort` here. Older models reject the
    field."""
    prefill: bool | None = None
    """Whether an interrupted response of a durable run continues where it stopped. Unset: with models up to 4.5, as
    Anthropic documents. Later models reject a prefilled response and start over."""
    cache: Literal["5m", "1h"] | None = None
    """How long the provider caches the prompt: tools, instructions and conversation."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request, for example `anthropic-beta`."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request unchanged."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""

    @model_validator(mode="after")
    def _check_platform(self) -> Self:
        for text in self._problems():
            raise PydanticCustomError("platform", "{text}", {"text": text})
        if self.prefill and self.platform != "anthropic":
            text = f"`prefill` is supported on the platform anthropic only; remove it for {self.platform}"
            raise PydanticCustomError("platform", "{text}", {"text": text})
        return self

    def _problems(self) -> Iterator[str]:
        missing = [name for name in REQUIRED_OPTIONS[self.platform] if getattr(self, name) is None]
        if self.base_url is not None and self.platform != "vertex" and self.aws is None:
            missing = []
        if missing:
            yield f"the platform {self.platform} needs {' and '.join(f'`{name}`' for name in missing)}"
        if self.aws is not None and self.platform not in SERVICES:
            yield f"`aws` is for the platforms {' and '.join(SERVICES)}, not for {self.platform}"
        if self.entra is not None and self.platform != "foundry":
            yield f"`entra` is for the platform foundry, not for {self.platform}"
        if self.api_key is not None and (self.aws or self.entra):
            yield f"`api_key` and `{'aws' if self.aws else 'entra'}` exclude each other; remove one"

    @property
    def address(self) -> str:
        if self.base_url is not None:
            return self.base_url
        if self.platform == "vertex" and self.region in MULTI_REGION_ADDRESSES:
            return MULTI_REGION_ADDRESSES[self.region]
        return ADDRESSES[self.platform].format(region=self.region, resource=self.resource)
