"""Chat templates: messages → the text that a model was trained on.

A template comes with a model, from a stranger, and is a program. So it is rendered in a process of its own
(`rendering.py`), which may use little memory and little time, knows nothing of ours, and is replaced when it dies.
docs/decisions/0006 says why.
"""

import asyncio
import logging
import os
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.core import parent_death
from rightseat.core.errors import BadAsk, BadTemplate

logger = logging.getLogger(__name__)

PATIENCE = 1.5  # seconds for one prompt; a typical one takes a ten-thousandth of that
STARTING = 30.0  # seconds for the process to start, on a machine that is busy
PROGRAM = Path(__file__).with_name("rendering.py")

PLAIN = """\
{%- for message in messages %}
{%- if message.role == 'system' %}{{ message.content | trim }}

{% elif message.role == 'assistant' %}Assistant: {{ message.content | trim }}
{% else %}User: {{ message.content | trim }}
{% endif %}
{%- endfor %}Assistant:"""
"""For models that have none, which were trained on plain text: the form of a printed conversation is known to all."""

PLAIN_STOPS = ("\nUser:", "\nAssistant:")


class Template:
    """One model's template. `stop` are words that end its answers, beside the model's own last token."""

    def __init__(self, renderer: "Renderer", source: str, bos: str, eos: str) -> None:
        self.source = source or PLAIN
        self.stop = () if source else PLAIN_STOPS
        self._renderer = renderer
        self._always = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": True}

    async def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> str:
        """Messages and tools in OpenAI's form, up to where the assistant speaks.

        Raises `BadTemplate`, and `BadAsk` where it is the template that refuses the messages.
        """
        names = {**self._always, "messages": messages, "tools": tools or None, **(more or {})}
        return await self._renderer.render(self.source, names)


class Templates:
    """Every template of one model, or of many: they share a process, which is started when it is first needed."""

    def __init__(self) -> None:
        self._renderer = Renderer()

    def get(self, source: str, *, bos: str = "", eos: str = "") -> Template:
        return Template(self._renderer, source, bos, eos)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._renderer.aclose()


class Renderer:
    """The process that renders, one prompt after another. Each way a text with its length before it, as JSON."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def render(self, source: str, names: Mapping[str, Any]) -> str:
        order = _encode({"source": source, "names": names})
        async with self._turn:
            try:
                process = await self._started()
                async with asyncio.timeout(PATIENCE):
                    answer = await _exchange(process, order)
            except TimeoutError:
                await self._end()
                raise BadTemplate(f"The model's chat template took longer than {PATIENCE:g} s.") from None
            except (OSError, asyncio.IncompleteReadError):
                await self._end()
                raise BadTemplate("The model's chat template took more memory than it may.") from None
            except BaseException:
                await self._end()  # half an order, or an answer that nobody took
                raise
        match _decode(answer):
            case {"text": str(text)}:
                return text
            case {"refused": str(said)}:
                raise BadAsk(f"The model's chat template refuses the messages: {said}")
            case {"failed": str(said)}:
                logger.warning("a chat template cannot be rendered: %s", said)
                raise BadTemplate(f"The model's chat template cannot be rendered: {said}")
            case other:
                raise BadTemplate(f"The model's chat template gave no text, but {type(other).__name__}.")

    async def _started(self) -> asyncio.subprocess.Process:
        """The process, ready for an order: a new one where the last has died, by whatever hand."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        process = self._process = await self._start()
        try:
            async with asyncio.timeout(STARTING):
                await _exchange(process, _encode({"source": "", "names": {}}))
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            await self._end()
            raise BadTemplate("The process that renders chat templates does not start.") from error
        return process

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *parent_death.launcher(),
            *(sys.executable, "-I", str(PROGRAM)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name == "SYSTEMROOT"},
            start_new_session=True,
        )

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):  # `process.kill()` would take the code of a dead one from `wait`
                os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            await process.wait()

    async def aclose(self) -> None:
        await self._end()


async def _exchange(process: asyncio.subprocess.Process, order: bytes) -> bytes:
    orders, answers = process.stdin, process.stdout
    if orders is None or answers is None:
        raise BrokenPipeError
    try:
        orders.write(struct.pack(">I", len(order)) + order)
        await orders.drain()
    except RuntimeError as error:  # uvloop's word for a pipe that is closed
        raise BrokenPipeError from error
    (size,) = struct.unpack(">I", await answers.readexactly(4))
    return await answers.readexactly(size)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
