"""The smallest model on the real engine: what it says always fits, whether or not it is right.

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

from rightseat.models.completion import engines
from rightseat.models.completion.engines.options import LlamaCppOptions, SessionOptions
from rightseat.models.completion.model import Completion
from rightseat.plugins import choosing, slots
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.loading import load
from rightseat.plugins.operations.checking import flaws
from rightseat.plugins.scene import Scene, Upload
from rightseat.plugins.speaking import ModelSpeaker, Said, Wanted
from tests.models.completion.engines.test_real_engine import parts
from tests.plugins.questions import QUESTIONS, Asked

__all__ = ["parts"]

pytestmark = pytest.mark.engines

FOLDER = Path(__file__).parents[2] / "examples" / "plugins"
KINDS = {"csv": "text/csv", "json": "application/json", "md": "text/markdown"}
FLOWS = list(dict.fromkeys(one.flow for one in QUESTIONS))
WITH_REQUESTS = list(dict.fromkeys(one.flow for one in QUESTIONS if one.values is not None))


class Heard:
    """A speaker that holds each answer against what was asked for."""

    def __init__(self, speaker: ModelSpeaker) -> None:
        self._speaker = speaker
        self.calls = 0

    async def say(self, wanted: Wanted) -> Said:
        said = await self._speaker.say(wanted)
        self.calls += 1
        assert wanted.schema is not None
        assert flaws(wanted.schema, said.value()) == [], said.text
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
    sessions = SessionOptions(folder=folder / "sessions")
    engine = LlamaCppOptions(model=parts.model("smollm2"), binary=parts.binary(), threads=1, sessions=sessions)
    async with asyncio.timeout(300), Completion(engines.build(engine), temperature=0.0, max_tokens=300) as model:
        await model.ready()
        yield Heard(ModelSpeaker(model))


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_choice_among_8_flows_is_one_of_them(
    flow: str, plugins: dict[str, Plugin], parts: Any, tmp_path: Path, tally: Counter[str]
) -> None:
    every = [*plugins.values()]
    assert len(choosing.candidates(every)) == 8
    async with speaking(parts, tmp_path) as speaker:
        for asked in questions(flow):
            chosen = await choosing.choose(scene(asked), every, choosing.Search(), speaker, auto=True)
            name = f"{chosen.plugin.id}.{chosen.flow}" if chosen.plugin else "none"

            assert name in (*chosen.candidates, "none")
            assert "named none of them" not in chosen.why
            tally.update({"chosen": 1, "inside": 1, "right flow": name == flow, "none": name == "none"})


@pytest.mark.parametrize("flow", WITH_REQUESTS)
async def test_values_fit_the_schema_or_are_asked_for(
    flow: str, plugins: dict[str, Plugin], parts: Any, tmp_path: Path, tally: Counter[str]
) -> None:
    plugin, operation = first_request(plugins, flow)
    async with speaking(parts, tmp_path) as speaker:
        for asked in questions(flow):
            found = await slots.fill(plugin, operation, {}, scene(asked), speaker)

            if found.missing is None:
                assert slots.check(plugin, operation, found.arguments, scene(asked)) == {}
            wanted = asked.values or {}
            right = sum(found.arguments.get(name) == value for name, value in wanted.items())
            tally.update({"filled": 1, "complete": found.missing is None, "values": len(wanted), "right": right})
            tally.update({"all right": right == len(wanted)})
            tally.update({f"{flow} {name}": found.arguments.get(name) == value for name, value in wanted.items()})
            tally.update({f"{flow} {name} of": 1 for name in wanted})
        tally.update({"calls": speaker.calls})


def questions(flow: str) -> list[Asked]:
    return [asked for asked in QUESTIONS if asked.flow == flow]


def first_request(plugins: dict[str, Plugin], flow: str) -> tuple[Plugin, Operation]:
    name, _, flow_name = flow.partition(".")
    operation = plugins[name].operation(str(plugins[name].flows[flow_name].steps["start"].params["endpoint"]))
    assert operation is not None
    return plugins[name], operation


def scene(asked: Asked) -> Scene:
    content = base64.b64encode(b"a,b\n1,2\n").decode()
    files = tuple(Upload(f"id-{name}", name, KINDS[name.rpartition(".")[2]], content) for name in asked.files)
    return Scene(asked.text, files=files, window=8192, time=datetime(2026, 3, 2, 9, 30, tzinfo=UTC))
