"""One call of a model from within a plugin."""

import pytest

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import TextChunk, UsageChunk
from rightseat.plugins.model_calls import ModelRequest, ModelResponse, RoleModelCaller
from rightseat.plugins.results import StepFailed, StepUsage
from rightseat.testing import ScriptedModel, says

WANTED = ModelRequest("start", "Be short.", "Hi?", {"type": "object"}, 0.0, 10)


async def test_a_model_call_returns_the_text_and_its_usage() -> None:
    model = ScriptedModel([[TextChunk("{}"), UsageChunk(3, 4)]])

    said = await RoleModelCaller(model).call(WANTED)

    assert said == ModelResponse("{}", StepUsage(3, 4))
    prompt = model.prompts[0]
    assert [(message.role, message.text) for message in prompt.messages] == [("system", "Be short."), ("user", "Hi?")]
    assert (prompt.parameters.temperature, prompt.parameters.max_tokens) == (0.0, 10)
    assert prompt.parameters.response_schema == {"type": "object"}


async def test_a_plugin_can_use_only_models_with_a_configured_role() -> None:
    model = RoleModelCaller(ScriptedModel([says("usual")]), {"coder": ScriptedModel([says("coder")])})

    assert (await model.call(ModelRequest("s", "", "?"))).text == "usual"
    assert (await model.call(ModelRequest("s", "", "?", role="coder"))).text == "coder"
    with pytest.raises(StepFailed, match="Configured roles: coder"):
        await model.call(ModelRequest("s", "", "?", role="http://elsewhere"))


async def test_a_model_error_fails_the_step() -> None:
    with pytest.raises(StepFailed) as failure:
        await RoleModelCaller(ScriptedModel([[ModelUnreachable("It is away.")]])).call(WANTED)

    assert failure.value.code == "llm_failed"


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```'])
def test_json_inside_a_code_fence_is_parsed(text: str) -> None:
    assert ModelResponse(text).value() == {"a": 1}
