"""Any events, any directives: what a client puts together out of pieces is what it would get at once.

The documents are made up too, and graphql-core has the last word on what is selected.
"""

import json
from collections.abc import Sequence
from typing import Any

from graphql import build_schema, execute_sync, parse
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.events import (
    Custom,
    Event,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.faces.copilotkit.graphql.arguments import read_arguments
from rightseat.faces.copilotkit.graphql.body_encoder import GraphQLBodyEncoder
from rightseat.faces.copilotkit.graphql.documents import Document, Documents
from rightseat.faces.copilotkit.graphql.encoder import PatchEncoder, Shape
from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.testing import check_order
from tests.faces.copilotkit import recorded, urql
from tests.profiles import examples

DATA = recorded.request("no-thread-id")["variables"]["data"]
VARIABLES = {"yes": True, "no": False}
THEIRS = build_schema((recorded.FOLDER / "schema.graphql").read_text())
EVERYTHING = """
    __typename threadId runId extensions { __typename } metaEvents { type }
    status { __typename ... on BaseResponseStatus { code } ... on FailedResponseStatus { reason details } }
    messages {
        __typename id createdAt
        status {
            __typename
            ... on SuccessMessageStatus { code }
            ... on PendingMessageStatus { code }
            ... on FailedMessageStatus { code reason }
        }
        ... on TextMessageOutput { content role parentMessageId }
        ... on ActionExecutionMessageOutput { name arguments parentMessageId scope }
        ... on ResultMessageOutput { result actionExecutionId actionName }
        ... on AgentStateMessageOutput { threadId runId agentName nodeName state running active role }
    }
"""

# Events

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
ENDS: list[Event] = [
    RunFinished("done"),
    RunFinished("waiting"),
    RunFinished("cancelled"),
    RunFailed("model_refused", "No."),
]

OTHERS: list[list[Event]] = [
    [StateReplaced(None)],
    [StateReplaced({"a": 1})],
    [StateReplaced({}), StepStarted("n")],
    [Custom("acme.mood", "good")],
]


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    """A run that keeps the rules of `core.events`: several texts, thoughts and calls may be open at once."""
    events: list[Event] = [RunStarted("run_1", "thread_1", "default")]
    open_ids: dict[str, str] = {}
    ended_calls: list[str] = []
    for number in range(draw(st.integers(0, 25))):
        match draw(st.sampled_from(["start", "delta", "delta", "delta", "end", "return", "other"])):
            case "start":
                kind, id = draw(st.sampled_from(["text", "call", "thought"])), f"id{number}"
                open_ids[id] = kind
                events.append(start(kind, id))
            case "delta" if open_ids:
                id = draw(st.sampled_from(sorted(open_ids)))
                events.append(delta(open_ids[id], id, draw(TEXTS)))
            case "end" if open_ids:
                id = draw(st.sampled_from(sorted(open_ids)))
                ended_calls += [id] if open_ids[id] == "call" else []
                events.append(end(open_ids.pop(id), id, draw(st.booleans())))
            case "return" if ended_calls:
                error = draw(st.sampled_from([None, "tool_failed", "invalid_arguments"]))
                events.append(ToolCallReturned(ended_calls.pop(), "f", draw(TEXTS), error))
            case "other":
                events += draw(st.sampled_from(OTHERS))
            case _:
                pass  # there is nothing to go on with
    events += [StepEnded("n") for event in events if isinstance(event, StepStarted)]
    events += [end(kind, id, whole=False) for id, kind in open_ids.items()]
    return [*events, draw(st.sampled_from(ENDS))]


def start(kind: str, id: str) -> Event:
    match kind:
        case "text":
            return TextStarted(id)
        case "call":
            return ToolCallStarted(id, "f", None)
        case _:
            return ReasoningStarted(id)


def delta(kind: str, id: str, text: str) -> Event:
    match kind:
        case "text":
            return TextDelta(id, text)
        case "call":
            return ToolCallDelta(id, text)
        case _:
            return ReasoningDelta(id, text)


def end(kind: str, id: str, whole: bool) -> Event:
    match kind:
        case "text":
            return TextEnded(id, whole)
        case "call":
            return ToolCallEnded(id, whole)
        case _:
            return ReasoningEnded(id, whole)


# Documents

OFF = ["", "@{}(if: false)", "@{}(if: $no)"]
STREAM = st.sampled_from([text.format("stream") for text in (*OFF, *["@{}", "@{}(if: $yes)", "@{}(if: true)"] * 3)])
DEFER = st.sampled_from([text.format("defer") for text in (*OFF, *["@{}", "@{}(if: $yes)", "@{}(if: true)"] * 3)])
IF = st.sampled_from(["", "", "", "", "@include(if: $yes)", "@skip(if: $no)", "@skip(if: $yes)", "@include(if: false)"])
MESSAGE_STATUS = ["__typename", "... on SuccessMessageStatus { code }", "... on FailedMessageStatus { code reason }"]
RESPONSE_STATUS = ["__typename", "... on BaseResponseStatus { code }", "... on FailedResponseStatus { reason }"]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Something like the clients' own document: fields left out or selected twice, directives switched on and off."""
    late = some(fragment(field("status", MESSAGE_STATUS), ["BaseMessageOutput"], DEFER))
    early = some(fragment(st.sampled_from(["id", "__typename", "kind: __typename"]), ["BaseMessageOutput"], IF))
    texts = growing("content", "TextMessageOutput")
    calls = growing("arguments", "ActionExecutionMessageOutput")
    others = some(
        st.sampled_from(["... on ResultMessageOutput { result }", "... on AgentStateMessageOutput { state }"])
    )
    message = draw(mixed(late, early, texts, calls, others))
    messages = growing("messages", "CopilotResponse", f"{{ __typename {message} }}")
    outcome = some(fragment(field("status", RESPONSE_STATUS), ["CopilotResponse"], DEFER))
    beside = some(fragment(st.sampled_from(["threadId", "runId", "metaEvents { type }"]), ["CopilotResponse"], DEFER))
    return mutation(draw(mixed(messages, outcome, beside)))


def some(of: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Mostly one, sometimes none or two."""
    return st.sampled_from([0, *[1] * 6, 2]).flatmap(
        lambda size: st.lists(of, min_size=size, max_size=size, unique=True)
    )


def field(name: str, below: Sequence[str]) -> st.SearchStrategy[str]:
    """A field under its own name or another, with something of what is below it."""
    inside = st.lists(st.sampled_from(below), min_size=1, max_size=3)
    return st.tuples(st.sampled_from([name, name, f"{name}2: {name}"]), IF, inside).map(
        lambda one: f"{one[0]} {one[1]} {{ {' '.join(one[2])} }}"
    )


def fragment(
    inside: st.SearchStrategy[str], on: Sequence[str], directive: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    condition = st.sampled_from(["", *(f"on {type_}" for type_ in on)])
    return st.tuples(condition, directive, inside).map(lambda one: f"... {one[0]} {one[1]} {{ {one[2]} }}")


@st.composite
def growing(draw: st.DrawFn, name: str, of_type: str, below: str = "") -> list[str]:
    """A list, rarely put off. Of one that is streamed, no two selections may have the same name."""
    names = draw(some(st.sampled_from([name, name, f"all_{name}: {name}"])))
    rarely = st.sampled_from(["", "", "", "", "", "@defer"])
    return [f"... on {of_type} {draw(rarely)} {{ {named} {draw(STREAM)} {draw(IF)} {below} }}" for named in names]


@st.composite
def mixed(draw: st.DrawFn, *lists: st.SearchStrategy[list[str]]) -> str:
    together = [one for found in lists for one in draw(found)]
    return " ".join(draw(st.permutations(together or ["__typename"])))


def mutation(response: str) -> str:
    used = "".join(f", ${name}: Boolean!" for name in VARIABLES if f"${name}" in response)
    return (
        f"mutation M($data: GenerateCopilotResponseInput!{used}) "
        f"{{ generateCopilotResponse(data: $data) {{ {response} }} }}"
    )


# Putting together


KNOWN = Documents()


def compiled(text: str) -> tuple[Document, Selection]:
    document = KNOWN.read(text, None)
    _, values = read_arguments(document, json.dumps({"data": DATA, **VARIABLES}).encode())
    return document, document.selection(values)


def whole(text: str, events: Sequence[Event]) -> Any:
    document, selection = compiled(text)
    one = GraphQLBodyEncoder(document.key, selection, "thread_1", "run_1", "default")
    one.feed(events)
    return json.loads(one.body())["data"]


def in_pieces(text: str, batches: Sequence[Sequence[Event]]) -> Any:
    """None where such a client would get one body."""
    document, selection = compiled(text)
    shape = Shape.of(document.key, selection)
    if shape is None:
        return None
    patches = PatchEncoder(shape, "thread_1", "run_1", "default")
    written = [patches.begin(), *(payload for batch in batches if (payload := patches.feed(batch)) is not None)]
    payloads = [json.loads(payload) for payload in written]
    assert [payload["hasNext"] for payload in payloads] == [True] * (len(payloads) - 1) + [False]
    return urql.merge(payloads)


def executed(text: str, events: Sequence[Event]) -> Any:
    """What graphql-core selects of all that there is to say. It has no `@defer` and no `@stream` in that schema."""
    everything = whole(mutation(EVERYTHING), events)
    for directive in ("@defer", "@stream"):
        for condition in ("(if: $yes)", "(if: $no)", "(if: true)", "(if: false)", ""):
            text = text.replace(f"{directive}{condition}", "")
    result = execute_sync(THEIRS, parse(text), everything, variable_values={"data": DATA, **VARIABLES})
    assert not result.errors
    return result.data


@st.composite
def batched(draw: st.DrawFn, events: Sequence[Event]) -> list[Sequence[Event]]:
    cuts = sorted(draw(st.sets(st.integers(1, len(events) - 1))))
    return [events[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]


@settings(max_examples=examples(1 / 3))  # each makes up a document as well
@given(events=runs(), text=documents(), data=st.data())
def test_pieces_put_together_are_the_whole(events: list[Event], text: str, data: st.DataObject) -> None:
    check_order(events)

    together = whole(text, events)

    assert together == executed(text, events)
    pieces = in_pieces(text, data.draw(batched(events)))
    assert pieces is None or pieces == together


@given(events=runs(), data=st.data())
def test_the_clients_own_document_is_always_answered_in_pieces(events: list[Event], data: st.DataObject) -> None:
    text = recorded.document().replace("        createdAt\n", "")  # which is never the same twice

    assert in_pieces(text, data.draw(batched(events))) == whole(text, events)
