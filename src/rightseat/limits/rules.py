"""The configured limits: which asks each limit applies to, and what it counts."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import msgspec

from rightseat.core.caller import CALLER
from rightseat.limits.windows import Window

Subject = Literal["user", "key", "agent", "address", "everyone"]
CountedKind = Literal["requests", "runs", "tokens", "cost"]
ASK_KINDS: tuple[CountedKind, ...] = ("requests", "runs")
CALL_KINDS: tuple[CountedKind, ...] = ("tokens", "cost")
CONCURRENT_RUNS = "concurrent_runs"
"""The name of the rule of concurrent runs, whose counters have no window."""
EVERYONE = "everyone"
"""The subject of the one counter of a limit for everyone."""
SUGGESTIONS_PER_REQUEST = 2
"""So many suggestions of follow-up questions come with each counted request. Further ones count as requests."""
NANO = 10**9
"""Cost is counted in integers, in billionths of the currency."""


class AskSource(NamedTuple):
    """What a limit can match: the user, the key, the client's address and the agent of an ask or a model call."""

    user: str
    key: str
    address: str
    agent: str


def own_subjects(user: str) -> dict[Subject, str]:
    """Whose counters the current request may see: those of its user and of its key."""
    return {"user": user, "key": CALLER.get().key}


class CounterKey(NamedTuple):
    """One counter: a rule of a limit, for one subject."""

    limit: str
    rule: str
    subject: str


def suggestions_of(requests: CounterKey) -> CounterKey:
    """The counter of the suggestions that came with the requests of this one. No rule of the configuration has it."""
    return requests._replace(rule=f"suggestions of {requests.rule}")


class LimitRule(msgspec.Struct, frozen=True):
    """A number that a limit caps. `window` is None for concurrent runs. Cost is in billionths of the currency."""

    kind: CountedKind
    most: int
    window: Window | None = None

    @property
    def name(self) -> str:
        return CONCURRENT_RUNS if self.window is None else f"{self.kind}/{self.window.name}"

    @property
    def is_budget(self) -> bool:
        """Whether a client has to wait for so long that it should not retry by itself."""
        return self.kind == "cost" or (self.window is not None and self.window.is_long)


class QueuePolicy(msgspec.Struct, frozen=True):
    """An ask beyond the limit waits up to `wait` seconds. At most `most` asks wait for one counter."""

    wait: float = 30.0
    most: int = 100


class DowngradePolicy(msgspec.Struct, frozen=True):
    """An ask beyond the limit runs with another model, a name under `models`."""

    model: str


ExceedPolicy = QueuePolicy | DowngradePolicy | None
"""What happens to an ask beyond a limit; None refuses it."""


class Limit(msgspec.Struct, frozen=True):
    """`match` is a pattern over the subject's id; `agents` None means all agents."""

    name: str
    subject: Subject
    rules: Sequence[LimitRule]
    match: str = "*"
    agents: tuple[str, ...] | None = None
    policy: ExceedPolicy = None

    def subject_of(self, source: AskSource) -> str | None:
        """The subject whose counter an ask counts for; None if the limit does not apply to it."""
        if self.agents is not None and source.agent not in self.agents:
            return None
        if self.subject == EVERYONE:
            return EVERYONE
        found: str = getattr(source, self.subject)
        return found if found and fnmatchcase(found, self.match) else None


class Charge(msgspec.Struct, frozen=True):
    """An amount for one counter. An amount of 0 only checks that `needed` is left, or something.

    A suggestion has the counter of `suggestions`, which is in step with that of the requests.
    """

    key: CounterKey
    rule: LimitRule
    amount: int
    needed: int = 0
    policy: ExceedPolicy = None
    suggestions: CounterKey | None = None

    @property
    def keys(self) -> Iterator[CounterKey]:
        yield self.key
        if self.suggestions is not None:
            yield self.suggestions

    @property
    def wanted(self) -> int:
        return max(self.amount, self.needed, 1)


class Limits(msgspec.Struct, frozen=True):
    """All configured limits, in the order of the file."""

    limits: Sequence[Limit] = ()

    @property
    def has_queues(self) -> bool:
        return any(isinstance(limit.policy, QueuePolicy) for limit in self.limits)

    def find_policy(self, name: str) -> ExceedPolicy:
        return next((limit.policy for limit in self.limits if limit.name == name), None)

    def rules_for(self, source: AskSource, kinds: Sequence[CountedKind]) -> Iterator[tuple[CounterKey, LimitRule]]:
        for limit in self.limits:
            subject = limit.subject_of(source)
            if subject is None:
                continue
            for rule in limit.rules:
                if rule.kind in kinds:
                    yield CounterKey(limit.name, rule.name, subject), rule

    def find_rule(self, key: CounterKey) -> LimitRule | None:
        return next(
            (rule for one in self.limits if one.name == key.limit for rule in one.rules if rule.name == key.rule), None
        )
