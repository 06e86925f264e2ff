"""Encodes an ask as the run input of an AG-UI agent."""

from collections.abc import Iterable

from rightseat.core.ask import Answer, Ask, ToolOffer
from rightseat.wire.agui.messages import write_message
from rightseat.wire.agui.versions import Json

LEGACY = "agui.on_interrupt"
"""Marks, in its memo, an interrupt that came as LangGraph's own event and is resumed with LangGraph's own command."""
REFUSED = {"__agui_cancelled__": True}
"""Payload for a cancelled interrupt, the same as in LangGraph's AG-UI adapter."""


def write_input(ask: Ask, node: str | None = None) -> Json:
    """Write AG-UI's `RunAgentInput` in a form that agents of every version accept. A graph resumes at `node`."""
    answers = [answer for answer in ask.answers if not is_legacy(answer)]
    run_input: Json = {
        "threadId": ask.thread_id,
        "runId": ask.run_id,
        "state": {} if ask.state is None else ask.state,
        "messages": [write_message(message) for message in ask.messages],
        "tools": [write_tool(tool) for tool in ask.tools],
        "context": [{"description": one.description, "value": one.value} for one in ask.context],
        "forwardedProps": write_properties(ask) | ({} if node is None else {"nodeName": node}),
    }
    if answers:
        run_input["resume"] = [write_answer(answer) for answer in answers]
    return run_input


def write_tool(tool: ToolOffer) -> Json:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def write_answer(answer: Answer) -> Json:
    written: Json = {"interruptId": answer.interrupt_id, "status": answer.status}
    return written if answer.payload is None else written | {"payload": answer.payload}


def write_properties(ask: Ask) -> Json:
    properties: Json = dict(ask.properties)
    if legacy := [answer for answer in ask.answers if is_legacy(answer)]:
        properties["command"] = {"resume": build_resume(legacy)}
    return properties


def build_resume(answers: Iterable[Answer]) -> object:
    """Return the value of a single answer, or the values of several by LangGraph's interrupt id."""
    values = {read_id(answer): REFUSED if answer.status == "cancelled" else answer.payload for answer in answers}
    return next(iter(values.values())) if len(values) == 1 else values


def read_id(answer: Answer) -> str:
    return str(answer.memo.get("id")) if isinstance(answer.memo, dict) else answer.interrupt_id


def is_legacy(answer: Answer) -> bool:
    return isinstance(answer.memo, dict) and answer.memo.get("kind") == LEGACY
