"""Flows that tests write in a few lines, played with a scripted model and recorded replies."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rightseat.core.ask import Answer
from rightseat.core.engine import DirectSteps, Steps
from rightseat.core.events import Custom, Event, Interrupt, RunFinished
from rightseat.core.types import JsonValue
from rightseat.egress.redaction import Redactor
from rightseat.plugins.definition import (
    Auth,
    Flow,
    Identity,
    Operation,
    Parameter,
    Plugin,
    PluginTexts,
    RequestBody,
    Step,
)
from rightseat.plugins.flows import Dependencies, FlowCheckpoint, read_checkpoint, run
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql.databases import Databases
from rightseat.plugins.testing.case_runner import Trace
from rightseat.plugins.testing.cases import MockExchange
from rightseat.plugins.testing.mocks import MockNetwork, MockSecrets, ScriptedModelCaller

SERVER = "https://api.example.com"
TEXT: dict[str, JsonValue] = {"type": "string"}
OPERATIONS = (
    Operation("GET", "/items", "list_items", "Lists items."),
    Operation("GET", "/items/{id}", "get_item", "One item.", (Parameter("id", "path", TEXT, True),)),
    Operation(
        "POST",
        "/orders",
        "order",
        "Orders something.",
        body=RequestBody(
            "json",
            {
                "type": "object",
                "properties": {"name": TEXT, "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}},
                "required": ["name"],
            },
            True,
        ),
    ),
)


def plugin_of(*flows: Flow, id: str = "shop", auth: tuple[Auth, ...] = ()) -> Plugin:
    return Plugin(
        Identity(id, "1.0.0", "d" * 64),
        Path(),
        PluginTexts("Shop", "Sells things."),
        auth=auth,
        server=SERVER,
        operations={one.name: one for one in OPERATIONS},
        flows={flow.name: flow for flow in flows},
    )


def flow_of(*steps: Step, name: str = "f", **rest: Any) -> Flow:
    return Flow(name, "Does something with items.", {step.name: step for step in steps}, **rest)


def get(name: str = "start", next: str | None = None, **rest: Any) -> Step:
    return Step(name, "api", {"endpoint": "GET /items"}, next, **rest)


def post(name: str = "start", next: str | None = None, **rest: Any) -> Step:
    return Step(name, "api", {"endpoint": "POST /orders"}, next, **rest)


def speak(name: str, user: str = "{data}", next: str | None = None, **params: JsonValue) -> Step:
    return Step(name, "llm", {"system_prompt": "Be short.", "user_prompt": user, **params}, next)


def none(name: str, next: str | None = None) -> Step:
    return Step(name, "none", {}, next)


def exchange(method: str, path: str, status: int = 200, json: Any = None, **rest: Any) -> MockExchange:
    reply = {"status": status, "json": json, "headers": rest.pop("reply_headers", {})}
    return MockExchange.model_validate({"request": {"method": method, "url": SERVER + path, **rest}, "reply": reply})


@dataclass
class Play:
    """One run: what it may hear, and what it said."""

    flow: Flow
    model: dict[str, Any] = field(default_factory=dict)
    http: Sequence[MockExchange] = ()
    scope: Scope = field(default_factory=lambda: Scope("What is there?"))
    plugin: Plugin | None = None
    is_dry: bool = False
    pauses: list[float] = field(default_factory=list)
    redactor: Redactor = field(default_factory=Redactor)
    sender: OperationClient | None = None  # one that knows the redactor; without it, what is recorded in `http` answers
    databases: Databases | None = None
    tool_runner: ToolRunner | None = None

    def __post_init__(self) -> None:
        self.plugin = replace(self.plugin or plugin_of(), flows={self.flow.name: self.flow})
        self.model_caller = ScriptedModelCaller(self.model)
        self.network = MockNetwork(list(self.http))
        self.trace = Trace()

    async def run(
        self, *, steps: Steps | None = None, checkpoint: FlowCheckpoint | None = None, answer: Answer | None = None
    ) -> "Play":
        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        assert self.plugin is not None
        sender = self.sender or OperationClient(self.network, MockSecrets(), self.redactor)
        dependencies = Dependencies(
            self.model_caller, sender, self.redactor, self.databases, self.tool_runner, is_dry=self.is_dry, sleep=pause
        )
        self.trace = Trace()
        async for event in run(
            self.plugin,
            self.flow,
            self.scope,
            dependencies,
            steps or DirectSteps(),
            checkpoint=checkpoint,
            answer=answer,
        ):
            self.trace.add(event)
        return self

    async def go_on(self, payload: JsonValue = None, *, cancelled: bool = False) -> "Play":
        """Answer the question that it waits for."""
        asked = self.question
        answer = Answer(asked.id, "cancelled" if cancelled else "resolved", payload, memo=asked.memo)
        return await self.run(checkpoint=read_checkpoint(asked.memo), answer=answer)

    @property
    def question(self) -> Interrupt:
        return self.trace.interrupts[0]

    @property
    def problems(self) -> list[str]:
        """What was asked beyond the script, or not asked at all."""
        return [*self.model_caller.unlisted, *self.network.problems, *self.network.list_unsent()]

    def outputs(self) -> dict[str, JsonValue]:
        """What each step gave."""
        return {event["step"]: event["value"]["output"] for event in self.told("output")}

    def told(self, kind: str) -> list[Any]:
        return [one.value for one in customs(self.trace.events, "flow.step") if one.value["event"] == kind]  # type: ignore[index, call-overload]


def customs(events: Sequence[Event], name: str) -> list[Custom]:
    return [event for event in events if isinstance(event, Custom) and event.name == name]


def is_waiting(events: Sequence[Event]) -> bool:
    return isinstance(events[-1], RunFinished) and events[-1].outcome == "waiting"
