"""Texts at the end of a flow: the answer, composed by a model or ready, or an error message."""

from collections.abc import AsyncIterator

from rightseat.core.events import Event
from rightseat.core.model import Chunk, StopChunk, TextChunk
from rightseat.core.stream.framer import frame
from rightseat.plugins.definition import Flow, Step
from rightseat.plugins.expressions.templates import escape, format_value
from rightseat.plugins.flows.checkpoint import FlowCheckpoint
from rightseat.plugins.results import StepProblem

FAILURE_TEXTS = {
    "en": "Sorry, this couldn't be completed: {message}",
    "zh": "操作未能完成：{message}",
    "de": "Das konnte nicht ausgeführt werden: {message}",
    "fr": "L'opération n'a pas pu être effectuée : {message}",
    "es": "No se ha podido completar: {message}",
    "ja": "処理を完了できませんでした：{message}",
    "ko": "작업을 완료하지 못했습니다: {message}",
}
"""Sent if `on_error` fails too. The key is the primary subtag of the language."""

COMPOSE_SYSTEM = (
    "Answer the user's question from the data that was fetched for it, in the language of the question. "
    "Add nothing that the data does not say. What was done: "
)
COMPOSE_USER = """{question}

Data:
{data}

What happened:
{context}"""

EXPLAIN_SYSTEM = (
    "Something went wrong while the user's question was being worked on. Explain in two or three sentences what, "
    "in the language of the question, and what the user can do next. Do not guess at anything else."
)
EXPLAIN_USER = """{question}

The error:
{data}

What happened before:
{context}"""

EXPLAIN = Step("", "llm", {"system_prompt": EXPLAIN_SYSTEM, "user_prompt": EXPLAIN_USER})
"""Runs after an error if the flow has no `on_error`."""


def build_compose_step(flow: Flow) -> Step:
    """The step in which a model writes the answer from the data."""
    system = COMPOSE_SYSTEM + escape(flow.description)
    return Step("answer", "llm", {"system_prompt": system, "user_prompt": COMPOSE_USER})


def find_answer(flow: Flow, checkpoint: FlowCheckpoint) -> str | None:
    """The answer if no model has to write it: empty if it was already streamed, None if there is none yet."""
    if flow.answer == "none":
        return ""
    if flow.answer == "compose":
        return None
    name = checkpoint.data_from
    if name and checkpoint.answered_by == name:
        return ""
    result = checkpoint.results.get(name)
    if flow.answer == "last":
        return "" if result is None else (text_or_none(result.output) or result.message or format_value(result.output))
    if result is not None and checkpoint.calls.get(name) == "llm":
        return text_or_none(result.output)
    return None


def text_or_none(output: object) -> str | None:
    return output if isinstance(output, str) else None


def write_failure(problem: StepProblem, language: str) -> str:
    text = FAILURE_TEXTS.get(language.partition("-")[0].lower(), FAILURE_TEXTS["en"])
    return text.replace("{message}", problem.message)


async def stream_text(text: str) -> AsyncIterator[Event]:
    """Stream a finished text as one message."""

    async def chunks() -> AsyncIterator[Chunk]:
        yield TextChunk(text)
        yield StopChunk("stop")

    async for event in frame(chunks()):
        yield event
