"""The style of models as they are published: by their chat templates, and by files that gguf-py wrote."""

from collections.abc import Sequence
from pathlib import Path

import gguf as gguf_py
import pytest

from rightseat.core.ask import Parameters
from rightseat.core.messages import Call, Message, Result, user
from rightseat.core.model import Prompt
from rightseat.models.completion import gguf
from rightseat.models.completion.backend import Description
from rightseat.models.completion.model import Completion
from rightseat.models.completion.styles import select
from tests.models.completion.families import WEATHER
from tests.models.completion.playing import CHATML, Player

FOLDER = Path(__file__).parent / "chat_templates"
STYLES = {
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen-Qwen3-0.6B": "hermes",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral-nemo",
    "meetkai-functionary-medium-v3.1": "functionary-v3.1",
    "meetkai-functionary-medium-v3.2": "functionary-v3.2",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek-r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseek-v3.1",
}
FOR_TOOLS = """\
<|im_start|>system
Functions: <tools>{% for tool in tools %}{{ tool.function | tojson }}{% endfor %}</tools>, as <tool_call>.<|im_end|>
{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>{{ call.function.name }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
"""
"""As that of Hermes 2 Pro and 3: beside a default template without tools."""

TWO = Description(template=CHATML, tool_template=FOR_TOOLS, caps={"supports_tools": False})
CALLED = Message("assistant", (Call("c1", "get_weather", '{"city": "Paris"}'),))
HISTORY = (user("Hi"), CALLED, Message("tool", (Result("c1", "get_weather", "Sun"),)), user("Thanks!"))


def write(path: Path, template: str | Sequence[dict[str, str]]) -> Path:
    """Write a GGUF file as converters of models do."""
    writer = gguf_py.GGUFWriter(path, "llama")
    writer.add_name("Hermes")
    writer.add_context_length(8192)
    writer.add_token_list(["<s>", "</s>"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_every_template_in_the_folder_has_its_style() -> None:
    found = {file.stem: select(Description(template=file.read_text()))[1].name for file in FOLDER.glob("*.jinja")}

    assert found == STYLES


@pytest.mark.parametrize("name", STYLES)
async def test_a_published_template_prints_tools_calls_and_results(name: str) -> None:
    backend = Player("Fine.", description=Description(template=(FOLDER / f"{name}.jinja").read_text(), bos="<s>"))

    async with Completion(backend) as model:
        _ = [chunk async for chunk in model.stream(Prompt(HISTORY[:3], tools=(WEATHER,)))]

    (request,) = backend.requests
    assert all(word in request.prompt for word in ("The weather of a place.", "Paris", "Sun"))


def test_both_templates_of_a_file_by_gguf_py_are_read(tmp_path: Path) -> None:
    named = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": FOR_TOOLS}]
    header = gguf.read(write(tmp_path / "two.gguf", named))

    assert (header.template, header.tool_template) == (CHATML, FOR_TOOLS)
    assert (header.name, header.context_window, header.bos, header.eos) == ("Hermes", 8192, "<s>", "</s>")


def test_one_template_of_a_file_by_gguf_py_is_for_all_requests(tmp_path: Path) -> None:
    header = gguf.read(write(tmp_path / "one.gguf", FOR_TOOLS))

    assert (header.template, header.tool_template) == (FOR_TOOLS, "")


async def test_a_request_with_tools_has_the_template_for_tools() -> None:
    backend = Player('<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>', description=TWO)

    async with Completion(backend) as model:
        _ = [chunk async for chunk in model.stream(Prompt(HISTORY, tools=(WEATHER,)))]

    (request,) = backend.requests
    assert 'Functions: <tools>{"name": "get_weather"' in request.prompt
    assert "<tool_call>get_weather</tool_call>" in request.prompt
    assert request.constraint is not None
    assert [trigger.value for trigger in request.constraint.triggers] == ["<tool_call>"]


@pytest.mark.parametrize(
    "prompt",
    [Prompt(HISTORY), Prompt(HISTORY, tools=(WEATHER,), parameters=Parameters(tool_choice="none"))],
    ids=["no tools", "no calls allowed"],
)
@pytest.mark.parametrize("style", ["auto", "hermes"])
async def test_a_request_without_tools_has_the_default_template(prompt: Prompt, style: str) -> None:
    backend = Player("You are welcome.", description=TWO)

    async with Completion(backend, style=style) as model:
        _ = [chunk async for chunk in model.stream(prompt)]

    (request,) = backend.requests
    assert "Functions:" not in request.prompt
    assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}' in request.prompt


@pytest.mark.parametrize("tool_template", ["{{ tools }} Action: {{ messages }}", FOR_TOOLS])
def test_a_style_without_a_template_of_its_own_uses_the_default_one(tool_template: str) -> None:
    wanted = "generic" if tool_template == FOR_TOOLS else "auto"
    description, style, _ = select(Description(template=CHATML, tool_template=tool_template), wanted)

    assert (description.template, style.name) == (CHATML, "generic" if wanted == "generic" else "forced-hermes")


def test_a_model_may_have_a_template_for_tools_alone() -> None:
    alone = Description(tool_template=FOR_TOOLS)

    assert [select(alone, has_tools=has_tools)[0].template for has_tools in (True, False)] == [FOR_TOOLS, FOR_TOOLS]
