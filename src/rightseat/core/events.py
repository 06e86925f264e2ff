"""What happens during a run.

Events are facts, written to the log in the order in which they happened, never changed. The rules that every run keeps:

1. `RunStarted` is first; `RunFinished` or `RunFailed` is last, and nothing follows it.
2. What starts ends: between `TextStarted` and `TextEnded` of a message (or a thought, or a call) come its deltas. An id
   names one message, one thought or one call of the run. Steps end too, and may be inside one another.
   Several may be open at once, so a reader goes by id, never by "the last one".
3. `CallReturned` comes after the `CallEnded` of its call. A call that never returns is for the client to run.
4. What `MessagesReplaced` leaves out was never said: it is ended before, and nothing more of it follows.
"""

from typing import Literal, final

import msgspec

from rightseat.core.messages import Message
from rightseat.core.values import JsonValue


@final
class RunStarted(msgspec.Struct, frozen=True, gc=False, tag=True, omit_defaults=True):
    """`said` are the messages of the ask that the thread did not have yet: the log is their only home.

    `client_run_id` is what the client calls the run. It may use that name again, so nothing is found by it.
    """

    run_id: str
    thread_id: str
    agent: str
    client_run_id: str | None = None
    said: tuple[Message, ...] = ()


@final
class TextStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str


@final
class TextDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    text: str


@final
class TextEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    """No more of it will come. It is not `whole` where the run was stopped, or its model failed, in the middle."""

    message_id: str
    whole: bool = True


@final
class ThoughtStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A model thinks aloud, in words that are not its answer."""

    message_id: str


@final
class ThoughtDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    text: str


@final
class ThoughtEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    message_id: str
    whole: bool = True


@final
class CallStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A tool is being called; `message_id` is the text that the call belongs to, where there is one."""

    call_id: str
    name: str
    message_id: str | None = None


@final
class CallDelta(msgspec.Struct, frozen=True, gc=False, tag=True):
    """More of the JSON text of a call's arguments."""

    call_id: str
    text: str


@final
class CallEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    call_id: str
    whole: bool = True


@final
class CallReturned(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A tool that the server runs gave its result, or failed with the code `error`.

    `message_id` is what an agent calls the message with the result, where that is not `result-<call_id>`.
    """

    call_id: str
    name: str
    content: str
    error: str | None = None
    message_id: str | None = None


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`input_tokens` are all that were read; of them, how many the provider took from its cache or put there."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0


StopReason = Literal["stop", "calls", "length", "filtered"]


@final
class AnswerEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    """One answer of a model is over: `length` if it was cut at the token limit, `filtered` if the provider cut it."""

    reason: StopReason
    usage: Usage | None = None


@final
class StepStarted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """An agent enters a named part of its work: a node of a graph, a step of a flow."""

    name: str


@final
class StepEnded(msgspec.Struct, frozen=True, gc=False, tag=True):
    name: str


@final
class StateReplaced(msgspec.Struct, frozen=True, tag=True):
    """The whole state that the agent shares with its client."""

    state: JsonValue


@final
class StateChanged(msgspec.Struct, frozen=True, tag=True):
    """A change of the shared state, as a JSON Patch (RFC 6902)."""

    patch: list[JsonValue]


@final
class Custom(msgspec.Struct, frozen=True, tag=True):
    """What one protocol or agent can say and no other has a word for. The name begins with whose it is: `agui.…`."""

    name: str
    value: JsonValue


@final
class MessagesReplaced(msgspec.Struct, frozen=True, tag=True):
    """What the thread looks like, in the middle of a run: `earlier`, from before the run, and `messages`, of the run.

    It takes back what it leaves out: an answer that broke off when its process died, and is given anew. A log that was
    lost begins with it.
    """

    earlier: tuple[Message, ...]
    messages: tuple[Message, ...]


class Interrupt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a person. It is kept until it is answered in a later ask, or until `expires_at`.

    `call_id` is the call that needs the answer, `schema` the JSON Schema of the answer, where there are such. `memo` is
    for whoever asks: it comes back with the answer, and no client sees it. `subject` is what an approval is about, for
    the audit log, where no call says so: the step of a flow.
    """

    id: str
    reason: str
    message: str
    call_id: str | None = None
    schema: JsonValue = None
    expires_at: str | None = None
    memo: JsonValue = None
    subject: str = ""


@final
class RunFinished(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """`waiting`: the client has calls to run, or a person has to answer, and the next ask brings what is missing."""

    outcome: Literal["done", "waiting", "cancelled"]
    interrupts: tuple[Interrupt, ...] = ()
    result: JsonValue = None


@final
class RunFailed(msgspec.Struct, frozen=True, gc=False, tag=True):
    """`code` is one of `core.errors`; `message` may be shown to whoever asked."""

    code: str
    message: str


Event = (
    RunStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ThoughtStarted
    | ThoughtDelta
    | ThoughtEnded
    | CallStarted
    | CallDelta
    | CallEnded
    | CallReturned
    | AnswerEnded
    | StepStarted
    | StepEnded
    | StateReplaced
    | StateChanged
    | Custom
    | MessagesReplaced
    | RunFinished
    | RunFailed
)
