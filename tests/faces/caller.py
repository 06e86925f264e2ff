"""A model that answers every question with one call of a flow, and then with two words."""

from pydantic import BaseModel, ConfigDict

from rightseat.core.model import Model, Prompt
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    tool: str


def build(options: Options) -> Model:
    def answer(prompt: Prompt) -> ScriptedResponse:
        asked = [message for message in prompt.messages if message.role == "user"]
        if prompt.messages[-1].role != "user":
            return says("All done.")
        question = asked[-1].text.replace('"', "'")
        return calls(options.tool, f'{{"question": "{question}"}}', id=f"call_{len(asked)}")

    return ScriptedModel(answer)
