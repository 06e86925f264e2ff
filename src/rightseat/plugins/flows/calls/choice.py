"""`choice`: which step comes next. Conditions decide where they can, a model where they cannot."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rightseat.core.values import JsonValue
from rightseat.parts import hint
from rightseat.plugins import conditions, prompting
from rightseat.plugins.call_types import RAW, TEXT, CallType, Plain
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.calls import contexts
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import added
from rightseat.plugins.loading.fields import Fields, kind
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
from rightseat.plugins.results import Result, StepFailed, Usage
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Said, Wanted

ATTEMPTS = 2
FEWEST, MOST = 2, 20  # choices of a step
VOTES = (1, 3, 5)

SYSTEM = 'Decide which of the choices fits. Reply with its name alone, as JSON: {"step": "…"}'
USER = """{question}

Data:
{data}

What happened so far:
{context}"""


@dataclass(frozen=True, slots=True)
class Choice:
    step: str
    description: str
    when: str | None


async def perform(turn: Turn) -> Result:
    choices = list(read_choices(turn.params.get("choices")))
    names = names_of(turn.scene)
    for choice in choices:
        if choice.when is not None and is_true(choice.when, names):
            return Result(message=f"went on with {choice.step}: {choice.when}", next=choice.step)
    rest = [choice for choice in choices if choice.when is None]
    if not rest:
        return fallen_back(turn, "None of the conditions holds.", Usage())
    if len({choice.step for choice in rest}) == 1:
        return Result(message=f"went on with {rest[0].step}, the only choice left", next=rest[0].step)
    return await decided(turn, rest)


def read_choices(value: JsonValue) -> Iterator[Choice]:
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict):
            when = one.get("when")
            yield Choice(str(one.get("step")), str(one.get("description", "")), None if when is None else str(when))


def names_of(scene: Scene) -> dict[str, JsonValue]:
    """What a condition can see."""
    steps: dict[str, JsonValue] = {
        name: {"output": result.output, "message": result.message} for name, result in scene.steps.items()
    }
    return {
        "data": scene.data,
        "steps": steps,
        "question": scene.question,
        "files": [file.name for file in scene.files],
    }


def is_true(when: str, names: dict[str, JsonValue]) -> bool:
    try:
        return conditions.holds(conditions.parse(when), names)
    except conditions.BadCondition as error:
        raise StepFailed("choice_failed", f"The condition {when!r} cannot be read: {error}") from error


async def decided(turn: Turn, choices: Sequence[Choice]) -> Result:
    given = turn.params.get("votes", 1)
    votes = given if isinstance(given, int) and given in (3, 5) else 1
    turn, usage = await contexts.settled(turn, USER)
    wanted = asked(turn, choices)
    votings = await asyncio.gather(*(vote(turn, wanted, choices) for _ in range(votes)))
    for _, spent in votings:
        usage = added(usage, spent)
    counts = Counter(name for name, _ in votings if name is not None)
    if not counts:
        return fallen_back(turn, "The model named none of the choices.", usage)
    best = max(counts.values())
    name = next(choice.step for choice in choices if counts[choice.step] == best)
    record: dict[str, JsonValue] = {"votes": dict(counts)}
    return Result(message=f"went on with {name}, as the model decided", next=name, usage=usage, record=record)


def asked(turn: Turn, choices: Sequence[Choice]) -> Wanted:
    listed = "\n".join(f"- {choice.step}: {choice.description}" for choice in choices)
    task = f"{turn.text('instruction')}\n\n{listed}"
    prompts = prompting.write(SYSTEM, USER, turn.scene, beside=task)
    names: list[JsonValue] = list(dict.fromkeys(choice.step for choice in choices))
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"step": {"type": "string", "enum": names}},
        "required": ["step"],
        "additionalProperties": False,
    }
    return Wanted(turn.name, prompts.system, f"{task}\n\n{prompts.user}", schema)


async def vote(turn: Turn, wanted: Wanted, choices: Sequence[Choice]) -> tuple[str | None, Usage]:
    usage = Usage()
    for _ in range(ATTEMPTS):
        said = await turn.means.voice.say(wanted)
        usage = added(usage, said.usage)
        if name := named(said, choices):
            return name, usage
    return None, usage


def named(said: Said, choices: Sequence[Choice]) -> str | None:
    """The step that the model names, as JSON or plainly."""
    try:
        value = said.value()
    except ValueError:
        value = said.text
    name = value.get("step") if isinstance(value, dict) else value
    if not isinstance(name, str):
        return None
    return next((choice.step for choice in choices if choice.step == name.strip()), None)


def fallen_back(turn: Turn, why: str, usage: Usage) -> Result:
    default = turn.params.get("default")
    if not isinstance(default, str):
        raise StepFailed("choice_failed", f"The step {turn.name} could not choose. {why}")
    return Result(message=f"{why} Went on with {default}, the default.", next=default, usage=usage)


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    fields.text("instruction", required=True)
    fields.choice("votes", VOTES)
    choices = fields.sequence("choices", required=True)
    if choices is not None and not FEWEST <= len(choices.value) <= MOST:
        fields.wrong(choices, f"there are {len(choices.value)} choices; {FEWEST} to {MOST} are allowed.")
    for node in choices.elements() if choices else ():
        if not isinstance(node.value, dict):
            fields.wrong(node, f"a choice should be a mapping, not {kind(node.value)}.")
            continue
        inner = Fields(node, notes, "E407")
        inner.refuse_others("W303", ("step", "description", "when"))
        inner.text("description", required=True)
        check_target(inner, "step", name, around, notes, required=True)
        if when := inner.text("when"):
            try:
                conditions.parse(when)
            except conditions.BadCondition as error:
                notes.add("E408", node.get("when") or node, f"the condition cannot be read: {error}")
    check_target(fields, "default", name, around, notes)


def check_target(
    fields: Fields, key: str, name: str, around: Surroundings, notes: Notes, *, required: bool = False
) -> None:
    step = fields.text(key, required=required)
    node = fields.node.get(key)
    if not step or node is None:
        return
    if step == name:
        notes.add("E404", node, f"the choice leads to itself, {step!r}.")
    elif step not in around.steps:
        notes.add("E403", node, f"the choice leads to {step!r}, which is no step.{hint(step, around.steps)}")


def label(step: Step) -> str:
    return str(step.params.get("instruction", ""))


CALL = CallType(
    runner=Plain(perform),
    summary="Chooses the next step, by the conditions in `when` or by a model.",
    params={
        "instruction": {**TEXT, "description": "What is to be decided."},
        "choices": {
            "type": "array",
            "minItems": FEWEST,
            "maxItems": MOST,
            "items": {
                "type": "object",
                "required": ["step", "description"],
                "properties": {"step": TEXT, "description": TEXT, "when": TEXT},
                "additionalProperties": False,
            },
        },
        "votes": {"enum": list(VOTES)},
        "default": {**TEXT, "description": "The step that is taken where nothing can be decided."},
        "raw": RAW,
    },
    check=check_params,
    label=label,
    keeps_data=True,
    is_external=False,
)
