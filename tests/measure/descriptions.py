"""Do the descriptions of a plugin help a model choose a flow and fill in a request?

    python -m tests.measure.descriptions [--model qwen] [--answers FILE]

Asks the questions of descriptions.yaml about the four example plugins twice: with the plugins as they are, and with
copies of them that lack `description` in plugin.json, `requestBody.description`, and the description and schema of the
200 response. plugin.json must have a description: the copy has the plugin's name there.

The model runs on llama-server, on one thread, at temperature 0. Server and model are downloaded once. Every answer is
appended to the file of answers (default: descriptions-MODEL.jsonl in the current folder), and a prompt that is in it is
not asked again: a run can be interrupted, and prompts that are equal with and without descriptions are asked once.
Prints Markdown tables: the share of right answers with its 95 % interval (Wilson), and how many answers became right
or wrong with the descriptions, with the exact McNemar test.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from rightseat.models.completion import backends
from rightseat.models.completion.backends.options import LlamaCppOptions, PromptCacheOptions
from rightseat.models.completion.model import Completion
from rightseat.plugins import selection, slots
from rightseat.plugins.definition import Plugin
from rightseat.plugins.loading import load
from rightseat.plugins.model_calls import ModelCaller, ModelRequest, ModelResponse, RoleModelCaller
from rightseat.plugins.response_notes import write_response_notes
from rightseat.plugins.results import StepResult, StepUsage
from rightseat.plugins.scope import Scope, Upload
from tests.local_models import load_parts

ROOT = Path(__file__).parents[2]
QUESTIONS = Path(__file__).with_suffix(".yaml")
MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "md": "text/markdown", "png": "image/png"}
WITH, WITHOUT = "with descriptions", "without"
NONE = "none"


@dataclass(frozen=True)
class Outcome:
    """Of one question: `group` is the row of the table, `prompts` are the hashes of what the model was asked."""

    group: str
    plugin: str
    question: str
    given: Any
    expected: Any
    prompts: tuple[str, ...]
    usage: StepUsage

    @property
    def is_right(self) -> bool:
        return bool(self.given == self.expected)


class RecordedModelCaller:
    """Appends every answer to a file, and takes those that are in it from there."""

    def __init__(self, model: ModelCaller, file: Path) -> None:
        self._speaker = model
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._known = {entry["key"]: entry for entry in map(json.loads, lines)}
        self.asked: list[str] = []

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        key = hashlib.sha256(json.dumps([wanted.system, wanted.user, wanted.schema]).encode()).hexdigest()[:16]
        self.asked.append(key)
        if key not in self._known:
            said = await self._speaker.call(wanted)
            entry: dict[str, Any] = {
                "key": key,
                "name": wanted.name,
                "system": wanted.system,
                "user": wanted.user,
                "text": said.text,
            }
            entry |= {"input_tokens": said.usage.input_tokens, "output_tokens": said.usage.output_tokens}
            with self._file.open("a") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._known[key] = entry
        known = self._known[key]
        return ModelResponse(known["text"], StepUsage(known["input_tokens"], known["output_tokens"]))

    def take_asked(self) -> tuple[str, ...]:
        asked, self.asked = tuple(self.asked), []
        return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("qwen", "smollm2"), default="qwen")
    parser.add_argument("--answers", type=Path)
    given = parser.parse_args()
    answers = given.answers or Path(f"descriptions-{given.model}.jsonl")
    asyncio.run(measure(given.model, answers))


async def measure(model_name: str, answers: Path) -> None:
    parts, document = load_parts(), yaml.safe_load(QUESTIONS.read_text())
    with tempfile.TemporaryDirectory() as folder:
        prompt_cache = PromptCacheOptions(folder=Path(folder) / "prompt_cache", max_files=0)
        options = LlamaCppOptions(
            model=parts.model(model_name), binary=parts.binary(), threads=1, slots=1, prompt_cache=prompt_cache
        )
        plugins = {WITH: load_all(ROOT / "examples" / "plugins"), WITHOUT: load_all(stripped(Path(folder) / "plugins"))}
        async with Completion(backends.build(options), temperature=0.0, max_tokens=300) as model:
            await model.wait_until_ready()
            caller = RecordedModelCaller(RoleModelCaller(model), answers)
            outcomes = {variant: await ask_all(document, found, caller, variant) for variant, found in plugins.items()}
    write(outcomes[WITH], outcomes[WITHOUT])


def load_all(folder: Path) -> dict[str, Plugin]:
    loaded = [load(file.parent) for file in sorted(folder.glob("*/plugin.json"))]
    for one in loaded:
        assert one.plugin is not None, one.errors
    return {one.plugin.id: one.plugin for one in loaded if one.plugin is not None}


def stripped(folder: Path) -> Path:
    """Copies of the example plugins, without the descriptions that are measured."""
    shutil.copytree(ROOT / "examples" / "plugins", folder)
    for file in folder.glob("*/plugin.json"):
        metadata = json.loads(file.read_text())
        for words in (metadata, *metadata.get("i18n", {}).values()):
            words["description"] = words["name"]
        file.write_text(json.dumps(metadata, ensure_ascii=False))
    for file in folder.glob("*/openapi.yaml"):
        document = yaml.safe_load(file.read_text())
        for path in document["paths"].values():
            for operation in path.values():
                operation.get("requestBody", {}).pop("description", None)
                operation["responses"]["200"] = {"description": ""}
        file.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
    return folder


async def ask_all(
    document: Any, plugins: Mapping[str, Plugin], model: RecordedModelCaller, variant: str
) -> list[Outcome]:
    outcomes = []
    for ask in (choose_flows, fill_first_requests, fill_second_requests):
        found = [one async for one in ask(document, plugins, model)]
        right = sum(one.is_right for one in found)
        sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {variant}: {found[0].group}: {right} of {len(found)}\n")
        outcomes += found
    return outcomes


async def choose_flows(document: Any, plugins: Mapping[str, Plugin], model: RecordedModelCaller) -> Any:
    every = [*plugins.values()]
    for asked in document["questions"]:
        chosen = await selection.choose_flow(scope(asked), every, selection.FlowSearch(), model, auto=True)
        name = f"{chosen.plugin.id}.{chosen.flow}" if chosen.plugin else NONE
        group = "flow, where none answers" if asked["flow"] == NONE else "flow"
        yield outcome(group, asked, name, asked["flow"], model, chosen.usage)


async def fill_first_requests(document: Any, plugins: Mapping[str, Plugin], model: RecordedModelCaller) -> Any:
    for asked in sorted(document["questions"], key=lambda one: str(one["flow"])):  # equal prefixes are read once
        if "arguments" not in asked:
            continue
        name, _, flow = asked["flow"].partition(".")
        endpoint = plugins[name].flows[flow].steps["start"].params["endpoint"]
        filled = await fill(plugins[name], str(endpoint), scope(asked), model)
        yield outcome("slots of the first request", asked, filled.arguments, asked["arguments"], model, filled.usage)


async def fill_second_requests(document: Any, plugins: Mapping[str, Plugin], model: RecordedModelCaller) -> Any:
    given = document["second_requests"]
    plugin, step, data = plugins[given["plugin"]], given["step"], given["data"]
    calls = {step: "api"}
    notes = write_response_notes(plugin, plugin.flows[given["flow"]], calls)
    for asked in given["questions"]:
        earlier = {step: StepResult(data)}
        seen = replace(scope(asked), data=data, data_from=step, steps=earlier, calls=calls, response_notes=notes)
        filled = await fill(plugin, given["endpoint"], seen, model)
        asked = asked | {"flow": f"{given['plugin']}."}
        yield outcome("slots of a second request", asked, filled.arguments, asked["arguments"], model, filled.usage)


async def fill(plugin: Plugin, endpoint: str, seen: Scope, model: ModelCaller) -> slots.FilledSlots:
    operation = plugin.operation(endpoint)
    assert operation is not None, endpoint
    return await slots.fill_operation(plugin, operation, {}, seen, model)


def scope(asked: Mapping[str, Any]) -> Scope:
    content = base64.b64encode(b"a,b\n1,2\n").decode()
    files = tuple(
        Upload(f"id-{name}", name, MEDIA_TYPES.get(name.rpartition(".")[2], "video/mp4"), content)
        for name in asked.get("files", ())
    )
    text = asked["question"]
    language = "en" if text.isascii() else "zh"
    time = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    return Scope(text, files=files, window=8192, time=time, language=language)


def outcome(
    group: str, asked: Mapping[str, Any], given: Any, expected: Any, model: RecordedModelCaller, usage: StepUsage
) -> Outcome:
    plugin = asked["flow"].partition(".")[0]
    return Outcome(group, plugin, asked["question"], given, expected, model.take_asked(), usage)


def write(one: Sequence[Outcome], other: Sequence[Outcome]) -> None:
    pairs = list(zip(other, one, strict=True))
    groups = dict.fromkeys(before.group for before, _ in pairs)
    rows = [(group, [pair for pair in pairs if pair[0].group == group]) for group in groups]
    sys.stdout.write("\n".join(table(rows)) + "\n\n")
    each = dict.fromkeys((before.group, before.plugin) for before, _ in pairs if before.plugin != NONE)
    rows = [
        (f"{group}: {plugin}", [pair for pair in pairs if (pair[0].group, pair[0].plugin) == (group, plugin)])
        for group, plugin in each
    ]
    sys.stdout.write("\n".join(table(rows)) + "\n\n")
    for before, after in pairs:
        if before.is_right != after.is_right:
            change = "better" if after.is_right else "worse"
            sys.stdout.write(f"{change}: {after.group}: {after.question}: {before.given} -> {after.given}\n")
    for before, after in pairs:
        if not before.is_right and not after.is_right:
            sys.stdout.write(f"wrong in both: {after.group}: {after.question}: {before.given} | {after.given}\n")


def table(rows: Sequence[tuple[str, Sequence[tuple[Outcome, Outcome]]]]) -> Iterator[str]:
    yield "| | n | prompts that differ | right without | right with | better | worse | p | tokens of a prompt |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for title, pairs in rows:
        differ = sum(before.prompts[:1] != after.prompts[:1] for before, after in pairs)
        better = sum(after.is_right and not before.is_right for before, after in pairs)
        worse = sum(before.is_right and not after.is_right for before, after in pairs)
        shares = [share(sum(pair[at].is_right for pair in pairs), len(pairs)) for at in (0, 1)]
        tokens = [sum(pair[at].usage.input_tokens for pair in pairs) / len(pairs) for at in (0, 1)]
        cells = [title, len(pairs), differ, *shares, better, worse, f"{mcnemar(better, worse):.2f}"]
        yield "| " + " | ".join(map(str, [*cells, f"{tokens[0]:.0f} → {tokens[1]:.0f}"])) + " |"


def share(right: int, n: int) -> str:
    """With Wilson's 95 % interval."""
    z, p = 1.96, right / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{p:.0%} ({max(middle - half, 0):.0%} to {min(middle + half, 1):.0%})"


def mcnemar(better: int, worse: int) -> float:
    """Exact and two-sided: how likely is a difference as large as this, if the descriptions change nothing?"""
    n = better + worse
    tail = sum(math.comb(n, k) for k in range(min(better, worse) + 1))
    return min(1.0, math.ldexp(tail, 1 - n))


if __name__ == "__main__":
    main()
