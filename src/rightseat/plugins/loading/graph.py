"""Finds unreachable steps and endless loops in the graph of a flow's steps."""

from collections.abc import Iterator, Mapping

from rightseat.plugins.definition import Step

FIRST_STEP = "start"
LAST_STEP = "end"


def list_successors(step: Step) -> list[str]:
    """Return the names of the steps that can follow."""
    if step.name == LAST_STEP:
        return []
    if step.call != "choice":
        return [step.next] if step.next else []
    choices = step.params.get("choices")
    named = [one.get("step") for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    return [name for name in (*named, step.params.get("default")) if isinstance(name, str)]


def find_unreachable(steps: Mapping[str, Step]) -> list[str]:
    seen: set[str] = set()
    todo = [FIRST_STEP]
    while todo:
        name = todo.pop()
        if name in steps and name not in seen:
            seen.add(name)
            todo += list_successors(steps[name])
    return [name for name in steps if name not in seen]


def find_endless_loops(steps: Mapping[str, Step]) -> Iterator[str]:
    """Yield one step of each loop that contains no choice and so never ends."""
    done: set[str] = set()
    for name in steps:
        walked: list[str] = []
        current: str | None = name
        while current is not None and current in steps and current not in done and steps[current].call != "choice":
            done.add(current)
            walked.append(current)
            current = next(iter(list_successors(steps[current])), None)
        if current is not None and current in walked:
            yield current


def find_returning_choices(steps: Mapping[str, Step]) -> list[str]:
    """Return the choices that the flow can reach again from themselves."""
    return [name for name, step in steps.items() if step.call == "choice" and name in _find_reachable(steps, name)]


def _find_reachable(steps: Mapping[str, Step], name: str) -> set[str]:
    seen: set[str] = set()
    todo = list(list_successors(steps[name]))
    while todo:
        one = todo.pop()
        if one in steps and one not in seen:
            seen.add(one)
            todo += list_successors(steps[one])
    return seen
