"""The plan of a response: what is known before its run starts. Its ask and its record are built from it.

The record needs the ask that was admitted, because a limit may choose another model and a busy thread another thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.messages import Message
from rightseat.core.types import JsonValue
from rightseat.faces.openai.responses.decoder import SEALED, ResponsesRequest, read_response_parameters
from rightseat.faces.openai.responses.input_items import DecodedInput, Item
from rightseat.faces.openai.responses.response_history import (
    ResponsePlace,
    prefer_client_results,
    write_instructions,
)
from rightseat.faces.openai.responses.response_record import AnsweredCall, ResponseRecord
from rightseat.faces.openai.responses.response_store import response_id


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """`input` are the items with their ids. `answers` reply to interrupts of earlier responses, and `answered` are the
    calls that these asked about."""

    request: ResponsesRequest
    place: ResponsePlace
    decoded: DecodedInput
    input: tuple[Item, ...]
    run_id: str
    created_at: int
    answers: tuple[Answer, ...] = ()
    answered: tuple[AnsweredCall, ...] = ()

    def build_ask(self, principal: Principal, headers: Mapping[str, str], max_turns: int | None) -> Ask:
        request, place, decoded = self.request, self.place, self.decoded
        body = request.body
        instructions = (write_instructions(body.instructions),) if body.instructions else ()
        new: list[Message] = decoded.messages[decoded.before_approvals :] if place.repeats_input else decoded.messages
        properties: dict[str, JsonValue] = {"user": body.user, "metadata": dict(body.metadata or {}) or None}
        return Ask(
            messages=(*instructions, *prefer_client_results((*place.messages, *new))),
            agent=request.model,
            thread_id=place.thread_id,
            run_id=self.run_id,
            principal=principal,
            tools=request.offers,
            parameters=read_response_parameters(request),
            properties={name: value for name, value in properties.items() if value is not None},
            headers=headers,
            answers=self.answers,
            face="openai",
            max_turns=max_turns,
            transient=not request.is_stored,
        )

    def build_record(self, ask: Ask) -> ResponseRecord:
        """The record of the response whose run received this ask."""
        request = self.request
        body, tools, reasoning = request.body, request.tools, request.body.reasoning
        return ResponseRecord(
            id=response_id(self.run_id),
            model=request.model,
            used_model=ask.downgrade.model if ask.downgrade else "",
            thread_id=ask.thread_id,
            start=self.place.start,
            created_at=self.created_at,
            previous_response_id=body.previous_response_id,
            conversation=request.conversation,
            background=bool(body.background),
            store=request.is_stored,
            instructions=body.instructions,
            metadata=body.metadata or {},
            offers=tools.offers,
            namespaces=tools.namespaces,
            tool_choice=tools.echo,
            parallel_tool_calls=body.parallel_tool_calls is not False,
            text=write_text_options(request),
            effort=reasoning.effort if reasoning else None,
            summary=(reasoning.summary or reasoning.generate_summary) if reasoning else None,
            temperature=body.temperature,
            top_p=body.top_p,
            top_logprobs=body.top_logprobs,
            max_output_tokens=body.max_output_tokens,
            is_sealed=request.includes(SEALED),
            user=body.user,
            input=self.input,
            answered=self.answered,
            warnings=tuple(request.warnings),
        )


def write_text_options(request: ResponsesRequest) -> dict[str, Any]:
    given = request.body.text.format if request.body.text else None
    if given is None or given.type != "json_schema":
        return {"format": {"type": given.type if given else "text"}}
    form = {"type": given.type, "name": given.name or "response", "schema": given.schema, "strict": given.strict}
    return {"format": form | ({"description": given.description} if given.description else {})}
