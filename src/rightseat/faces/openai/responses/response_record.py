"""The record of a response: what the client asked for, from which the response object is written at any time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightseat.core.ask import ToolOffer
from rightseat.core.events import Usage
from rightseat.faces.openai.responses.input_items import Item

SERVER_LABEL = "rightseat"
"""The `server_label` of the agent's own tools."""


class AnsweredCall(msgspec.Struct, frozen=True):
    """A call of an earlier response that this response's request approved or denied."""

    call_id: str
    name: str
    arguments: str
    request_id: str


class ResponseRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`start` is the number of messages that the thread had before this response.

    `model` is the one that was asked for. `used_model` is set if a limit made another one answer: clients see that one.
    `offers` are the client's tools and `namespaces` their namespaces, if any. A deleted response keeps only its place
    in the thread.
    """

    id: str
    model: str = ""
    used_model: str = ""
    thread_id: str = ""
    start: int = 0
    created_at: int = 0
    is_deleted: bool = False
    previous_response_id: str | None = None
    conversation: str | None = None
    background: bool = False
    store: bool = True
    instructions: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    offers: tuple[ToolOffer, ...] = ()
    namespaces: Mapping[str, str] = msgspec.field(default_factory=dict)
    tool_choice: str | dict[str, Any] = "auto"
    parallel_tool_calls: bool = True
    text: dict[str, Any] = msgspec.field(default_factory=dict)
    effort: str | None = None
    summary: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    max_output_tokens: int | None = None
    is_sealed: bool = False
    user: str | None = None
    input: tuple[Item, ...] = ()
    answered: tuple[AnsweredCall, ...] = ()
    warnings: tuple[str, ...] = ()
    """About the request."""

    @property
    def run_id(self) -> str:
        return f"run_{self.suffix}"

    @property
    def suffix(self) -> str:
        """The random part of the id. The ids of its items contain it, so that the server finds them again."""
        return self.id.partition("_")[2]


def write_response(
    record: ResponseRecord,
    status: str,
    output: Sequence[Item],
    *,
    usage: Usage | None = None,
    error: Mapping[str, str] | None = None,
    incomplete: str | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The response object, with every field that the types of OpenAI's clients require."""
    response: dict[str, Any] = {
        "id": record.id,
        "object": "response",
        "created_at": record.created_at,
        "status": status,
        "background": record.background,
        "conversation": {"id": record.conversation} if record.conversation else None,
        "error": error,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "instructions": record.instructions,
        "max_output_tokens": record.max_output_tokens,
        "max_tool_calls": None,
        "metadata": record.metadata,
        "model": record.used_model or record.model,
        "output": list(output),
        "parallel_tool_calls": record.parallel_tool_calls,
        "previous_response_id": record.previous_response_id,
        "reasoning": {"effort": record.effort, "summary": record.summary},
        "service_tier": "default",
        "store": record.store,
        "temperature": 1.0 if record.temperature is None else record.temperature,
        "text": record.text or {"format": {"type": "text"}},
        "tool_choice": record.tool_choice,
        "tools": [write_offer(offer) for offer in record.offers],
        "top_logprobs": record.top_logprobs or 0,
        "top_p": 1.0 if record.top_p is None else record.top_p,
        "truncation": "disabled",
        "usage": write_usage(usage) if usage else None,
        "user": record.user,
    }
    return response | ({"warnings": list(warnings)} if warnings else {})


def write_offer(offer: ToolOffer) -> dict[str, Any]:
    return {
        "type": "function",
        "name": offer.name,
        "description": offer.description,
        "parameters": offer.parameters,
        "strict": bool(offer.strict),
    }


def write_usage(usage: Usage) -> dict[str, Any]:
    cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_written_tokens}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": cached,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
