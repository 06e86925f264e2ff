"""Starts a run: claims its thread, adds the thread's history to the ask, and passes it to the engine."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from rightseat.concurrency import aclosing, run_or_undo, run_to_completion
from rightseat.core import errors
from rightseat.core.approvals import record_closed, record_decisions
from rightseat.core.artifacts import Artifacts, StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Engine
from rightseat.core.events import RunFinished
from rightseat.core.full_storage import is_storage_full
from rightseat.core.log import Log
from rightseat.core.loop.history import has_tool_results, restore_provider_data
from rightseat.core.loop.tool_calls import calls_in
from rightseat.core.messages import Message, truncate_messages
from rightseat.core.run.durable import read_all_entries
from rightseat.core.run.executor import RunExecutor
from rightseat.core.run.outcome import LastEvent
from rightseat.core.threads import Pending, RunClaim, Threads

logger = logging.getLogger(__name__)

STORE_WAIT_S = 2.0  # how long to wait until an ended durable run is saved in the store
STORE_POLL_INTERVAL_S = 0.02


class RunStarter:
    def __init__(
        self,
        log: Log,
        threads: Threads,
        engine: Engine,
        executor: RunExecutor,
        artifacts: Artifacts | None,
    ) -> None:
        self._log = log
        self._threads = threads
        self._artifacts = artifacts
        self._engine = engine
        self._begun = executor.begun
        self._perform = executor.perform
        self._release = executor.release
        self._needs_slot = executor.needs_slot

    async def start(self, ask: Ask, artifact: StoredArtifact | None = None) -> Ask:
        """Returns the ask that the run receives. On any exception the claim, its artifact and the log are undone."""
        if ask.durable:
            ask = await self._complete_answers(ask)
        await self._log.create(ask.run_id, transient=ask.transient)
        claim: RunClaim | None = None
        try:
            claim = await self._claim(ask, artifact)
            if artifact is not None and not claim.has_artifact:
                await self._put(ask, artifact)
            ask = await self._with_history(with_calls(ask, claim.pending), claim.new_messages)
            self._begun[ask.run_id] = claim
            if not await self._engine.start(ask, self._perform):
                del self._begun[ask.run_id]
                self._release(ask.run_id)
                self._threads.release(ask.run_id, claim.epoch)
            record_decisions(ask)
            record_removed(ask, claim.pending)
        except BaseException as error:
            await run_to_completion(self._abandon(ask, artifact, claim, error))
            if isinstance(error, errors.RightseatError) or not isinstance(error, Exception):
                raise
            if is_storage_full(error):
                raise errors.StorageFull from error
            logger.exception("run %s could not be started", ask.run_id)
            raise errors.InternalError(ask.run_id) from error
        return ask

    async def settle(self, principal: Principal, thread_id: str | None = None) -> None:
        """Wait until runs that have written their last event are saved in the store, for one thread or for all."""
        if not self._engine.supports_durable:
            return  # other runs are saved before their last event is written
        clock = asyncio.get_running_loop().time
        until = clock() + STORE_WAIT_S
        unfinished = await self._threads.unfinished(principal, thread_id)
        ending = {run_id for run_id in unfinished if await self.is_ending(run_id)}
        while ending and clock() < until:
            await asyncio.sleep(STORE_POLL_INTERVAL_S)
            ending.intersection_update(await self._threads.unfinished(principal, thread_id))

    async def is_ending(self, run_id: str) -> bool:
        """Whether a durable run has written its last event; it may not be saved in the store yet."""
        entries = await read_all_entries(self._log, run_id) if self._engine.supports_durable else ()
        return bool(entries) and isinstance(entries[-1].event, LastEvent)

    async def _complete_answers(self, ask: Ask) -> Ask:
        """Complete an ask that answers interrupts with everything that its run needs.

        The claim saves the ask in this form, because a process that resumes the run has nothing else. The claim also
        rejects answers to interrupts that are no longer pending.
        """
        if not ask.answers:
            return ask
        await self.settle(ask.principal, ask.thread_id)
        pending = await self._threads.pending(ask.principal, ask.thread_id)
        if not {one.interrupt.id for one in pending}.issuperset(one.interrupt_id for one in ask.answers):
            return ask
        return await self._with_history(with_calls(ask, pending))

    async def _with_history(self, ask: Ask, new_messages: Sequence[Message] | None = None) -> Ask:
        """Add the thread's messages to an ask that answers an interrupt without sending the conversation.

        A client that sends tool results sends everything except the provider's own data; the thread adds that.
        """
        waiting = {answer.call.id for answer in ask.answers if answer.call}
        has_calls = not waiting or waiting.issubset(call.id for call in calls_in(ask.messages))
        if has_calls and (ask.transient or not has_tool_results(ask.messages)):
            return ask
        thread = await self._threads.load(ask.thread_id, ask.principal)
        earlier = truncate_messages(thread.messages, ask.truncate_at) if thread else ()
        if has_calls:
            return msgspec.structs.replace(ask, messages=restore_provider_data(ask.messages, earlier))
        if new_messages is None:
            known = {message.id for message in earlier}
            new_messages = [message for message in ask.messages if message.id not in known]
        return msgspec.structs.replace(ask, messages=(*earlier, *new_messages))

    async def _put(self, ask: Ask, artifact: StoredArtifact) -> None:
        if self._artifacts is not None:
            await self._artifacts.put(ask, artifact.name, artifact.media_type, artifact.content, artifact.id)

    async def _claim(self, ask: Ask, artifact: StoredArtifact | None) -> RunClaim:
        ended: str | None = None
        clock = asyncio.get_running_loop().time
        until = clock() + STORE_WAIT_S
        while True:
            try:
                claiming = self._threads.claim(ask, artifact=artifact, needs_slot=self._needs_slot(ask))
                if ask.transient:  # the claim stores nothing, so a cancellation leaves nothing
                    return await claiming
                return await run_or_undo(claiming, partial(self._release_thread, ask, artifact))
            except errors.ThreadBusy as busy:
                if clock() < until and await self.is_ending(busy.run_id):
                    await asyncio.sleep(STORE_POLL_INTERVAL_S)
                    continue
                if ask.when_busy == "refuse" or busy.run_id == ended:  # it ended, but the store does not have it
                    raise
                if ask.when_busy == "supersede":
                    if not await self._engine.cancel(busy.run_id):
                        raise
                    with suppress(TimeoutError):  # of a run in another process; one of this process has ended
                        async with asyncio.timeout(STORE_WAIT_S):
                            await self._wait_for_end(busy.run_id)
                if ask.when_busy == "queue":
                    await self._wait_for_end(busy.run_id)
                ended = busy.run_id

    async def _wait_for_end(self, run_id: str) -> None:
        with suppress(errors.RunNotFound):
            async with aclosing(self._log.follow(run_id)) as batches:
                async for _ in batches:
                    pass

    async def _abandon(
        self, ask: Ask, artifact: StoredArtifact | None, claim: RunClaim | None, error: BaseException
    ) -> None:
        self._begun.pop(ask.run_id, None)
        if claim:
            try:
                await self._release_thread(ask, artifact, claim)
            finally:
                self._threads.release(ask.run_id, claim.epoch)
        elif isinstance(error, errors.StoreUnreachable):
            return  # it may have been claimed; recovery then finds it as an orphan
        await self._log.delete((ask.run_id,))

    async def _release_thread(self, ask: Ask, artifact: StoredArtifact | None, claim: RunClaim) -> None:
        """Release the thread of a claimed run that does not start, without its messages, answers and artifact."""
        silent = msgspec.structs.replace(ask, messages=(), answers=(), truncate_at=None)
        await self._threads.finish(silent, (), claim.state, RunFinished("cancelled"))
        if artifact is not None and self._artifacts is not None:
            await self._artifacts.take(artifact.id, ask.principal, artifact.media_type)


def record_removed(ask: Ask, pending: Sequence[Pending]) -> None:
    """Write an audit line for each approval whose call the ask removes from the thread."""
    if ask.truncate_at is None:
        return
    kept = {call.id for call in calls_in(ask.messages)}
    for one in pending:
        if one.call is not None and one.call.id not in kept:
            record_closed(ask.principal.id, one.agent, one.interrupt, one.call, "cancelled")


def with_calls(ask: Ask, pending: Sequence[Pending]) -> Ask:
    """Add to each answer of the ask the call that waits for it, and the memo of its interrupt.

    A face that stores pending interrupts itself has already added them.
    """
    if not ask.answers or (ask.transient and ask.interactive):
        return ask
    known = {one.interrupt.id: one for one in pending}
    for answer in ask.answers:
        if answer.interrupt_id not in known:
            raise errors.BadRequest(f"No open question {answer.interrupt_id!r}: it was answered, or it expired.")
    if len({answer.interrupt_id for answer in ask.answers}) < len(ask.answers):
        raise errors.BadRequest("A question has two answers. Send one answer to each question.")
    answers = (
        msgspec.structs.replace(
            one,
            call=question.call,
            memo=question.interrupt.memo,
            reason=question.interrupt.reason,
            subject=question.interrupt.subject,
        )
        for one, question in ((answer, known[answer.interrupt_id]) for answer in ask.answers)
    )
    return msgspec.structs.replace(ask, answers=tuple(answers))
