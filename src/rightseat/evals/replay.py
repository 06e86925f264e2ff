"""What one replay is served with: the recording of its case, read by the toolboxes, flows and agents of its runs.

The replay is in the context of the attempt's task, which its runs inherit. Outside of a replay nothing is served.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import NamedTuple, NoReturn, TypeVar

from rightseat.core.errors import ConfigError
from rightseat.core.types import JsonValue
from rightseat.evals.attempts import Served
from rightseat.evals.cases import Case, MissingPolicy, RecordedCall, RecordedRequest, Stub

T = TypeVar("T")

NO_RESULT = "No result is recorded for this call. Answer without it."
MAX_SHOWN_CHARS = 300
MAX_SHOWN_CALLS = 5
REQUEST_KEYS = ("method", "path", "tool", "arguments")
"""What makes two requests of a plugin the same."""


class ServedCall(NamedTuple):
    """How a call was answered. `error` is a code."""

    served: Served
    text: str
    error: str | None = None


class CaseReplay:
    """The recording of one attempt. `stop` cancels the run that is in progress."""

    def __init__(self, case: Case, missing: MissingPolicy, stop: Callable[[], Awaitable[object]]) -> None:
        self.missing = missing
        self.diverged: str | None = None
        self.error: str | None = None
        self.is_out_of_budget = False
        self.served: dict[tuple[str, str], Served] = {}
        """By the id and the name of a call."""
        self.asking_tools: set[str] = set()
        """Tools that declare an approval themselves."""
        self._stop = stop
        self._stopping: asyncio.Task[object] | None = None
        self._calls: dict[str, list[RecordedCall]] = defaultdict(list)
        self._approvals: dict[str, list[RecordedCall]] = defaultdict(list)
        self._requests: dict[str, list[RecordedRequest]] = defaultdict(list)
        for item in case.recorded:
            if isinstance(item, RecordedRequest):
                self._requests[_request_key(item.flow, item.step, item.request)].append(item)
                continue
            self._calls[_call_key(item.tool, item.arguments)].append(item)
            if item.approval is not None:
                self._approvals[_call_key(item.tool, item.arguments)].append(item)

    async def serve_call(
        self, name: str, arguments: Mapping[str, JsonValue], run: Callable[[], Awaitable[str]] | None
    ) -> ServedCall:
        """The recorded result of an identical call, else what the policy says. `run` is None for a call with an effect.

        Does not return if the replay has diverged: it waits for the end of its run.
        """
        if found := self.find_call(name, arguments):
            return found
        if self.missing == "live" and run is not None:
            return ServedCall("live", await run())
        await self.diverge(self.explain_call(name, arguments))

    def find_call(self, name: str, arguments: Mapping[str, JsonValue]) -> ServedCall | None:
        """The recorded result, or the placeholder of the policy `stub`."""
        if recorded := _take(self._calls[_call_key(name, arguments)]):
            return ServedCall("recorded", _to_text(recorded.result), recorded.error)
        return None if (stub := self.stub) is None else ServedCall("stub", stub)

    @property
    def stub(self) -> str | None:
        """What a call without a recording gets; None if it gets nothing."""
        if isinstance(self.missing, Stub):
            return self.missing.stub
        return NO_RESULT if self.missing == "stub" else None

    def find_request(self, flow: str, step: str, request: Mapping[str, JsonValue]) -> RecordedRequest | None:
        """The recorded request of a flow, `PLUGIN/FLOW`, that is the same."""
        return _take(self._requests[_request_key(flow, step, request)])

    def find_approval(self, name: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """What the person answered: `approved`, `denied` or a payload, or that nobody has: `waiting`. None if that was
        not recorded.

        A call that is recorded without an approval ran, so it counts as approved.
        """
        key = _call_key(name, arguments)
        if recorded := _take(self._approvals[key]):
            return recorded.approval  # type: ignore[return-value]  # a mapping is a JSON object
        if self._calls[key] or (name not in self.asking_tools and self.stub is not None):
            return "approved"
        return None

    def is_recorded(self, name: str) -> bool:
        return any(call.tool == name for calls in self._calls.values() for call in calls)

    @property
    def is_ended(self) -> bool:
        """Whether the attempt ends before its agent has answered."""
        return self.diverged is not None or self.error is not None or self.is_out_of_budget

    async def diverge(self, reason: str) -> NoReturn:
        """End the attempt: the recording cannot answer."""
        self.diverged = self.diverged or reason
        await self._end()

    async def fail(self, reason: str) -> NoReturn:
        """End the attempt: it cannot be judged."""
        self.error = self.error or reason
        await self._end()

    async def run_out_of_budget(self) -> NoReturn:
        self.is_out_of_budget = True
        await self._end()

    async def _end(self) -> NoReturn:
        """Cancel the run, and wait for that: the model must not receive anything any more."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop())
        while True:
            await asyncio.get_running_loop().create_future()

    def explain_call(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        recorded = [
            _show(f"{call.tool}({_to_json(call.arguments)})")
            for calls in self._calls.values()
            for call in calls
            if call.tool == name
        ]
        shown = _show(f"{name}({_to_json(arguments)})")
        return f"The call {shown} is not in the recording, which has {_list(recorded, f'no call of {name}')}."

    def explain_request(self, flow: str, step: str, request: Mapping[str, JsonValue]) -> str:
        recorded = [
            _show(f"{one.step}: {_to_json(one.request)}") for requests in self._requests.values() for one in requests
        ]
        shown = _show(_to_json(_identity(request)))
        return (
            f"The request {shown} of the step {step} of {flow} is not in the recording, which has "
            f"{_list(recorded, 'no request')}."
        )


REPLAY: ContextVar[CaseReplay | None] = ContextVar("rightseat_replay", default=None)


def current_replay() -> CaseReplay:
    """Raises `ConfigError` outside of a replay: nothing is run there."""
    replay = REPLAY.get()
    if replay is None:
        raise ConfigError("A tool of an evaluation was called outside of a replay. It was not run.")
    return replay


def canonical(value: JsonValue | Mapping[str, JsonValue]) -> str:
    """Equal texts for the same JSON: the order of keys and 7 or 7.0 make no difference, 7 and "7" do."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _take(recorded: list[T]) -> T | None:
    """The next of these, and the last again and again."""
    if not recorded:
        return None
    return recorded.pop(0) if len(recorded) > 1 else recorded[0]


def _call_key(name: str, arguments: Mapping[str, JsonValue]) -> str:
    return canonical([name, dict(arguments)])


def _request_key(flow: str, step: str, request: Mapping[str, JsonValue]) -> str:
    """By its content. A step that describes no request, such as a query, is known by its name."""
    plugin = flow.partition("/")[0]
    return canonical([plugin, _identity(request)] if request else [plugin, flow, step])


def _identity(request: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: request[key] for key in REQUEST_KEYS if key in request}


def _to_text(result: JsonValue) -> str:
    return result if isinstance(result, str) else "" if result is None else _to_json(result)


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def _show(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def _list(texts: list[str], none: str) -> str:
    more = f" and {len(texts) - MAX_SHOWN_CALLS} more" if len(texts) > MAX_SHOWN_CALLS else ""
    return ", ".join(texts[:MAX_SHOWN_CALLS]) + more if texts else none
