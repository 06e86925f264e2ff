"""Chooses the llama-server slot for each prompt, so that a known prefix is not processed again.

A prompt that starts with the whole last prompt of a slot continues there. Any other replaces the least valuable slot; a
conversation of several responses is saved to a file first. A prefix shared with another slot or a file is restored from
there: a branch of a conversation, or one from before a restart. Files are in one folder, bounded in number and size.
A failure to save is logged and changes nothing else.

A client may name its requests that begin alike (`cache_key`): a request goes to the slot of its key, unless another one
continues its conversation, and slots of other keys are replaced last. A key is kept with its slot only, so clients
cannot fill the memory with keys.
"""

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.errors import ConfigError, ModelError
from rightseat.core.types import JSON_ERRORS
from rightseat.models.completion.backend import CompletionRequest, End, TextPiece
from rightseat.models.completion.backends.llama_cpp import LlamaCpp
from rightseat.models.completion.backends.options import PromptCacheOptions
from rightseat.parts import private_folder

logger = logging.getLogger(__name__)

FILE_NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.bin")
BLOCK_CHARS = 256  # hashed together; files are compared by the hashes of their blocks
MIN_SHARED_CHARS = 1024  # of a prefix that is worth a file
MIN_RESPONSES = 2  # of a conversation that is worth saving
FILE_TIMEOUT_S = 60.0  # for the server to write or read a file
SAVE_ALL_TIMEOUT_S = 10.0


@dataclass
class ServerSlot:
    number: int
    prompt: str = ""
    text: str = ""  # the prompt and the response
    responses: int = 0
    used: float = 0.0
    busy: bool = False
    key: str | None = None
    saved: "SavedSlot | None" = None  # as it is now


class SavedSlot(msgspec.Struct):
    """One file with, for each block of its text, the hash of the text up to its end."""

    name: str
    blocks: list[str]
    responses: int
    is_warmed: bool = False
    """It was processed ahead of its requests, and stays when a conversation that began with it is saved."""

    def extends(self, other: "SavedSlot") -> bool:
        """Whether the other's text is a prefix of this one's."""
        return len(self.blocks) > len(other.blocks) and self.blocks[: len(other.blocks)] == other.blocks

    def count_shared(self, blocks: list[str]) -> int:
        """Return the length of the common prefix with a text of these blocks."""
        count = 0
        for ours, theirs in zip(self.blocks, blocks, strict=False):
            if ours != theirs:
                break
            count += 1
        return count * BLOCK_CHARS


class WarmedPrompt(msgspec.Struct, frozen=True):
    """`tokens` were processed ahead, in `seconds`, and are in the file `name`."""

    name: str
    tokens: int
    seconds: float


@dataclass
class PromptCache:
    server: LlamaCpp
    options: PromptCacheOptions
    model: str
    slots: list[ServerSlot]
    saved: dict[str, SavedSlot] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(len(self.slots))
        self._indexed_at = 0

    def open(self) -> None:
        """Load the index of saved files. Files of another model have other names and only count for the bounds."""
        folder = self.options.folder
        try:
            private_folder(folder)
        except ConfigError as error:
            logger.warning("prompt caches cannot be saved: %s", error)
            return
        self._read_index()

    def _read_index(self) -> None:
        """Read the index again if the folder has changed: `rightseat prompts warm` adds files while a server runs."""
        folder = self.options.folder
        try:
            changed_at = folder.stat().st_mtime_ns
        except OSError:
            return
        if changed_at == self._indexed_at:
            return
        self._indexed_at = changed_at
        for side in sorted(folder.glob(f"{self._model_hash()}-*.json"), key=_modified_at):
            if side.with_suffix(".bin").name in self.saved:
                continue
            try:
                found = msgspec.json.decode(side.read_bytes(), type=SavedSlot)
            except (OSError, *JSON_ERRORS) as error:
                logger.warning("%s cannot be read and is ignored: %s", side, error)
                continue
            if (folder / found.name).exists():
                self.saved[found.name] = found

    def reset(self) -> None:
        """Reset the slots, because the server was restarted."""
        self.slots = [ServerSlot(slot.number) for slot in self.slots]

    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        """Wait for a slot here: llama-server would choose one without reporting it."""
        async with self._free:
            slot = await self._take(request)
            async with aclosing(self._generate(request, slot)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _generate(self, request: CompletionRequest, slot: ServerSlot) -> AsyncIterator[TextPiece | End]:
        texts: list[str] = []
        ended = False
        try:
            async with aclosing(self.server.generate(request, slot.number)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, End):
                        ended = True
                        logger.debug("%d of %d prompt tokens were cached", piece.cached_tokens, piece.input_tokens)
                    else:
                        texts.append(piece.text)
                    yield piece
        finally:
            slot.busy = False
            slot.text = request.prompt + "".join(texts)
            slot.responses += ended

    async def warm(self, text: str) -> WarmedPrompt:
        """Process the beginning of future prompts and save it. Raises `ConfigError` if it is too short for a file."""
        if len(text) < MIN_SHARED_CHARS:
            raise ConfigError(
                f"The prompt has {len(text)} characters before a question. Shorter than {MIN_SHARED_CHARS:,}, it is "
                "processed as quickly as it is read from a file."
            )
        started = time.monotonic()
        async with self._free:
            slot = await self._take(CompletionRequest(prompt=text))
            request = CompletionRequest(prompt=text, max_tokens=0)
            *_, end = [piece async for piece in self._generate(request, slot)]
            async with self.lock:
                slot.text = text
                await self._save(slot, is_warmed=True)
        if slot.saved is None:
            raise ConfigError(f"The prompt could not be saved in {self.options.folder}: the log has the reason.")
        tokens = end.input_tokens if isinstance(end, End) else 0
        return WarmedPrompt(slot.saved.name, tokens, time.monotonic() - started)

    async def save_all(self) -> None:
        """Save the conversations that are worth it before the server stops."""
        try:
            async with asyncio.timeout(SAVE_ALL_TIMEOUT_S):
                for slot in self.slots:
                    if slot.responses >= MIN_RESPONSES and slot.saved is None and not slot.busy:
                        await self._save(slot)
        except TimeoutError:
            logger.warning("prompt caches could not be saved within %g s", SAVE_ALL_TIMEOUT_S)

    async def _take(self, request: CompletionRequest) -> ServerSlot:
        """Choose and prepare the slot for a request."""
        async with self.lock:
            slot = self._choose(request.prompt, request.cache_key)
            slot.busy = True
            try:
                if not slot.prompt or not request.prompt.startswith(slot.prompt):
                    await self._replace(slot, request.prompt)
            except BaseException:
                slot.busy = False  # the client has left
                raise
            slot.prompt, slot.saved, slot.used = request.prompt, None, time.monotonic()
            slot.key = request.cache_key
            return slot

    def _choose(self, prompt: str, key: str | None = None) -> ServerSlot:
        free = [slot for slot in self.slots if not slot.busy]
        if continuing := [slot for slot in free if slot.prompt and prompt.startswith(slot.prompt)]:
            return max(continuing, key=lambda slot: len(slot.prompt))
        if named := [slot for slot in free if key is not None and slot.key == key]:
            return max(named, key=lambda slot: slot.used)
        if disposable := [slot for slot in free if slot.responses < MIN_RESPONSES]:
            return max(disposable, key=lambda slot: (not slot.key, count_shared_chars(slot.text, prompt), -slot.used))
        return min(free, key=lambda slot: slot.used)

    async def _replace(self, slot: ServerSlot, prompt: str) -> None:
        """Save the slot if it is worth it, and restore the longest known prefix of the prompt into it."""
        if slot.responses >= MIN_RESPONSES and slot.saved is None:
            await self._save(slot)
        own_chars, slot.responses = count_shared_chars(slot.text, prompt), 0
        slot.prompt = slot.text = ""
        others = [other for other in self.slots if other is not slot and not other.busy]
        nearest = max(others, key=lambda other: count_shared_chars(other.text, prompt), default=None)
        if (
            nearest is not None
            and count_shared_chars(nearest.text, prompt) >= own_chars + MIN_SHARED_CHARS
            and nearest.saved is None
        ):
            await self._save(nearest)
        await asyncio.to_thread(self._read_index)
        blocks = hash_blocks(prompt)
        best = max(self.saved.values(), key=lambda saved: saved.count_shared(blocks), default=None)
        if best is not None and best.count_shared(blocks) >= own_chars + MIN_SHARED_CHARS:
            await self._restore(slot, best)

    async def _save(self, slot: ServerSlot, *, is_warmed: bool = False) -> None:
        text = slot.text.encode()
        name = f"{self._model_hash()}-{hashlib.sha256(text).hexdigest()[:32]}.bin"
        saved = SavedSlot(name, hash_blocks(slot.text), slot.responses, is_warmed)
        folder = self.options.folder
        try:
            response = await self._post_slot(slot, "save", name)
            await asyncio.to_thread((folder / name).with_suffix(".json").write_bytes, msgspec.json.encode(saved))
            await asyncio.to_thread(self._delete_excess)
        except (ModelError, OSError) as error:
            logger.warning("a prompt cache could not be saved: %s", error)
            return
        logger.info("saved a prompt cache of %s tokens as %s", response.get("n_saved", "?"), name)
        for older in [one for one in self.saved.values() if saved.extends(one) and not one.is_warmed]:
            await asyncio.to_thread(self._delete, older.name)
        slot.saved = saved
        if (folder / name).exists():  # else it alone exceeded the size bound
            self.saved[name] = saved

    async def _restore(self, slot: ServerSlot, saved: SavedSlot) -> None:
        try:
            response = await self._post_slot(slot, "restore", saved.name)
        except ModelError as error:
            logger.warning("a prompt cache could not be restored; the prompt is processed again: %s", error)
            self.saved.pop(saved.name, None)
            return
        slot.responses = saved.responses
        with suppress(OSError):  # the oldest are deleted first, and this one is in use
            await asyncio.to_thread((self.options.folder / saved.name).touch)
        logger.info("restored a prompt cache of %s tokens from %s", response.get("n_restored", "?"), saved.name)

    async def _post_slot(self, slot: ServerSlot, action: str, name: str) -> Any:
        path = f"/slots/{slot.number}?action={action}"
        return await self.server.client.fetch_json(path, {"filename": name}, FILE_TIMEOUT_S)

    def _model_hash(self) -> str:
        return hashlib.sha256(self.model.encode()).hexdigest()[:16]

    def _delete_excess(self) -> None:
        """Delete the oldest files, of any model, beyond the bounds."""
        caches = [file for file in self.options.folder.glob("*.bin") if FILE_NAME.fullmatch(file.name)]
        files = sorted(caches, key=_modified_at, reverse=True)
        remaining_bytes = self.options.max_mb << 20
        for index, file in enumerate(files):
            remaining_bytes -= file.stat().st_size
            if index >= self.options.max_files or remaining_bytes < 0:
                logger.info("deleted the prompt cache %s, beyond the configured bounds", file.name)
                self._delete(file.name)

    def _delete(self, name: str) -> None:
        file = self.options.folder / name
        file.unlink(missing_ok=True)
        file.with_suffix(".json").unlink(missing_ok=True)
        self.saved.pop(name, None)


def count_shared_chars(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def hash_blocks(text: str) -> list[str]:
    rolling = hashlib.sha256()
    hashes: list[str] = []
    for begin in range(0, len(text) - BLOCK_CHARS + 1, BLOCK_CHARS):
        rolling.update(text[begin : begin + BLOCK_CHARS].encode())
        hashes.append(rolling.hexdigest()[:16])
    return hashes


def _modified_at(file: Path) -> float:
    return file.stat().st_mtime
