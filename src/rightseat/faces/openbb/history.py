"""The conversation as Workspace keeps it → messages for a model.

A function call and its result are the model's own calls and their results, as the signed state has them, or as they
can be told from the wire where the client lost it. The text between is free of Workspace's markers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rightseat.core.messages import Call, Image, Message, Result, Text
from rightseat.faces.openbb.asking import Called, Datum, Failure, Returned, Said
from rightseat.faces.openbb.calls import Catalogue
from rightseat.faces.openbb.files import Files, Shown
from rightseat.faces.openbb.markers import artifact_names, stripped
from rightseat.faces.openbb.results import fenced, show
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.sources import Source
from rightseat.faces.openbb.state import Made

NO_DATA = Failure("nothing came back for it.")
PICTURES = "The pictures that were read:"
"""What goes before pictures of a tool: no user has said it."""


@dataclass(slots=True)
class Reading:
    """One result: the calls that it is of, what came, and what the model is shown of it."""

    calls: tuple[Made, ...]
    datum: Datum
    source: Source | None
    shown: Shown | None = None


@dataclass(slots=True)
class Exchange:
    """A request to the client and its answer, with what the model had called for."""

    calls: tuple[Made, ...]
    before: tuple[Message, ...]
    readings: list[Reading]


async def write(session: Session) -> tuple[Message, ...]:
    exchanges = dict(exchanges_in(session))
    readings = [reading for exchange in exchanges.values() for reading in exchange.readings]
    await show_all(readings, session.files)
    messages: list[Message] = []
    known: set[str] = set()  # calls that stand there already: one answer's may have gone out in several requests
    for place, entry in enumerate(session.query.messages):
        if isinstance(entry, Said):
            messages += write_said(entry, session)
        elif isinstance(entry, Returned):
            messages += write_exchange(exchanges[place], known)
    return tuple(messages)


async def show_all(readings: Sequence[Reading], files: Files) -> None:
    """The newest first: where there is not room for all, it is the old that is cut."""
    for reading in reversed(readings):
        source = reading.source or Source(kind="direct retrieval", name="result", citable=False)
        reading.shown = await show(reading.datum, source, files)


def exchanges_in(session: Session) -> Iterator[tuple[int, Exchange]]:
    called: Called | None = None
    question = session.query.question
    for place, entry in enumerate(session.query.messages):
        if isinstance(entry, Returned):
            yield place, read_exchange(place, entry, called, session, place > question)
        called = entry if isinstance(entry, Called) else None


def read_exchange(place: int, entry: Returned, called: Called | None, session: Session, fresh: bool) -> Exchange:
    arguments = entry.arguments or (called.arguments if called else {})
    if (state := session.states.get(place)) is not None:
        known = {call.id: call for call in state.calls}
        groups = [tuple(known[id] for id in ids if id in known) for ids in state.now]
        calls, before = state.calls, state.before
    else:
        calls, before = tuple(session.catalogue.read_back(entry.function, arguments, f"call_{place}")), ()
        groups = [(call,) for call in calls]
    sources = list(sources_of(entry.function, arguments, len(groups), session, fresh))
    readings = []
    for number, group in enumerate(groups):
        datum = entry.data[number] if number < len(entry.data) else NO_DATA
        readings.append(Reading(group, datum, sources[number]))
    return Exchange(calls, before, readings)


def sources_of(function: str, arguments: object, count: int, session: Session, fresh: bool) -> Iterator[Source | None]:
    """What was read, where it was a widget: that may be cited."""
    given = arguments if isinstance(arguments, dict) else {}
    listed = given.get("data_sources")
    wanted = [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else [given]
    for number in range(count):
        one = wanted[number] if number < len(wanted) else {}
        is_read = function in ("get_widget_data", "get_extra_widget_data")
        yield session.add(source_of(one, session.catalogue, fresh)) if is_read else None


def source_of(wanted: dict[str, object], catalogue: Catalogue, fresh: bool) -> Source:
    uuid, origin, id = (str(wanted.get(key) or "") for key in ("widget_uuid", "origin", "id"))
    widget = catalogue.widget(uuid, origin, id)
    arguments = wanted.get("input_args")
    split = [param.name for param in widget.params if param.raw.get("split_param_on_citation")] if widget else []
    return Source(
        kind="widget",
        name=widget.name if widget else id or "Widget",
        uuid=uuid or None,
        origin=widget.origin if widget else origin,
        widget_id=widget.widget_id if widget else id,
        description=(widget.description or None) if widget else None,
        arguments=arguments if isinstance(arguments, dict) else {},
        split=split[0] if split else None,
        fresh=fresh,
    )


def write_said(entry: Said, session: Session) -> Iterator[Message]:
    if entry.human:
        yield Message("user", (Text(entry.text),))
        return
    if "<|" in entry.text:
        session.names += artifact_names(entry.text)
    if text := stripped(entry.text) if "<|" in entry.text else entry.text:
        yield Message("assistant", (Text(text),))


def write_exchange(exchange: Exchange, known: set[str]) -> Iterator[Message]:
    yield from exchange.before
    if calls := [one for one in exchange.calls if one.id not in known]:
        known.update(one.id for one in calls)
        yield Message("assistant", tuple(Call(one.id, one.name, one.arguments or "{}") for one in calls))
    images: list[Image] = []
    for reading in exchange.readings:
        shown = reading.shown or Shown("")
        for call in reading.calls:
            yield Message("tool", (Result(call.id, call.name, labelled(shown, reading.source), shown.error),))
        images += shown.images
    if images:
        yield Message("user", (Text(PICTURES), *images))


def labelled(shown: Shown, source: Source | None) -> str:
    """The model calls a source by its label."""
    if source is None or shown.error:
        return shown.text
    return f"Source [{source.label}]: {source.name}\n{fenced(shown.text)}"
