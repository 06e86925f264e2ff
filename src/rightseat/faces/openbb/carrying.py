"""What goes from one request of a question to the next, by way of the browser: what it cost, what it was about."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rightseat.core.messages import Call, Message, Part, Result
from rightseat.faces.openbb.asking import Called, Query, Returned
from rightseat.faces.openbb.state import FalseState, Seal, State

LARGEST = 32_000
"""Characters of what tools said, or of skills, that a browser is asked to carry for us."""

LEFT_OUT = "[This result was too long to be kept. Call the tool again if you need it.]"


class Spent(NamedTuple):
    """How often the model was asked for a question by now, and how many function calls were made."""

    asked: int
    made: int


def read_states(query: Query, seal: Seal, agent: str) -> dict[int, State]:
    """The states that came back, by the place of their results.

    One of this question that is not ours is refused: `FalseState`. One of an older question is left aside: it may be
    another agent's, and what came with it is still of use.
    """
    found: dict[int, State] = {}
    for place, entry in enumerate(query.messages):
        if not isinstance(entry, Returned):
            continue
        try:
            state = seal.open(given_state(query, place, entry), agent)
        except FalseState:
            if place > query.question:
                raise
            continue
        if state is not None:
            found[place] = state
    return found


def given_state(query: Query, place: int, entry: Returned) -> Mapping[str, Any]:
    """With the result; or in the call before it, which an old client gives back as it came."""
    if entry.state or place == 0:
        return entry.state
    called = query.messages[place - 1]
    found = called.raw.get("extra_state") if isinstance(called, Called) else None
    return found if isinstance(found, dict) else {}


def spent_on(query: Query, states: Mapping[int, State]) -> Spent:
    """What the client sends counts too: a state may have been lost on the way."""
    if not isinstance(query.messages[-1], Returned):
        return Spent(0, 0)
    ours = of_the_question(query, states)
    returned = sum(isinstance(entry, Returned) for entry in query.since)
    made = max((state.made for state in ours), default=0)
    return Spent(max((state.asked for state in ours), default=returned), max(made, returned))


def of_the_question(query: Query, states: Mapping[int, State]) -> list[State]:
    return [state for place, state in states.items() if place > query.question]


def remembering(query: Query, states: Mapping[int, State]) -> Query:
    """The request with what Workspace sends only in the first one of a question."""
    known = of_the_question(query, states) if states else []
    if not known:
        return query
    return msgspec.structs.replace(
        query,
        timezone=query.timezone or known[-1].timezone,
        selected_skills=query.selected_skills or known[-1].skills,
    )


def bounded_skills(skills: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Of each only what is read, and none where they are too long."""
    found = tuple({key: skill[key] for key in ("slug", "contentMarkdown") if key in skill} for skill in skills)
    return found if len(msgspec.json.encode(found)) <= LARGEST else ()


def bounded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the server's own tools said; the oldest of it is left out where it is too long, and says so."""
    room = LARGEST
    kept: list[Message] = []
    for message in reversed(messages):
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Result):
                part = part if len(part.content) <= room else Result(part.call_id, part.name, LEFT_OUT, part.error)
                room -= len(part.content)
            elif isinstance(part, Call):
                room -= len(part.arguments)
            parts.append(part)
        kept.append(Message(message.role, tuple(parts), id=message.id))
    return tuple(reversed(kept))
