"""The smallest model on the real backend: what it says always fits, whether or not it is right.

`pytest tests/plugins/test_small_model.py -s` prints the figures of docs/explanation/flows-on-a-small-model.md.
"""

import asyncio
import base64
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rightseat.models.completion import backends
from rightseat.models.completion.backends.options import LlamaCppOptions, PromptCacheOptions
from rightseat.models.completion.model import Completion
from rightseat.plugins import selection, slots
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.loading import load
from rightseat.plugins.model_calls import ModelRequest, ModelResponse, RoleModelCaller
from rightseat.plugins.operations.validation import find_violations
from rightseat.plugins.scope import Scope, Upload
from tests.models.completion.backends.test_real_llama_cpp import parts
from tests.plugins.questions import QUESTIONS, Asked

__all__ = ["parts"]

pytestmark = pytest.mark.backends

FOLDER = Path(__file__).parents[2] / "examples" / "plugins"
KINDS = {"csv": "text/csv", "json": "application/json", "md": "text/markdown"}
FLOWS = list(dict.fromkeys(one.flow for one in QUESTIONS))
WITH_REQUESTS = list(dict.fromkeys(one.flow for one in QUESTIONS if one.values is not None))


class Heard:
    """A model caller that validates each response against the schema of its request."""

    def __init__(self, model: RoleModelCaller) -> None:
        self._speaker = model
        self.calls = 0

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        said = await self._speaker.call(wanted)
        self.calls += 1
        assert wanted.schema is not None
        assert find_violations(wanted.schema, said.value()) == [], said.text
        return said


@pytest.fixture(scope="module")
def plugins() -> dict[str, Plugin]:
    found = [load(folder.parent).plugin for folder in sorted(FOLDER.glob("*/plugin.json"))]
    return {plugin.id: plugin for plugin in found if plugin is not None}


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    counts = Counter[str]()
    yield counts
    sys.stdout.write(figures(counts))


def figures(counts: Counter[str]) -> str:
    choice = f"{counts['chosen']} questions, inside the list {counts['inside']}, right {counts['right flow']}"
    values = f"{counts['right']} of {counts['values']} values right, all of them for {counts['all right']} questions"
    filled = f"{counts['filled']} questions, {counts['calls']} calls that fit, {counts['complete']} complete"
    each = "".join(f"  {name}: {counts[name]} of {counts[f'{name} of']}\n" for name in counts if f"{name} of" in counts)
    return f"\nchoice: {choice}, none {counts['none']}\nslots: {filled}; {values}\n{each}"


@asynccontextmanager
async def speaking(parts: Any, folder: Path) -> AsyncIterator[Heard]:
    prompt_cache = PromptCacheOptions(folder=folder / "prompt_cache")
    backend = LlamaCppOptions(model=parts.model("smollm2"), binary=parts.binary(), threads=1, prompt_cache=prompt_cache)
    async with asyncio.timeout(300), Completion(backends.build(backend), temperature=0.0, max_tokens=300) as model:
        await model.wait_until_ready()
        yield Heard(RoleModelCaller(model))


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_small_model_chooses_one_of_8_flows(
    flow: str, plugins: dict[str, Plugin], parts: Any, tmp_path: Path, tally: Counter[str]
) -> None:
    every = [*plugins.values()]
    assert len(selection.list_candidates(every)) == 8
    async with speaking(parts, tmp_path) as model:
        for asked in questions(flow):
            chosen = await selection.choose_flow(scope(asked), every, selection.FlowSearch(), model, auto=True)
            name = f"{chosen.plugin.id}.{chosen.flow}" if chosen.plugin else "none"

            assert name in (*chosen.candidates, "none")
            assert "named none of them" not in chosen.why
            tally.update({"chosen": 1, "inside": 1, "right flow": name == flow, "none": name == "none"})


@pytest.mark.parametrize("flow", WITH_REQUESTS)
async def test_values_of_a_small_model_fit_the_schema_or_are_reported_as_missing(
    flow: str, plugins: dict[str, Plugin], parts: Any, tmp_path: Path, tally: Counter[str]
) -> None:
    plugin, operation = first_request(plugins, flow)
    async with speaking(parts, tmp_path) as model:
        for asked in questions(flow):
            found = await slots.fill_operation(plugin, operation, {}, scope(asked), model)

            if found.missing is None:
                assert slots.check_arguments(plugin, operation, found.arguments, scope(asked)) == {}
            wanted = asked.values or {}
            right = sum(found.arguments.get(name) == value for name, value in wanted.items())
            tally.update({"filled": 1, "complete": found.missing is None, "values": len(wanted), "right": right})
            tally.update({"all right": right == len(wanted)})
            tally.update({f"{flow} {name}": found.arguments.get(name) == value for name, value in wanted.items()})
            tally.update({f"{flow} {name} of": 1 for name in wanted})
        tally.update({"calls": model.calls})


def questions(flow: str) -> list[Asked]:
    return [asked for asked in QUESTIONS if asked.flow == flow]


def first_request(plugins: dict[str, Plugin], flow: str) -> tuple[Plugin, Operation]:
    name, _, flow_name = flow.partition(".")
    operation = plugins[name].operation(str(plugins[name].flows[flow_name].steps["start"].params["endpoint"]))
    assert operation is not None
    return plugins[name], operation


def scope(asked: Asked) -> Scope:
    content = base64.b64encode(b"a,b\n1,2\n").decode()
    files = tuple(Upload(f"id-{name}", name, KINDS[name.rpartition(".")[2]], content) for name in asked.files)
    return Scope(asked.text, files=files, window=8192, time=datetime(2026, 3, 2, 9, 30, tzinfo=UTC))
