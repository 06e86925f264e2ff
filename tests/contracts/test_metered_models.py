"""Every call of a configured model passes the limits, also from parts that know nothing of them."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from rightseat import app, config
from rightseat.core.ask import Ask, Principal
from rightseat.core.caller import Caller
from rightseat.core.errors import BudgetExceeded, LimitExceeded
from rightseat.core.events import Event
from rightseat.core.messages import user
from rightseat.core.model import (
    CannotContinue,
    Chunk,
    Embedder,
    Model,
    PartialOutput,
    Prompt,
    SupportsContinuation,
    SupportsReadiness,
    TextChunk,
    Vectors,
)
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.store import UsageQuery
from tests.acme.naive_model import ANSWER_TOKENS, NaiveModel

ASKS = 5
PARTS = {
    "agent": "agents: {default: {type: tests.acme.naive_agent}}",
    "guard": "agents: {default: {model: default}}\nguards: [{type: tests.acme.naive_guard}]",
    "toolbox": "agents: {default: {model: default, toolboxes: [naive]}}\n"
    "toolboxes: {naive: {type: tests.acme.naive_toolbox}}",
    "flow": "agents: {default: {type: flows, toolbox: own, model: default, flow: own.say, suggestions: false}}\n"
    "toolboxes: {own: {type: plugins, folders: [FOLDER]}}",
    "model of models": "agents: {default: {type: tests.acme.naive_agent, model: router}}",
    "background": "agents: {default: {type: tests.acme.naive_agent}}",
}


def assemble(text: str, folder: Path, limit: str) -> app.Assembly:
    flows = folder / "plugins" / "own" / "flows"
    flows.mkdir(parents=True)
    described = {"id": "own", "name": "Own", "description": "A flow of one's own.", "version": "1.0.0"}
    (flows.parent / "plugin.json").write_text(json.dumps(described))
    step = {"name": "start", "call_type": "llm", "params": {"user_prompt": "{question}"}, "next": "end"}
    steps = [step, {"name": "end", "call_type": "none"}]
    (flows / "say.yaml").write_text(json.dumps({"name": "say", "description": "Says it.", "steps": steps}))
    return app.assemble(
        config.parse(
            f"""
models: {{default: {{type: tests.acme.naive_model}}, router: {{type: tests.acme.naive_router}}}}
log: {{type: memory}}
threads: {{type: memory}}
limits_reserve: {{default: 400, router: 400}}
faces: [{{type: openai}}, {{type: usage}}]
limits: [{{name: day, subject: everyone, {limit}}}]
{text.replace("FOLDER", json.dumps(str(folder / "plugins")))}
""",
            environ={},
        )
    )


async def ask(assembly: app.Assembly) -> list[Event]:
    wanted = Ask(messages=(user("Hi"),), principal=Principal("anna"), caller=Caller("key", ""), transient=True)
    begun = await assembly.runtime.start(wanted)
    async with aclosing(assembly.runtime.follow(begun.run_id)) as batches:
        return [entry.event async for entries in batches for entry in entries]


def calls_of(assembly: app.Assembly) -> int:
    model: Any = assembly.runtime.models["default"]
    assert isinstance(model, NaiveModel)
    return model.calls


async def usage(assembly: app.Assembly) -> dict[tuple[str, ...], int]:
    metering = assembly.metering
    assert metering is not None
    rows = await metering.ledger.store.usage(UsageQuery(("user", "agent", "model", "purpose")))
    return {row.group: row.counts.tokens for row in rows if row.counts.tokens}


@pytest.mark.parametrize("part", ["agent", "guard", "toolbox", "flow", "model of models"])
async def test_a_part_that_calls_its_model_without_any_metering_cannot_pass_the_budget(
    part: str, tmp_path: Path
) -> None:
    assembly = assemble(PARTS[part], tmp_path, f"tokens_per_day: {2 * ANSWER_TOKENS + 400}")
    async with assembly.opened():
        for _ in range(ASKS):
            with suppress(LimitExceeded):
                await ask(assembly)
        counted = await usage(assembly)

    assert calls_of(assembly) == 2
    assert sum(counted.values()) == 2 * ANSWER_TOKENS
    assert {(user, agent, model) for user, agent, model, _ in counted} == {("anna", "default", "default")}
    assert ("guard" in {purpose for *_, purpose in counted}) is (part == "guard")


async def test_a_call_outside_of_any_run_counts_for_the_server_and_cannot_pass_the_budget(tmp_path: Path) -> None:
    assembly = assemble(PARTS["background"], tmp_path, f"tokens_per_day: {2 * ANSWER_TOKENS + 400}")
    async with assembly.opened():
        for _ in range(2):
            async for _ in assembly.runtime.models["default"].stream(Prompt((user("Hi"),))):
                pass
        with pytest.raises(BudgetExceeded):
            await anext(assembly.runtime.models["default"].stream(Prompt((user("Hi"),))))
        counted = await usage(assembly)

    assert counted == {("", "", "default", "server"): 2 * ANSWER_TOKENS}


class Plain:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk("Well")


class Continuing(Plain):
    def continue_stream(self, prompt: Prompt, partial: PartialOutput) -> AsyncIterator[Chunk]:
        raise CannotContinue


class Ready(Plain):
    async def wait_until_ready(self) -> None: ...


class Embedding(Plain):
    async def embed(self, texts: object, dimensions: int | None = None) -> Vectors:
        return Vectors([], 3)


class Slotted(Plain):
    __slots__ = ()


@pytest.mark.parametrize("kind", [Plain, Continuing, Ready, Embedding, Slotted])
def test_a_metered_model_supports_exactly_the_protocols_of_the_model(kind: type[Model]) -> None:
    model = kind()
    metered = meter_model(model, CallCounter(), "big")

    for protocol in (SupportsContinuation, SupportsReadiness, Embedder, kind):
        assert isinstance(metered, protocol) is isinstance(model, protocol)
    for name in ("continue_stream", "wait_until_ready", "embed"):
        assert hasattr(metered, name) is hasattr(model, name)
    assert metered.rightseat_key == "big"  # type: ignore[attr-defined]  # it has the attributes of the model
