"""What scenarios share: their list, what they find, datasets, and the command line's answers."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from fakes import Fakes, tell
from project import Done, Project

from tests.acceptance._lib.scenarios import Scenarios

SCENARIOS = Scenarios()


class Broken(Exception):
    """The scenario cannot go on; its text is what came instead."""


def explain(error: Exception) -> str:
    return str(error) if isinstance(error, Broken | AssertionError) else f"{type(error).__name__}: {error}"


@dataclass
class Finding:
    problems: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    latest: ClassVar["Finding"]

    def __post_init__(self) -> None:
        Finding.latest = self

    def check(self, holds: object, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    def equal(self, got: object, want: object, what: str) -> None:
        self.check(got == want, f"{what}: expected {want!r}, got {got!r}")


def scenario(function: Callable) -> Callable:
    return SCENARIOS.add(function.__name__.replace("_", "-"))(function)


def check(holds: object, problem: str) -> None:
    Finding.latest.check(holds, problem)


def equal(got: object, want: object, what: str) -> None:
    Finding.latest.equal(got, want, what)


class World:
    """`served` is one project with a server, shared by the scenarios that pin."""

    def __init__(self, folder: Path, program: list[str], fakes: Fakes) -> None:
        self.folder, self.program, self.fakes = folder, program, fakes
        self.projects: list[Project] = []
        self._served: dict[str, Project] = {}

    def project(self, **more: object) -> Project:
        made = Project(self.folder / f"p{len(self.projects)}-{uuid.uuid4().hex[:4]}", self.program, self.fakes, more)
        self.projects.append(made)
        self.fakes.forget()
        return made

    def served(self, kind: str = "plain", **more: object) -> Project:
        if kind not in self._served:
            made = self.project(**more)
            made.serve()
            self._served[kind] = made
        self.fakes.forget()
        return self._served[kind]

    def stop(self) -> None:
        for project in self.projects:
            project.stop()


def case(name: str, say: object = "Done.", *, scorers: list | None = None, recorded: list | None = None, ask: object = None, more: dict | None = None, **told: object) -> dict:
    made: dict = {"name": name, "ask": ask or tell(name, say=say, **told)}
    if recorded:
        made["recorded"] = recorded
    return made | (more or {}) | {"scorers": [{"outcome": "done"}] if scorers is None else scorers}


def order(id: int = 7, result: str = '{"total": 120}', **more: object) -> dict:
    return {"tool": "get_order", "arguments": {"id": id}, "result": result, **more}


def command(project: Project, *words: str, codes: tuple[int, ...] = (0,), **options: object) -> Done:
    done = project.cli("eval", *words, **options)
    if done.code not in codes or "No such command" in done.err or "No such option" in done.err:
        raise Broken(f"`eval {' '.join(words)[:80]}` expected exit {' or '.join(map(str, codes))}, got {done}")
    return done


def run(project: Project, *words: str, codes: tuple[int, ...] = (0, 1), **options: object) -> dict:
    """`eval run … --format json`; what it prints."""
    done = command(project, "run", *words, "--format", "json", codes=codes, **options)
    try:
        result = done.json
    except ValueError:
        raise Broken(f"`eval run --format json` printed no JSON: {done.out[:200]!r}") from None
    result["exit"], result["seconds_taken"], result["peak_mb"] = done.code, done.seconds, done.peak_mb
    return result


def pin(project: Project, id: str, name: str, *words: str, into: str | None = None) -> dict:
    """`eval pin`; the pinned case as the file has it."""
    dataset = into or f"d{uuid.uuid4().hex[:6]}"
    command(project, "pin", id, "--into", dataset, "--name", name, *words)
    path = project.folder / "evals" / f"{dataset}.yaml"
    if not path.exists():
        raise Broken(f"`eval pin` wrote no evals/{dataset}.yaml")
    found = next((item for item in project.read(dataset)["cases"] if item["name"] == name), None)
    if found is None:
        raise Broken(f"evals/{dataset}.yaml has no case {name}")
    return found | {"dataset": dataset, "text": path.read_text()}


def outcomes(result: dict) -> dict[str, str]:
    return {item["name"]: item["outcome"] for item in result["cases"]}


def attempt(result: dict, name: str, number: int = 0) -> dict:
    found = next((item for item in result["cases"] if item["name"] == name), None)
    if found is None or len(found.get("attempts", [])) <= number:
        raise Broken(f"the result has no attempt {number + 1} of {name}")
    return found["attempts"][number]


def reasons(result: dict, name: str) -> str:
    found = attempt(result, name)
    return " ".join([str(found.get("reason") or ""), *(str(score.get("reason") or "") for score in found.get("scores", []))])


def pinned_is_replayed(project: Project, found: dict, *, say: str | None = None, tools: tuple[str, ...] = ()) -> dict:
    """Runs the pinned case once: it passes, makes the recorded calls, and reaches no tool server."""
    project.fakes.forget()
    result = run(project, found["dataset"], "--fresh")
    equal(outcomes(result).get(found["name"]), "passed", f"the pinned case ({reasons(result, found['name'])[:150]})")
    equal(dict(project.fakes.counts), {}, "calls at the tool servers during the replay")
    once = attempt(result, found["name"])
    equal([call["name"] for call in once["tool_calls"]], list(tools), "tool calls of the replay")
    check(all(call.get("served") == "recorded" for call in once["tool_calls"]), "a tool call of the replay was not served from the recording")
    if say is not None:
        check(say in once["text"], f"the replay's text: expected {say!r} in it, got {once['text'][:200]!r}")
    check(project.fakes.requests, "the replay did not call the model")
    return once


def places(text: str) -> set[tuple[int, int]]:
    """Lines and columns in error messages: `file.yaml:3:5`, or `line 3, column 5`."""
    found = re.findall(r"\.ya?ml:(\d+):(\d+)", text) + re.findall(r"line (\d+),? column (\d+)", text)
    return {(int(line), int(column)) for line, column in found}
