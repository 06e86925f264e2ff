"""Prints the run of a flow in the terminal: a line for each step on stderr, the response on stdout."""

import json
import time
from contextlib import ExitStack
from typing import NamedTuple, assert_never

import click

from rightseat.cli.plain_text import remove_control_characters
from rightseat.cli.progress import show_progress
from rightseat.core import events as e
from rightseat.core.types import JsonValue
from rightseat.text import truncate

MAX_LINE_CHARS = 200


class StepSummary(NamedTuple):
    """`mark` is ✓, ✗, or ? for a step that waits for an answer."""

    mark: str = "✗"
    call: str = ""
    outcome: str = "did not finish"


class FlowPrinter:
    """With `shows_data` the request and the output of each step are printed too."""

    def __init__(self, *, shows_data: bool) -> None:
        self._shows_data = shows_data
        self._flow_began = self._step_began = time.monotonic()
        self._has_responded = False
        self._step = StepSummary()
        self._details: list[str] = []
        self._progress = ExitStack()

    def print(self, event: e.Event) -> None:
        match event:
            case e.StepStarted(name=name):
                self._step_began, self._has_responded = time.monotonic(), False
                self._step, self._details = StepSummary(), []
                self._progress.enter_context(show_progress(f"Step {name}"))
            case e.Custom(name="flow.step", value={"event": str(kind), "call": str(call), "value": dict(value)}):
                self._step = summarize_step(kind, call, value) or self._step
                self._details += describe_data(value) if self._shows_data else ()
            case e.Custom(name="artifact", value={"name": str(name), "kind": str(kind)}):
                self._details.append(f"{kind}: {name}")
            case e.StepEnded(name=name):
                self._progress.close()
                self._print_step(name)
            case e.TextStarted():
                self._progress.close()
                self._has_responded = True
                click.echo(err=True)  # an empty line, apart from the steps
            case e.TextDelta(text=text):
                click.echo(text, nl=False)
            case e.TextEnded():
                click.echo()
                click.echo(err=True)
            case e.Custom(name="flow.finished", value={"status": str(status)}):
                click.echo(f"{status} after {time.monotonic() - self._flow_began:.1f} s", err=True)
            case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded() | e.MessagesReplaced():
                pass  # the command tells how the flow ended
            case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded() | e.SpanStarted() | e.SpanEnded():
                pass
            case e.ToolCallStarted() | e.ToolCallDelta() | e.ToolCallEnded() | e.ToolCallReturned():
                pass  # of a step that calls a tool, whose outcome is in `flow.step`
            case e.StateReplaced() | e.StateChanged() | e.Custom():
                pass  # nothing to print
            case _:
                assert_never(event)

    def _print_step(self, name: str) -> None:
        seconds = time.monotonic() - self._step_began
        mark, call, outcome = self._step
        shown = "responded" if self._has_responded and mark == "✓" else outcome
        echo_line(f"{mark} {name:12} {call:8} {seconds:5.1f} s  {shown}")
        for detail in self._details:
            echo_line(f"    {detail}")


def summarize_step(kind: str, call: str, value: dict[str, JsonValue]) -> StepSummary | None:
    """None for the start of a step, which has no outcome yet."""
    match kind, value:
        case "failed", {"error": {"code": str(code), "message": str(message)}}:
            return StepSummary("✗", call, f"{code}: {message}")
        case "waiting", {"missing": list(names)}:
            return StepSummary("?", call, f"needs {', '.join(map(str, names))}")
        case "waiting", {"reason": str(reason)}:
            return StepSummary("?", call, reason)
        case "output", {"message": str(message), "next": following}:
            return StepSummary("✓", call, message or (f"→ {following}" if following else "done"))
    return None


def describe_data(value: dict[str, JsonValue]) -> list[str]:
    """The request and the output of a step, as far as the event has them."""
    lines = []
    match value:
        case {"record": {"request": {"method": str(method), "url": str(url), **rest}}}:
            lines.append(f"request: {method} {url}")
            lines += [f"{name}: {json.dumps(data, ensure_ascii=False)}" for name, data in rest.items() if data]
        case {"record": dict(record)} if record:
            lines.append(f"request: {json.dumps(record, ensure_ascii=False)}")
    if value.get("output") is not None:
        lines.append(f"output: {json.dumps(value['output'], ensure_ascii=False)}")
    return lines


def echo_line(text: str) -> None:
    line = remove_control_characters(text).replace("\n", " ")
    click.echo(truncate(line, MAX_LINE_CHARS), err=True)
