"""One call of a model from within a plugin."""

import pytest

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import TextChunk, UsageChunk
from rightseat.plugins.results import StepFailed, Usage
from rightseat.plugins.speaking import ModelSpeaker, Said, Wanted
from rightseat.testing import ScriptedModel, says

WANTED = Wanted("start", "Be short.", "Hi?", {"type": "object"}, 0.0, 10)


async def test_a_call_gives_the_text_and_what_it_cost() -> None:
    model = ScriptedModel([[TextChunk("{}"), UsageChunk(3, 4)]])

    said = await ModelSpeaker(model).say(WANTED)

    assert said == Said("{}", Usage(3, 4))
    prompt = model.prompts[0]
    assert [(message.role, message.text) for message in prompt.messages] == [("system", "Be short."), ("user", "Hi?")]
    assert (prompt.parameters.temperature, prompt.parameters.max_tokens) == (0.0, 10)
    assert prompt.parameters.response_schema == {"type": "object"}


async def test_a_plugin_names_a_model_by_its_role_and_no_other() -> None:
    speaker = ModelSpeaker(ScriptedModel([says("usual")]), {"coder": ScriptedModel([says("coder")])})

    assert (await speaker.say(Wanted("s", "", "?"))).text == "usual"
    assert (await speaker.say(Wanted("s", "", "?", role="coder"))).text == "coder"
    with pytest.raises(StepFailed, match="the operator has named: coder"):
        await speaker.say(Wanted("s", "", "?", role="http://elsewhere"))


async def test_a_model_that_fails_is_a_step_that_fails() -> None:
    with pytest.raises(StepFailed) as failure:
        await ModelSpeaker(ScriptedModel([[ModelUnreachable("It is away.")]])).say(WANTED)

    assert failure.value.code == "llm_failed"


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```'])
def test_json_is_read_with_a_fence_around_it_too(text: str) -> None:
    assert Said(text).value() == {"a": 1}
