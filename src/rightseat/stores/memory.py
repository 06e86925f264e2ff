"""Threads in this process's memory: the newest, as far as `keep` and `megabytes` reach."""

from collections import OrderedDict
from typing import assert_never

import msgspec
from pydantic import BaseModel, ConfigDict, JsonValue

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import Call, Image, Message, Part, Result, Text
from rightseat.core.threads import Thread, Threads


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    keep: int = 1000
    """How many threads are remembered; the least recently used is forgotten first."""
    megabytes: int = 64
    """How much of threads is remembered, in all: their text, pictures and states. A bigger one is not kept at all."""


def build(options: Options) -> Threads:
    return MemoryThreads(options.keep, options.megabytes)


class MemoryThreads:
    def __init__(self, keep: int = 1000, megabytes: int = 64) -> None:
        self._keep = keep
        self._limit = megabytes * 2**20
        self._size = 0
        self._threads: OrderedDict[tuple[str, str], tuple[Thread, int]] = OrderedDict()
        self._epoch = 0

    async def begin(self, ask: Ask) -> int:
        self._epoch += 1
        return self._epoch

    async def finish(self, ask: Ask, said: tuple[Message, ...], state: JsonValue) -> None:
        key = (ask.principal.id, ask.thread_id)
        self._forget(key)
        thread = Thread(ask.thread_id, ask.messages + said, state)
        weight = size(thread)
        if weight > self._limit:
            return
        self._threads[key] = (thread, weight)
        self._size += weight
        while len(self._threads) > self._keep or self._size > self._limit:
            self._forget(next(iter(self._threads)))

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        key = (principal.id, thread_id)
        if key not in self._threads:
            return None
        self._threads.move_to_end(key)
        return self._threads[key][0]

    def _forget(self, key: tuple[str, str]) -> None:
        _, weight = self._threads.pop(key, (None, 0))
        self._size -= weight


def size(thread: Thread) -> int:
    """Roughly what the thread weighs: the characters of its parts, and of its state as JSON."""
    said = sum(len(text) for message in thread.messages for part in message.parts for text in texts(part))
    return said + (len(msgspec.json.encode(thread.state)) if thread.state is not None else 0)


def texts(part: Part) -> tuple[str, ...]:
    match part:
        case Text(text=text):
            return (text,)
        case Image(data=data):
            return (data,)
        case Call(arguments=arguments):
            return (arguments,)
        case Result(content=content):
            return (content,)
        case _:
            assert_never(part)
