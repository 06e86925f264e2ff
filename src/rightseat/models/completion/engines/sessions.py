"""Which slot of a llama-server goes on with which conversation, so that what it has read need not be read again.

A request that begins with the whole prompt of a slot's last one goes on there. Any other takes the place of what is
least worth keeping; a conversation of several answers is saved to a file first. What the new prompt has in common with
another slot or with a file is restored from there: a branch of a conversation, or one from before a restart.
Files lie in one folder, bounded in number and size; where saving fails, the log says so, and nothing else changes.
"""

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rightseat.core.closing import closing
from rightseat.core.errors import ConfigError, ModelError
from rightseat.core.values import JSON_ERRORS
from rightseat.models.completion.engine import End, Piece, Request
from rightseat.models.completion.engines.llama_cpp import LlamaCpp
from rightseat.models.completion.engines.options import SessionOptions
from rightseat.parts import private_folder

logger = logging.getLogger(__name__)

OURS = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.bin")
BLOCK = 256  # characters of a text that are compared at once where only their hashes are known
WORTH = 1024  # characters in common that are worth a file
KEPT_FROM = 2  # answers that make a conversation worth keeping
FILING = 60.0  # seconds for the engine to write or read a file
LAST_WORDS = 10.0  # seconds to save everything in


@dataclass
class Slot:
    number: int
    prompt: str = ""
    text: str = ""  # the prompt, and what was answered
    answers: int = 0
    used: float = 0.0
    busy: bool = False
    saved: "Saved | None" = None  # as it is now


class Saved(msgspec.Struct):
    """One file, and what can be known of its text without it: the hash of each block with all before it."""

    name: str
    blocks: list[str]
    answers: int

    def goes_on_from(self, other: "Saved") -> bool:
        """Whatever is in the other is in this one too."""
        return len(self.blocks) > len(other.blocks) and self.blocks[: len(other.blocks)] == other.blocks

    def shares(self, blocks: list[str]) -> int:
        """How many characters a text with these blocks has in common with it."""
        count = 0
        for ours, theirs in zip(self.blocks, blocks, strict=False):
            if ours != theirs:
                break
            count += 1
        return count * BLOCK


@dataclass
class Sessions:
    server: LlamaCpp
    options: SessionOptions
    model: str
    slots: list[Slot]
    saved: dict[str, Saved] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(len(self.slots))

    def open(self) -> None:
        """Find what was saved before. Files of another model have other names, and are counted only."""
        folder = self.options.folder
        try:
            private_folder(folder)
        except ConfigError as error:
            logger.warning("conversations cannot be saved: %s", error)
            return
        for side in sorted(folder.glob(f"{self._mark()}-*.json"), key=_age):
            try:
                found = msgspec.json.decode(side.read_bytes(), type=Saved)
            except (OSError, *JSON_ERRORS) as error:
                logger.warning("%s cannot be read, and is left out: %s", side, error)
                continue
            if (folder / found.name).exists():
                self.saved[found.name] = found

    def forget(self) -> None:
        """The engine is a new one, and its slots are empty."""
        self.slots = [Slot(slot.number) for slot in self.slots]

    async def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        """It waits for a slot here, not in the engine: that would take one without telling what becomes of it."""
        async with self._free:
            slot = await self._take(request)
            async with closing(self._generate(request, slot)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _generate(self, request: Request, slot: Slot) -> AsyncIterator[Piece | End]:
        said: list[str] = []
        ended = False
        try:
            async with closing(self.server.generate(request, slot.number)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, End):
                        ended = True
                        logger.debug("%d of %d prompt tokens were known", piece.cached_tokens, piece.input_tokens)
                    else:
                        said.append(piece.text)
                    yield piece
        finally:
            slot.busy = False
            slot.text = request.prompt + "".join(said)
            slot.answers += ended

    async def save_all(self) -> None:
        """What is worth keeping, before the engine ends."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                for slot in self.slots:
                    if slot.answers >= KEPT_FROM and slot.saved is None and not slot.busy:
                        await self._save(slot)
        except TimeoutError:
            logger.warning("conversations could not be saved within %g s", LAST_WORDS)

    async def _take(self, request: Request) -> Slot:
        """The slot for a request, made ready."""
        async with self.turn:
            slot = self._choose(request.prompt)
            slot.busy = True
            try:
                if not slot.prompt or not request.prompt.startswith(slot.prompt):
                    await self._make_room(slot, request.prompt)
            except BaseException:
                slot.busy = False  # whoever asked is gone meanwhile
                raise
            slot.prompt, slot.saved, slot.used = request.prompt, None, time.monotonic()
            return slot

    def _choose(self, prompt: str) -> Slot:
        free = [slot for slot in self.slots if not slot.busy]
        if going_on := [slot for slot in free if slot.prompt and prompt.startswith(slot.prompt)]:
            return max(going_on, key=lambda slot: len(slot.prompt))
        if passing := [slot for slot in free if slot.answers < KEPT_FROM]:
            return max(passing, key=lambda slot: (shared(slot.text, prompt), -slot.used))
        return min(free, key=lambda slot: slot.used)

    async def _make_room(self, slot: Slot, prompt: str) -> None:
        """Save what the slot has if that is worth it, and bring in what the prompt begins with, from wherever it is."""
        if slot.answers >= KEPT_FROM and slot.saved is None:
            await self._save(slot)
        own, slot.answers = shared(slot.text, prompt), 0
        slot.prompt = slot.text = ""
        others = [other for other in self.slots if other is not slot and not other.busy]
        nearest = max(others, key=lambda other: shared(other.text, prompt), default=None)
        if nearest is not None and shared(nearest.text, prompt) >= own + WORTH and nearest.saved is None:
            await self._save(nearest)
        blocks = hash_blocks(prompt)
        best = max(self.saved.values(), key=lambda saved: saved.shares(blocks), default=None)
        if best is not None and best.shares(blocks) >= own + WORTH:
            await self._restore(slot, best)

    async def _save(self, slot: Slot) -> None:
        text = slot.text.encode()
        name = f"{self._mark()}-{hashlib.sha256(text).hexdigest()[:32]}.bin"
        saved = Saved(name, hash_blocks(slot.text), slot.answers)
        folder = self.options.folder
        try:
            answer = await self.server.client.ask(f"/slots/{slot.number}?action=save", {"filename": name}, FILING)
            await asyncio.to_thread((folder / name).with_suffix(".json").write_bytes, msgspec.json.encode(saved))
            await asyncio.to_thread(self._bound)
        except (ModelError, OSError) as error:
            logger.warning("a conversation could not be saved: %s", error)
            return
        logger.info("saved a conversation of %s tokens as %s", answer.get("n_saved", "?"), name)
        for older in [one for one in self.saved.values() if saved.goes_on_from(one)]:
            await asyncio.to_thread(self._delete, older.name)
        slot.saved = saved
        if (folder / name).exists():  # else it alone was larger than all may be
            self.saved[name] = saved

    async def _restore(self, slot: Slot, saved: Saved) -> None:
        try:
            path = f"/slots/{slot.number}?action=restore"
            answer = await self.server.client.ask(path, {"filename": saved.name}, FILING)
        except ModelError as error:
            logger.warning("a conversation could not be restored, and is read anew: %s", error)
            self.saved.pop(saved.name, None)
            return
        slot.answers = saved.answers
        logger.info("restored a conversation of %s tokens from %s", answer.get("n_restored", "?"), saved.name)

    def _mark(self) -> str:
        return hashlib.sha256(self.model.encode()).hexdigest()[:16]

    def _bound(self) -> None:
        """Delete the oldest of our files in the folder, of whichever model, until number and size are kept."""
        ours = [file for file in self.options.folder.glob("*.bin") if OURS.fullmatch(file.name)]
        files = sorted(ours, key=_age, reverse=True)
        room = self.options.megabytes << 20
        for index, file in enumerate(files):
            room -= file.stat().st_size
            if index >= self.options.number or room < 0:
                logger.info("deleted the saved conversation %s, to keep to the bounds", file.name)
                self._delete(file.name)

    def _delete(self, name: str) -> None:
        file = self.options.folder / name
        file.unlink(missing_ok=True)
        file.with_suffix(".json").unlink(missing_ok=True)
        self.saved.pop(name, None)


def shared(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
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
    found: list[str] = []
    for begin in range(0, len(text) - BLOCK + 1, BLOCK):
        rolling.update(text[begin : begin + BLOCK].encode())
        found.append(rolling.hexdigest()[:16])
    return found


def _age(file: Path) -> float:
    return file.stat().st_mtime
