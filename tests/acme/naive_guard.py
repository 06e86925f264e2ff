"""A guard that calls a model as simply as possible."""

from pydantic import BaseModel, ConfigDict

from rightseat.core.ask import Ask
from rightseat.core.guard import BaseGuard, Guard
from rightseat.core.model import Model, Prompt
from rightseat.parts import Parts


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options, parts: Parts) -> Guard:
    return NaiveGuard(parts.model("default"))


class NaiveGuard(BaseGuard):
    name = "naive"

    def __init__(self, model: Model) -> None:
        self._model = model

    async def check_question(self, ask: Ask) -> None:
        async for _ in self._model.stream(Prompt(ask.messages)):
            pass
