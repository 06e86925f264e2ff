"""An ask → what an agent that speaks AG-UI is sent."""

from collections.abc import Iterable

from rightseat.core.ask import Answer, Ask, ToolOffer
from rightseat.wire.agui.messages import write_message
from rightseat.wire.agui.versions import Json

LEGACY = "agui.on_interrupt"
"""In the memo of a question that came as LangGraph's own event, and is answered with LangGraph's own command."""
REFUSED = {"__agui_cancelled__": True}
"""What an agent gets in place of an answer, as LangGraph's own adapter has it."""


def write_input(ask: Ask, node: str | None = None) -> Json:
    """AG-UI's `RunAgentInput`, in the form that agents of every version take. `node` is where a graph goes on."""
    answers = [answer for answer in ask.answers if not is_legacy(answer)]
    given: Json = {
        "threadId": ask.thread_id,
        "runId": ask.run_id,
        "state": {} if ask.state is None else ask.state,
        "messages": [write_message(message) for message in ask.messages],
        "tools": [write_tool(tool) for tool in ask.tools],
        "context": [{"description": one.description, "value": one.value} for one in ask.context],
        "forwardedProps": write_properties(ask) | ({} if node is None else {"nodeName": node}),
    }
    if answers:
        given["resume"] = [write_answer(answer) for answer in answers]
    return given


def write_tool(tool: ToolOffer) -> Json:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def write_answer(answer: Answer) -> Json:
    written: Json = {"interruptId": answer.interrupt_id, "status": answer.status}
    return written if answer.payload is None else written | {"payload": answer.payload}


def write_properties(ask: Ask) -> Json:
    properties: Json = dict(ask.properties)
    if legacy := [answer for answer in ask.answers if is_legacy(answer)]:
        properties["command"] = {"resume": resumed(legacy)}
    return properties


def resumed(answers: Iterable[Answer]) -> object:
    """One value; where several questions were asked at once, one for each by LangGraph's id of it."""
    values = {read_id(answer): REFUSED if answer.status == "cancelled" else answer.payload for answer in answers}
    return next(iter(values.values())) if len(values) == 1 else values


def read_id(answer: Answer) -> str:
    return str(answer.memo.get("id")) if isinstance(answer.memo, dict) else answer.interrupt_id


def is_legacy(answer: Answer) -> bool:
    return isinstance(answer.memo, dict) and answer.memo.get("kind") == LEGACY
