"""`llm`: a text of a model, or a value that fits `output_schema`. A text that is the answer is heard while it comes."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping

import jsonschema_rs

from rightseat.core.closing import closing
from rightseat.core.events import AnswerEnded, Custom, Event, TextDelta
from rightseat.core.folding import Fold
from rightseat.core.framing import frame
from rightseat.core.json_schema import PATTERNS, check_schema
from rightseat.core.observing import begin
from rightseat.core.text import truncate
from rightseat.core.values import JsonValue
from rightseat.plugins import prompting
from rightseat.plugins.call_types import RAW, TEXT, CallType, Plain
from rightseat.plugins.definition import Retry
from rightseat.plugins.flows import attempting, telling
from rightseat.plugins.flows.calls import contexts
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import Outcome, added, plain
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
from rightseat.plugins.results import Problem, Result, StepFailed, Usage
from rightseat.plugins.speaking import Wanted

OUTCOME = "flow.outcome"
"""The last event of what is heard, which goes no further than the flow: what became of the step."""

SYSTEM = "You are a helpful assistant. Answer in the language of the question (the user's language is {language})."
USER = """{question}

Data:
{data}

What happened so far:
{context}

The time is {time}."""


async def perform(turn: Turn) -> Result:
    turn, spent = await contexts.settled(turn, *prompts_of(turn))
    wanted = written(turn)
    said = await turn.means.voice.say(wanted)
    usage = added(spent, said.usage)
    if wanted.schema is None:
        return made(said.text, wanted, usage)
    try:
        value = said.value()
        jsonschema_rs.validate(dict(wanted.schema), value, pattern_options=PATTERNS, offline=True)
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise StepFailed("llm_failed", f"What the model said does not fit the schema of {turn.name}.") from error
    return Result(value, "a value from the model", usage=usage, record=prompt_record(wanted))


async def hear(turn: Turn, retry: Retry) -> AsyncIterator[Event]:
    """The text as it is written, and last what became of the step. It raises nothing but a cancel."""
    began = time.monotonic()
    problem: Problem | None = None
    span = begin("step", turn.name, flow=turn.flow.name, plugin=turn.plugin.id)
    for number in range(retry.times + 1):
        pieces: list[str] = []
        fold = Fold()
        try:
            deadline = asyncio.get_running_loop().time() + turn.limit
            async with asyncio.timeout_at(deadline):
                turn, spent = await contexts.settled(turn, *prompts_of(turn))
            wanted, usage = written(turn), spent
            async with closing(frame(turn.means.voice.stream(wanted))) as events:
                async for event in attempting.until(deadline, events):
                    fold.add(event)
                    if isinstance(event, TextDelta):
                        pieces.append(event.text)
                    if isinstance(event, AnswerEnded) and event.usage:
                        usage = added(spent, Usage(event.usage.input_tokens, event.usage.output_tokens))
                    yield event
        except Exception as error:
            problem = telling.redacted_problem(attempting.read(turn, error), turn.means.redactor)
        else:
            result = attempting.timed(made("".join(pieces), wanted, usage), began)
            span.end()
            yield kept(Outcome(telling.redacted(result, turn.means.redactor)))
            return
        for ending in tuple(fold.endings()):  # of a text that was cut off by the clock
            yield ending
        if number < retry.times and attempting.is_worth_it(problem, retry):
            await turn.means.sleep(attempting.pause(problem, retry, number))
        else:
            break
    span.end(problem.code if problem else None)
    yield kept(Outcome(problem=problem))


def kept(outcome: Outcome) -> Custom:
    return Custom(OUTCOME, plain(outcome))


def written(turn: Turn) -> Wanted:
    params = turn.params
    system, user = prompts_of(turn)
    prompts = prompting.write(system, user, turn.scene, raw=params.get("raw") is True)
    schema = params.get("output_schema")
    return Wanted(
        turn.name,
        prompts.system,
        prompts.user,
        schema if isinstance(schema, Mapping) else None,
        number(params.get("temperature")),
        count(params.get("max_tokens")),
        turn.text("model") or None,
    )


def prompts_of(turn: Turn) -> tuple[str, str]:
    """The templates of the author, or ours."""
    system = turn.text("system_prompt") or SYSTEM.replace("{language}", turn.scene.language)
    return system, turn.text("user_prompt") or USER


def number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def made(text: str, wanted: Wanted, usage: Usage) -> Result:
    return Result(text, truncate(text, 200), usage=usage, record=prompt_record(wanted))


def prompt_record(wanted: Wanted) -> dict[str, JsonValue]:
    return {"system": telling.shortened(wanted.system)[0], "user": telling.shortened(wanted.user)[0]}


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    for key in ("system_prompt", "user_prompt", "model"):
        fields.text(key)
    fields.number("temperature", 0, 2)
    fields.number("max_tokens", 1, 1_000_000, whole=True)
    schema = fields.mapping("output_schema")
    if schema is not None:
        try:
            check_schema(schema.value)
        except (ValueError, RecursionError) as error:
            said = getattr(error, "message", str(error))
            fields.wrong(schema, f"`output_schema` is no JSON Schema: {said[:300]}.")


TEMPLATE = {**TEXT, "description": "A template: {question}, {data}, {context} …"}
CALL = CallType(
    runner=Plain(perform),
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
