"""The configuration: every problem of the file, and warnings about a valid one."""

import re
from collections.abc import Iterator
from pathlib import Path

from rightseat.config import Config
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known, split_advice
from rightseat.health.warnings import warnings

TITLE = "The configuration is valid"
WARNED = "Change the configuration, unless this is intended."
SKIPPED = "Not checked, because the configuration cannot be loaded: models, toolboxes, agents and faces."

_PLACE = re.compile(r"(?P<place>.+?:(?P<line>\d+):\d+): (?P<text>.*)", re.DOTALL)


def check_configuration(context: CheckContext) -> Iterator[Check]:
    outcomes = [explain_problem(problem, context.file) for problem in context.problems]
    if context.config is None:
        outcomes.append(
            CheckOutcome("skipped", SKIPPED, Fix("Correct the configuration, then run this command again."))
        )
    else:
        outcomes = outcomes or [CheckOutcome("ok", describe(context.config, context.file))]
        outcomes += [CheckOutcome("warning", *split_advice(line, WARNED)) for line in warnings(context.config)]
    yield Check("configuration", str(context.file), TITLE, known(*outcomes))


def explain_problem(problem: str, file: Path) -> CheckOutcome:
    """A problem is `file:line:column: text`, or a text alone."""
    found = _PLACE.fullmatch(problem)
    if found is None:
        return CheckOutcome("error", *split_advice(problem, f"Correct {file}."))
    where = f"line {found['line']} of {file}" + (" or a line above it" if "not YAML" in found["text"] else "")
    correct = f"Correct {where}. `rightseat check` validates the file."
    cause, fix = split_advice(found["text"], correct)
    return CheckOutcome("error", cause, fix, found["place"])


def describe(config: Config, file: Path) -> str:
    found = f"{config.path} is valid" if config.path else f"There is no {file}: the defaults are used"
    parts = (
        (config.models, "model", "models"),
        (config.agents, "agent", "agents"),
        (config.toolboxes, "toolbox", "toolboxes"),
        (config.faces, "face", "faces"),
    )
    return f"{found}; {', '.join(f'{len(some)} {one if len(some) == 1 else many}' for some, one, many in parts)}."
