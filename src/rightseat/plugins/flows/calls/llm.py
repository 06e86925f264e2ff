"""`llm`: calls a model for a text, or for a value that fits `output_schema`; the answer of a flow is streamed."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import jsonschema_rs

from rightseat.concurrency import aclosing
from rightseat.core.errors import LimitExceeded
from rightseat.core.events import Custom, Event, ModelResponseEnded, TextDelta
from rightseat.core.stream.framer import frame
from rightseat.core.stream.reducer import Reducer
from rightseat.core.tracing import SpanScope
from rightseat.core.types import JsonValue
from rightseat.json_schema import SchemaValidator, check_schema
from rightseat.plugins.call_types import RAW, TEXT, CallType, StepCall
from rightseat.plugins.definition import RetryPolicy
from rightseat.plugins.expressions import prompts
from rightseat.plugins.flows import events as flow_events
from rightseat.plugins.flows import retry
from rightseat.plugins.flows.calls import contexts
from rightseat.plugins.flows.checkpoint import StepOutcome, add_usage, to_json
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.model_calls import ModelRequest
from rightseat.plugins.results import SchemaMismatch, StepProblem, StepResult, StepUsage
from rightseat.text import truncate

OUTCOME = "flow.outcome"
"""The name of the last event of a stream, which carries the outcome of the step and does not leave the flow."""

SYSTEM = "You are a helpful assistant. Answer in the language of the question (the user's language is {language})."
USER = """{question}

Data:
{data}

What happened so far:
{context}

The time is {time}."""


async def perform(context: StepContext) -> StepResult:
    context, context_usage = await contexts.fit_context(context, *find_templates(context))
    request = build_request(context)
    response = await context.dependencies.model.call(request)
    usage = add_usage(context_usage, response.usage)
    if request.schema is None:
        return build_result(response.text, request, usage)
    try:
        value = response.value()
        if faults := SchemaValidator(dict(request.schema)).find_faults(value, 1):
            raise ValueError(faults[0])
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = f"The model's response does not fit the schema of {context.name}."
        raise SchemaMismatch("llm_failed", message) from error
    return StepResult(value, "a value from the model", usage=usage, record=record_prompts(request))


async def stream(context: StepContext, policy: RetryPolicy) -> AsyncIterator[Event]:
    """Yield the text as it is generated, then the outcome. Raises on cancellation, and if a limit refuses it."""
    started = time.monotonic()
    until = started + context.seconds_left
    redactor = context.dependencies.redactor
    problem: StepProblem | None = None
    span = context.span.start()
    scope = SpanScope(span)
    try:
        for number in range(policy.times + 1):
            attempt = CallAttempt(replace(context, timeout=min(context.timeout, until - time.monotonic())))
            try:
                async with aclosing(attempt.stream()) as events:
                    async for event in events:
                        yield event
            except LimitExceeded:
                raise  # the run ends: no later step could call a model
            except Exception as error:
                problem = flow_events.redact_problem(retry.to_problem(context, error), redactor)
            else:
                result = retry.add_duration(attempt.result(), started)
                yield outcome_event(StepOutcome(flow_events.redact_result(result, redactor)))
                return
            for ending in tuple(attempt.reducer.endings()):  # closes a message that the timeout cut off
                yield ending
            delay = retry.find_delay(problem, policy, number, until)
            if delay is None:
                break
            await context.dependencies.sleep(delay)
        if problem is not None:
            span.note(error=problem.code)
        yield outcome_event(StepOutcome(problem=problem, usage=retry.elapsed_since(started)))
    finally:
        scope.close()


class CallAttempt:
    """One streamed model call, and what it has received so far."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._request = ModelRequest(context.name, "", "")
        self._pieces: list[str] = []
        self._usage = StepUsage()
        self.reducer = Reducer()

    async def stream(self) -> AsyncIterator[Event]:
        deadline = asyncio.get_running_loop().time() + self._context.timeout
        async with asyncio.timeout_at(deadline):
            context, context_usage = await contexts.fit_context(self._context, *find_templates(self._context))
        self._request, self._usage = build_request(context), context_usage
        async with aclosing(frame(context.dependencies.model.stream(self._request))) as events:
            async for event in retry.read_until(deadline, events):
                self.reducer.add(event)
                if isinstance(event, TextDelta):
                    self._pieces.append(event.text)
                if isinstance(event, ModelResponseEnded) and event.usage:
                    usage = StepUsage(event.usage.input_tokens, event.usage.output_tokens)
                    self._usage = add_usage(context_usage, usage)
                yield event

    def result(self) -> StepResult:
        return build_result("".join(self._pieces), self._request, self._usage)


def outcome_event(outcome: StepOutcome) -> Custom:
    return Custom(OUTCOME, to_json(outcome))


def build_request(context: StepContext) -> ModelRequest:
    params = context.params
    filled = prompts.write(*find_templates(context), context.scope, raw=params.get("raw") is True)
    schema = params.get("output_schema")
    return ModelRequest(
        context.name,
        filled.system,
        filled.user,
        schema if isinstance(schema, Mapping) else None,
        float_or_none(params.get("temperature")),
        int_or_none(params.get("max_tokens")),
        context.text("model") or None,
        purpose="schema" if context.is_schema_retry else "answer",
    )


def find_templates(context: StepContext) -> tuple[str, str]:
    """The author's templates of the system and user prompt, or the defaults."""
    system = context.text("system_prompt") or SYSTEM.replace("{language}", context.scope.language)
    return system, context.text("user_prompt") or USER


def float_or_none(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def int_or_none(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def build_result(text: str, request: ModelRequest, usage: StepUsage) -> StepResult:
    return StepResult(text, truncate(text, 200), usage=usage, record=record_prompts(request))


def record_prompts(request: ModelRequest) -> dict[str, JsonValue]:
    return {
        "system": flow_events.shorten_output(request.system)[0],
        "user": flow_events.shorten_output(request.user)[0],
    }


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    for key in ("system_prompt", "user_prompt", "model"):
        fields.text(key)
    fields.number("temperature", 0, 2)
    fields.number("max_tokens", 1, 1_000_000, integer=True)
    schema = fields.mapping("output_schema")
    if schema is not None:
        try:
            check_schema(schema.value)
        except (ValueError, RecursionError) as error:
            message = getattr(error, "message", str(error))
            fields.report_error(schema, f"`output_schema` is not a JSON Schema: {message[:300]}.")


TEMPLATE = {**TEXT, "description": "A template: {question}, {data}, {context} …"}
CALL = CallType(
    runner=StepCall(perform),
    calls_models_only=True,
    summary="Asks a model. With `output_schema` the output is JSON. `model` is a role that the operator defines.",
    params={
        "system_prompt": TEMPLATE,
        "user_prompt": TEMPLATE,
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "max_tokens": {"type": "integer", "minimum": 1},
        "output_schema": {"type": "object", "description": "JSON Schema of the answer, which is read as JSON then."},
        "model": {**TEXT, "description": "One of the operator's models, by its role."},
        "raw": RAW,
    },
    check=check_params,
    timeout=120.0,
    has_templates=True,
    is_external=False,
)
