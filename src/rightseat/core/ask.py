"""What a client asks for, and who asks."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message
from rightseat.core.values import JsonValue


class Principal(msgspec.Struct, frozen=True):
    """Who asks. Whatever is kept of a run belongs to its principal.

    `agents` are those that it may use, and whose threads it may see; None is all of them.
    """

    id: str
    agents: tuple[str, ...] | None = None

    def may_use(self, agent: str) -> bool:
        """One of a part that stands for several may be used with the part."""
        return self.agents is None or agent in self.agents or agent.partition("/")[0] in self.agents


ANYONE = Principal("anyone")


class ToolOffer(msgspec.Struct, frozen=True):
    """A tool that the client runs itself."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    strict: bool | None = None


class Named(msgspec.Struct, frozen=True):
    """The model must call this tool."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | Named


class Parameters(msgspec.Struct, frozen=True):
    """How the model should answer. `None` leaves it to the model's own configuration; 0 is a value like any other."""

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None
    """False asks for one call an answer at most."""
    response_schema: Mapping[str, JsonValue] | None = None
    """The answer's text should be JSON that fits this schema; `{"type": "object"}` is any object."""
    response_strict: bool | None = None
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    """How many likely tokens to report beside each one that was chosen; 0 reports the chosen ones alone."""


class Context(msgspec.Struct, frozen=True):
    """Something that the client's page knows and the model should."""

    description: str
    value: str


class Topics(msgspec.Struct, frozen=True):
    """What a client wants its question held to, before it is answered. `key` is its key of the service that judges."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    key: str = ""


class Answer(msgspec.Struct, frozen=True):
    """A person's answer to an interrupt. `call` is the call that waits for it, and `memo` what the asker wanted back,
    as they were kept with the question; `reason` and `subject` are the interrupt's."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None
    call: Call | None = None
    memo: JsonValue = None
    reason: str = ""
    subject: str = ""


WhenBusy = Literal["refuse", "queue", "supersede"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a client, free of its protocol.

    `properties` are what the application sends along, `headers` those of the request that the face is told to pass on.

    `config` is how the client wants a graph configured, where its protocol has a word for it.

    `client_run_id` is the client's name for the run, `node` the node at which the client believes its agent to be.

    `rounds` bounds how often the model is asked in this run; a client that sends the results of server-side tools back
    itself asks for one. With `conclude` the last time is without tools, so that the run ends in words. `transient` says
    that nobody can come back to this run: nothing of it is kept, and its log may forget what was read. With `attended`
    a person can be asked all the same, by a face that keeps open questions itself. `durable` says that the run goes on
    elsewhere when its process dies; it is the agent's to say. `when_busy` says what becomes of it while its thread has
    another run. `supports_suggestions` says that the client shows questions to ask next: without it, none are made.
    """

    messages: tuple[Message, ...]
    agent: str = "default"
    thread_id: str = msgspec.field(default_factory=lambda: new_id("thread"))
    run_id: str = msgspec.field(default_factory=lambda: new_id("run"))
    principal: Principal = ANYONE
    tools: tuple[ToolOffer, ...] = ()
    parameters: Parameters = Parameters()
    context: tuple[Context, ...] = ()
    state: JsonValue = None
    properties: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    config: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    topics: Topics | None = None
    client_run_id: str | None = None
    node: str | None = None
    rounds: int | None = None
    conclude: bool = False
    transient: bool = False
    attended: bool = False
    durable: bool = False
    when_busy: WhenBusy = "refuse"
    supports_suggestions: bool = False
