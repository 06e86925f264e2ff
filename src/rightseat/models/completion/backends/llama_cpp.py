"""The backend llama-server, by its raw endpoint `/completion`."""

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec
from pydantic import SecretStr

from rightseat.core.errors import ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.model import Vectors
from rightseat.core.types import JsonValue
from rightseat.egress.network import NetworkOptions
from rightseat.models.completion.backend import CompletionRequest, Constraint, Description, End, TextPiece
from rightseat.models.completion.backends.client import BackendClient
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.wire.openai_embeddings import read_vectors

logger = logging.getLogger(__name__)


FALLBACK_TEMPLATE_HASH = "d805df67b616e59d"
"""Start of the SHA-256 of llama-server's fallback template, without white space."""


class LlamaCpp:
    """A llama-server at `url`. `has_llguidance`: it was built with LLGuidance and gets grammars in its format.

    `has_template`: whether the model has a template of its own; None if unknown.
    """

    has_triggers = True

    def __init__(
        self,
        url: str,
        *,
        api_key: SecretStr | None = None,
        timeout: float = 300.0,
        has_llguidance: bool = False,
        has_template: bool | None = None,
        network: NetworkOptions | None = None,
    ) -> None:
        self.client = BackendClient(url, api_key, timeout, network)
        self._timeout = timeout
        self._has_llguidance = has_llguidance
        self._has_template = has_template
        self._description: Description | None = None
        self._adds_bos = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    @property
    def place(self) -> str:
        return f"llama-server at {self.client.url}"

    async def describe(self) -> Description:
        if self._description is None:
            described = read_props(await self.client.fetch_json("/props"))
            self._adds_bos = bool(await self._tokens(""))
            if is_fallback_template(described.template) and not await self._has_own_template():
                described = msgspec.structs.replace(described, template="")
            self._description = described
        return self._description

    async def _has_own_template(self) -> bool:
        if self._has_template is not None:
            return self._has_template
        return len(await self._tokens("<|im_start|>")) == 1 + self._adds_bos

    async def count(self, text: str) -> int | None:
        """Return None from an older build without this endpoint."""
        return len(await self._tokens(text, add_special=False)) or (None if text else 0)

    async def _tokens(self, text: str, *, add_special: bool = True) -> Sequence[object]:
        """Tokenize a prompt. Returns no tokens from an older build without this endpoint."""
        body = {"content": text, "add_special": add_special, "parse_special": True}
        try:
            response = await self.client.fetch_json("/tokenize", body)
        except ModelRefused:
            return ()
        tokens = response.get("tokens") if isinstance(response, dict) else None
        return tokens if isinstance(tokens, list) else ()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of a few texts. Raises `ModelRefused` for a server without `--embeddings`."""
        body = {"input": list(texts), "encoding_format": "float"}
        return read_vectors(await self.client.fetch("/v1/embeddings", body, self._timeout), len(texts))

    def forget(self) -> None:
        """Drop the cached description, because the server may have been restarted with another model."""
        self._description = None

    async def generate(self, request: CompletionRequest, slot: int | None = None) -> AsyncIterator[TextPiece | End]:
        """`slot` is the one to continue in; without it llama-server chooses."""
        end: End | None = None
        try:
            described = await self.describe()
            body = write_request(request, self._has_llguidance) | ({} if slot is None else {"id_slot": slot})
            if self._adds_bos and described.bos:
                body["prompt"] = request.prompt.removeprefix(described.bos)
            async with self.client.events("/completion", body) as events:
                async for data in events:
                    event = self.client.read(data, _decode)
                    if event.content or event.prompt_progress is not None:
                        yield TextPiece(event.content, read_logprobs(event, request.logprobs or 0))
                    if event.stop:
                        end = read_end(event)
                        if described.model and event.model not in ("", described.model):
                            self.forget()
                        break
        except (ModelUnreachable, ModelLoading):
            self.forget()
            raise
        if end is None:
            self.forget()
            raise self.client.invalid_response("its response ended without its last event")
        yield end


def read_props(props: Any) -> Description:
    """Read the response to `/props`, of which older builds omit fields."""
    if not isinstance(props, dict):
        props = {}
    settings = props.get("default_generation_settings")
    caps = props.get("chat_template_caps")
    return Description(
        model=_text(props.get("model_alias")) or _text(props.get("model_path")),
        template=_text(props.get("chat_template")),
        tool_template=_text(props.get("chat_template_tool_use")),
        caps={name: bool(value) for name, value in caps.items()} if isinstance(caps, dict) else {},
        bos=_text(props.get("bos_token")),
        eos=_text(props.get("eos_token")),
        context_window=_number(settings.get("n_ctx")) if isinstance(settings, dict) else None,
        slots=_number(props.get("total_slots")) or 1,
    )


def is_fallback_template(template: str) -> bool:
    """Whether it is llama-server's fallback for a model without a template, which may not know its markers."""
    return hashlib.sha256("".join(template.split()).encode()).hexdigest().startswith(FALLBACK_TEMPLATE_HASH)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def write_request(request: CompletionRequest, has_llguidance: bool = False) -> dict[str, object]:
    body: dict[str, object] = {
        "prompt": request.prompt,
        "stream": True,
        "cache_prompt": True,
        "return_progress": True,
        "n_predict": -1 if request.max_tokens is None else request.max_tokens,
    }
    wanted: dict[str, object] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "n_probs": None if request.logprobs is None else max(request.logprobs, 1),  # 0 would report nothing
        "stop": list(request.stop) or None,
    }
    body |= {name: value for name, value in wanted.items() if value is not None}
    preserved = list(request.preserved)
    if request.constraint is not None:
        body |= write_constraint(request.constraint, has_llguidance)
        preserved += request.constraint.preserved
    if preserved:
        body["preserved_tokens"] = list(dict.fromkeys(preserved))
    return body


def write_constraint(constraint: Constraint, has_llguidance: bool) -> Mapping[str, object]:
    """A grammar is lazy only with triggers: without one llama-server silently ignores a lazy grammar.

    A build without LLGuidance crashes on the first line of a grammar in its format.
    """
    if has_llguidance and not constraint.triggers:
        return {"grammar": lark.write(constraint.grammar)}
    body: dict[str, object] = {"grammar": gbnf.write(constraint.grammar)}
    if constraint.triggers:
        body["grammar_lazy"] = True
        body["grammar_triggers"] = [
            {"type": _TRIGGERS[trigger.kind], "value": trigger.value} for trigger in constraint.triggers
        ]
    return body


_TRIGGERS = {"word": 1, "pattern": 2}


class _Timings(msgspec.Struct, gc=False):
    cache_n: int = 0


class _Event(msgspec.Struct, gc=False):
    content: str = ""
    stop: bool = False
    model: str = ""
    stop_type: str = ""
    stopping_word: str = ""
    tokens_predicted: int = 0
    tokens_evaluated: int = 0
    timings: _Timings | None = None
    completion_probabilities: list[dict[str, Any]] | None = None
    prompt_progress: Any = None
    """After each batch of the prompt. A prompt of 10,000 tokens takes minutes on a CPU, in which no text arrives."""
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode

_REASONS: dict[str, StopReason] = {"limit": "length"}


def read_end(event: _Event) -> End:
    return End(
        reason=_REASONS.get(event.stop_type, "stop"),
        input_tokens=event.tokens_evaluated,
        output_tokens=event.tokens_predicted,
        cached_tokens=event.timings.cache_n if event.timings else 0,
        stop=event.stopping_word or None,
    )


def read_logprobs(event: _Event, top_n: int) -> tuple[JsonValue, ...]:
    """Convert llama-server's format to OpenAI's by dropping token ids. `top_n` alternatives were requested."""
    return tuple(
        _without_id(token) | {"top_logprobs": [_without_id(other) for other in token.get("top_logprobs", ())[:top_n]]}
        for token in event.completion_probabilities or ()
    )


def _without_id(token: dict[str, Any]) -> dict[str, JsonValue]:
    return {name: token.get(name) for name in ("token", "logprob", "bytes")}
