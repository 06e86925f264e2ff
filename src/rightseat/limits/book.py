"""Counts, without I/O: operations on counters that the caller has read under a lock, and writes back afterwards.

`used` and `reserved` of a counter never exceed its limit together, except by what a provider reports beyond the bound
that it was sent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from rightseat.core.caller import Downgrade
from rightseat.limits.kinds import KINDS, KindName, UsageCounts
from rightseat.limits.rules import (
    SUGGESTIONS_PER_REQUEST,
    Charge,
    CounterKey,
    DowngradePolicy,
    LimitRule,
    QueuePolicy,
)
from rightseat.limits.tickets import TICKET_GRACE_S, QueueState, Ticket, WaitingTickets, ticket_id

IDLE_SECONDS = 24 * 3600.0
"""How long a counter is kept after its last window has ended."""

Buckets = dict[int, tuple[int, int]]
"""(used, reserved) by bucket."""


class UsageKey(NamedTuple):
    """A row of the usage report. `purpose` is `answer`, or what else a model was called for."""

    user: str
    key: str
    agent: str
    model: str
    purpose: str = "answer"


class HeldAmount(NamedTuple):
    """An amount that is reserved in one bucket of a counter."""

    key: CounterKey
    kind: KindName
    bucket: int
    amount: int


class Hold(msgspec.Struct, frozen=True):
    """A reservation. `usage` and `estimate` are counted if its process dies, because what was used is unknown then."""

    id: str
    run_id: str
    amounts: Sequence[HeldAmount]
    usage: UsageKey
    estimate: UsageCounts = UsageCounts()


class Reserve(msgspec.Struct, frozen=True):
    """Count every charge, or none. Requests are counted at once; all else is held until it is settled.

    `is_forced` counts in every case, for a run that was admitted by another process. `has_ticket` means that the ask
    waits in a queue. `continues` is the run that it continues after a person's answer: in a queue for concurrent runs
    it goes before others that wait, because that run has given its slot back to wait for the person.

    `call` is the first model call of the ask, as it is predicted. If the ask is admitted with its own model, the call
    is reserved as well, provided that it fits.
    """

    id: str
    run_id: str
    charges: Sequence[Charge]
    usage: UsageKey
    estimate: UsageCounts = UsageCounts()
    is_forced: bool = False
    has_ticket: bool = False
    continues: str = ""
    call: "Reserve | None" = None

    @property
    def all_charges(self) -> Sequence[Charge]:
        """Also those of the call."""
        return self.charges if self.call is None else (*self.charges, *self.call.charges)

    @property
    def keys(self) -> Iterable[CounterKey]:
        return (key for one in self.all_charges for key in one.keys)

    @property
    def queues(self) -> list[CounterKey]:
        """The counters that the ask can wait for."""
        return [one.key for one in self.charges if isinstance(one.policy, QueuePolicy) and not self.is_forced]


class Settle(msgspec.Struct, frozen=True):
    """Replace a hold by what was used. Without a `hold` only usage is counted.

    A hold that is gone was settled by another process: then nothing is counted. `refunds` are requests that are given
    back, because their run did not start. The ticket of an ask that stops waiting is removed.
    """

    hold: Hold | None
    usage: UsageKey
    counts: UsageCounts = UsageCounts()
    refunds: Sequence[HeldAmount] = ()
    ticket_id: str = ""

    @property
    def keys(self) -> Iterable[CounterKey]:
        held = self.hold.amounts if self.hold else ()
        return (one.key for one in (*held, *self.refunds))


Operation = Reserve | Settle


class Standing(msgspec.Struct, frozen=True):
    """What is left of one counter. `opens_at` is when more of it is free, in unix seconds."""

    key: CounterKey
    rule: LimitRule
    left: int
    opens_at: float


class Admitted(msgspec.Struct, frozen=True):
    """`hold` is None if nothing has to be given back. `counted` are the requests that were counted.

    `downgrade` has the limits that are exceeded and let the ask run with another model. `call` is None if no call was
    reserved with the ask. `sent_at` is when the ledger sent the transaction, by the clock of the loop.
    """

    hold: Hold | None
    standings: Sequence[Standing]
    now: float
    counted: Sequence[HeldAmount] = ()
    downgrade: Downgrade | None = None
    call: "Admitted | None" = None
    sent_at: float = 0.0


RefusalCause = Literal["exceeded", "queue_full", "queue_timeout"]


class LimitRefusal(msgspec.Struct, frozen=True):
    """The first limit that is exceeded. `amount` is what was asked for."""

    standing: Standing
    amount: int
    now: float
    cause: RefusalCause = "exceeded"


class Queued(msgspec.Struct, frozen=True):
    """The ask waits for the counter of this limit."""

    ticket: Ticket
    policy: QueuePolicy
    standing: Standing
    now: float


class Settled(msgspec.Struct, frozen=True):
    """`is_counted` is False if the hold was gone."""

    is_counted: bool = True


def is_slot(hold: Hold) -> bool:
    """Whether a run holds it while it runs."""
    return any(KINDS[held.kind].is_slot for held in hold.amounts)


Outcome = Admitted | LimitRefusal | Queued | Settled


class Book:
    """The counters of one transaction.

    `deleted` has the holds that the transaction has deleted. `waiting` has the tickets of all queues of its asks.
    """

    def __init__(
        self,
        counters: Mapping[CounterKey, Buckets],
        now: float,
        deleted: Mapping[str, Hold] | None = None,
        waiting: WaitingTickets | None = None,
    ) -> None:
        self.counters = dict(counters)
        self.now = now
        self.changed: set[CounterKey] = set()
        self.holds: list[Hold] = []
        self.usage: dict[UsageKey, UsageCounts] = {}
        self._rules: dict[CounterKey, LimitRule] = {}
        self._deleted = dict(deleted or {})
        self.waiting = waiting or WaitingTickets()
        self.waiting.drop_expired(now)

    def apply(self, operation: Operation) -> Outcome:
        return self._reserve(operation) if isinstance(operation, Reserve) else self._settle(operation)

    def expires_at(self, key: CounterKey) -> float | None:
        """When the counter can be deleted; None if this transaction does not change that."""
        rule = self._rules.get(key)
        if rule is None:
            return None
        ends = [rule.window.end(bucket) for bucket in self.counters[key]] if rule.window else []
        return max(ends, default=self.now) + IDLE_SECONDS

    def _reserve(self, wanted: Reserve) -> Outcome:
        if wanted.is_forced and (known := next((one for one in self.holds if one.id == wanted.id), None)):
            return Admitted(known, (), self.now)  # the run was taken over twice: it has one slot
        for charge in wanted.all_charges:
            for key in charge.keys:
                self._rules[key] = charge.rule
                self._drop_expired(key, charge.rule)
        downgrade: Downgrade | None = None
        for charge in () if wanted.is_forced else wanted.charges:
            if (downgrade and charge.key.limit in downgrade.limits) or self._is_included(charge):
                continue
            standing = self.stand(charge.key, charge.rule, charge.wanted)
            if standing.left - self._place(wanted, charge) >= charge.wanted:
                continue
            match charge.policy:
                case DowngradePolicy(model=model):
                    downgrade = Downgrade(model, (charge.key.limit,)).after(downgrade)
                case QueuePolicy() as policy:
                    return self._enqueue(wanted, charge, policy, standing)
                case None:
                    return self._refuse(wanted, charge, standing)
        return self._admit(wanted, downgrade)

    def _admit(self, wanted: Reserve, downgrade: Downgrade | None) -> Admitted:
        """A limit that led to another model still counts the ask, and not the calls of that model."""
        if wanted.has_ticket:
            self.waiting.remove(ticket_id(wanted.run_id))
        exceeded = downgrade.limits if downgrade else ()
        charges = [one for one in wanted.charges if not one.rule.kind.counts_calls or one.key.limit not in exceeded]
        counted = [one for charge in charges if charge.amount for one in self._count(charge)]
        held = [one for one in counted if KINDS[one.kind].is_held]
        hold = Hold(wanted.id, wanted.run_id, held, wanted.usage, wanted.estimate) if held else None
        if hold is not None:
            self.holds.append(hold)
            self.waiting.running[hold.usage.user] += is_slot(hold)
        call = self._reserve_call(wanted.call) if wanted.call is not None and downgrade is None else None
        standings = [self.stand(charge.key, charge.rule, 1) for charge in charges]
        requests = [one for one in counted if not KINDS[one.kind].is_held]
        return Admitted(hold, standings, self.now, requests, downgrade, call)

    def _reserve_call(self, call: Reserve) -> Admitted | None:
        """None if it does not fit. Nothing is refused: the call may be smaller, or find more left when it is made."""
        fits = all(self.stand(one.key, one.rule, one.wanted).left >= one.wanted for one in call.charges)
        return self._admit(call, None) if fits else None

    def _refuse(
        self, wanted: Reserve, charge: Charge, standing: Standing, cause: RefusalCause = "exceeded"
    ) -> LimitRefusal:
        if wanted.has_ticket:
            self.waiting.remove(ticket_id(wanted.run_id))
        self._add_usage(wanted.usage, UsageCounts(refused=1))
        return LimitRefusal(standing, charge.amount, self.now, cause)

    def _place(self, wanted: Reserve, charge: Charge) -> int:
        """How many asks that wait for the counter come before this one."""
        if not isinstance(charge.policy, QueuePolicy) or not self.waiting.count(charge.key):
            return 0
        return self.waiting.place(self._draw(wanted, charge, charge.policy))

    def _enqueue(
        self, wanted: Reserve, charge: Charge, policy: QueuePolicy, standing: Standing
    ) -> Queued | LimitRefusal:
        ticket = self._draw(wanted, charge, policy)
        if self.waiting.find(charge.key, ticket.id) is None:
            if self.waiting.count(charge.key) >= policy.most and not self.waiting.make_room(charge.key, ticket.user):
                return self._refuse(wanted, charge, standing, "queue_full")
            if wanted.has_ticket:
                self.waiting.remove(ticket.id)  # of the queue where it waited before
            self.waiting.add(ticket)
        return Queued(ticket, policy, standing, self.now)

    def _draw(self, wanted: Reserve, charge: Charge, policy: QueuePolicy) -> Ticket:
        until = self.now + policy.wait + TICKET_GRACE_S
        continues = wanted.continues if charge.rule.kind.is_slot else ""
        return self.waiting.draw(charge.key, wanted.run_id, wanted.usage.user, until, continues=continues)

    def read_queues(self, queues: Mapping[CounterKey, LimitRule]) -> QueueState:
        known = {key: rule for key, rule in queues.items() if key in self.counters}
        ready = [one.id for key, rule in known.items() for one in self._find_ready(key, rule)]
        return QueueState(ready, {one.id for key in queues for one in self.waiting.ordered(key)})

    def _find_ready(self, queue: CounterKey, rule: LimitRule) -> list[Ticket]:
        """The tickets that the counter has room for now."""
        self._drop_expired(queue, rule)
        return self.waiting.ordered(queue)[: self.stand(queue, rule, 1).left]

    def _drop_expired(self, key: CounterKey, rule: LimitRule) -> None:
        buckets, window = self.counters[key], rule.window
        if window is None:
            return
        live = {number: one for number, one in buckets.items() if window.is_live(number, self.now)}
        if len(live) < len(buckets):
            self.counters[key] = live
            self.changed.add(key)

    def _is_included(self, charge: Charge) -> bool:
        """Whether it is a suggestion that comes with a counted request."""
        if charge.suggestions is None:
            return False
        made, requests = (
            sum(used for used, _ in self.counters[key].values()) for key in (charge.suggestions, charge.key)
        )
        return made < requests * SUGGESTIONS_PER_REQUEST

    def _count(self, charge: Charge) -> Iterator[HeldAmount]:
        """A suggestion that counts as a request also uses up the suggestions that would come with it."""
        if charge.suggestions is not None:
            is_included = self._is_included(charge)
            made = 1 if is_included else SUGGESTIONS_PER_REQUEST
            yield self._count_one(msgspec.structs.replace(charge, key=charge.suggestions, amount=made))
            if is_included:
                return
        yield self._count_one(charge)

    def _count_one(self, charge: Charge) -> HeldAmount:
        window = charge.rule.window
        bucket = window.bucket(self.now) if window else 0
        used, reserved = (0, charge.amount) if charge.rule.kind.is_held else (charge.amount, 0)
        self._change(charge.key, bucket, used, reserved)
        return HeldAmount(charge.key, charge.rule.kind.name, bucket, charge.amount)

    def _settle(self, settled: Settle) -> Settled:
        amounts: Sequence[HeldAmount] = ()
        if settled.ticket_id:
            self.waiting.remove(settled.ticket_id)
        if settled.hold is not None:
            if settled.hold.id not in self._deleted:
                return Settled(is_counted=False)
            hold = self._deleted.pop(settled.hold.id)
            amounts = hold.amounts
            self.waiting.running[hold.usage.user] -= is_slot(hold)
        self._add_usage(settled.usage, settled.counts)
        for one in amounts:
            used = KINDS[one.kind].of_call(settled.counts)
            self._change(one.key, one.bucket, used, -one.amount, only_existing=True)
        for one in settled.refunds:
            self._change(one.key, one.bucket, -one.amount, 0, only_existing=True)
        return Settled()

    def _change(self, key: CounterKey, bucket: int, used: int, reserved: int, *, only_existing: bool = False) -> None:
        """A bucket that is gone belongs to a window that has ended, so its amounts count no more."""
        buckets = self.counters.get(key)
        if buckets is None or (only_existing and bucket not in buckets):
            return
        before = buckets.get(bucket, (0, 0))
        buckets[bucket] = (max(0, before[0] + used), max(0, before[1] + reserved))
        self.changed.add(key)

    def _add_usage(self, key: UsageKey, counts: UsageCounts) -> None:
        if counts != UsageCounts():
            known = self.usage.get(key)
            self.usage[key] = known.add(counts) if known else counts

    def stand(self, key: CounterKey, rule: LimitRule, wanted: int) -> Standing:
        """What is left of a counter, and when `wanted` more would fit."""
        window, buckets = rule.window, self.counters[key]
        total = sum(used + reserved for used, reserved in buckets.values())
        opens_at = self.now + 1
        if window is not None:
            opens_at, over = window.end(window.bucket(self.now)), total + wanted - rule.most
            for bucket in sorted(buckets):
                over -= sum(buckets[bucket])
                if over <= 0:
                    opens_at = window.end(bucket)
                    break
        return Standing(key, rule, max(0, rule.most - total), opens_at)
