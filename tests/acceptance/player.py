"""An agent as data: plays the steps of a script in `copilotkit-current/agents.json`, which explains them."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, Interrupt, RunFinished
from rightseat.parts import Parts
from rightseat.wire.agui import AguiDecoder

SCRIPTS = Path(__file__).parent / "copilotkit-current" / "agents.json"
PLACEHOLDER = re.compile(r"\$\{(runId|resume|command|new:(\w+))\}")


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    script: str


def build(options: Options, parts: Parts) -> Agent:
    return Player(json.loads(SCRIPTS.read_text())["agents"][options.script])


class Player:
    def __init__(self, script: Mapping[str, Any]) -> None:
        self.description: str = script["description"]
        self._steps = script["steps"]

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        values, reader = Values(ask), AguiDecoder()
        for step in self._steps:
            if not values.hold(step.get("when", {})):
                continue
            await asyncio.sleep(step.get("sleepMs", 0) / 1000)
            if "emit" in step:
                for event in reader.read(values.fill(step["emit"])):
                    yield event
            if "finish" in step:
                yield Custom("agui.RUN_FINISHED_FIELDS", values.fill(step["finish"]))
            if "interrupt" in step and not values.resumed:
                yield RunFinished("waiting", tuple(question(one) for one in values.fill(step["interrupt"])))
                return


class Values:
    """What a script's conditions and placeholders refer to."""

    def __init__(self, ask: Ask) -> None:
        said = [message.text for message in ask.messages if message.role == "user"]
        self.said = said[-1].lower() if said else ""
        command = ask.properties.get("command")
        self.command = command.get("resume") if isinstance(command, dict) else None
        self.resume = [
            {"interruptId": one.interrupt_id, "status": one.status, "payload": one.payload} for one in ask.answers
        ]
        self.resumed = bool(self.resume) or self.command is not None
        self.run_id = ask.client_run_id or ask.run_id
        self.fresh: dict[str, str] = {}

    def hold(self, when: Mapping[str, Any]) -> bool:
        return when.get("userSays", "") in self.said and when.get("resumed", self.resumed) == self.resumed

    def fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return PLACEHOLDER.sub(self._filled, value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def _filled(self, found: re.Match[str]) -> str:
        match found[1]:
            case "runId":
                return self.run_id
            case "resume":
                return json.dumps(self.resume, separators=(",", ":"))
            case "command":
                return json.dumps(self.command, separators=(",", ":"))
        return self.fresh.setdefault(found[2], str(uuid.uuid4()))


def question(given: Mapping[str, Any]) -> Interrupt:
    return Interrupt(given["id"], given["reason"], given["message"], schema=given.get("responseSchema"))
