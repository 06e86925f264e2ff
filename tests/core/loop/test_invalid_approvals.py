"""A person is asked only about calls that can run: for others the model receives the reason."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, Field

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps as StepsLike
from rightseat.core.events import Event, Interrupt, RunFinished, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox
from rightseat.core.messages import user
from rightseat.core.tools import Approval, Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import make_tool, tool
from tests.core.loop.test_agent_loop import Steps

INVALID = '{"line": {"sku": "nonsense", "quantity": 100}}'
VALID = '{"line": {"sku": "AB-1", "quantity": 2}}'
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "line": {
            "type": "object",
            "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"}, "quantity": {"maximum": 99}},
        }
    },
    "required": ["line"],
}


class Line(BaseModel):
    sku: Annotated[str, Field(pattern="^[A-Z]{2}-[0-9]+$")]
    quantity: Annotated[int, Field(ge=1, le=99)]


def explode(value: str) -> str:
    raise KeyError("a validator that its author did not test")


@tool(approval="Place this order?", effect="write")
def place_order(line: Line) -> str:
    return f"ordered {line.sku}"


@tool(name="place_order", approval="Place this order?", effect="write")
def place_broken_order(line: Annotated[object, AfterValidator(explode)]) -> str:
    return "ordered"


async def run(invocation: Invocation) -> str:
    return "ordered AB-1"


async def stream(invocation: Invocation, steps: StepsLike) -> AsyncIterator[Event]:
    yield ToolCallReturned(invocation.call_id, "place_order", "ordered AB-1")


TOOLS = {
    "a function": make_tool(place_order),
    "a tool with a schema": Tool("place_order", "", SCHEMA, run, approval=Approval("Place this order?")),
    "a streaming tool": Tool("place_order", "", SCHEMA, stream=stream, approval=Approval("Place this order?")),
    "the policy of the agent": Tool("place_order", "", SCHEMA, run, effect="write"),
}


class Tools:
    def __init__(self, *tools: Tool) -> None:
        self._tools = tools

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return self._tools


def loop_of(offered: Tool, *arguments: str) -> Loop:
    turns = [calls("place_order", one, id=f"call_{number}") for number, one in enumerate(arguments)]
    return Loop(ScriptedModel([*turns, says("Done.")]), [Tools(offered)], description="orders")


def behind_a_sub_agent(offered: Tool, *arguments: str) -> Loop:
    outer = ScriptedModel([calls("clerk", '{"question": "Order."}', id="outer"), says("Done.")])
    return Loop(outer, (AgentToolbox({"clerk": loop_of(offered, *arguments)}),))


async def outcome_of(loop: Loop, *, durable: bool = False) -> tuple[tuple[Interrupt, ...], list[ToolCallReturned]]:
    events = [event async for event in loop.run(Ask(messages=(user("Order"),), durable=durable), Steps())]
    last = events[-1]
    interrupts = last.interrupts if isinstance(last, RunFinished) else ()
    return interrupts, [event for event in events if isinstance(event, ToolCallReturned)]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("build", [loop_of, behind_a_sub_agent])
@pytest.mark.parametrize("offered", TOOLS.values(), ids=TOOLS)
async def test_a_call_with_invalid_arguments_asks_nobody_and_the_model_can_correct_it(
    offered: Tool, build: Callable[..., Loop], durable: bool
) -> None:
    corrected, results = await outcome_of(build(offered, INVALID, VALID), durable=durable)
    given_up, errors = await outcome_of(build(offered, INVALID), durable=durable)

    (first, *_) = results
    assert (first.error, "sku" in first.content) == ("invalid_arguments", True)
    assert [interrupt.reason for interrupt in corrected] == ["approval_required"]
    assert given_up == ()
    assert errors[0].content == first.content


@pytest.mark.parametrize("text", ["[]", "{", "null", '"text"'])
async def test_arguments_that_are_no_object_ask_nobody(text: str) -> None:
    for offered in TOOLS.values():
        interrupts, (returned,) = await outcome_of(loop_of(offered, text))
        assert (interrupts, returned.error) == ((), "invalid_arguments")


async def test_of_several_calls_only_the_valid_ones_are_asked_about() -> None:
    model = ScriptedModel([(*calls("place_order", INVALID, id="a")[:-1], *calls("place_order", VALID, id="b")[:-1])])

    interrupts, returned = await outcome_of(Loop(model, [Tools(make_tool(place_order))]))

    assert [interrupt.call_id for interrupt in interrupts] == ["b"]
    assert [(one.call_id, one.error) for one in returned] == [("a", "invalid_arguments")]


async def test_a_check_that_fails_itself_asks_nobody_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    interrupts, (returned,) = await outcome_of(loop_of(make_tool(place_broken_order), VALID))

    assert (interrupts, returned.error) == ((), "tool_failed")
    assert "a validator that its author did not test" in caplog.text
    assert "a validator" not in returned.content


async def test_a_call_of_the_client_with_arguments_that_it_cannot_use_asks_nobody() -> None:
    checked = replace(make_tool(place_order), run=None, checks_arguments=False)

    interrupts, (returned,) = await outcome_of(loop_of(checked, INVALID))

    assert (interrupts, returned.error) == ((), "invalid_arguments")
