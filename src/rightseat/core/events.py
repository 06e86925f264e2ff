"""The events of a run.

Events are written to the log in the order in which they happen and never change. Every run follows these rules:

1. `RunStarted` is the first event; `RunFinished` or `RunFailed` is the last.
2. Every start has an end: the deltas of a message come between its `TextStarted` and `TextEnded`, and likewise for
   reasoning and tool calls. An id belongs to one message, one reasoning or one call of the run. Steps also end, and may
   be nested. Several may be open at once, so readers match events by id, never by "the last one".
3. `ToolCallReturned` follows the `ToolCallEnded` of its call. The client has to run a call that never returns.
4. Messages that `MessagesReplaced` leaves out are retracted: they have ended before it, and no more events of them
   follow.
5. The runtime writes spans between the events of the agent, as soon as they start and end. A span may start and end
   anywhere between the first and the last event; only its `parent` starts before it.
"""

from typing import Literal, final

import msgspec

from rightseat.core.messages import Message
from rightseat.core.tracing import TraceKind
from rightseat.core.types import JsonValue


class AnsweredInterrupt(msgspec.Struct, frozen=True, gc=False):
    """A question that a person has answered. `by` is the id of that user."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    by: str


class DowngradedRun(msgspec.Struct, frozen=True, gc=False):
    """`model` answers instead of the agent's own model, because of `limit`."""

    model: str
    limit: str


@final
class RunStarted(msgspec.Struct, frozen=True, gc=False, tag=True, omit_defaults=True):
    """`new_messages` are the messages of the ask that the thread does not have yet; only the log has them.

    `client_run_id` is the client's id for the run. The client may reuse it, so it is not used for lookups. `began_at`
    is ISO 8601 in UTC: the times of spans count from it. `through` is the name of the face that received the ask.
    `answered` are the questions of earlier runs that this run answers. `truncated_at` is the first message of the
    thread that the ask removed, with all messages after it. `downgraded` is set if a limit makes another model answer.
    """

    run_id: str
    thread_id: str
    agent: str
    client_run_id: str | None = None
    new_messages: tuple[Message, ...] = ()
    began_at: str | None = None
    through: str | None = None
    answered: tuple[AnsweredInterrupt, ...] = ()
    truncated_at: str | None = None
    downgraded: DowngradedRun | None = None


@final
class TextStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str


@final
class TextDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    text: str


@final
class TextEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The text has ended. It is not `complete` if the run was stopped or the model failed in the middle of it."""

    message_id: str
    complete: bool = True


@final
class ReasoningStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The model starts reasoning text, which is not part of its response text."""

    message_id: str


@final
class ReasoningDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    text: str


@final
class ReasoningEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    complete: bool = True


@final
class ToolCallStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The model starts a tool call. `message_id` is the text message that the call belongs to, if any."""

    call_id: str
    name: str
    message_id: str | None = None


@final
class ToolCallDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The next part of the JSON text of a call's arguments."""

    call_id: str
    text: str


@final
class ToolCallEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    call_id: str
    complete: bool = True


@final
class ToolCallReturned(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A tool on the server returned its result, or failed with the code `error`.

    `message_id` is the agent's id for the message with the result, if that is not `result-<call_id>`.
    """

    call_id: str
    name: str
    content: str
    error: str | None = None
    message_id: str | None = None


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`input_tokens` includes the tokens that the provider read from its cache and those it wrote to it.

    `output_tokens` includes the `reasoning_tokens`.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    reasoning_tokens: int = 0


StopReason = Literal["stop", "tool_calls", "length", "filtered"]


@final
class ModelResponseEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A model response has ended: `length` if the token limit cut it off, `filtered` if the provider's filter did."""

    reason: StopReason
    usage: Usage | None = None


@final
class StepStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """An agent starts a named step, such as a node of a graph or a step of a flow."""

    name: str


@final
class StepEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    name: str


@final
class SpanStarted(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The run, a model call, a tool call or a step of a flow starts. The runtime writes spans; agents emit none.

    `at` is in milliseconds since the `began_at` of the run. `about` has the id of a tool call (`call`), the `flow` and
    the `plugin` of a step, and the provider's name of a `model`, where known. A step that is retried is one span.
    """

    span: str
    kind: TraceKind
    name: str
    at: int
    parent: str | None = None
    about: dict[str, str | int] | None = None


@final
class SpanEnded(msgspec.Struct, frozen=True, gc=False, tag=True, omit_defaults=True):
    """`first` is when the first chunk of a model response came. `reason` is the stop reason of the response.

    `error` is the code of an error, `cancelled`, or `cut_off` if the process died; None if the span succeeded.
    """

    span: str
    at: int
    first: int | None = None
    usage: Usage | None = None
    reason: str | None = None
    error: str | None = None


@final
class StateReplaced(msgspec.Struct, frozen=True, tag=True):
    """The complete state that the agent shares with its client."""

    state: JsonValue


@final
class StateChanged(msgspec.Struct, frozen=True, tag=True):
    """A change to the shared state, as a JSON Patch (RFC 6902)."""

    patch: list[JsonValue]


@final
class Custom(msgspec.Struct, frozen=True, tag=True):
    """An event specific to one protocol or agent. Its name begins with the owner's prefix, such as `agui.…`."""

    name: str
    value: JsonValue


@final
class MessagesReplaced(msgspec.Struct, frozen=True, tag=True):
    """All messages of the thread, in the middle of a run: `earlier` from before the run, `messages` from the run.

    Messages that it leaves out are retracted: a response that was interrupted when its process died and is generated
    again. A log that was lost and recreated has this event after `RunStarted`.
    """

    earlier: tuple[Message, ...]
    messages: tuple[Message, ...]


class ApprovalText(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person reads of an approval, in one language."""

    message: str
    title: str = ""


class Interrupt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a person. It is stored until a later ask answers it, or until `expires_at`.

    `call_id` is the call that needs the answer, `schema` the JSON Schema of the answer; both are optional. `memo` is
    data of the component that asks: it is returned with the answer, and clients never receive it. `subject` is what an
    approval is about, for the audit log, if there is no call: for example the step of a flow. `title` is a heading for
    `message`; `translations` has both in other languages, by language tag.
    """

    id: str
    reason: str
    message: str
    call_id: str | None = None
    schema: JsonValue = None
    expires_at: str | None = None
    memo: JsonValue = None
    subject: str = ""
    title: str = ""
    translations: dict[str, ApprovalText] = {}


@final
class RunFinished(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """`waiting`: the client has to run calls or a person has to answer; the next ask has the results or answers.

    `reason` says to the user why the run was cancelled; it is empty if the user or the client did it. `usage` is the
    sum over all model calls of the run, also over those of a flow whose text nobody sees; the runtime sets it, and it
    is None if no model has reported any.
    """

    outcome: Literal["done", "waiting", "cancelled"]
    interrupts: tuple[Interrupt, ...] = ()
    result: JsonValue = None
    reason: str = ""
    usage: Usage | None = None


@final
class RunFailed(msgspec.Struct, frozen=True, gc=False, tag=True):
    """`code` is one of `core.errors`; `message` may be shown to the user."""

    code: str
    message: str


Delta = TextDelta | ReasoningDelta | ToolCallDelta
SpanEvent = SpanStarted | SpanEnded

Event = (
    RunStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningEnded
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallEnded
    | ToolCallReturned
    | ModelResponseEnded
    | StepStarted
    | StepEnded
    | SpanStarted
    | SpanEnded
    | StateReplaced
    | StateChanged
    | Custom
    | MessagesReplaced
    | RunFinished
    | RunFailed
)
