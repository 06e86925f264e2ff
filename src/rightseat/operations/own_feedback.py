"""Stores and lists the feedback of one user: for faces that show users nothing of others."""

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.operations.feedback import (
    MAX_ID_CHARS,
    AnswerNotFound,
    FeedbackNotSupported,
    FeedbackQuery,
    FeedbackRow,
    FeedbackStore,
    JudgedAnswer,
    SentJudgement,
    check_judgement,
    find_main_model,
)
from rightseat.operations.records import Page, RecordReader
from rightseat.operations.run_recorder import RunRecorder
from rightseat.operations.transient_runs import TransientRun, TransientRuns
from rightseat.reads import hold_read

MAX_ROWS = 200


class OwnFeedback:
    """`transient_runs` are those that operators see. Without a store every method raises `FeedbackNotSupported`."""

    def __init__(
        self,
        runtime: Runtime,
        store: FeedbackStore | None,
        transient_runs: TransientRuns | None = None,
        recorder: RunRecorder | None = None,
    ) -> None:
        self._runtime = runtime
        self._known_store = store
        self._transient_runs = transient_runs
        self._recorder = recorder

    @property
    def _store(self) -> FeedbackStore:
        if self._known_store is None:
            raise FeedbackNotSupported
        return self._known_store

    async def find(self, principal: Principal, id: str) -> JudgedAnswer | None:
        """The answer with the id of one of its messages, or of its run."""
        if len(id) > MAX_ID_CHARS:
            return None
        await hold_read()
        found = await self._store.find_answer(id, principal.id)
        if found is None:
            await self._runtime.settle(principal)  # its run may have written its last event, and not be saved yet
            found = await self._store.find_answer(id, principal.id)
        return found if found and principal.may_use(found.agent or "") else None

    async def find_quoted(self, principal: Principal, trace_id: str, text: str) -> JudgedAnswer | None:
        """The answer of a transient run with this text in a conversation of the client."""
        found = await self._store.find_quoted(trace_id, text, principal.id)
        return found if found and principal.may_use(found.agent or "") else None

    async def give(self, principal: Principal, id: str, sent: SentJudgement, through: str) -> FeedbackRow | None:
        """As `judge`. Raises `AnswerNotFound` too."""
        answer = await self.find(principal, id)
        if answer is None:
            raise AnswerNotFound(id)
        return await self.judge(principal, answer, sent, through)

    async def judge(
        self, principal: Principal, answer: JudgedAnswer, sent: SentJudgement, through: str
    ) -> FeedbackRow | None:
        """Store the vote in place of an earlier one; None if it is withdrawn. `answer` is one of the principal's.

        Raises `BadRequest` for a text that is too long, and `GuardDenied` for one that a guard denies.
        """
        judgement = check_judgement(sent)
        if judgement is None:
            await self._store.withdraw(answer)
            return self._remember(answer, None)
        texts = [text for text in (judgement.comment, *judgement.tags) if text]
        await self._runtime.text_guard.check_input(texts, answer.agent or "", principal)
        row = await self._store.give(self._add_model(answer), judgement, through)
        if answer.run is not None and answer.thread is not None:
            await self._runtime.keep_judged(answer.run)
        if answer.run is not None and self._recorder is not None:
            await self._recorder.keep(answer.run)
        return self._remember(answer, row)

    def _add_model(self, answer: JudgedAnswer) -> JudgedAnswer:
        """The store knows the models of stored runs, and the list for operators those of the last transient ones."""
        run = self._find_transient_run(answer)
        if run is None or answer.model is not None:
            return answer
        return msgspec.structs.replace(answer, model=find_main_model(run.record.models))

    def _find_transient_run(self, answer: JudgedAnswer) -> TransientRun | None:
        return self._transient_runs.find(answer.run) if self._transient_runs and answer.run else None

    def _remember(self, answer: JudgedAnswer, row: FeedbackRow | None) -> FeedbackRow | None:
        """Lists of runs show the votes on transient runs too, which no store has."""
        run = self._find_transient_run(answer)
        if run is not None:
            run.record = msgspec.structs.replace(run.record, feedback=row.value if row else None)
        return row

    async def list_thread(self, principal: Principal, thread_id: str) -> Page[FeedbackRow]:
        """The principal's votes in a thread; none in a thread of another user."""
        return await self._list(principal, FeedbackQuery(thread=thread_id))

    async def list_run(self, principal: Principal, run_id: str) -> Page[FeedbackRow]:
        return await self._list(principal, FeedbackQuery(run=run_id))

    async def _list(self, principal: Principal, query: FeedbackQuery) -> Page[FeedbackRow]:
        await hold_read()
        reader = RecordReader(principal.id, principal.agents)
        own = msgspec.structs.replace(query, owner=principal.id, reader=reader, limit=MAX_ROWS)
        return await self._store.list(own)
