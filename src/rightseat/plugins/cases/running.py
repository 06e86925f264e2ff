"""Runs the cases of a plugin: without a network, without a model."""

import base64
import mimetypes
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rightseat.core import codec
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, TextDelta
from rightseat.core.values import JsonValue
from rightseat.egress.redaction import Redactor
from rightseat.plugins.cases.playing import MadeUpSecrets, RecordedNetwork, ScriptedVoice, revealed
from rightseat.plugins.cases.reading import BadCases, Case, Expected, read
from rightseat.plugins.definition import Plugin
from rightseat.plugins.flows import Means, run
from rightseat.plugins.loading import Operator, load
from rightseat.plugins.operations import Sender
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scene import Scene, Upload
from rightseat.plugins.sql.databases import Databases

T = TypeVar("T")

WAITING = {"input_required": "waiting_input", "approval_required": "waiting_approval"}


@dataclass(frozen=True, slots=True)
class Report:
    """`problems` are empty where the case passed."""

    name: str
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class Trace:
    """All that a run of a case said."""

    events: list[Event] = field(default_factory=list)
    interrupts: tuple[Interrupt, ...] = ()

    def add(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, RunFinished):
            self.interrupts = event.interrupts

    def finished(self) -> dict[str, JsonValue]:
        for event in reversed(self.events):
            if isinstance(event, Custom) and event.name == "flow.finished" and isinstance(event.value, dict):
                return event.value
        return {}

    def status(self) -> str:
        if self.interrupts:
            return WAITING.get(self.interrupts[0].reason, self.interrupts[0].reason)
        return str(self.finished().get("status"))

    def path(self) -> JsonValue:
        if not self.interrupts:
            return self.finished().get("path")
        memo = self.interrupts[0].memo
        return memo.get("path", []) if isinstance(memo, dict) else []

    def error_code(self) -> JsonValue:
        error = self.finished().get("error")
        return error.get("code") if isinstance(error, dict) else None

    def missing(self) -> list[str]:
        schema = self.interrupts[0].schema if self.interrupts else None
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return list(properties) if isinstance(properties, dict) else []

    def artifacts(self) -> list[dict[str, JsonValue]]:
        customs = [event for event in self.events if isinstance(event, Custom) and event.name == "artifact"]
        return [event.value for event in customs if isinstance(event.value, dict)]

    def answer(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    def text(self) -> str:
        return "\n".join(codec.encode(event).decode() for event in self.events)


async def run_all(folder: Path, *, allow_lib: bool = False) -> list[Report]:
    """Every case of the plugin in the folder. `allow_lib` lets the code in its `lib` run.

    Raises `BadCases`: the plugin has errors, or its file of cases.
    """
    first = load(folder)
    digest = first.plugin.lib if first.plugin is not None else None
    loaded = load(folder, operator=Operator(lib=frozenset([digest]))) if digest and allow_lib else first
    if loaded.plugin is None:
        raise BadCases(f"The plugin cannot be loaded: {loaded.errors[0]}")
    allowed = [digest] if digest and allow_lib else []
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as state:
        async with Databases(Path(state)) as databases, ToolRunner(allowed) as tool_runner:
            for case in read(folder):
                problems = await try_case(loaded.plugin, case, databases, tool_runner)
                reports.append(Report(case.name, tuple(problems)))
    return reports


async def try_case(plugin: Plugin, case: Case, databases: Databases, tool_runner: ToolRunner) -> list[str]:
    """What was not as the case says."""
    flow = plugin.flow(case.flow)
    if flow is None:
        return [f"there is no flow {case.flow!r}; there are {', '.join(plugin.flows)}"]
    if not flow.enabled:
        return ["the flow needs the code in the plugin's lib, which was not allowed to run"]
    redactor, trace = Redactor(), Trace()
    voice, network = ScriptedVoice(case.model), RecordedNetwork(case.http)
    sender = Sender(network, MadeUpSecrets(), redactor, lambda plugin: plugin.allow_private)
    means = Means(voice, sender, redactor, databases, tool_runner, sleep=no_pause)
    async for event in run(plugin, flow, scene_of(case), means, Plainly()):
        trace.add(event)
    problems = [*voice.unlisted, *network.problems, *network.left()]
    return problems + list(unmet(case.expect, trace, voice))


def unmet(expected: Expected, trace: Trace, voice: ScriptedVoice) -> Sequence[str]:
    found = [
        difference("status", expected.status, trace.status()),
        difference("path", expected.path, trace.path()),
        difference("error_code", expected.error_code, trace.error_code()),
        difference("missing", expected.missing, trace.missing()),
        difference("artifacts", expected.artifacts, [one.get("name") for one in trace.artifacts()]),
        *chart_differences(expected, trace),
        *(difference(f"model_calls of {name}", n, voice.counts[name]) for name, n in expected.model_calls.items()),
    ]
    prompts, said, answer = "\n".join(voice.prompts), trace.text(), trace.answer()
    found += [f"{text!r} is in a prompt" for text in expected.not_in_prompts if revealed(text) in prompts]
    found += [f"{text!r} is in the trace" for text in expected.not_in_trace if revealed(text) in said]
    found += [f"the answer has no {text!r}: {answer!r}" for text in expected.answer_contains if text not in answer]
    problems = [one for one in found if one]
    if problems and (failed := [event for event in trace.events if is_failure(event)]):
        problems.append(f"what went wrong: {failed[0]}")
    return problems


def difference(what: str, expected: object, was: object) -> str:
    return "" if expected is None or expected == was else f"{what}: expected {expected!r}, was {was!r}"


def chart_differences(expected: Expected, trace: Trace) -> list[str]:
    if expected.chart is None:
        return []
    options = [one.get("option") for one in trace.artifacts() if one.get("kind") == "chart"]
    if not options or not isinstance(options[0], dict):
        return ["chart: expected one, there is none"]
    series, dataset = options[0].get("series"), options[0].get("dataset")
    types = [one.get("type") for one in series if isinstance(one, dict)] if isinstance(series, list) else []
    source = dataset.get("source") if isinstance(dataset, dict) else None
    return [
        difference("chart.series_types", expected.chart.series_types, types),
        difference("chart.rows", expected.chart.rows, data_rows(source)),
    ]


def data_rows(source: object) -> int:
    """Without the row of names, where rows are lists."""
    if not isinstance(source, list):
        return 0
    return len(source) - 1 if source and isinstance(source[0], list) else len(source)


def is_failure(event: Event) -> bool:
    is_step = isinstance(event, Custom) and event.name == "flow.step" and isinstance(event.value, dict)
    return is_step and event.value["event"] == "failed"  # type: ignore[union-attr, index, call-overload]


def scene_of(case: Case) -> Scene:
    files = [
        Upload(
            f"file-{number}",
            one.name,
            one.media_type or media_type(one.name),
            base64.b64encode(one.text.encode()).decode(),
        )
        for number, one in enumerate(case.files)
    ]
    return Scene(case.question, files=tuple(files), language=case.language)


def media_type(name: str) -> str:
    known = {".csv": "text/csv", ".md": "text/markdown", ".json": "application/json"}
    return known.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0] or "text/plain"


async def no_pause(seconds: float) -> None:
    """Between two attempts."""


class Plainly(Steps):
    """Steps that are simply done."""

    is_leaving = False
    resumed = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return source()
