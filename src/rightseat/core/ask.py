"""The ask: a client's request to an agent, independent of the client's protocol, with the user who sent it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from rightseat.core.caller import Caller, Downgrade
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message
from rightseat.core.types import JsonValue

AgentNames = tuple[str, ...] | None
"""The agents that a permission is for; None means all of them."""


def includes_agent(agents: AgentNames, agent: str) -> bool:
    """Permission for a group of agents includes its members: `part` includes `part/member`."""
    return agents is None or agent in agents or agent.partition("/")[0] in agents


class Principal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user or service that sent an ask. All stored data of a run belongs to its principal.

    `agents` are the agents that it may use and whose threads it may read; None means all of them. `claims` are what the
    application knows about the user, for its tools: JSON of at most 4 KB, which is stored with durable runs. `scopes`
    are what the user of an application may use, as `face:agent`; the default is every face and agent, without the
    rights of an operator.

        Principal(str(user.id), claims={"tenant": user.tenant})
    """

    id: str
    agents: AgentNames = None
    claims: Mapping[str, JsonValue] = {}
    scopes: Sequence[str] = ("*",)

    def may_use(self, agent: str) -> bool:
        return includes_agent(self.agents, agent)


ANYONE = Principal("anyone")


class ToolOffer(msgspec.Struct, frozen=True):
    """A tool that runs on the client."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    strict: bool | None = None


class NamedTool(msgspec.Struct, frozen=True):
    """The model must call this tool."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedTool
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons. Each adapter writes the nearest level that its provider has."""


class Parameters(msgspec.Struct, frozen=True):
    """Parameters for the model. `None` uses the model's own configuration; 0 is a regular value."""

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None
    """False allows at most one tool call per response."""
    response_schema: Mapping[str, JsonValue] | None = None
    """The response text should be JSON that matches this schema; `{"type": "object"}` allows any object."""
    response_strict: bool | None = None
    response_name: str | None = None
    """The client's name for the schema, which some providers show to the model."""
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    """How many alternative tokens to report for each chosen token; 0 reports only the chosen tokens."""
    cache_key: str | None = None
    """The client's name for requests that begin alike, by which a model with a prompt cache finds its entry."""
    effort: Effort | None = None
    """Models without such a setting ignore it."""


class Context(msgspec.Struct, frozen=True):
    """A piece of information from the client's page for the model."""

    description: str
    value: str


class Topics(msgspec.Struct, frozen=True):
    """Topics that the client allows or denies for its question. `key` is the client's key for the checking service."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    key: str = ""


class Answer(msgspec.Struct, frozen=True):
    """A person's answer to an interrupt. `call` is the call that waits for it; `memo`, `reason` and `subject` are those
    of the interrupt. All four were stored with the interrupt.

    `by` is the operator who answered for the user; empty if it was the user."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None
    call: Call | None = None
    memo: JsonValue = None
    reason: str = ""
    subject: str = ""
    by: str = ""


WhenBusy = Literal["refuse", "queue", "supersede"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a client, independent of its protocol.

    `properties` are extra data from the application; `headers` are the request headers that the face is configured to
    forward.

    `config` is the client's configuration for a graph, if its protocol supports that.

    `caller` is the credential and the address of the request, which limits count by; empty if nothing is counted.
    `purpose` is `answer`, or `suggestions`, of which two come with each request, or names a request without a run.
    `downgrade` is set if a limit makes another model answer.

    `face` is the name of the face that received the request; empty for an ask that comes from none.

    `client_run_id` is the client's id for the run; `node` is the node that the client believes its agent is at.

    `max_turns` limits the number of model calls in this run; a client that returns the results of server-side tools
    itself sets it to 1. With `final_answer_without_tools` the last model call has no tools, so that the run ends with
    text. A `transient` run cannot be resumed by a client: nothing of it is stored, and its log may discard entries once
    they are read. With `interactive` a transient run may still raise interrupts, which the face stores itself. With
    `stores_questions` one that ends with interrupts is stored then, so that they can be answered like those of others.
    A `durable` run is resumed by another process if its process dies; the agent decides this. `when_busy` is the policy
    if the thread already has a run. `supports_suggestions` means that the client shows suggested follow-up questions;
    without it, none are generated. `truncate_at` is the id of the first message of the thread that this ask removes,
    with all messages after it: the client regenerates a response or edits a question. `messages` may have it again.
    With `has_unlisted_tools` the client has more tools than `tools`: it receives calls that name none of those.
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
    caller: Caller = Caller()
    purpose: str = "answer"
    downgrade: Downgrade | None = None
    face: str = ""
    client_run_id: str | None = None
    node: str | None = None
    max_turns: int | None = None
    final_answer_without_tools: bool = False
    transient: bool = False
    interactive: bool = False
    stores_questions: bool = False
    durable: bool = False
    when_busy: WhenBusy = "refuse"
    supports_suggestions: bool = False
    truncate_at: str | None = None
    has_unlisted_tools: bool = False
