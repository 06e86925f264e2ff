"""Converts the conversation of Workspace into messages for a model.

Function calls and results become the model's own tool calls and results: from the signed state, or reconstructed from
the request if the client lost the state. Workspace's markers are removed from the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rightseat.core.messages import Call, Image, Message, Result, Text
from rightseat.faces.openbb.citations.markers import artifact_names, strip_markers
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.prompt.files import RenderedData, RequestFiles
from rightseat.faces.openbb.prompt.results import fence, render
from rightseat.faces.openbb.request.state import CarriedCall
from rightseat.faces.openbb.request.types import DataFailure, Datum, FunctionCall, FunctionResult, TextMessage
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.catalog import FunctionCatalog

NO_DATA = DataFailure("the client returned no data for it.")
IMAGES_NOTE = "The pictures that were read:"
"""Text before images of a tool result, since the user did not send them."""


@dataclass(slots=True)
class ResultView:
    """One result: its tool calls, its data and the rendered data."""

    calls: tuple[CarriedCall, ...]
    datum: Datum
    source: CitationSource | None
    rendered: RenderedData | None = None


@dataclass(slots=True)
class FunctionExchange:
    """A function call and its results, with the tool calls of the model."""

    calls: tuple[CarriedCall, ...]
    earlier_messages: tuple[Message, ...]
    results: list[ResultView]


async def write_messages(session: Session) -> tuple[Message, ...]:
    exchanges = dict(read_exchanges(session))
    results = [result for exchange in exchanges.values() for result in exchange.results]
    await render_all(results, session.files)
    messages: list[Message] = []
    written_ids: set[str] = set()  # calls already written: those of one response may span several requests
    for place, entry in enumerate(session.query.messages):
        if isinstance(entry, TextMessage):
            messages += write_text_message(entry, session)
        elif isinstance(entry, FunctionResult):
            messages += write_exchange(exchanges[place], written_ids)
    return tuple(messages)


async def render_all(results: Sequence[ResultView], files: RequestFiles) -> None:
    """Newest first, so that old results are truncated if the budget is too small."""
    for result in reversed(results):
        source = result.source or CitationSource(kind="direct retrieval", name="result", citable=False)
        result.rendered = await render(result.datum, source, files)


def read_exchanges(session: Session) -> Iterator[tuple[int, FunctionExchange]]:
    called: FunctionCall | None = None
    question_index = session.query.question_index
    for place, entry in enumerate(session.query.messages):
        if isinstance(entry, FunctionResult):
            yield place, read_exchange(place, entry, called, session, place > question_index)
        called = entry if isinstance(entry, FunctionCall) else None


def read_exchange(
    place: int, entry: FunctionResult, called: FunctionCall | None, session: Session, is_fresh: bool
) -> FunctionExchange:
    arguments = entry.arguments or (called.arguments if called else {})
    if (state := session.states.get(place)) is not None:
        written_ids = {call.id: call for call in state.calls}
        groups = [tuple(written_ids[id] for id in ids if id in written_ids) for ids in state.current]
        calls, earlier_messages = state.calls, state.earlier_messages
    else:
        calls, earlier_messages = (
            tuple(session.catalog.reconstruct_calls(entry.function, arguments, f"call_{place}")),
            (),
        )
        groups = [(call,) for call in calls]
    sources = list(sources_of(entry.function, arguments, len(groups), session, is_fresh))
    results = []
    for number, group in enumerate(groups):
        datum = entry.data[number] if number < len(entry.data) else NO_DATA
        results.append(ResultView(group, datum, sources[number]))
    return FunctionExchange(calls, earlier_messages, results)


def sources_of(
    function: str, arguments: object, count: int, session: Session, is_fresh: bool
) -> Iterator[CitationSource | None]:
    """The sources of results that came from widgets; only these may be cited."""
    call_arguments = arguments if isinstance(arguments, dict) else {}
    listed = call_arguments.get("data_sources")
    sources = (
        [source if isinstance(source, dict) else {} for source in listed]
        if isinstance(listed, list)
        else [call_arguments]
    )
    for number in range(count):
        source = sources[number] if number < len(sources) else {}
        is_read = function in ("get_widget_data", "get_extra_widget_data")
        yield session.add_source(source_of(source, session.catalog, is_fresh)) if is_read else None


def source_of(source: dict[str, object], catalog: FunctionCatalog, is_fresh: bool) -> CitationSource:
    uuid, origin, id = (str(source.get(key) or "") for key in ("widget_uuid", "origin", "id"))
    widget = catalog.widget(uuid, origin, id)
    arguments = source.get("input_args")
    split_params = [param.name for param in widget.params if param.raw.get("split_param_on_citation")] if widget else []
    return CitationSource(
        kind="widget",
        name=widget.name if widget else id or "Widget",
        uuid=uuid or None,
        origin=widget.origin if widget else origin,
        widget_id=widget.widget_id if widget else id,
        description=(widget.description or None) if widget else None,
        arguments=arguments if isinstance(arguments, dict) else {},
        split_param=split_params[0] if split_params else None,
        is_fresh=is_fresh,
    )


def write_text_message(entry: TextMessage, session: Session) -> Iterator[Message]:
    if entry.is_user:
        yield Message("user", (Text(entry.text),))
        return
    if "<|" in entry.text:
        session.artifact_names += artifact_names(entry.text)
    if text := strip_markers(entry.text) if "<|" in entry.text else entry.text:
        yield Message("assistant", (Text(text),))


def write_exchange(exchange: FunctionExchange, written_ids: set[str]) -> Iterator[Message]:
    yield from exchange.earlier_messages
    if calls := [one for one in exchange.calls if one.id not in written_ids]:
        written_ids.update(one.id for one in calls)
        yield Message("assistant", tuple(Call(one.id, one.name, one.arguments or "{}") for one in calls))
    images: list[Image] = []
    for result in exchange.results:
        rendered = result.rendered or RenderedData("")
        for call in result.calls:
            yield Message("tool", (Result(call.id, call.name, with_label(rendered, result.source), rendered.error),))
        images += rendered.images
    if images:
        yield Message("user", (Text(IMAGES_NOTE), *images))


def with_label(rendered: RenderedData, source: CitationSource | None) -> str:
    """Add the label by which the model cites the source."""
    if source is None or rendered.error:
        return rendered.text
    return f"Source [{source.label}]: {source.name}\n{fence(rendered.text)}"
