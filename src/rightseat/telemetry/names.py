"""The names of things in traces, after OpenTelemetry's conventions for generative AI. Nowhere else.

The conventions are still in development. Where they change, this file does.
"""

from collections.abc import Iterator

from rightseat.core.observing import Attributes, Kind, Value

OPERATIONS: dict[Kind, str] = {"run": "invoke_agent", "model": "chat", "tool": "execute_tool", "step": "execute_step"}
SUBJECTS: dict[Kind, str] = {
    "run": "gen_ai.agent.name",
    "model": "gen_ai.request.model",
    "tool": "gen_ai.tool.name",
    "step": "rightseat.step.name",
}
KNOWN = {
    "call": "gen_ai.tool.call.id",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_written_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "thread": "gen_ai.conversation.id",
    "error": "error.type",
}


def title(kind: Kind, name: str) -> str:
    return f"{OPERATIONS[kind]} {name}"


def attributes(kind: Kind, name: str, said: Attributes) -> dict[str, Value | list[str]]:
    """Of a span, as it begins."""
    return {"gen_ai.operation.name": OPERATIONS[kind], SUBJECTS[kind]: name, **dict(noted(said))}


def noted(said: Attributes) -> Iterator[tuple[str, Value | list[str]]]:
    for name, value in said.items():
        if name == "reason":
            yield "gen_ai.response.finish_reasons", [str(value)]
        else:
            yield KNOWN.get(name, f"rightseat.{name}"), value
