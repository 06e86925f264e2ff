"""Replays one case: asks as its person did, and answers approvals and calls of the client as recorded."""

import asyncio
import base64
import logging
import mimetypes
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from rightseat.core import events as e
from rightseat.core.ask import ANYONE, Answer, Ask, Context, Parameters, ToolOffer
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.ids import new_id
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Message, Part, Result, Text, assistant, build_media, media_kind, system, user
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.evals.attempts import Attempt, AttemptCall
from rightseat.evals.cases import Case, MissingPolicy, Turn
from rightseat.evals.eval_meter import EvalMeter
from rightseat.evals.replay import REPLAY, CaseReplay
from rightseat.limits.meter import METER

logger = logging.getLogger(__name__)

JUDGED_FAILURES = frozenset({"guard_denied", "max_turns_exceeded", "response_too_long", "too_many_tool_calls"})
"""A run that failed so is an answer of the agent, which scorers judge. After other errors there is no answer."""
ROLES = {"user": user, "assistant": assistant, "system": system}
MAX_RESUMED_RUNS = 100
"""Runs of one turn that continue after an approval or a call of the client."""


def check_case(case: Case) -> None:
    """Raises `ConfigError` if the case has what no client could send."""
    for name, read in (("tools", read_tools), ("context", read_context), ("parameters", read_parameters)):
        try:
            read(case)
        except msgspec.ValidationError as error:
            raise ConfigError(f"the case {case.name!r}: {name}: {error}.") from None


def read_tools(case: Case) -> tuple[ToolOffer, ...]:
    return tuple(msgspec.convert(dict(tool), ToolOffer) for tool in case.tools)


def read_context(case: Case) -> tuple[Context, ...]:
    return tuple(msgspec.convert(dict(part), Context) for part in case.context)


def read_parameters(case: Case) -> Parameters:
    return msgspec.convert(dict(case.parameters), Parameters)


class ReplayedCase:
    """One attempt. `files` are those of the questions: their folder, or their contents by name. `events` are those of
    all runs of the attempt; `observe` is called with each as it comes."""

    def __init__(
        self,
        runtime: Runtime,
        meter: EvalMeter,
        agent: str,
        case: Case,
        missing: MissingPolicy,
        files: Path | Mapping[str, bytes],
        observe: Callable[[e.Event], object] | None = None,
    ) -> None:
        self._runtime, self._meter, self._agent, self._case, self._files = runtime, meter, agent, case, files
        self._observe = observe
        self.replay = CaseReplay(case, missing, self._cancel)
        meter.replay = self.replay
        self.events: list[e.Event] = []
        self._thread_id = new_id("thread")
        self._run_id = ""
        self._calls = CallRecorder(self.replay)
        self._text, self._outcome = "", "done"
        self._denied_by: str | None = None
        self._citations: list[JsonValue] = []

    async def run(self, number: int) -> Attempt:
        """Replay all turns, in a context of their own. What goes wrong is in the attempt."""
        began = time.monotonic()
        await asyncio.create_task(self._run())
        counts = self._meter
        return Attempt(
            case=self._case.name,
            number=number,
            text=self._text,
            run_outcome=self._outcome,
            tool_calls=self._calls.calls,
            citations=self._citations,
            denied_by=self._denied_by,
            model_calls=counts.calls,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            cost=counts.cost,
            seconds=time.monotonic() - began,
            diverged=self.replay.diverged,
            error=None if self.replay.diverged else self.replay.error,
        )

    async def _run(self) -> None:
        REPLAY.set(self.replay)
        METER.set(self._meter)
        try:
            messages = tuple(ROLES[role](text) for message in self._case.history for role, text in message.items())
            for turn in self._case.turns:
                await self._run_turn((*messages, self._build_question(turn)))
                if self._outcome != "done" or self.replay.is_ended:
                    return
                thread = await self._runtime.thread(self._thread_id, ANYONE)
                messages = thread.messages if thread else ()
        except RightseatError as error:
            self.replay.error = self.replay.error or error.message
        except Exception as error:
            logger.exception("the case %s could not be replayed", self._case.name)
            self.replay.error = self.replay.error or f"{type(error).__name__}: {error}"
        finally:
            await self._runtime.delete(self._thread_id, ANYONE)

    def _build_question(self, turn: Turn) -> Message:
        parts: list[Part] = [Text(turn.text)]
        for path in turn.files:
            name, files = Path(path).name, self._files
            media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
            content = (files / path).read_bytes() if isinstance(files, Path) else files[path]
            data = base64.b64encode(content).decode()
            parts.append(build_media(media_kind(media_type), media_type, data, name=name))
        return Message("user", tuple(parts))

    async def _run_turn(self, messages: tuple[Message, ...]) -> None:
        answers: tuple[Answer, ...] = ()
        for _ in range(MAX_RESUMED_RUNS):
            interrupts = await self._run_once(messages, answers)
            if self._outcome != "waiting" or self.replay.is_ended:
                return
            decided = [self._answer(interrupt) for interrupt in interrupts]
            if not all(decided):
                return  # the person's answer was not recorded: the run waits
            answers = tuple(answer for answer in decided if answer)
            thread = await self._runtime.thread(self._thread_id, ANYONE)
            results = self._serve_client()
            if results is None:
                return
            messages = (*(thread.messages if thread else messages), *results)

    async def _run_once(self, messages: tuple[Message, ...], answers: tuple[Answer, ...]) -> Sequence[e.Interrupt]:
        """Returns the questions that the run has ended with."""
        case = self._case
        ask = Ask(
            messages=messages,
            agent=self._agent,
            thread_id=self._thread_id,
            tools=read_tools(case),
            context=read_context(case),
            parameters=read_parameters(case),
            state=case.state,
            answers=answers,
            purpose="eval",
        )
        self._run_id = ask.run_id
        interrupts: Sequence[e.Interrupt] = ()
        await self._runtime.start(ask)
        async for entries in self._runtime.follow(ask.run_id):
            for entry in entries:
                self.events.append(entry.event)
                if self._observe is not None:
                    self._observe(entry.event)
                self._calls.add(entry.event)
                match entry.event:
                    case e.TextStarted():
                        self._text = ""
                    case e.TextDelta(text=text):
                        self._text += text
                    case e.Custom(name="guard.denied", value=dict(value)):
                        self._denied_by = str(value.get("guard"))
                    case e.Custom(name="openbb.citations", value=value):
                        self._citations += value if isinstance(value, list) else [value]
                    case e.RunFinished(outcome=outcome):
                        self._outcome, interrupts = outcome, entry.event.interrupts
                    case e.RunFailed(code=code, message=message):
                        self._outcome = "failed"
                        if code not in JUDGED_FAILURES:
                            self.replay.error = self.replay.error or f"{code}: {message}"
        if (gone := self._calls.gone) and not self.replay.is_ended:
            self.replay.diverged = f"The configuration has no tool {gone!r}, which the recording has."
        return interrupts

    async def _cancel(self) -> None:
        await self._runtime.cancel(self._run_id)

    def _answer(self, interrupt: e.Interrupt) -> Answer | None:
        """The recorded answer of the person; None if there is none."""
        call = self._calls.find(interrupt.call_id)
        found = self.replay.find_approval(call.name, call.arguments) if call else None
        match found:
            case None:
                if call is not None and call.name not in self.replay.asking_tools:
                    self.replay.diverged = self.replay.explain_call(call.name, call.arguments)
                return None
            case "waiting":
                return None
            case "denied":
                self._calls.mark(interrupt.call_id)
                return Answer(interrupt.id, "cancelled")
            case "approved":
                return Answer(interrupt.id, "resolved", True)
            case _:
                payload = found.get("payload", found) if isinstance(found, dict) else found
                return Answer(interrupt.id, "resolved", payload)

    def _serve_client(self) -> list[Message] | None:
        """The results of the calls that the client would have run; None if one is not recorded."""
        names = {str(tool.get("name")) for tool in self._case.tools}
        made: list[Message] = []
        for id, call in self._calls.open_calls():
            if call.name not in names:
                continue
            found = self.replay.find_call(call.name, call.arguments)
            if found is None:
                self.replay.diverged = self.replay.explain_call(call.name, call.arguments)
                return None
            self._calls.close(
                id, msgspec.structs.replace(call, served=found.served, result=found.text, error=found.error)
            )
            made.append(Message("tool", (Result(id, call.name, found.text, found.error),)))
        return made


class CallRecorder:
    """The calls of an attempt, in the order in which the model made them, from the events of its runs."""

    def __init__(self, replay: CaseReplay) -> None:
        self._replay = replay
        self._names: dict[str, tuple[str, list[str]]] = {}
        self._calls: list[tuple[str, AttemptCall]] = []
        self._denied: set[str] = set()
        self.gone: str | None = None
        """A tool that was called, that the recording has, and that the configuration does not have."""

    def add(self, event: e.Event) -> None:
        match event:
            case e.ToolCallStarted(call_id=id, name=name):
                self._names[id] = (name, [])
            case e.ToolCallDelta(call_id=id, text=text):
                self._names[id][1].append(text)
            case e.ToolCallEnded(call_id=id):
                name, pieces = self._names[id]
                arguments: Mapping[str, JsonValue] = read_arguments("".join(pieces)) or {}
                self._calls.append((id, AttemptCall(name, arguments, "none")))
            case e.ToolCallReturned(call_id=id, name=name, content=content, error=error):
                served = self._replay.served.pop((id, name), None)
                if id in self._denied:
                    served = "recorded"
                elif served is None and error is None:
                    served = "anew"
                if error == "unknown_tool" and self._replay.is_recorded(name):
                    self.gone = name
                if (found := self.find(id, name)) is not None:
                    self.close(id, msgspec.structs.replace(found, served=served or "none", result=content, error=error))

    @property
    def calls(self) -> list[AttemptCall]:
        return [call for _, call in self._calls]

    def open_calls(self) -> list[tuple[str, AttemptCall]]:
        return [(id, call) for id, call in self._calls if call.result is None]

    def find(self, id: str | None, name: str | None = None) -> AttemptCall | None:
        """The last call with this id that has no result yet."""
        found = [call for other, call in self.open_calls() if other == id and name in (None, call.name)]
        return found[-1] if found else None

    def close(self, id: str, closed: AttemptCall) -> None:
        for place in range(len(self._calls) - 1, -1, -1):
            other, call = self._calls[place]
            if other == id and call.name == closed.name and call.result is None:
                self._calls[place] = (id, closed)
                return

    def mark(self, id: str | None) -> None:
        """The person denied the call, as recorded."""
        if id is not None:
            self._denied.add(id)
