"""What can be said of a model of Anthropic's, and which server each platform has for it."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.credentials.aws import AwsOptions
from rightseat.egress.credentials.entra import EntraOptions
from rightseat.egress.network import NetworkOptions
from rightseat.models.upstream import Address, HeaderName, Sendable
from rightseat.parts import BesidePath

Platform = Literal["anthropic", "bedrock", "bedrock-runtime", "vertex", "foundry"]

ADDRESSES: dict[Platform, str] = {
    "anthropic": "https://api.anthropic.com",
    "bedrock": "https://bedrock-mantle.{region}.api.aws/anthropic",
    "bedrock-runtime": "https://bedrock-runtime.{region}.amazonaws.com",
    "vertex": "https://{region}-aiplatform.googleapis.com/v1",
    "foundry": "https://{resource}.services.ai.azure.com/anthropic",
}
WIDE = {
    "global": "https://aiplatform.googleapis.com/v1",
    "us": "https://aiplatform.us.rep.googleapis.com/v1",
    "eu": "https://aiplatform.eu.rep.googleapis.com/v1",
}
"""Google's addresses for regions that are no single place."""
SERVICES: dict[Platform, str] = {"bedrock": "bedrock-mantle", "bedrock-runtime": "bedrock"}
"""What AWS calls them in its signatures."""

NEEDS: dict[Platform, tuple[str, ...]] = {
    "anthropic": (),
    "bedrock": ("region",),
    "bedrock-runtime": ("region",),
    "vertex": ("region", "project"),
    "foundry": ("resource",),
}


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The name that the platform knows the model by."""
    platform: Platform = "anthropic"
    """Who runs the model. Bedrock has two addresses for it: its newer one, which speaks Anthropic's API as it is, and
    `bedrock-runtime`, with the models and inference profiles of InvokeModel."""
    api_key: Sendable | None = None
    """Anthropic's, Foundry's or Bedrock's. Google Cloud takes none: it has credentials."""
    aws: AwsOptions | None = None
    """Sign requests to Bedrock with AWS credentials, instead of an `api_key`. `{}` finds them as AWS's own tools do."""
    entra: EntraOptions | None = None
    """Tokens of Microsoft Entra ID for Foundry, instead of an `api_key`. `{}` finds credentials as Azure's tools do."""
    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    """Of Bedrock or Google Cloud, for example `us-east-1` or `global`."""
    project: str | None = Field(default=None, pattern=r"^[a-z0-9:.-]+$")
    """Of Google Cloud."""
    credentials: BesidePath | None = None
    """A file of Google Cloud's with a service account. Without one, the machine's own credentials are used."""
    resource: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$")
    """Of Foundry: the first part of its address."""
    base_url: Address | None = None
    """Another address than the platform's own: everything before `/v1/messages`."""
    version: Literal["2026-10-21", "2023-06-01"] = "2026-10-21"
    """Of the API. The older one still knows `temperature` and `top_p`, for models that do."""
    client_models: tuple[str, ...] = ()
    """Models that a client may ask for by name instead of `model`; `*` lets it ask for any."""
    max_tokens: int = Field(default=8192, gt=0)
    """The longest answer, thoughts included, for asks that do not say."""
    temperature: float | None = None
    """Known to the older `version` only."""
    thinking: Literal["adaptive", "disabled"] | int | None = None
    """`adaptive` leaves it to the model how long it thinks; a number is a budget of tokens, from 1024 on."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """How much work the model puts into an answer."""
    prefill: bool | None = None
    """Whether an answer of a durable run that broke off goes on where it stopped. Left out: with models up to 4.5, as
    documented. Later ones do not take the beginning of their answer, and answer anew."""
    cache: Literal["5m", "1h"] | None = None
    """Ask the provider to keep what it has read of tools, instructions and conversation for so long."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request, for example `anthropic-beta`."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request as they are."""
    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""

    @model_validator(mode="after")
    def _check_platform(self) -> Self:
        for text in self._problems():
            raise PydanticCustomError("platform", "{text}", {"text": text})
        if self.prefill and self.platform != "anthropic":
            text = f"`prefill` is known on the platform anthropic only; leave it out for {self.platform}"
            raise PydanticCustomError("platform", "{text}", {"text": text})
        return self

    def _problems(self) -> Iterator[str]:
        lacking = [name for name in NEEDS[self.platform] if getattr(self, name) is None]
        if self.base_url is not None and self.platform != "vertex" and self.aws is None:
            lacking = []
        if lacking:
            yield f"the platform {self.platform} needs {' and '.join(f'`{name}`' for name in lacking)}"
        if self.aws is not None and self.platform not in SERVICES:
            yield f"`aws` is for the platforms {' and '.join(SERVICES)}, and this is {self.platform}"
        if self.entra is not None and self.platform != "foundry":
            yield f"`entra` is for the platform foundry, and this is {self.platform}"
        if self.api_key is not None and (self.aws or self.entra):
            yield f"there are `api_key` and `{'aws' if self.aws else 'entra'}`; one of them is meant"

    @property
    def address(self) -> str:
        if self.base_url is not None:
            return self.base_url
        if self.platform == "vertex" and self.region in WIDE:
            return WIDE[self.region]
        return ADDRESSES[self.platform].format(region=self.region, resource=self.resource)
