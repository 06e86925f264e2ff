"""An agent between its guards: what they deny is not asked, not shown and not done.

The question is judged before the agent hears it (`core.judging`). Texts pass the guards as they are written, and come a
little later than they would. A call is held until it is whole: its arguments are JSON, in which a phrase has many
spellings. What has no beginning and no end (a tool's result, a state, an error) is judged at once; what the client sent
itself may come back to it.

A client may show thoughts and texts in one column, or texts alone. So the beginning of each is judged together with the
end of what came before it, and with the end of the text before it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rightseat.core.agent import Agent, is_durable
from rightseat.core.ask import Ask
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import Denied, GuardFailed, RightseatError, StaleWriter
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Custom,
    Event,
    RunFailed,
    TextDelta,
    TextEnded,
    ThoughtDelta,
    ThoughtEnded,
)
from rightseat.core.guard import Guard, Instant, Joining, Seam, Watch
from rightseat.core.judging import Judging, Recall, Verdict, failure, nothing, within, without
from rightseat.core.messages import Call
from rightseat.core.words import chosen, pieces_in, read, sent_with, strings_in, texts_in

At = Literal["question", "answer", "call"]
SLICE = 4096  # characters that a guard is given at once
INSTANT = 1024  # characters that are judged without giving the event loop its turn
PIECE = 32  # characters that take as long to judge as a piece does, however short it is
TAIL = 256  # characters of a text that are known to whoever watches the next one
APART = "\n|\n"  # between texts that are judged together and are not one
NO_LOGPROBS = "The likely tokens of the answer are left out: guards read it before it is shown, and they would not."


class Guarded:
    """`patience` is how many seconds a guard may take for a question, a call or a piece. Else it has failed."""

    def __init__(
        self, agent: Agent, guards: Sequence[Guard], patience: float = 10.0, judging: Judging | None = None
    ) -> None:
        self._agent = agent
        self._guards = guards
        self._patience = patience
        self._judging = judging or Judging(guards, patience)

    @property
    def description(self) -> str:
        return self._agent.description

    @property
    def durable(self) -> bool:
        return is_durable(self._agent)

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        verdict = await steps.do("guards:question", Verdict, lambda: self._judging.judge(ask))
        if verdict.guard is not None:
            yield denial(verdict.guard, verdict.reason, "question")
            raise Denied(verdict.reason, verdict.guard)
        if verdict.left_out:
            yield Custom("guard.left_out", list(verdict.left_out))
            ask = without(ask, verdict.left_out)
        passage = Passage(self._guards, ask, self._patience)
        async with closing(self._agent.run(ask, steps)) as events:
            try:
                async for event in events:
                    if passage.is_free:
                        yield event
                        continue
                    for shown in await passage.let(event):
                        yield shown
            except Denied as denied:
                yield denial(denied.guard, denied.message, passage.at)
                raise
            except (GuardFailed, StaleWriter):
                raise
            except RightseatError as error:
                try:
                    await passage.let(RunFailed(error.code, error.message))
                except Denied as denied:
                    yield denial(denied.guard, denied.message, passage.at)
                    raise denied from error
                raise


class Passage:
    """What one run says, on its way past the guards."""

    def __init__(self, guards: Sequence[Guard], ask: Ask, patience: float) -> None:
        self.at: At = "answer"
        self._guards = guards
        self._ask = ask
        self._patience = patience
        self._is_watched = any(guard.watch(ask) is not None for guard in guards)
        self.is_free = not self._is_watched and not any(guard.judges_calls for guard in guards)
        """Nobody looks at answers and calls."""
        self._texts: dict[str, Chain] = {}
        self._current: str | None = None  # the text or thought that the last piece belongs to
        self._last: Chain | None = None  # of that one
        self._last_text: Chain | None = None  # of the text that the last piece of a text belongs to
        self._since_turn = 0  # characters
        self._tail = ""  # of the text that was shown last
        self._tails: dict[tuple[str, str], str] = {}  # of what came piece by piece in events that are no texts
        self._sent: frozenset[str] | None = None  # with the ask
        self._calls: dict[str, tuple[CallStarted, list[CallDelta]]] = {}

    async def let(self, event: Event) -> Sequence[Event]:
        """The event, or as much of it as may be shown by now. Raises `Denied` and `GuardFailed`."""
        # A chain of checks by `type`, the frequent ones first, as in `folding`: it runs for every piece of an answer.
        if type(event) is TextDelta:
            shown = await self._read(event.message_id, event.text, is_text=True)
            return self._show(event.message_id, shown) if shown else ()
        if type(event) is ThoughtDelta:
            shown = await self._read(event.message_id, event.text, is_text=False)
            return (ThoughtDelta(event.message_id, shown),) if shown else ()
        if type(event) is CallDelta:
            self._calls[event.call_id][1].append(event)
            return ()
        if isinstance(event, TextEnded):
            rest = await self._end(event.message_id)
            return (*self._show(event.message_id, rest), event) if rest else (event,)
        if isinstance(event, ThoughtEnded):
            rest = await self._end(event.message_id)
            return (ThoughtDelta(event.message_id, rest), event) if rest else (event,)
        if isinstance(event, CallStarted):
            self._calls[event.call_id] = (event, [])
            return ()
        if isinstance(event, CallEnded):
            return await self._release(event)
        if isinstance(event, Custom) and event.name == "model.logprobs" and self._is_watched:
            return (Custom("model.warning", NO_LOGPROBS),)
        if self._is_watched:
            await self._look_at(event)
        return (event,)

    async def _read(self, id: str, text: str, *, is_text: bool) -> str:
        chain = self._texts[id] if id == self._current else await self._turn_to(id, is_text=is_text)
        self._since_turn += len(text) + PIECE
        if self._since_turn > INSTANT:
            self._since_turn = 0
            await asyncio.sleep(0)
        if chain.is_instant and len(text) <= INSTANT:
            return chain.feed(text)
        return await chain.add(text)

    async def _turn_to(self, id: str, *, is_text: bool) -> "Chain":
        """The chain of a text that begins or goes on, joined to what a client may show before it."""
        chain = self._texts.get(id)
        before = [self._last]
        if chain is None:
            chain = self._texts[id] = Chain(self._guards, self._ask, self._patience)
            if is_text and self._last_text is not self._last:
                before.append(self._last_text)
            if is_text and self._tail and not chain.is_instant:
                await chain.recall(self._tail + "\n")
        chain.join(one for one in before if one is not None)
        self._current, self._last = id, chain
        if is_text:
            self._last_text = chain
        return chain

    def _show(self, id: str, text: str) -> Sequence[Event]:
        self._tail = (self._tail + text)[-TAIL:]
        return (TextDelta(id, text),)

    async def _end(self, id: str) -> str:
        chain = self._texts.pop(id, None)
        if id == self._current:
            self._current = None
        return await chain.end() if chain else ""

    async def _look_at(self, event: Event) -> None:
        """Judge what people could read of it, together with what it goes on with."""
        if self._sent is None:
            self._sent = frozenset(sent_with(self._ask))
        texts = [text for text in texts_in(event) if text and text not in self._sent]
        if isinstance(event, Custom):
            texts += self._joined(event)
        await self._inspect(APART.join(texts))

    def _joined(self, event: Custom) -> Iterator[str]:
        """Each text in the event, and those under one key as one text, behind what was there in earlier events."""
        together: dict[str, list[str]] = {}
        for key, text in pieces_in(event.value):
            if self._sent is None or text not in self._sent:
                yield text
                together.setdefault(key, []).append(text)
        for key, pieces in together.items():
            before = self._tails.get((event.name, key), "")
            joined = before + "".join(pieces)
            self._tails[event.name, key] = joined[-TAIL:]
            if before or len(pieces) > 1:
                yield joined

    async def _inspect(self, text: str) -> None:
        if not text:
            return
        chain = Chain(self._guards, self._ask, self._patience)
        await chain.add(text)
        await chain.end()

    async def _release(self, ended: CallEnded) -> Sequence[Event]:
        """The whole call, once it has been judged. One that broke off is judged like any other: it may be shown too."""
        started, pieces = self._calls.pop(ended.call_id)
        call = Call(started.call_id, started.name, "".join(piece.text for piece in pieces))
        self.at = "call"
        arguments = (call.arguments, *strings_in(read(call.arguments)))
        await self._inspect(APART.join((call.id, call.name, *chosen(started.message_id), *arguments)))
        for guard in self._guards:
            await within(self._patience, guard, guard.check_call(self._ask, call))
        self.at = "answer"
        return (started, *pieces, ended)


class Chain:
    """The guards that watch a text, one behind the other."""

    def __init__(self, guards: Sequence[Guard], ask: Ask, patience: float) -> None:
        self.watches: list[tuple[Guard, Watch]] = [
            (guard, watch) for guard in guards if (watch := guard.watch(ask)) is not None
        ]
        self.is_instant = all(isinstance(watch, Instant) for _, watch in self.watches)
        """None of them waits: it can be fed."""
        self._patience = patience
        self._known = 0  # characters that are still to come out again, and were shown before
        self._seams: list[tuple[Guard, Seam]] = []

    def join(self, chains: Iterable["Chain"]) -> None:
        """This text goes on behind those. Earlier seams are behind us."""
        self._seams = [
            (guard, watch.join()) for chain in chains for guard, watch in chain.watches if isinstance(watch, Joining)
        ]

    async def recall(self, text: str) -> None:
        """What was shown before this text begins."""
        self._known = len(text)
        await self.add(text)

    async def add(self, text: str) -> str:
        shown = []
        for start in range(0, len(text), SLICE):
            if start:
                await asyncio.sleep(0)
            piece = text[start : start + SLICE]
            self._feed_seams(piece)
            for guard, watch in self.watches:
                if piece:
                    piece = await within(self._patience, guard, watch.add(piece))
            shown.append(self._new(piece))
        return "".join(shown)

    def feed(self, text: str) -> str:
        if self._seams:
            self._feed_seams(text)
        for guard, watch in self.watches:
            if text:
                try:
                    text = watch.feed(text)  # type: ignore[attr-defined]  # `is_instant`: each of them has it
                except Denied as denied:
                    denied.guard = guard.name
                    raise
                except Exception as error:
                    raise failure(guard, error) from error
        return self._new(text) if self._known else text

    def _feed_seams(self, text: str) -> None:
        for guard, seam in self._seams:
            with named(guard):
                seam.feed(text)
        self._seams = [(guard, seam) for guard, seam in self._seams if not seam.is_past_seam]

    async def end(self) -> str:
        for guard, seam in self._seams:
            with named(guard):
                seam.finish()
        rest = ""
        for guard, watch in self.watches:
            if rest:
                rest = await within(self._patience, guard, watch.add(rest))
            rest += await within(self._patience, guard, watch.end())
        return self._new(rest)

    def _new(self, text: str) -> str:
        if not self._known or not text:
            return text
        new, self._known = text[self._known :], max(0, self._known - len(text))
        return new


@contextmanager
def named(guard: Guard) -> Iterator[None]:
    """A denial has the guard's name; whatever else a guard raises is its failure."""
    try:
        yield
    except Denied as denied:
        denied.guard = guard.name
        raise
    except Exception as error:
        raise failure(guard, error) from error


def denial(guard: str, reason: str, at: At) -> Custom:
    return Custom("guard.denied", {"guard": guard, "at": at, "reason": reason})


Around = Callable[[Agent], Agent]


def guarded(guards: Sequence[Guard], patience: float = 10.0, recall: Recall = nothing) -> Around:
    """Puts the guards around an agent; nothing, where there are none."""
    if not guards:
        return lambda agent: agent
    judging = Judging(guards, patience, recall)
    return lambda agent: Guarded(agent, guards, patience, judging)
