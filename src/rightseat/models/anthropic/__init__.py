"""Client of Anthropic's Messages API, at Anthropic, Amazon Bedrock, Google Cloud or Microsoft Foundry.

It does not use the official SDK (docs/decisions/0008); the tests compare it with that SDK.
"""

from collections.abc import Iterator

from rightseat.core.model import Model
from rightseat.models.anthropic.model import Anthropic
from rightseat.models.anthropic.options import Options
from rightseat.models.upstream import warn_of_no_key

__all__ = ["Anthropic", "Options", "build", "warn"]


def build(options: Options) -> Model:
    return Anthropic(options)


def warn(options: Options) -> Iterator[str]:
    if options.api_key is None and options.base_url is None and options.platform == "anthropic":
        yield from warn_of_no_key("Anthropic", "x-api-key", {name.lower() for name in options.headers})
