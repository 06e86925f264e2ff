"""Starts what is needed, runs the scenarios, prints the verdicts."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

warnings.simplefilter("ignore")

import anthropic

from engines import start_engine
from fake import make_model
from harness import SCENARIOS, Case
from servers import litellm

from tests.acceptance._lib.protocol_suite import ProtocolSuite, start_project
from tests.acceptance._lib.scenarios import Scenario

import basics, tools, thinking, people, hostile, clients, claude_code  # noqa: E401 F401  (each declares its scenarios)


def describe(error: Exception) -> str | None:
    return f"expected an answer, got {error.status_code} {error.message}" if isinstance(error, anthropic.APIStatusError) else None


def start_local_model(chosen: Sequence[Scenario], folder: Path) -> Callable[[], None]:
    if "RS_LLAMA_URL" in os.environ or not any(scenario.group == "local" for scenario in chosen):
        return lambda: None
    engine = start_engine(folder)
    os.environ["RS_LLAMA_URL"] = engine.origin
    return engine.stop


SUITE = ProtocolSuite(
    name="anthropic",
    about="Acceptance of Anthropic's Messages API with the real clients.",
    client=f"anthropic {anthropic.__version__}",
    groups=["basics", "tools", "thinking", "users", "errors", "hostile", "agents", "clients", "code", "local"],
    scenarios=SCENARIOS,
    make_case=Case,
    make_model=make_model,
    start_project=partial(start_project, "anthropic"),
    start_peer=litellm,
    describe=describe,
    prepare=start_local_model,
)

if __name__ == "__main__":
    sys.exit(SUITE.main())
