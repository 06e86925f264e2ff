"""What a person says, before guards: the question that is asked now, and every one before it.

Clients send whole conversations again, and what was denied is still among them. So each turn is judged, once: a turn is
what the person said between two answers. Verdicts are remembered by what was said; what was denied is marked in its
thread too, for a server that did not judge it. Whatever was denied is left out for the agent.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import Literal, TypeVar

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.errors import Denied, GuardFailed, RightseatError
from rightseat.core.folding import Fold
from rightseat.core.guard import Guard, unanswered
from rightseat.core.messages import Message, Text
from rightseat.core.threads import Threads

logger = logging.getLogger(__name__)

REMEMBERED = 20_000  # verdicts
TOGETHER = 16_000  # characters of earlier turns that a guard judges at once
NOT_PASSED_ON = "(This message was not passed on.)"
MARK = "guard"  # under which a denied message is marked

T = TypeVar("T")
Turn = tuple[Message, ...]
Stays = Literal["all", "last", "none"]
"""What may stay of a turn: all of it, the last of its messages, nothing."""
Recall = Callable[[Ask], Awaitable[Collection[str]]]
"""The ids of messages in the ask's thread that were denied."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """On a question: the guard that denies it, if one does; and the messages before it that no agent gets to see."""

    guard: str | None = None
    reason: str = ""
    left_out: tuple[str, ...] = ()


async def nothing(ask: Ask) -> Collection[str]:
    return ()


class Judging:
    """`patience` is how many seconds a guard may take for a question. Else it has failed."""

    def __init__(self, guards: Sequence[Guard], patience: float, recall: Recall = nothing) -> None:
        self._guards = guards
        self._patience = patience
        self._recall = recall
        self._known: OrderedDict[bytes, Stays] = OrderedDict()

    async def judge(self, ask: Ask) -> Verdict:
        *earlier, now = turns_of(ask)
        before = await self._denied(ask, [turn for turn in (*earlier, now[:-1]) if turn])
        denied = frozenset(before)
        verdict = await self._judge_now(without(ask, denied), tuple(one for one in now if one.id not in denied))
        return msgspec.structs.replace(verdict, left_out=(*before, *verdict.left_out))

    async def _judge_now(self, ask: Ask, turn: Turn) -> Verdict:
        """What stands unanswered before the question may pass alone, and not with it: then the question is heard."""
        verdict = await self.ask_all(ask)
        stays: Stays = "all" if verdict.guard is None else "none"
        if stays == "none" and (before := tuple(message.id for message in turn[:-1])):
            verdict = await self.ask_all(without(ask, before))
            if verdict.guard is None:
                stays, verdict = "last", Verdict(left_out=before)
        if turn and (stays == "all" or not ask.answers):  # it may be an answer that was denied
            self._remember(ask, turn if stays != "none" else turn[-1:], stays)
        return verdict

    async def _denied(self, ask: Ask, turns: Sequence[Turn]) -> list[str]:
        """The ids of what was denied in these turns, or is now."""
        found: list[str] = []
        unknown: list[Turn] = []
        for turn in turns:
            is_denied = [self._known.get(digest(ask, (one,))) == "none" for one in turn]
            found += (one.id for one, denied in zip(turn, is_denied, strict=True) if denied)
            rest = tuple(one for one, denied in zip(turn, is_denied, strict=True) if not denied)
            if rest and (stays := self._known.get(digest(ask, rest))):
                found += left_out(rest, stays)
            elif rest:
                unknown.append(rest)
        if not unknown:
            return found
        marked = await self._recall(ask)
        found += (one.id for turn in unknown for one in turn if one.id in marked)
        rests = (tuple(one for one in turn if one.id not in marked) for turn in unknown)
        return found + await self._judge_earlier(ask, [rest for rest in rests if rest])

    async def _judge_earlier(self, ask: Ask, turns: Sequence[Turn]) -> list[str]:
        """All at once, which is one question to a judge; where something is denied, by halves."""
        if not turns:
            return []
        is_one = len(turns) == 1
        if (is_one or weight(turns) <= TOGETHER) and await self._passes(ask, tuple(chain.from_iterable(turns))):
            for turn in turns:
                self._remember(ask, turn, "all")
            return []
        if not is_one:
            half = len(turns) // 2
            return [*await self._judge_earlier(ask, turns[:half]), *await self._judge_earlier(ask, turns[half:])]
        turn = turns[0]
        stays: Stays = "last" if len(turn) > 1 and await self._passes(ask, turn[-1:]) else "none"
        self._remember(ask, turn, stays)
        return left_out(turn, stays)

    async def _passes(self, ask: Ask, turn: Turn) -> bool:
        await asyncio.sleep(0)  # a history may have thousands of turns, and a guard need not wait for anything
        asked = msgspec.structs.replace(ask, messages=turn, answers=())
        return (await self.ask_all(asked, earlier=True)).guard is None

    async def ask_all(self, ask: Ask, *, earlier: bool = False) -> Verdict:
        for guard in self._guards:
            if earlier and not guard.judges_earlier:
                continue
            try:
                await within(self._patience, guard, guard.check_question(ask))
            except Denied as denied:
                return Verdict(guard.name, denied.message)
        return Verdict()

    def _remember(self, ask: Ask, turn: Turn, stays: Stays) -> None:
        key = digest(ask, turn)
        self._known[key] = stays
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


async def within(seconds: float, guard: Guard, judgement: Awaitable[T]) -> T:
    """A guard that fails lets nothing pass."""
    try:
        async with asyncio.timeout(seconds):
            return await judgement
    except Denied as denied:
        denied.guard = guard.name
        raise
    except Exception as error:
        raise failure(guard, error) from error


def failure(guard: Guard, error: Exception) -> GuardFailed:
    if isinstance(error, RightseatError):
        logger.warning("the guard %s failed: %s", guard.name, error.log_message)
    else:
        logger.warning("the guard %s failed", guard.name, exc_info=error)
    why = "it took too long" if isinstance(error, TimeoutError) else "it failed"
    return GuardFailed(f"The guard {guard.name!r} could not judge this: {why}. So nothing passes it.")


def turns_of(ask: Ask) -> list[Turn]:
    """The last is the one that nobody has answered yet; empty behind an answer or a tool's result."""
    turns: list[list[Message]] = [[]]
    for message in ask.messages:
        if message.role == "user":
            turns[-1].append(message)
        elif message.role != "system" and turns[-1]:
            turns.append([])
    return [tuple(turn) for turn in turns]


def left_out(turn: Turn, stays: Stays) -> list[str]:
    if stays == "all":
        return []
    return [message.id for message in (turn[:-1] if stays == "last" else turn)]


def without(ask: Ask, ids: Collection[str]) -> Ask:
    """Where there is an answer to it, something stands in its place: models want questions before answers."""
    if not ids:
        return ask
    ids = frozenset(ids)
    messages: list[Message] = []
    is_answered = False
    for message in reversed(ask.messages):
        if message.id not in ids:
            messages.append(message)
        elif is_answered:
            messages.append(Message("user", (Text(NOT_PASSED_ON),), id=message.id))
        if message.role != "system":
            is_answered = message.role != "user"
    return msgspec.structs.replace(ask, messages=tuple(reversed(messages)))


def weight(turns: Iterable[Turn]) -> int:
    return sum(len(message.text) for turn in turns for message in turn)


def digest(ask: Ask, turn: Turn) -> bytes:
    """Of what was said, to whom, by whom: its ids are others whenever a client that keeps none sends it again."""
    said = (ask.principal.id, ask.agent, ask.topics, [message.parts for message in turn])
    return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=16).digest()


def marked(ask: Ask, fold: Fold) -> Ask:
    """As it is kept in its thread: a question that was denied says so."""
    if not fold.is_denied or not (asked := unanswered(ask)):
        return ask
    messages = (with_mark(one) if one.id == asked[-1] else one for one in ask.messages)
    return msgspec.structs.replace(ask, messages=tuple(messages))


def with_mark(message: Message) -> Message:
    extra = message.extra if isinstance(message.extra, dict) else {}
    return msgspec.structs.replace(message, extra=extra | {MARK: True})


def recalling(threads: Threads) -> Recall:
    async def recall(ask: Ask) -> Collection[str]:
        thread = None if ask.transient else await threads.load(ask.thread_id, ask.principal)
        said = thread.messages if thread else ()
        return {one.id for one in said if isinstance(one.extra, dict) and MARK in one.extra}

    return recall
