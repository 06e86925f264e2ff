"""`choice`: chooses the next step by conditions, or by a model if no condition decides."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rightseat.core.types import JsonValue
from rightseat.parts import hint
from rightseat.plugins.call_types import RAW, TEXT, CallType, StepCall
from rightseat.plugins.definition import Step
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.expressions import conditions, prompts
from rightseat.plugins.flows.calls import contexts
from rightseat.plugins.flows.checkpoint import add_usage
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields, describe_kind
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult, StepUsage
from rightseat.plugins.scope import Scope

MAX_ATTEMPTS = 2
MIN_CHOICES, MAX_CHOICES = 2, 20
VOTES = (1, 3, 5)

SYSTEM = 'Decide which of the choices fits. Reply with its name alone, as JSON: {"step": "…"}'
USER = """{question}

Data:
{data}

What happened so far:
{context}"""


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    step: str
    description: str
    when: str | None


async def perform(context: StepContext) -> StepResult:
    choices = list(read_choices(context.params.get("choices")))
    names = build_names(context.scope)
    for choice in choices:
        if choice.when is not None and is_true(choice.when, names):
            return StepResult(message=f"continued with {choice.step}: {choice.when}", next=choice.step)
    rest = [choice for choice in choices if choice.when is None]
    if not rest:
        return use_default(context, "None of the conditions is true.", StepUsage())
    if len({choice.step for choice in rest}) == 1:
        return StepResult(message=f"continued with {rest[0].step}, the only choice left", next=rest[0].step)
    return await ask_model(context, rest)


def read_choices(value: JsonValue) -> Iterator[ChoiceOption]:
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict):
            when = one.get("when")
            yield ChoiceOption(
                str(one.get("step")), str(one.get("description", "")), None if when is None else str(when)
            )


def build_names(scope: Scope) -> dict[str, JsonValue]:
    """The names that a condition can read."""
    steps: dict[str, JsonValue] = {
        name: {"output": result.output, "message": result.message} for name, result in scope.steps.items()
    }
    return {
        "data": scope.data,
        "steps": steps,
        "question": scope.question,
        "files": [file.name for file in scope.files],
    }


def is_true(when: str, names: dict[str, JsonValue]) -> bool:
    try:
        return conditions.evaluate(conditions.parse(when), names)
    except conditions.InvalidCondition as error:
        raise StepFailed("choice_failed", f"The condition {when!r} is invalid: {error}") from error


async def ask_model(context: StepContext, choices: Sequence[ChoiceOption]) -> StepResult:
    setting = context.params.get("votes", 1)
    votes = setting if isinstance(setting, int) and setting in (3, 5) else 1
    context, usage = await contexts.fit_context(context, USER)
    request = build_request(context, choices)
    replies = await asyncio.gather(*(vote(context, request, choices) for _ in range(votes)))
    for _, spent in replies:
        usage = add_usage(usage, spent)
    counts = Counter(name for name, _ in replies if name is not None)
    if not counts:
        return use_default(context, "The model named none of the choices.", usage)
    best = max(counts.values())
    name = next(choice.step for choice in choices if counts[choice.step] == best)
    record: dict[str, JsonValue] = {"votes": dict(counts)}
    return StepResult(message=f"continued with {name}, as the model decided", next=name, usage=usage, record=record)


def build_request(context: StepContext, choices: Sequence[ChoiceOption]) -> ModelRequest:
    listed = "\n".join(f"- {choice.step}: {choice.description}" for choice in choices)
    task = f"{context.text('instruction')}\n\n{listed}"
    filled = prompts.write(SYSTEM, USER, context.scope, extra_text=task)
    names: list[JsonValue] = list(dict.fromkeys(choice.step for choice in choices))
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"step": {"type": "string", "enum": names}},
        "required": ["step"],
        "additionalProperties": False,
    }
    return ModelRequest(context.name, filled.system, f"{task}\n\n{filled.user}", schema)


async def vote(
    context: StepContext, request: ModelRequest, choices: Sequence[ChoiceOption]
) -> tuple[str | None, StepUsage]:
    usage = StepUsage()
    for _ in range(MAX_ATTEMPTS):
        response = await context.dependencies.model.call(request)
        usage = add_usage(usage, response.usage)
        if name := read_choice(response, choices):
            return name, usage
        request = replace(request, purpose="schema")
    return None, usage


def read_choice(response: ModelResponse, choices: Sequence[ChoiceOption]) -> str | None:
    """The step that the model names, as JSON or as bare text."""
    try:
        value = response.value()
    except ValueError:
        value = response.text
    name = value.get("step") if isinstance(value, dict) else value
    if not isinstance(name, str):
        return None
    return next((choice.step for choice in choices if choice.step == name.strip()), None)


def use_default(context: StepContext, why: str, usage: StepUsage) -> StepResult:
    default = context.params.get("default")
    if not isinstance(default, str):
        raise StepFailed("choice_failed", f"The step {context.name} could not choose the next step. {why}")
    return StepResult(message=f"{why} Continued with {default}, the default.", next=default, usage=usage)


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    fields.text("instruction", required=True)
    fields.choice("votes", VOTES)
    choices = fields.sequence("choices", required=True)
    if choices is not None and not MIN_CHOICES <= len(choices.value) <= MAX_CHOICES:
        fields.report_error(
            choices, f"there are {len(choices.value)} choices; {MIN_CHOICES} to {MAX_CHOICES} are allowed."
        )
    for node in choices.elements() if choices else ():
        if not isinstance(node.value, dict):
            fields.report_error(node, f"a choice should be a mapping, not {describe_kind(node.value)}.")
            continue
        inner = Fields(node, report, "E407")
        inner.report_unknown_keys("W303", ("step", "description", "when"))
        inner.text("description", required=True)
        check_target(inner, "step", name, context, report, required=True)
        if when := inner.text("when"):
            try:
                conditions.parse(when)
            except conditions.InvalidCondition as error:
                report.add("E408", node.get("when") or node, f"the condition cannot be read: {error}")
    check_target(fields, "default", name, context, report)


def check_target(
    fields: Fields, key: str, name: str, context: LoadContext, report: DiagnosticReport, *, required: bool = False
) -> None:
    step = fields.text(key, required=required)
    node = fields.node.get(key)
    if not step or node is None:
        return
    if step == name:
        report.add("E404", node, f"the choice leads to itself, {step!r}.")
    elif step not in context.steps:
        message = f"the choice leads to {step!r}, which is no step.{hint(step, context.steps)}"
        report.add("E403", node, message, replacement=find_replacement(step, context.steps))


def label(step: Step) -> str:
    return str(step.params.get("instruction", ""))


CALL = CallType(
    runner=StepCall(perform),
    calls_models_only=True,
    summary="Chooses the next step, by the conditions in `when` or by a model.",
    params={
        "instruction": {**TEXT, "description": "What is to be decided."},
        "choices": {
            "type": "array",
            "minItems": MIN_CHOICES,
            "maxItems": MAX_CHOICES,
            "items": {
                "type": "object",
                "required": ["step", "description"],
                "properties": {"step": TEXT, "description": TEXT, "when": TEXT},
                "additionalProperties": False,
            },
        },
        "votes": {"enum": list(VOTES)},
        "default": {**TEXT, "description": "The next step if no choice fits."},
        "raw": RAW,
    },
    check=check_params,
    label=label,
    keeps_data=True,
    is_external=False,
)
