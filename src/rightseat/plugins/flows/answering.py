"""What the user reads at the end of a flow."""

from collections.abc import AsyncIterator

from rightseat.core.events import Event
from rightseat.core.framing import frame
from rightseat.core.model import Chunk, StopChunk, TextChunk
from rightseat.plugins.definition import Flow, Step
from rightseat.plugins.flows.progress import Progress, last_producer
from rightseat.plugins.results import Problem
from rightseat.plugins.templates import escaped, written

FAILED = {
    "en": "This could not be done: {message}",
    "zh": "操作未能完成：{message}",
    "de": "Das konnte nicht ausgeführt werden: {message}",
    "fr": "L'opération n'a pas pu être effectuée : {message}",
    "es": "No se ha podido completar: {message}",
    "ja": "処理を完了できませんでした：{message}",
    "ko": "작업을 완료하지 못했습니다: {message}",
}
"""Said where nothing else could be. The languages are by the first part of their tags."""

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
"""What runs on an error where the author says nothing."""


def composing(flow: Flow) -> Step:
    """One call that words the answer, as a step."""
    system = COMPOSE_SYSTEM + escaped(flow.description)
    return Step("answer", "llm", {"system_prompt": system, "user_prompt": COMPOSE_USER})


def ready_text(flow: Flow, progress: Progress) -> str | None:
    """The answer, where no model has to be asked for it: empty if it was read already, None if there is none yet."""
    if flow.answer == "none":
        return ""
    if flow.answer == "compose":
        return None
    name = last_producer(progress)
    if name and progress.answered_by == name:
        return ""
    result = progress.results.get(name)
    if flow.answer == "last":
        return "" if result is None else (spoken(result.output) or result.message or written(result.output))
    if result is not None and progress.calls.get(name) == "llm":
        return spoken(result.output)
    return None


def spoken(output: object) -> str | None:
    return output if isinstance(output, str) else None


def failure_text(problem: Problem, language: str) -> str:
    text = FAILED.get(language.partition("-")[0].lower(), FAILED["en"])
    return text.replace("{message}", problem.message)


async def said(text: str) -> AsyncIterator[Event]:
    """A text that is there already, as a message."""

    async def chunks() -> AsyncIterator[Chunk]:
        yield TextChunk(text)
        yield StopChunk("stop")

    async for event in frame(chunks()):
        yield event
