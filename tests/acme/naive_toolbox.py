"""A toolbox that calls a model for each ask, as simply as possible."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rightseat.core.ask import Ask
from rightseat.core.model import Model, Prompt
from rightseat.core.tools import Tool, Toolbox
from rightseat.parts import Parts


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options, parts: Parts) -> Toolbox:
    return NaiveToolbox(parts.model("default"))


class NaiveToolbox:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        async for _ in self._model.stream(Prompt(ask.messages)):
            pass
        return ()
