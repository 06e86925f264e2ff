"""The state machine of one flow run: which step is next, and how each outcome changes the state. It never waits."""

from dataclasses import dataclass, field, replace

from rightseat.core.engine import Steps
from rightseat.core.events import Event
from rightseat.core.tracing import LazySpan
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import ON_ERROR, Flow, Plugin, Step
from rightseat.plugins.flows import answer, events, retry
from rightseat.plugins.flows.checkpoint import FlowCheckpoint, is_answer_step
from rightseat.plugins.flows.dependencies import Dependencies, StepContext
from rightseat.plugins.response_notes import write_response_notes
from rightseat.plugins.results import StepProblem, StepResult
from rightseat.plugins.scope import Scope


@dataclass(slots=True)
class FlowState:
    """`form_values` are a person's entries in a form; `note` is shown with the next question."""

    plugin: Plugin
    flow: Flow
    base_scope: Scope
    dependencies: Dependencies
    steps: Steps
    prefix: str
    checkpoint: FlowCheckpoint
    form_values: dict[str, JsonValue] = field(default_factory=dict)
    note: str = ""
    is_stopped: bool = False
    has_failed_twice: bool = False

    def current_step(self) -> Step | None:
        """The step to run now; after a problem only `on_error`."""
        checkpoint = self.checkpoint
        if checkpoint.step is None or self.is_stopped:
            return None
        if checkpoint.problem is None:
            self._check_limits(checkpoint.step)
        if checkpoint.problem is not None:
            return self.flow.on_error or answer.EXPLAIN
        return self.flow.steps[checkpoint.step]

    def _check_limits(self, step: str) -> None:
        checkpoint, flow = self.checkpoint, self.flow
        if not flow.enabled:
            text = f"The flow {flow.name} needs code of its plugin that the operator has not allowed."
            checkpoint.problem = StepProblem("tool_failed", text, step)
        elif len(checkpoint.path) >= flow.max_steps:
            text = f"The flow reached its limit of {flow.max_steps} steps before its end."
            checkpoint.problem = StepProblem("max_steps", text, step)
        elif self._seconds_left() <= 0:
            checkpoint.problem = StepProblem("flow_timeout", self._timeout_message(), step)

    def _seconds_left(self) -> float:
        """Of the flow's timeout; waiting for people does not count."""
        return self.flow.timeout - self.checkpoint.usage.milliseconds / 1000

    def _timeout_message(self) -> str:
        return f"The flow took longer than {self.flow.timeout:g} s."

    def build_context(self, step: Step) -> StepContext:
        checkpoint = self.checkpoint
        seconds_left = self._seconds_left() if checkpoint.problem is None else float("inf")
        timeout = retry.attempt_timeout(step, seconds_left)
        key = f"{checkpoint.key}:{len(checkpoint.path)}:{step.name or ON_ERROR}" if checkpoint.key else ""
        notes = write_response_notes(self.plugin, self.flow, checkpoint.calls)
        scope = replace(checkpoint.build_scope(self.base_scope), response_notes=notes)
        span = LazySpan("step", step.name or ON_ERROR, flow=self.flow.name, plugin=self.plugin.id)
        return StepContext(self.plugin, self.flow, step, scope, self.dependencies, timeout, span, key, seconds_left)

    def engine_key(self, context: StepContext) -> str:
        """The prefix of the names of the engine's steps for this execution."""
        return f"{self.prefix}:{len(self.checkpoint.path)}:{context.name}"

    def complete(self, context: StepContext, result: StepResult) -> list[Event]:
        checkpoint = self.checkpoint
        checkpoint.step = checkpoint.find_next(context.step, result)
        checkpoint.add_result(context.step, result)
        if is_answer_step(self.flow, context.step):
            checkpoint.answered_by = context.name
        artifacts = map(events.artifact_event, result.artifacts)
        return [events.step_output(context, result, checkpoint.step), *artifacts]

    def fail(self, context: StepContext, problem: StepProblem) -> Event:
        """Continue with `on_error`; if that failed, end the flow."""
        checkpoint = self.checkpoint
        checkpoint.path.append(context.name)
        checkpoint.pause = None
        is_over = context.timeout < retry.attempt_timeout(context.step, float("inf")) or self._seconds_left() <= 0
        if problem.code == "timeout" and checkpoint.problem is None and is_over:
            problem = StepProblem("flow_timeout", self._timeout_message(), problem.step)
        if checkpoint.problem is not None:
            self.has_failed_twice = True
            checkpoint.step = None
        else:
            checkpoint.problem = problem
            checkpoint.step = ON_ERROR
        return events.step_failed(context, problem)

    def status(self) -> str:
        if self.is_stopped:
            return "cancelled"
        if self.has_failed_twice:
            return "failed"
        return "succeeded" if self.checkpoint.problem is None else "failed_handled"
