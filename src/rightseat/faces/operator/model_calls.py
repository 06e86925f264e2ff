"""What the models of a run were sent, call by call."""

from collections.abc import Mapping, Sequence

import msgspec
from starlette.responses import Response

from rightseat.core.events import Usage
from rightseat.core.types import JsonValue
from rightseat.core.usage import ModelUsage
from rightseat.faces._shared.responses import json_response, read_number
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.limits.prices import Prices
from rightseat.operations.model_calls import SentMessage, SentTool, StoredCall
from rightseat.operations.service import Operations

MAX_CALLS = 200
decode_message = msgspec.json.Decoder(SentMessage).decode
decode_tool = msgspec.json.Decoder(SentTool).decode


class ModelCallLine(msgspec.Struct, frozen=True, kw_only=True):
    """`instructions` are the leading system messages, and `messages` the others, as keys of the page's `messages`;
    `tools` are keys of its `tools`. The same key is the same content. `omitted` says why the three are empty.

    `model` is the name under `models`, and `span` that of the call in the run's timeline: several calls have the same
    one if a fallback answers or a response is continued. Without `ended_at` the call is in progress, or its server was
    killed. `error` is the code of an error, or `cancelled`.
    """

    call: str
    at: str
    ended_at: str | None
    span: str | None
    agent: str
    purpose: str
    model: str
    provider_model: str
    instructions: Sequence[str]
    messages: Sequence[str]
    tools: Sequence[str]
    parameters: Mapping[str, JsonValue]
    usage: Usage | None
    cost: float | None
    error: str | None
    omitted: str | None


class ModelCallPage(msgspec.Struct, frozen=True, kw_only=True):
    """`is_on`: prompts of new runs are recorded. `next` is the `after` of the next page."""

    is_on: bool
    calls: Sequence[ModelCallLine]
    messages: Mapping[str, SentMessage]
    tools: Mapping[str, SentTool]
    currency: str
    next: str | None


class ModelCallRoutes:
    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def routes(self) -> Routes:
        return {("GET", "runs/{run}/calls"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        """Needs the right to read for the agent of the run."""
        query, operations = request.http.query_params, self._operations
        limit = min(read_number(query, "limit", MAX_CALLS), MAX_CALLS)
        page = await operations.list_model_calls(request.operator, request.id("run"), limit, query.get("after"))
        sent, contents = [call.sent for call in page.calls], page.contents
        messages = dict.fromkeys(hash for one in sent for hash in (*one.instructions, *one.messages))
        tools = dict.fromkeys(hash for one in sent for hash in one.tools)
        return json_response(
            ModelCallPage(
                is_on=operations.records_prompts,
                calls=[build_line(call, operations.prices) for call in page.calls],
                messages={hash: decode_message(contents[hash]) for hash in messages if hash in contents},
                tools={hash: decode_tool(contents[hash]) for hash in tools if hash in contents},
                currency=operations.prices.currency,
                next=page.next,
            )
        )


def build_line(call: StoredCall, prices: Prices) -> ModelCallLine:
    sent, end = call.sent, call.end
    usage = end.usage if end else None
    cost = prices.cost([ModelUsage(sent.model, 1, usage, sent.provider_model)])
    return ModelCallLine(
        **msgspec.structs.asdict(sent),
        ended_at=end.at if end else None,
        usage=usage,
        cost=cost,
        error=end.error if end else None,
    )
