"""Runs an agent behind guards, which block denied questions, response text and tool calls.

The question is checked before the agent receives it (`core.guards.verdicts`). Text is filtered while it is streamed,
with a small delay. A tool call is buffered until it is complete, because JSON has many spellings for a phrase. Other
events (tool results, state, errors) are checked at once; text that the client itself sent may be returned to it.

A client may show reasoning and text in one column, or text alone. So the start of each is checked together with the end
of the previous reasoning or text, and with the end of the previous text.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rightseat.concurrency import aclosing
from rightseat.core import events as e
from rightseat.core.agent import Agent, is_durable
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import GuardDenied, GuardFailed, RightseatError, StaleWriter
from rightseat.core.guard import BoundaryCheck, Guard, SupportsBoundaryCheck, SyncTextFilter, TextFilter
from rightseat.core.guards.event_text import client_texts, keyed_strings, parse_json, readable_id, strings_in, texts_in
from rightseat.core.guards.verdicts import (
    DeniedLookup,
    QuestionChecker,
    Verdict,
    build_guard_failed,
    find_no_denied,
    remove_messages,
    run_check,
)
from rightseat.core.messages import Call

DenialPoint = Literal["question", "answer", "call"]
MAX_SLICE_CHARS = 4096  # characters that a guard receives at once
MAX_SYNC_CHARS = 1024  # characters that are checked before yielding to the event loop
PIECE_COST_CHARS = 32  # the fixed cost of a delta of any length, in characters that take as long to check
TAIL_CHARS = 256  # characters of a text that the filter of the next text also receives
TEXT_SEPARATOR = "\n|\n"  # between separate texts that are checked together
NO_LOGPROBS = "`logprobs` are omitted: guards check the text of a response, but cannot check its alternatives."


class GuardedAgent:
    """A guard that takes longer than `timeout` seconds for a question, a call or a delta counts as failed."""

    def __init__(
        self, agent: Agent, guards: Sequence[Guard], timeout: float = 10.0, checker: QuestionChecker | None = None
    ) -> None:
        self._agent = agent
        self._guards = guards
        self._timeout = timeout
        self._checker = checker or QuestionChecker(guards, timeout)

    @property
    def description(self) -> str:
        return self._agent.description

    @property
    def durable(self) -> bool:
        return is_durable(self._agent)

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[e.Event]:
        verdict = await steps.do("guards:question", Verdict, lambda: self._checker.judge(ask))
        if verdict.guard is not None:
            yield build_denied_event(verdict.guard, verdict.reason, "question")
            raise GuardDenied(verdict.reason, verdict.guard)
        if verdict.removed_messages:
            yield e.Custom("guard.messages_removed", list(verdict.removed_messages))
            ask = remove_messages(ask, verdict.removed_messages)
        stream = GuardedStream(self._guards, ask, self._timeout)
        async with aclosing(self._agent.run(ask, steps)) as events:
            try:
                async for event in events:
                    if stream.is_free:
                        yield event
                        continue
                    for shown in await stream.filter(event):
                        yield shown
            except GuardDenied as denied:
                yield build_denied_event(denied.guard, denied.message, stream.at)
                raise
            except (GuardFailed, StaleWriter):
                raise
            except RightseatError as error:
                try:
                    await stream.filter(e.RunFailed(error.code, error.message))
                except GuardDenied as denied:
                    yield build_denied_event(denied.guard, denied.message, stream.at)
                    raise denied from error
                raise


class GuardedStream:
    """Filters the events of one run through the guards."""

    def __init__(self, guards: Sequence[Guard], ask: Ask, timeout: float) -> None:
        self.at: DenialPoint = "answer"
        self._guards = guards
        self._ask = ask
        self._timeout = timeout
        self._is_watched = any(guard.make_text_filter(ask) is not None for guard in guards)
        self.is_free = not self._is_watched and not any(guard.checks_calls for guard in guards)
        """No guard checks responses or calls."""
        self._texts: dict[str, TextFilterChain] = {}
        self._current: str | None = None  # id of the text or reasoning of the latest delta
        self._last: TextFilterChain | None = None  # its chain
        self._last_text: TextFilterChain | None = None  # the chain of the latest text, reasoning excluded
        self._since_turn = 0  # characters checked since the last yield to the event loop
        self._tail = ""  # the end of the text shown last
        self._tails: dict[tuple[str, str], str] = {}  # the ends of texts in `Custom` events, by event name and key
        self._sent: frozenset[str] | None = None  # texts that the client sent with the ask
        self._calls: dict[str, tuple[e.ToolCallStarted, list[e.ToolCallDelta]]] = {}

    async def filter(self, event: e.Event) -> Sequence[e.Event]:
        """Return the events that may be shown now. Raises `GuardDenied` and `GuardFailed`."""
        # A chain of checks by `type`, the frequent ones first, as in `Reducer.add`: this runs for every delta.
        if type(event) is e.TextDelta:
            shown = await self._read(event.message_id, event.text, is_text=True)
            return self._show(event.message_id, shown) if shown else ()
        if type(event) is e.ReasoningDelta:
            shown = await self._read(event.message_id, event.text, is_text=False)
            return (e.ReasoningDelta(event.message_id, shown),) if shown else ()
        if type(event) is e.ToolCallDelta:
            self._calls[event.call_id][1].append(event)
            return ()
        if isinstance(event, e.TextEnded):
            rest = await self._end(event.message_id)
            return (*self._show(event.message_id, rest), event) if rest else (event,)
        if isinstance(event, e.ReasoningEnded):
            rest = await self._end(event.message_id)
            return (e.ReasoningDelta(event.message_id, rest), event) if rest else (event,)
        if isinstance(event, e.ToolCallStarted):
            self._calls[event.call_id] = (event, [])
            return ()
        if isinstance(event, e.ToolCallEnded):
            return await self._release(event)
        if isinstance(event, e.Custom) and event.name == "model.logprobs" and self._is_watched:
            return (e.Custom("model.warning", NO_LOGPROBS),)
        if self._is_watched:
            await self._look_at(event)
        return (event,)

    async def _read(self, id: str, text: str, *, is_text: bool) -> str:
        chain = self._texts[id] if id == self._current else await self._turn_to(id, is_text=is_text)
        self._since_turn += len(text) + PIECE_COST_CHARS
        if self._since_turn > MAX_SYNC_CHARS:
            self._since_turn = 0
            await asyncio.sleep(0)
        if chain.is_sync and len(text) <= MAX_SYNC_CHARS:
            return chain.feed(text)
        return await chain.add(text)

    async def _turn_to(self, id: str, *, is_text: bool) -> "TextFilterChain":
        """Return the chain of a text that starts or continues, attached to those that a client may show before it."""
        chain = self._texts.get(id)
        before = [self._last]
        if chain is None:
            chain = self._texts[id] = TextFilterChain(self._guards, self._ask, self._timeout)
            if is_text and self._last_text is not self._last:
                before.append(self._last_text)
            if is_text and self._tail and not chain.is_sync:
                await chain.recall(self._tail + "\n")
        chain.attach(one for one in before if one is not None)
        self._current, self._last = id, chain
        if is_text:
            self._last_text = chain
        return chain

    def _show(self, id: str, text: str) -> Sequence[e.Event]:
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        return (e.TextDelta(id, text),)

    async def _end(self, id: str) -> str:
        chain = self._texts.pop(id, None)
        if id == self._current:
            self._current = None
        return await chain.end() if chain else ""

    async def _look_at(self, event: e.Event) -> None:
        """Check the readable texts of an event, together with the earlier texts that they continue."""
        if self._sent is None:
            self._sent = frozenset(client_texts(self._ask))
        texts = [text for text in texts_in(event) if text and text not in self._sent]
        if isinstance(event, e.Custom):
            texts += self._joined(event)
        await self._inspect(TEXT_SEPARATOR.join(texts))

    def _joined(self, event: e.Custom) -> Iterator[str]:
        """Each text in the event; and for each key, its texts joined to the end of those in earlier events."""
        together: dict[str, list[str]] = {}
        for key, text in keyed_strings(event.value):
            if self._sent is None or text not in self._sent:
                yield text
                together.setdefault(key, []).append(text)
        for key, pieces in together.items():
            before = self._tails.get((event.name, key), "")
            joined = before + "".join(pieces)
            self._tails[event.name, key] = joined[-TAIL_CHARS:]
            if before or len(pieces) > 1:
                yield joined

    async def _inspect(self, text: str) -> None:
        if not text:
            return
        chain = TextFilterChain(self._guards, self._ask, self._timeout)
        await chain.add(text)
        await chain.end()

    async def _release(self, ended: e.ToolCallEnded) -> Sequence[e.Event]:
        """Check a call and return its events. An interrupted call is checked too, because clients may show it."""
        started, pieces = self._calls.pop(ended.call_id)
        call = Call(started.call_id, started.name, "".join(piece.text for piece in pieces))
        self.at = "call"
        arguments = (call.arguments, *strings_in(parse_json(call.arguments)))
        await self._inspect(TEXT_SEPARATOR.join((call.id, call.name, *readable_id(started.message_id), *arguments)))
        for guard in self._guards:
            await run_check(self._timeout, guard, guard.check_call(self._ask, call))
        self.at = "answer"
        return (started, *pieces, ended)


class TextFilterChain:
    """The text filters of all guards for one text, applied in sequence."""

    def __init__(self, guards: Sequence[Guard], ask: Ask, timeout: float) -> None:
        self.filters: list[tuple[Guard, TextFilter]] = [
            (guard, watch) for guard in guards if (watch := guard.make_text_filter(ask)) is not None
        ]
        self.is_sync = all(isinstance(watch, SyncTextFilter) for _, watch in self.filters)
        """No filter waits, so `feed` can be used."""
        self._timeout = timeout
        self._known = 0  # recalled characters that the filters have not returned yet; they are not shown again
        self._boundary_checks: list[tuple[Guard, BoundaryCheck]] = []

    def attach(self, chains: Iterable["TextFilterChain"]) -> None:
        """Check this text across the boundary to those chains. Replaces earlier boundary checks."""
        self._boundary_checks = [
            (guard, watch.make_boundary_check())
            for chain in chains
            for guard, watch in chain.filters
            if isinstance(watch, SupportsBoundaryCheck)
        ]

    async def recall(self, text: str) -> None:
        """Give the filters the text shown before this one. It is not shown again."""
        self._known = len(text)
        await self.add(text)

    async def add(self, text: str) -> str:
        shown = []
        for start in range(0, len(text), MAX_SLICE_CHARS):
            if start:
                await asyncio.sleep(0)
            piece = text[start : start + MAX_SLICE_CHARS]
            self._feed_boundary_checks(piece)
            for guard, watch in self.filters:
                if piece:
                    piece = await run_check(self._timeout, guard, watch.add(piece))
            shown.append(self._new(piece))
        return "".join(shown)

    def feed(self, text: str) -> str:
        if self._boundary_checks:
            self._feed_boundary_checks(text)
        for guard, watch in self.filters:
            if text:
                try:
                    text = watch.feed(text)  # type: ignore[attr-defined]  # `is_sync`: every filter has it
                except GuardDenied as denied:
                    denied.guard = guard.name
                    raise
                except Exception as error:
                    raise build_guard_failed(guard, error) from error
        return self._new(text) if self._known else text

    def _feed_boundary_checks(self, text: str) -> None:
        for guard, check in self._boundary_checks:
            with attribute_errors(guard):
                check.feed(text)
        self._boundary_checks = [(guard, check) for guard, check in self._boundary_checks if not check.is_past_boundary]

    async def end(self) -> str:
        for guard, check in self._boundary_checks:
            with attribute_errors(guard):
                check.finish()
        rest = ""
        for guard, watch in self.filters:
            if rest:
                rest = await run_check(self._timeout, guard, watch.add(rest))
            rest += await run_check(self._timeout, guard, watch.end())
        return self._new(rest)

    def _new(self, text: str) -> str:
        if not self._known or not text:
            return text
        new, self._known = text[self._known :], max(0, self._known - len(text))
        return new


@contextmanager
def attribute_errors(guard: Guard) -> Iterator[None]:
    """Add the guard's name to a denial; turn any other exception into `GuardFailed`."""
    try:
        yield
    except GuardDenied as denied:
        denied.guard = guard.name
        raise
    except Exception as error:
        raise build_guard_failed(guard, error) from error


def build_denied_event(guard: str, reason: str, at: DenialPoint) -> e.Custom:
    return e.Custom("guard.denied", {"guard": guard, "at": at, "reason": reason})


AgentWrapper = Callable[[Agent], Agent]


def make_guard_wrapper(
    guards: Sequence[Guard], timeout: float = 10.0, recall: DeniedLookup = find_no_denied
) -> AgentWrapper:
    """Return a function that wraps an agent in the guards; without guards it returns the agent."""
    if not guards:
        return lambda agent: agent
    checker = QuestionChecker(guards, timeout, recall)
    return lambda agent: GuardedAgent(agent, guards, timeout, checker)
