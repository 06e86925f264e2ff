"""The loop, as the configuration names it."""

from collections.abc import Iterable, Sequence

import pytest
from pydantic import ValidationError

from rightseat.agents.loop import Options, build
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import ConfigError
from rightseat.core.events import ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Model
from rightseat.core.tools import Toolbox
from rightseat.operations.own_memories import OwnMemories
from rightseat.stores.files import MemoryArtifacts
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox


class Shelf:
    """Parts by name, as the application has them."""

    def __init__(self) -> None:
        self.models = {"default": ScriptedModel([says("Hi")]), "other": ScriptedModel([says("Ho")])}
        self.artifacts = MemoryArtifacts()
        self.pins = None
        self.secret_uses = None
        self.boxes = {"m:a": FunctionToolbox(), "m:b": FunctionToolbox(), "ops": FunctionToolbox()}

    memories: OwnMemories | None = None

    def model(self, name: str) -> Model:
        return self.models[name]

    def toolbox(self, name: str) -> Toolbox:
        return self.boxes[name]

    def agent(self, name: str) -> Agent:
        return Loop(self.models["other"], description=f"knows {name}")

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        return [self.boxes[reference] for reference in references]


def test_it_gets_what_it_names() -> None:
    shelf = Shelf()

    loop = build(
        Options(model="other", instructions="Be brief.", max_turns=3, tools=("m:b", "m:a"), toolboxes=("ops",)), shelf
    )

    assert isinstance(loop, Loop)
    assert loop.model is shelf.models["other"]
    assert loop.toolboxes == (shelf.boxes["m:b"], shelf.boxes["m:a"], shelf.boxes["ops"])
    assert (loop.instructions, loop.max_turns) == ("Be brief.", 3)


def test_two_tools_of_one_name_are_refused() -> None:
    async def search() -> str:
        return ""

    shelf = Shelf()
    shelf.boxes["m:a"].add(search)
    shelf.boxes["ops"].add(search)

    with pytest.raises(
        ConfigError, match="A tool named 'search' is offered by functions and by functions of one agent"
    ):
        build(Options(tools=("m:a",), toolboxes=("ops",)), shelf)


def test_left_out_it_takes_the_default_model_without_tools() -> None:
    shelf = Shelf()

    loop = build(Options(), shelf)

    assert isinstance(loop, Loop)
    assert loop.model is shelf.models["default"]
    assert (loop.toolboxes, loop.instructions, loop.max_turns) == ((), None, 16)


@pytest.mark.parametrize("wrong", [{"max_turns": 0}, {"rouns": 3}, {"model": None}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Options.model_validate(wrong)


async def test_agents_that_it_names_are_tools_of_its_model() -> None:
    shelf = Shelf()
    shelf.models["default"] = ScriptedModel([calls("weather", '{"question": "?"}'), says("It says so.")])

    loop = build(Options(agents=("weather",)), shelf)
    events = [event async for event in loop.run(Ask(messages=(user("Hi"),)), DirectSteps())]

    (tool,) = shelf.models["default"].prompts[0].tools
    assert (tool.name, tool.description) == ("weather", "knows weather")
    assert ToolCallReturned("call_1", "weather", "Ho") in events
