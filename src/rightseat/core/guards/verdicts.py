"""Checks the user's question, and all earlier questions of the conversation, with guards.

Clients send the whole conversation again, including denied messages. So each turn is checked once; a turn is the user's
messages between two responses. Verdicts are cached by content. A denied message is also marked in its thread, for
servers that have no cached verdict. The agent does not receive denied messages.
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
from rightseat.core.call_labels import label_calls
from rightseat.core.errors import GuardDenied, GuardFailed, RightseatError
from rightseat.core.guard import Guard, unanswered_message_ids
from rightseat.core.messages import Message, Text, truncate_messages
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import Threads

logger = logging.getLogger(__name__)

MAX_CACHED_VERDICTS = 20_000
MAX_BATCH_CHARS = 16_000  # characters of earlier turns that a guard checks at once
NOT_PASSED_ON = "(This message was blocked.)"
DENIED_KEY = "guard"  # the key in `extra` that marks a denied message

T = TypeVar("T")
Turn = tuple[Message, ...]
TurnVerdict = Literal["all", "last", "none"]
"""The part of a turn that is allowed: all of it, only its last message, or none."""
DeniedLookup = Callable[[Ask], Awaitable[Collection[str]]]
"""Returns the ids of the denied messages in the ask's thread."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on a question: the guard that denied it, if any, and the earlier messages that are removed."""

    guard: str | None = None
    reason: str = ""
    removed_messages: tuple[str, ...] = ()


async def find_no_denied(ask: Ask) -> Collection[str]:
    return ()


class QuestionChecker:
    """`timeout` is the time in seconds that a guard may take for a question; a slower guard counts as failed."""

    def __init__(self, guards: Sequence[Guard], timeout: float, recall: DeniedLookup = find_no_denied) -> None:
        self._guards = guards
        self._timeout = timeout
        self._recall = recall
        self._cache: OrderedDict[bytes, TurnVerdict] = OrderedDict()

    async def judge(self, ask: Ask) -> Verdict:
        *earlier, now = split_turns(ask)
        before = await self._denied(ask, [turn for turn in (*earlier, now[:-1]) if turn])
        denied = frozenset(before)
        verdict = await self._judge_now(remove_messages(ask, denied), tuple(one for one in now if one.id not in denied))
        return msgspec.structs.replace(verdict, removed_messages=(*before, *verdict.removed_messages))

    async def _judge_now(self, ask: Ask, turn: Turn) -> Verdict:
        """Check the current turn; if it is denied as a whole, check its last message without the ones before it.

        Unanswered messages may pass alone but not together with the question; then they are removed.
        """
        verdict = await self.ask_all(ask)
        allowed: TurnVerdict = "all" if verdict.guard is None else "none"
        if allowed == "none" and (before := tuple(message.id for message in turn[:-1])):
            verdict = await self.ask_all(remove_messages(ask, before))
            if verdict.guard is None:
                allowed, verdict = "last", Verdict(removed_messages=before)
        if turn and (allowed == "all" or not ask.answers):  # with answers, the denied text may be an answer
            self._remember(ask, turn if allowed != "none" else turn[-1:], allowed)
        return verdict

    async def _denied(self, ask: Ask, turns: Sequence[Turn]) -> list[str]:
        """The ids of the messages in these turns that were denied before or are denied now."""
        found: list[str] = []
        unknown: list[Turn] = []
        for turn in turns:
            is_denied = [self._cache.get(turn_digest(ask, (one,))) == "none" for one in turn]
            found += (one.id for one, denied in zip(turn, is_denied, strict=True) if denied)
            rest = tuple(one for one, denied in zip(turn, is_denied, strict=True) if not denied)
            if rest and (allowed := self._cache.get(turn_digest(ask, rest))):
                found += removed_ids(rest, allowed)
            elif rest:
                unknown.append(rest)
        if not unknown:
            return found
        denied_ids = await self._recall(ask)
        found += (one.id for turn in unknown for one in turn if one.id in denied_ids)
        rests = (tuple(one for one in turn if one.id not in denied_ids) for turn in unknown)
        return found + await self._judge_earlier(ask, [rest for rest in rests if rest])

    async def _judge_earlier(self, ask: Ask, turns: Sequence[Turn]) -> list[str]:
        """Check all turns with one call to each guard; if they are denied, bisect."""
        if not turns:
            return []
        is_one = len(turns) == 1
        if (is_one or count_chars(turns) <= MAX_BATCH_CHARS) and await self._passes(
            ask, tuple(chain.from_iterable(turns))
        ):
            for turn in turns:
                self._remember(ask, turn, "all")
            return []
        if not is_one:
            half = len(turns) // 2
            return [*await self._judge_earlier(ask, turns[:half]), *await self._judge_earlier(ask, turns[half:])]
        turn = turns[0]
        allowed: TurnVerdict = "last" if len(turn) > 1 and await self._passes(ask, turn[-1:]) else "none"
        self._remember(ask, turn, allowed)
        return removed_ids(turn, allowed)

    async def _passes(self, ask: Ask, turn: Turn) -> bool:
        await asyncio.sleep(0)  # a history may have thousands of turns, and a guard may never yield to the event loop
        question = msgspec.structs.replace(ask, messages=turn, answers=())
        return (await self.ask_all(question, earlier=True)).guard is None

    async def ask_all(self, ask: Ask, *, earlier: bool = False) -> Verdict:
        for guard in self._guards:
            if earlier and not guard.checks_history:
                continue
            try:
                await run_check(self._timeout, guard, guard.check_question(ask))
            except GuardDenied as denied:
                return Verdict(guard.name, denied.message)
        return Verdict()

    def _remember(self, ask: Ask, turn: Turn, allowed: TurnVerdict) -> None:
        key = turn_digest(ask, turn)
        self._cache[key] = allowed
        self._cache.move_to_end(key)
        if len(self._cache) > MAX_CACHED_VERDICTS:
            self._cache.popitem(last=False)


async def run_check(seconds: float, guard: Guard, judgement: Awaitable[T]) -> T:
    """Await a guard's check. If the guard fails or times out, nothing passes."""
    try:
        with label_calls("guard"):
            async with asyncio.timeout(seconds):
                return await judgement
    except GuardDenied as denied:
        denied.guard = guard.name
        raise
    except Exception as error:
        raise build_guard_failed(guard, error) from error


def build_guard_failed(guard: Guard, error: Exception) -> GuardFailed:
    if isinstance(error, RightseatError):
        logger.warning("the guard %s failed: %s", guard.name, error.log_message)
    else:
        logger.warning("the guard %s failed", guard.name, exc_info=error)
    problem = "timed out" if isinstance(error, TimeoutError) else "failed"
    return GuardFailed(f"The guard {guard.name!r} {problem}, so the content was blocked. Try again later.")


def split_turns(ask: Ask) -> list[Turn]:
    """The last turn has no response yet; it is empty after a response or a tool result."""
    turns: list[list[Message]] = [[]]
    for message in ask.messages:
        if message.role == "user":
            turns[-1].append(message)
        elif message.role != "system" and turns[-1]:
            turns.append([])
    return [tuple(turn) for turn in turns]


def removed_ids(turn: Turn, allowed: TurnVerdict) -> list[str]:
    if allowed == "all":
        return []
    return [message.id for message in (turn[:-1] if allowed == "last" else turn)]


def remove_messages(ask: Ask, ids: Collection[str]) -> Ask:
    """Remove messages. One that has a response is replaced by a placeholder: models require a question before it."""
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


def count_chars(turns: Iterable[Turn]) -> int:
    return sum(len(message.text) for turn in turns for message in turn)


def turn_digest(ask: Ask, turn: Turn) -> bytes:
    """A hash of the content, user, agent and topics. Ids are left out: some clients send new ids every time."""
    content = (ask.principal.id, ask.agent, ask.topics, [message.parts for message in turn])
    return hashlib.blake2b(msgspec.msgpack.encode(content), digest_size=16).digest()


def mark_denied_question(ask: Ask, reducer: Reducer) -> Ask:
    """Mark the question as denied, for storage in its thread."""
    if not reducer.is_denied or not (ids := unanswered_message_ids(ask)):
        return ask
    messages = (mark_denied(one) if one.id == ids[-1] else one for one in ask.messages)
    return msgspec.structs.replace(ask, messages=tuple(messages))


def mark_denied(message: Message) -> Message:
    extra = message.extra if isinstance(message.extra, dict) else {}
    return msgspec.structs.replace(message, extra=extra | {DENIED_KEY: True})


def make_denied_lookup(threads: Threads) -> DeniedLookup:
    async def recall(ask: Ask) -> Collection[str]:
        thread = None if ask.transient else await threads.load(ask.thread_id, ask.principal)
        messages = truncate_messages(thread.messages, ask.truncate_at) if thread else ()
        return {one.id for one in messages if isinstance(one.extra, dict) and DENIED_KEY in one.extra}

    return recall
