"""The versions of Python and rightseat, and of the rightseat that is running."""

import sys
from collections.abc import Iterator
from importlib import metadata

from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known


def check_versions(context: CheckContext) -> Iterator[Check]:
    yield Check("python", "python", "Python is supported", known(judge_python(sys.version_info[:3])))
    yield Check("version", "rightseat", "The running server has this version", known(judge_version(context)))


def judge_python(version: tuple[int, ...]) -> CheckOutcome:
    required = metadata.metadata("rightseat")["Requires-Python"].removeprefix(">=")
    current = ".".join(map(str, version))
    if version[:2] < tuple(int(number) for number in required.split(".")):
        fix = Fix(f"Install rightseat in an environment with Python {required} or newer.")
        return CheckOutcome("error", f"Python {current} is older than {required}.", fix)
    return CheckOutcome("ok", f"Python {current}; {required} or newer is needed.")


def judge_version(context: CheckContext) -> CheckOutcome:
    installed, running = metadata.version("rightseat"), context.running
    if running is None or running.version == installed:
        return CheckOutcome("ok", f"rightseat {installed}.")
    text = f"The server at {running.url} runs rightseat {running.version}, but {installed} is installed here."
    return CheckOutcome("warning", text, Fix("Start the server again, so that it runs the installed version."))
