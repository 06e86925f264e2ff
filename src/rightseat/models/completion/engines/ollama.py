"""Ollama, by `/api/generate` with `raw`. It holds a model to a JSON Schema, and to no other grammar."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.core.errors import BadAsk, ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.models.completion.engine import Description, End, Piece, Request
from rightseat.models.completion.engines.client import Client
from rightseat.models.completion.engines.options import OllamaOptions
from rightseat.models.completion.grammar import json_schema

SCHEMA_ONLY = (
    "Ollama can hold a model to a JSON Schema only, and this way of calling tools is none. "
    "Use `style: generic` for this model, or another engine."
)


class Ollama:
    grammars = frozenset({"schema"})

    def __init__(self, options: OllamaOptions) -> None:
        self.options = options
        self.client = Client(options.url, options.api_key, options.patience)
        self._known: Description | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    @property
    def place(self) -> str:
        return f"Ollama at {self.client.where}"

    async def describe(self) -> Description:
        if self._known is None:
            self._known = read_show(
                self.options.model, await self.client.ask("/api/show", {"model": self.options.model})
            )
        return self._known

    async def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        end: End | None = None
        body = write_request(self.options.model, request)
        try:
            async with self.client.lines("/api/generate", body) as lines:
                async for line in lines:
                    event = self.client.read(line, _decode)
                    if event.response:
                        yield Piece(event.response)
                    if event.done:
                        end = read_end(event)
                        break
        except (ModelUnreachable, ModelLoading):
            self._known = None
            raise
        if end is None:
            raise self.client.broken("its answer ended without its last line")
        yield end


def read_show(model: str, shown: Any) -> Description:
    """From `/api/show`: what the GGUF file says, if Ollama has it from one. Its own template is none of Jinja."""
    found = shown.get("model_info") if isinstance(shown, dict) else None
    info: dict[str, Any] = found if isinstance(found, dict) else {}
    template, context = (
        info.get("tokenizer.chat_template"),
        info.get(f"{info.get('general.architecture')}.context_length"),
    )
    return Description(
        model=model,
        template=template if isinstance(template, str) else "",
        context=context if isinstance(context, int) else None,
    )


def write_request(model: str, request: Request) -> dict[str, object]:
    """Raises `BadAsk` or `ModelRefused` for what Ollama cannot do, rather than leave it out."""
    if request.logprobs is not None:
        raise BadAsk("Ollama gives no logprobs for raw prompts.")
    body: dict[str, object] = {"model": model, "prompt": request.prompt, "raw": True, "stream": True}
    if request.constraint is not None:
        if request.constraint.schema is None or request.constraint.triggers:
            raise ModelRefused(SCHEMA_ONLY, 400)
        body["format"] = json_schema.bounded(request.constraint.schema)
    wanted: dict[str, object] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "num_predict": request.max_tokens,
        "stop": list(request.stop) or None,
    }
    body["options"] = {name: value for name, value in wanted.items() if value is not None}
    return body


class _Event(msgspec.Struct, gc=False):
    response: str = ""
    done: bool = False
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode

_REASONS: dict[str, StopReason] = {"length": "length"}


def read_end(event: _Event) -> End:
    return End(_REASONS.get(event.done_reason, "stop"), event.prompt_eval_count, event.eval_count)
