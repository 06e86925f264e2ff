"""The calls of a turn with their results, as its events have them.

Agents that are called as tools, and flows, run anew in a replay: their own calls and requests are recorded instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rightseat.core import events as e
from rightseat.core.approvals import is_approved
from rightseat.core.ask import Answer
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.types import JsonValue
from rightseat.evals.cases import RecordedCall, RecordedRequest
from rightseat.operations.recordings import RunRecording

NEVER_RUN = ("cut_off", "invalid_arguments")
"""Errors of the loop itself, which a replay has anew."""


@dataclass(slots=True, eq=False)
class _Call:
    id: str
    name: str
    text: str = ""
    content: str | None = None
    error: str | None = None
    question: str | None = None
    """The id of the interrupt that asks a person to approve it."""
    is_nested_run: bool = False
    """An agent or a flow."""


@dataclass(slots=True, eq=False)
class _Request:
    flow: str
    step: str
    request: Mapping[str, JsonValue]
    response: dict[str, Any] | None = None
    """The other fields of its recording, once it is answered."""


@dataclass(slots=True)
class RecordedTurn:
    """`answers` are the texts in their order. `notes` say what the recording lacks."""

    items: list[_Call | _Request] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    decisions: dict[str, Answer] = field(default_factory=dict)
    outcome: str = "done"
    notes: list[str] = field(default_factory=list)

    @property
    def answer(self) -> str:
        return next((text for text in reversed(self.texts.values()) if text), "")

    def _find(self, id: str, name: str | None = None) -> _Call | None:
        """The last call with this id that has no result yet. Calls of an agent that is a tool may have the same ids."""
        calls = (item for item in reversed(self.items) if isinstance(item, _Call) and item.content is None)
        return next((call for call in calls if call.id == id and name in (None, call.name)), None)

    def read_run(self, run: RunRecording) -> None:
        flow, is_flow_over, left = "", False, list[_Call]()
        for event in run.events:
            match event:
                case e.RunStarted(answered=answered):
                    for question in answered:
                        answer = Answer(question.interrupt_id, question.status, run.payloads.get(question.interrupt_id))
                        self.decisions[question.interrupt_id] = answer
                case e.TextStarted(message_id=id):
                    self.texts[id] = ""
                case e.TextDelta(message_id=id, text=text):
                    self.texts[id] = self.texts.get(id, "") + text
                case e.ToolCallStarted(call_id=id, name=name):
                    self.items.append(_Call(id, name))
                case e.ToolCallDelta(call_id=id, text=text):
                    if call := self._find(id):
                        call.text += text
                case e.ToolCallEnded(call_id=id, complete=False):
                    if call := self._find(id):
                        call.content, call.error = "", "cut_off"
                case e.ToolCallReturned(call_id=id, name=name, content=content, error=error):
                    if call := self._find(id, name):
                        call.content, call.error = content, error
                        call.is_nested_run |= is_flow_over
                        is_flow_over = False
                        left.append(call)
                case e.Custom(name="agent.entered", value=str(name)):
                    self._mark_agent(name, left)
                case e.Custom(name="flow.started" | "flow.resumed", value=dict(value)):
                    plugin = value.get("plugin")
                    flow = f"{plugin.get('id') if isinstance(plugin, dict) else ''}/{value.get('flow')}"
                case e.Custom(name="flow.finished"):
                    is_flow_over = True
                case e.Custom(name="flow.step", value={"event": str(kind), "step": str(step), "value": dict(value)}):
                    self._read_step(flow, kind, step, value)
                case e.RunFinished(outcome=outcome, interrupts=interrupts):
                    self.outcome = outcome
                    for interrupt in interrupts:
                        if interrupt.call_id and (call := self._find(interrupt.call_id)):
                            call.question = interrupt.id
                case e.RunFailed():
                    self.outcome = "failed"

    def _mark_agent(self, name: str, returned: Sequence[_Call]) -> None:
        """The call that asked this agent. A call that hands over has returned before."""
        for item in self.items:
            if isinstance(item, _Call) and item.name == name and item.content is None:
                item.is_nested_run = True
                return
        if returned:
            returned[-1].is_nested_run = True

    def _read_step(self, flow: str, kind: str, step: str, value: Mapping[str, JsonValue]) -> None:
        if kind == "input" and "method" in value:
            request = {name: value[name] for name in ("method", "path", "arguments") if name in value}
            self.items.append(_Request(flow, step, request))
            return
        mine = (
            item
            for item in reversed(self.items)
            if isinstance(item, _Request) and (item.flow, item.step) == (flow, step)
        )
        request_item = next((one for one in mine if one.response is None), None)
        if request_item is None or kind not in ("output", "failed"):
            return
        record, problem = value.get("record"), value.get("error")
        about = record if kind == "output" else problem
        status = about.get("status") if isinstance(about, dict) else None
        request_item.response = {
            "status": status if isinstance(status, int) else None,
            "result": value.get("output"),
            "error": str(problem.get("code", "failed")) if isinstance(problem, dict) else None,
        }
        if value.get("shortened"):
            self.notes.append(f"The log has only the beginning of the response of step {step!r} of {flow!r}.")

    def read_results(self, messages: Iterable[Message]) -> None:
        """Results that the client sent."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, Result) and (call := self._find(part.call_id)):
                    call.content, call.error = part.content, part.error

    def read_calls(self, messages: Iterable[Message]) -> None:
        """Calls that a client returned with their results, of runs that are not known."""
        known = {(item.id, item.name) for item in self.items if isinstance(item, _Call)}
        calls = (part for message in messages for part in message.parts if isinstance(part, Call))
        self.items += (_Call(call.id, call.name, call.arguments) for call in calls if (call.id, call.name) not in known)

    def list_recorded(self) -> Iterator[RecordedCall | RecordedRequest]:
        for item in self.items:
            recorded = self._record_request(item) if isinstance(item, _Request) else self._record_call(item)
            if recorded is not None:
                yield recorded

    def _record_request(self, item: _Request) -> RecordedRequest | None:
        if item.response is None:
            return None
        return RecordedRequest(flow=item.flow, step=item.step, request=item.request, **item.response)

    def _record_call(self, item: _Call) -> RecordedCall | None:
        arguments = read_arguments(item.text)
        if item.is_nested_run or item.error in NEVER_RUN or arguments is None:
            return None
        if item.content is None and item.question is not None:
            return RecordedCall(tool=item.name, arguments=arguments, approval="waiting")
        if item.content is None:
            self.notes.append(f"The result of a call of {item.name!r} is not recorded.")
            return None
        approval: str | Mapping[str, JsonValue] | None = None
        if item.question is not None:
            approval = self._describe_approval(item)
        return RecordedCall(
            tool=item.name, arguments=arguments, result=item.content, error=item.error, approval=approval
        )

    def _describe_approval(self, item: _Call) -> str | Mapping[str, JsonValue]:
        answer = self.decisions.get(item.question or "")
        if item.error == "refused" or answer is None:
            return "denied"
        if answer.payload in (True, None) or answer.payload == {"approved": True}:
            return "approved"
        return {"payload": answer.payload} if is_approved(answer) else "denied"


def messages_after_question(run: RunRecording) -> Sequence[Message]:
    last = max((place for place, message in enumerate(run.messages) if message.role == "user"), default=-1)
    return run.messages[last + 1 :]


def read_turn(runs: Sequence[RunRecording], later: Iterable[Message] = ()) -> RecordedTurn:
    turn = RecordedTurn()
    for run in runs:
        if run.is_transient:
            turn.read_calls(messages_after_question(run))
        turn.read_results(run.messages)
        turn.read_run(run)
    turn.read_results(later)
    return turn
