"""Anthropic's Messages API, streamed: from Anthropic, Amazon Bedrock, Google Cloud or Microsoft Foundry.

The connection and the reading are our own, as they are for OpenAI (docs/decisions/0008); the tests hold both against
the official SDK.
"""

from rightseat.core.model import Model
from rightseat.models.anthropic.model import Anthropic
from rightseat.models.anthropic.options import Options

__all__ = ["Anthropic", "Options", "build"]


def build(options: Options) -> Model:
    return Anthropic(options)
