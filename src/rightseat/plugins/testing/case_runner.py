"""Runs the test cases of a plugin with a mock model and a mock network."""

import base64
import mimetypes
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rightseat.core.engine import DirectSteps
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, TextDelta
from rightseat.core.stream import codec
from rightseat.core.types import JsonValue
from rightseat.egress.redaction import Redactor
from rightseat.plugins.definition import Plugin
from rightseat.plugins.flows import Dependencies, run
from rightseat.plugins.loading import OperatorSettings, load
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope, Upload
from rightseat.plugins.sql.databases import Databases
from rightseat.plugins.testing.cases import BadCases, ExpectedRun, PluginCase, read_cases
from rightseat.plugins.testing.mocks import MockNetwork, MockSecrets, ScriptedModelCaller, insert_secrets

WAITING_STATUSES = {"input_required": "waiting_input", "approval_required": "waiting_approval"}


@dataclass(frozen=True, slots=True)
class CaseReport:
    """`problems` is empty if the case passed."""

    name: str
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class Trace:
    """The events of one run."""

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
            return WAITING_STATUSES.get(self.interrupts[0].reason, self.interrupts[0].reason)
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


async def run_all(folder: Path, *, allow_lib: bool = False) -> list[CaseReport]:
    """Run every case of the plugin in the folder. `allow_lib` allows the code in its `lib`.

    Raises `BadCases` if the plugin or its file of cases has errors.
    """
    first = load(folder)
    digest = first.plugin.lib if first.plugin is not None else None
    loaded = load(folder, operator=OperatorSettings(lib=frozenset([digest]))) if digest and allow_lib else first
    if loaded.plugin is None:
        raise BadCases(f"The plugin cannot be loaded: {loaded.errors[0]}")
    return await run_plugin(loaded.plugin, [digest] if digest and allow_lib else [])


async def run_plugin(plugin: Plugin, allowed_lib_digests: Collection[str] = ()) -> list[CaseReport]:
    """Run every case in the folder of the plugin. Raises `BadCases`."""
    reports: list[CaseReport] = []
    with tempfile.TemporaryDirectory() as state:
        async with Databases(Path(state)) as databases, ToolRunner(allowed_lib_digests) as tool_runner:
            for case in read_cases(plugin.folder):
                problems = await try_case(plugin, case, databases, tool_runner)
                reports.append(CaseReport(case.name, tuple(problems)))
    return reports


async def try_case(plugin: Plugin, case: PluginCase, databases: Databases, tool_runner: ToolRunner) -> list[str]:
    """Return the differences between the case and its run."""
    flow = plugin.flow(case.flow)
    if flow is None:
        return [f"there is no flow {case.flow!r}; there are {', '.join(plugin.flows)}"]
    if not flow.enabled:
        return ["the flow needs the code in the plugin's lib, which was not allowed to run"]
    redactor, trace = Redactor(), Trace()
    model, network = ScriptedModelCaller(case.model), MockNetwork(case.http)
    sender = OperationClient(network, MockSecrets(), redactor, lambda plugin: plugin.allow_private)
    dependencies = Dependencies(model, sender, redactor, databases, tool_runner, sleep=skip_sleep)
    async for event in run(plugin, flow, build_case_scope(case), dependencies, DirectSteps()):
        trace.add(event)
    problems = [*model.unlisted, *network.problems, *network.list_unsent()]
    return problems + list(find_unmet(case.expect, trace, model))


def find_unmet(expected: ExpectedRun, trace: Trace, model: ScriptedModelCaller) -> Sequence[str]:
    found = [
        compare("status", expected.status, trace.status()),
        compare("path", expected.path, trace.path()),
        compare("error_code", expected.error_code, trace.error_code()),
        compare("missing", expected.missing, trace.missing()),
        compare("artifacts", expected.artifacts, [artifact.get("name") for artifact in trace.artifacts()]),
        *compare_chart(expected, trace),
        *(compare(f"model_calls of {name}", n, model.counts[name]) for name, n in expected.model_calls.items()),
    ]
    prompts, trace_text, answer = "\n".join(model.prompts), trace.text(), trace.answer()
    found += [f"{text!r} is in a prompt" for text in expected.not_in_prompts if insert_secrets(text) in prompts]
    found += [f"{text!r} is in the trace" for text in expected.not_in_trace if insert_secrets(text) in trace_text]
    found += [f"the answer has no {text!r}: {answer!r}" for text in expected.answer_contains if text not in answer]
    problems = [approval for approval in found if approval]
    if problems and (failed := [event for event in trace.events if is_failure(event)]):
        problems.append(f"the first failure: {failed[0]}")
    return problems


def compare(name: str, expected: object, actual: object) -> str:
    return "" if expected is None or expected == actual else f"{name}: expected {expected!r}, was {actual!r}"


def compare_chart(expected: ExpectedRun, trace: Trace) -> list[str]:
    if expected.chart is None:
        return []
    options = [artifact.get("option") for artifact in trace.artifacts() if artifact.get("kind") == "chart"]
    if not options or not isinstance(options[0], dict):
        return ["chart: expected one, there is none"]
    series, dataset = options[0].get("series"), options[0].get("dataset")
    types = [sery.get("type") for sery in series if isinstance(sery, dict)] if isinstance(series, list) else []
    source = dataset.get("source") if isinstance(dataset, dict) else None
    return [
        compare("chart.series_types", expected.chart.series_types, types),
        compare("chart.rows", expected.chart.rows, count_rows(source)),
    ]


def count_rows(source: object) -> int:
    """Without the header row if rows are lists."""
    if not isinstance(source, list):
        return 0
    return len(source) - 1 if source and isinstance(source[0], list) else len(source)


def is_failure(event: Event) -> bool:
    is_step = isinstance(event, Custom) and event.name == "flow.step" and isinstance(event.value, dict)
    return is_step and event.value["event"] == "failed"  # type: ignore[union-attr, index, call-overload]


def build_case_scope(case: PluginCase) -> Scope:
    files = [
        Upload(
            f"file-{number}",
            one.name,
            one.media_type or media_type(one.name),
            base64.b64encode(one.text.encode()).decode(),
        )
        for number, one in enumerate(case.files)
    ]
    return Scope(case.question, files=tuple(files), language=case.language)


def media_type(name: str) -> str:
    media_types = {".csv": "text/csv", ".md": "text/markdown", ".json": "application/json"}
    return media_types.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0] or "text/plain"


async def skip_sleep(seconds: float) -> None:
    """Retries do not wait in tests."""
