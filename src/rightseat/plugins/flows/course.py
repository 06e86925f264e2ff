"""The course of one run of a flow: where it is, and what becomes of it with each step. It never waits."""

from dataclasses import dataclass, field, replace

from rightseat.core.engine import Steps
from rightseat.core.events import Event
from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Flow, Plugin, Step
from rightseat.plugins.flows import answering, attempting, telling
from rightseat.plugins.flows.means import ON_ERROR, Means, Turn
from rightseat.plugins.flows.progress import Progress, gives_the_answer
from rightseat.plugins.response_notes import response_notes
from rightseat.plugins.results import Problem, Result
from rightseat.plugins.scene import Scene


@dataclass(slots=True)
class Course:
    """`given` is what a person typed into a form, `note` what a person has to be told with the next question."""

    plugin: Plugin
    flow: Flow
    base: Scene
    means: Means
    steps: Steps
    prefix: str
    progress: Progress
    given: dict[str, JsonValue] = field(default_factory=dict)
    note: str = ""
    is_stopped: bool = False
    has_failed_twice: bool = False

    def current(self) -> Step | None:
        """The step to be done now; once something has gone wrong, `on_error` and nothing else."""
        progress = self.progress
        if progress.step is None or self.is_stopped:
            return None
        if progress.problem is None:
            self._check_limits(progress.step)
        if progress.problem is not None:
            return self.flow.on_error or answering.EXPLAIN
        return self.flow.steps[progress.step]

    def _check_limits(self, step: str) -> None:
        progress, flow = self.progress, self.flow
        if not flow.enabled:
            text = f"The flow {flow.name} needs code of its plugin, which the operator has not allowed."
            progress.problem = Problem("tool_failed", text, step)
        elif len(progress.path) >= flow.max_steps:
            text = f"The flow has done {flow.max_steps} steps and is not at its end."
            progress.problem = Problem("max_steps", text, step)
        elif self._left() <= 0:
            progress.problem = Problem("flow_timeout", self._too_long(), step)

    def _left(self) -> float:
        """The seconds that the flow has left; waiting for people does not count."""
        return self.flow.timeout - self.progress.usage.milliseconds / 1000

    def _too_long(self) -> str:
        return f"The flow took longer than {self.flow.timeout:g} s."

    def turn(self, step: Step) -> Turn:
        progress = self.progress
        left = self._left() if progress.problem is None else float("inf")
        limit = attempting.limit_of(step, left)
        key = f"{progress.key}:{len(progress.path)}:{step.name or ON_ERROR}" if progress.key else ""
        notes = response_notes(self.plugin, self.flow, progress.calls)
        scene = replace(progress.scene(self.base), response_notes=notes)
        return Turn(self.plugin, self.flow, step, scene, self.means, limit, key)

    def key(self, turn: Turn) -> str:
        """What the engine's steps of this turn are called."""
        return f"{self.prefix}:{len(self.progress.path)}:{turn.name}"

    def go_on(self, turn: Turn, result: Result) -> list[Event]:
        """The step is done."""
        progress = self.progress
        progress.step = progress.next_of(turn.step, result)
        progress.note(turn.step, result)
        if gives_the_answer(self.flow, turn.step):
            progress.answered_by = turn.name
        return [telling.given(turn, result, progress.step), *map(telling.artifact, result.artifacts)]

    def fail(self, turn: Turn, problem: Problem) -> Event:
        """The step failed: the flow goes on with `on_error`, or ends where that failed itself."""
        progress = self.progress
        progress.path.append(turn.name)
        progress.pause = None
        if problem.code == "timeout" and turn.limit < attempting.limit_of(turn.step, float("inf")):
            problem = Problem("flow_timeout", self._too_long(), problem.step)
        if progress.problem is not None:
            self.has_failed_twice = True
            progress.step = None
        else:
            progress.problem = problem
            progress.step = ON_ERROR
        return telling.failed(turn, problem)

    def status(self) -> str:
        if self.is_stopped:
            return "cancelled"
        if self.has_failed_twice:
            return "failed"
        return "succeeded" if self.progress.problem is None else "failed_handled"
