"""Renders chat templates in a sandboxed process: messages → the text format that a model was trained with.

A template comes with a model, from an untrusted source, and is a program. So a separate process renders it
(`template_worker.py`), with limited memory and time and no access to this one; it is replaced when it exits
(docs/decisions/0006).
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

from rightseat import parent_death
from rightseat.core.errors import BadRequest, BadTemplate

logger = logging.getLogger(__name__)

RENDER_TIMEOUT_S = 1.5  # for one prompt; a typical one takes 0.2 ms
START_TIMEOUT_S = 30.0  # for the process, on a busy machine
WORKER = Path(__file__).with_name("template_worker.py")

PLAIN = """\
{%- for message in messages %}
{%- if message.role == 'system' %}{{ message.content | trim }}

{% elif message.role == 'assistant' %}Assistant: {{ message.content | trim }}
{% else %}User: {{ message.content | trim }}
{% endif %}
{%- endfor %}Assistant:"""
"""For models without a template, which were trained on plain text: they know printed conversations."""

PLAIN_STOPS = ("\nUser:", "\nAssistant:")


class Template:
    """One model's template. `stop` are words that end a response, besides the EOS token."""

    def __init__(self, renderer: "Renderer", source: str, bos: str, eos: str) -> None:
        self.source = source or PLAIN
        self.stop = () if source else PLAIN_STOPS
        self._renderer = renderer
        self._constants = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": True}

    async def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> str:
        """Render messages and tools in OpenAI's format, up to the assistant's turn.

        Raises `BadTemplate`, or `BadRequest` if the template rejects the messages.
        """
        names = {**self._constants, "messages": messages, "tools": tools or None, **(more or {})}
        return await self._renderer.render(self.source, names)


class Templates:
    """Makes templates that share one process, which is started when it is first needed."""

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
    """The rendering process, one prompt at a time. Both directions carry JSON with its length before it."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def render(self, source: str, names: Mapping[str, Any]) -> str:
        request = _encode({"source": source, "names": names})
        async with self._lock:
            try:
                process = await self._started()
                async with asyncio.timeout(RENDER_TIMEOUT_S):
                    response = await _exchange(process, request)
            except TimeoutError:
                await self._stop()
                raise BadTemplate(
                    f"The model's chat template took longer than {RENDER_TIMEOUT_S:g} s to render."
                ) from None
            except (OSError, asyncio.IncompleteReadError):
                await self._stop()
                raise BadTemplate("The model's chat template exceeded its memory limit.") from None
            except BaseException:
                await self._stop()  # the pipe holds half a request or an unread response
                raise
        match _decode(response):
            case {"text": str(text)}:
                return text
            case {"refused": str(text)}:
                raise BadRequest(f"The model's chat template rejects the messages: {text}")
            case {"failed": str(text)}:
                logger.warning("a chat template cannot be rendered: %s", text)
                raise BadTemplate(f"The model's chat template cannot be rendered: {text}")
            case other:
                raise BadTemplate(f"The model's chat template returned {type(other).__name__} instead of text.")

    async def _started(self) -> asyncio.subprocess.Process:
        """Return a ready process; a new one if the last has exited."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        process = self._process = await self._start()
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await _exchange(process, _encode({"source": "", "names": {}}))
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            await self._stop()
            raise BadTemplate("The process that renders chat templates did not start.") from error
        return process

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *parent_death.launcher(),
            *(sys.executable, "-I", str(WORKER)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name == "SYSTEMROOT"},
            start_new_session=True,
        )

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):  # `process.kill()` would take the exit code of a dead one from `wait`
                os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            await process.wait()

    async def aclose(self) -> None:
        await self._stop()


async def _exchange(process: asyncio.subprocess.Process, request: bytes) -> bytes:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise BrokenPipeError
    try:
        stdin.write(struct.pack(">I", len(request)) + request)
        await stdin.drain()
    except RuntimeError as error:  # raised by uvloop for a closed pipe
        raise BrokenPipeError from error
    (size,) = struct.unpack(">I", await stdout.readexactly(4))
    return await stdout.readexactly(size)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
