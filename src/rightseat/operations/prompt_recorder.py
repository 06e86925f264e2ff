"""Records what models are sent, if the configuration asks for it (`evals.record_prompts`)."""

import logging
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.call_labels import CallLabels
from rightseat.core.errors import RightseatError
from rightseat.core.events import Usage
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.model import MODEL_SPAN, Chunk, Prompt, UsageChunk
from rightseat.core.run.spans import RecordedSpan
from rightseat.core.tools import Tool
from rightseat.core.tracing import error_name
from rightseat.limits.meter import OpenStream
from rightseat.operations.audit import format_audit_time
from rightseat.operations.model_calls import (
    CallEnd,
    CallRun,
    ModelCallStore,
    SentCall,
    SentFile,
    SentImage,
    SentMessage,
    SentTool,
)
from rightseat.operations.recordings import list_parameters

logger = logging.getLogger(__name__)

MAX_CALL_CHARS = 4 * 2**20
"""Of one prompt, as JSON without the data of images and files: about a million tokens. Hashing so much takes 10 ms."""
HASH_BYTES = 16


class PromptRecording:
    """`days` is how long prompts are kept. `includes_transient`: those of transient runs are recorded too."""

    def __init__(self, store: ModelCallStore, days: float, *, includes_transient: bool) -> None:
        self.store = store
        self._age = timedelta(days=days)
        self._includes_transient = includes_transient

    def find_recorder(self, ask: Ask) -> "RunPromptRecorder | None":
        """None for runs whose prompts are not recorded."""
        if ask.purpose != "answer" or (ask.transient and not self._includes_transient):
            return None
        return RunPromptRecorder(self.store, ask, format_audit_time(datetime.now(UTC) + self._age))


class HashedContent(NamedTuple):
    """`source` is kept, so that no other object has its id while the run goes on."""

    source: object
    hash: str
    chars: int


class RunPromptRecorder:
    """All calls of a run expire at the same time, and each content with them: it is written by the first."""

    def __init__(self, store: ModelCallStore, ask: Ask, expires_at: str) -> None:
        self._store = store
        self._run = CallRun(ask.run_id, ask.thread_id, ask.principal.id, ask.agent)
        self._expires_at = expires_at
        self._known: dict[int, HashedContent] = {}
        self._written: set[str] = set()

    def wrap(self, model: str, provider_model: str, labels: CallLabels, open_stream: OpenStream) -> OpenStream:
        async def stream(prompt: Prompt) -> AsyncIterator[Chunk]:
            id = await self._begin(model, provider_model, labels, prompt)
            usage: Usage | None = None
            error: str | None = None
            try:
                async with aclosing(open_stream(prompt)) as chunks:
                    async for chunk in chunks:
                        if type(chunk) is UsageChunk:
                            usage = Usage(*msgspec.structs.astuple(chunk))
                        yield chunk
            except BaseException as failure:
                error = error_name(failure)
                raise
            finally:
                await self._end(id, CallEnd(format_audit_time(datetime.now(UTC)), usage, error))

        return stream

    async def _begin(self, model: str, provider_model: str, labels: CallLabels, prompt: Prompt) -> str | None:
        """Store the call before it is sent: one without an end is what an operator looks for. A call that cannot be
        stored is made all the same; its id is None."""
        contents: dict[str, str] = {}
        call = SentCall(
            call=new_id("call"),
            at=format_audit_time(datetime.now(UTC)),
            span=find_span(labels),
            agent=labels.agent or self._run.agent,
            purpose=labels.purpose,
            model=model,
            provider_model=provider_model,
            parameters=list_parameters(prompt.parameters),
        )
        hashes = self._hash((*prompt.messages, *prompt.tools), contents)
        if hashes is None:
            contents = {}
            reason = f"The prompt has more than {MAX_CALL_CHARS:,} characters, so it is not recorded."
            call = msgspec.structs.replace(call, omitted=reason)
        else:
            lead, end = count_instructions(prompt.messages), len(prompt.messages)
            call = msgspec.structs.replace(
                call, instructions=hashes[:lead], messages=hashes[lead:end], tools=hashes[end:]
            )
        try:
            await self._store.add(self._run, call, contents, self._expires_at)
        except RightseatError as error:
            logger.warning("a prompt of run %s is not recorded: %s", self._run.run, error)
            return None
        self._written.update(contents)
        return call.call

    def _hash(self, items: Iterable[Message | Tool], contents: dict[str, str]) -> tuple[str, ...] | None:
        """Adds to `contents` what is not written yet. None for a prompt that is too large."""
        hashes: list[str] = []
        chars = 0
        for item in items:
            known = self._known.get(id(item))
            if known is None or known.hash not in self._written:
                text = msgspec.json.encode(describe(item))
                hash = urlsafe_b64encode(blake2b(text, digest_size=HASH_BYTES).digest()).decode().rstrip("=")
                known = self._known[id(item)] = HashedContent(item, hash, len(text))
                if hash not in self._written:
                    contents[hash] = text.decode()
            chars += known.chars
            if chars > MAX_CALL_CHARS:
                return None
            hashes.append(known.hash)
        return tuple(hashes)

    async def _end(self, id: str | None, end: CallEnd) -> None:
        if id is None:
            return
        try:
            await self._store.end(id, end)
        except RightseatError as error:
            logger.warning("the end of a model call of run %s is not recorded: %s", self._run.run, error)


def find_span(labels: CallLabels) -> str | None:
    """The span of the call; a guard that calls a model while another one answers has none."""
    span = MODEL_SPAN.get()
    return span.id if isinstance(span, RecordedSpan) and labels.purpose != "guard" else None


def count_instructions(messages: Sequence[Message]) -> int:
    return next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))


def describe(item: Message | Tool) -> SentMessage | SentTool:
    """Without the id of the message, which models do not see, and the data of its images and files."""
    if isinstance(item, Tool):
        return SentTool(item.name, item.description, item.parameters, item.strict)
    return SentMessage(item.role, tuple(map(describe_part, item.parts)))


def describe_part(part: Part) -> Text | SentFile | Call | Result:
    if not isinstance(part, Image | File):
        return part
    sent = SentImage if isinstance(part, Image) else SentFile
    return sent(part.media_type, len(part.data) * 3 // 4, part.name, part.url)
