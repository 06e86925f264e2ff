"""A model with a deprecated option, and one inside a nested option."""

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.model import Model, TextChunk
from rightseat.testing import ScriptedModel


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    tokens: int = 100
    words: int | None = Field(default=None, deprecated="use `tokens` instead.")


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    old_name: str | None = Field(default=None, deprecated="use `name` instead.")
    name: str = "acme"
    limits: Limits = Limits()


def build(options: Options) -> Model:
    return ScriptedModel([[TextChunk(options.name)]])
