"""Which steps of a flow lead where: what cannot be reached, and what never ends."""

from collections.abc import Iterator, Mapping

from rightseat.plugins.definition import Step

FIRST = "start"
LAST = "end"


def targets(step: Step) -> list[str]:
    """The steps that can follow."""
    if step.name == LAST:
        return []
    if step.call != "choice":
        return [step.next] if step.next else []
    choices = step.params.get("choices")
    named = [one.get("step") for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    return [name for name in (*named, step.params.get("default")) if isinstance(name, str)]


def unreachable(steps: Mapping[str, Step]) -> list[str]:
    seen: set[str] = set()
    todo = [FIRST]
    while todo:
        name = todo.pop()
        if name in steps and name not in seen:
            seen.add(name)
            todo += targets(steps[name])
    return [name for name in steps if name not in seen]


def endless(steps: Mapping[str, Step]) -> Iterator[str]:
    """One step of each circle that has no choice in it, from which nothing leads out."""
    done: set[str] = set()
    for name in steps:
        walked: list[str] = []
        here: str | None = name
        while here is not None and here in steps and here not in done and steps[here].call != "choice":
            done.add(here)
            walked.append(here)
            here = next(iter(targets(steps[here])), None)
        if here is not None and here in walked:
            yield here


def returning(steps: Mapping[str, Step]) -> list[str]:
    """The choices from which the flow can come back to themselves."""
    return [name for name, step in steps.items() if step.call == "choice" and name in _after(steps, name)]


def _after(steps: Mapping[str, Step], name: str) -> set[str]:
    seen: set[str] = set()
    todo = list(targets(steps[name]))
    while todo:
        one = todo.pop()
        if one in steps and one not in seen:
            seen.add(one)
            todo += targets(steps[one])
    return seen
