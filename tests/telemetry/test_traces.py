"""A run as one tree of spans, as a collector receives it over OTLP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rightseat import app, config
from rightseat.core.ask import Ask
from rightseat.core.errors import ModelUnreachable
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Model, Prompt, TextChunk, UsageChunk
from rightseat.core.run.observers import RunObservers
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.files import MemoryArtifacts
from rightseat.stores.memory import MemoryThreads
from rightseat.telemetry.composite import CompositeObserver
from rightseat.telemetry.traces import Traces
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox, tool
from tests.conftest import serving

SECRET = "the launch code is 1234"


class Collector:
    """Takes spans over OTLP, as the real one does."""

    def __init__(self) -> None:
        self.spans: dict[str, Any] = {}
        self.all: list[Any] = []

    async def take(self, request: Request) -> Response:
        sent = ExportTraceServiceRequest.FromString(await request.body())
        for resource in sent.resource_spans:
            for scope in resource.scope_spans:
                self.spans |= {span.name: span for span in scope.spans}
                self.all += scope.spans
        return Response(b"", media_type="application/x-protobuf")

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Traces]:
        app = FastAPI()
        app.add_api_route("/v1/traces", self.take, methods=["POST"])
        async with serving(app) as url:
            traces = Traces(f"{url}/v1/traces", "test", "0")
            yield traces
            await flush(traces)

    def about(self, name: str) -> dict[str, Any]:
        found = {one.key: one.value for one in self.spans[name].attributes}
        return {key: value.string_value or value.int_value or value.array_value for key, value in found.items()}


async def flush(traces: Traces) -> None:
    """The exporter waits for the collector's answer in a thread of its own, and the collector is in this one."""
    await asyncio.to_thread(traces._provider.shutdown)


@tool
def get_weather(city: str) -> str:
    """The weather."""
    return SECRET


class Breaks:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk("Hal")
        raise ModelUnreachable("It broke off.")


async def run(model: Model, traces: Traces) -> None:
    runtime = Runtime(
        {"clerk": Loop(model, [FunctionToolbox([get_weather])])},
        log=MemoryLog(),
        threads=MemoryThreads(),
        engine=LocalEngine(),
        observers=RunObservers(CompositeObserver([traces])),
    )
    ask = await runtime.start(Ask(messages=(user(SECRET),), agent="clerk", thread_id="t-1"))
    async for _ in runtime.follow(ask.run_id):
        pass
    await runtime.close()


async def test_a_run_is_one_tree() -> None:
    collector = Collector()
    model = ScriptedModel([calls("get_weather", '{"city": "Ulm"}'), [*says("Fine."), UsageChunk(9, 4, 6, 2)]])
    async with collector.opened() as traces:
        await run(model, traces)

    root = collector.spans["invoke_agent clerk"]
    below = [span for name, span in collector.spans.items() if name != "invoke_agent clerk"]
    assert sorted(collector.spans) == ["chat ScriptedModel", "execute_tool get_weather", "invoke_agent clerk"]
    assert {span.trace_id for span in collector.spans.values()} == {root.trace_id}
    assert {span.parent_span_id for span in below} == {root.span_id}
    assert collector.about("invoke_agent clerk")["gen_ai.conversation.id"] == "t-1"
    assert collector.about("execute_tool get_weather")["gen_ai.tool.call.id"] == "call_1"
    counted = {name: value for name, value in collector.about("chat ScriptedModel").items() if ".usage." in name}
    assert counted == {
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 6,
        "gen_ai.usage.cache_creation.input_tokens": 2,
    }


async def test_no_word_of_the_conversation_is_in_it() -> None:
    collector = Collector()
    async with collector.opened() as traces:
        await run(ScriptedModel([calls("get_weather", '{"city": "Ulm"}'), says("Fine.")]), traces)

    assert not any(SECRET in str(span) or "Ulm" in str(span) for span in collector.spans.values())


async def test_what_went_wrong_is_in_it() -> None:
    collector = Collector()
    async with collector.opened() as traces:
        await run(Breaks(), traces)

    for name in ("invoke_agent clerk", "chat Breaks"):
        assert collector.spans[name].status.code == 2
        assert collector.about(name)["error.type"] == "model_unreachable"
        assert 0 < collector.spans[name].start_time_unix_nano <= collector.spans[name].end_time_unix_nano


FLOW = """
name: greet
description: Greets somebody by name, in the words of the house.
steps:
  - {name: start, call_type: llm, params: {user_prompt: "A word for {question}"}, next: end}
  - {name: end, call_type: llm, params: {user_prompt: "Greet with {data}"}}
"""
PLUGIN = {"id": "house", "name": "House", "description": "Greets people in the words of the house."}
CONFIG = """
toolboxes: {{house: {{type: plugins, folders: [{folder}]}}}}
models: {{default: {{type: scripted}}}}
"""


async def test_a_run_with_a_flow_a_tool_and_models_is_one_tree(tmp_path: Path) -> None:
    (tmp_path / "house" / "flows").mkdir(parents=True)
    (tmp_path / "house" / "plugin.json").write_text(json.dumps(PLUGIN))
    (tmp_path / "house" / "flows" / "greet.yaml").write_text(FLOW)
    read = config.parse(CONFIG.format(folder=tmp_path / "house"), environ={})
    answers = [calls("house_greet", '{"question": "Anna"}'), says("Welcome"), says("Welcome, Anna."), says("Done.")]
    registry = app.PartRegistry({"default": ScriptedModel(answers)}, (), MemoryArtifacts())
    part = read.toolboxes["house"]
    collector = Collector()
    async with part.module.build(part.options, registry) as box, collector.opened() as traces:
        runtime = Runtime(
            {"clerk": Loop(registry.models["default"], [box, FunctionToolbox([get_weather])])},
            log=MemoryLog(),
            threads=MemoryThreads(),
            engine=LocalEngine(),
            observers=RunObservers(CompositeObserver([traces])),
        )
        ask = await runtime.start(Ask(messages=(user("Greet Anna"),), agent="clerk"))
        async for _ in runtime.follow(ask.run_id):
            pass
        await runtime.close()

    names = sorted(span.name for span in collector.all)
    assert names == [
        *["chat ScriptedModel"] * 4,
        "execute_step end",
        "execute_step start",
        "execute_tool house_greet",
        "invoke_agent clerk",
    ]
    by_id = {span.span_id: span for span in collector.all}
    roots = [span.name for span in collector.all if span.parent_span_id not in by_id]
    assert roots == ["invoke_agent clerk"]
    assert len({span.trace_id for span in collector.all}) == 1
    step = collector.spans["execute_step start"]
    assert [span.name for span in collector.all if span.parent_span_id == step.span_id] == ["chat ScriptedModel"]
