"""Names of spans and attributes in traces, after OpenTelemetry's semantic conventions for generative AI.

The conventions are still in development. When they change, only this file does.
"""

from collections.abc import Iterator

from rightseat.core.tracing import Attributes, AttributeValue, TraceKind

OPERATIONS: dict[TraceKind, str] = {
    "run": "invoke_agent",
    "model": "chat",
    "tool": "execute_tool",
    "step": "execute_step",
}
SUBJECTS: dict[TraceKind, str] = {
    "run": "gen_ai.agent.name",
    "model": "gen_ai.request.model",
    "tool": "gen_ai.tool.name",
    "step": "rightseat.step.name",
}
ATTRIBUTE_NAMES = {
    "call": "gen_ai.tool.call.id",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_written_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "thread": "gen_ai.conversation.id",
    "error": "error.type",
}
FIRST_CHUNK = "rightseat.first_chunk"
"""The event in the span of a model call at which its response begins."""


def span_name(kind: TraceKind, name: str) -> str:
    return f"{OPERATIONS[kind]} {name}"


def span_attributes(kind: TraceKind, name: str, attributes: Attributes) -> dict[str, AttributeValue | list[str]]:
    """The attributes of a span at its start."""
    return {"gen_ai.operation.name": OPERATIONS[kind], SUBJECTS[kind]: name, **dict(map_attributes(attributes))}


def map_attributes(attributes: Attributes) -> Iterator[tuple[str, AttributeValue | list[str]]]:
    for name, value in attributes.items():
        if name == "reason":
            yield "gen_ai.response.finish_reasons", [str(value)]
        else:
            yield ATTRIBUTE_NAMES.get(name, f"rightseat.{name}"), value
