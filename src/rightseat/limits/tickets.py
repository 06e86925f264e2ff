"""Tickets of asks that wait for a limit, and the order in which they are admitted. Without I/O.

Asks of one user are admitted in the order in which they came. Between users, the one with the fewest running runs comes
first; between users with equally many, the turns alternate. An ask that continues a run after a person's answer comes
before all others, once: a second ask that continues the same run waits like any other.

If a queue is full, an ask takes the place of the last ticket of the user with the most tickets, unless that leaves this
user with fewer than the own one. So a user who fills a queue keeps nobody else out.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rightseat.limits.rules import CounterKey

TICKET_GRACE_S = 5.0
"""A ticket is removed by its own process when its time is over, and by other processes so many seconds later."""


class Ticket(msgspec.Struct, frozen=True):
    """An ask that waits for a counter.

    `number` is unique in the queue, and later tickets have a higher one. `turn` is the round in which it is its user's
    turn. `until` is unix time.
    """

    id: str
    run_id: str
    queue: CounterKey
    user: str
    number: int
    turn: int
    until: float
    is_continuation: bool = False
    continues: str = ""
    """The run that it continues."""


class QueueState(NamedTuple):
    """Ids of tickets: those that their counters have room for, and all that wait."""

    ready: Sequence[str] = ()
    waiting: Collection[str] = ()


def ticket_id(run_id: str) -> str:
    return f"{run_id}:ticket"


def order_tickets(tickets: Iterable[Ticket], running: Mapping[str, int]) -> list[Ticket]:
    """`running` is the number of running runs by user."""
    by_user: defaultdict[str, list[Ticket]] = defaultdict(list)
    for one in sorted(tickets, key=lambda one: (not one.is_continuation, one.number)):
        by_user[one.user].append(one)
    ranked = [
        ((not one.is_continuation, running.get(user, 0) + place, one.turn, one.number), one)
        for user, own in by_user.items()
        for place, one in enumerate(own)
    ]
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def next_turn(tickets: Sequence[Ticket], user: str) -> int:
    """After the user's own tickets; without any, in the current round."""
    own = [one.turn for one in tickets if one.user == user]
    return max(own) + 1 if own else min((one.turn for one in tickets), default=0)


def next_number(tickets: Sequence[Ticket]) -> int:
    return max((one.number for one in tickets), default=0) + 1


class WaitingTickets:
    """The tickets of some queues, and the running runs of their users, as one transaction sees and changes them."""

    def __init__(self, tickets: Iterable[Ticket] = (), running: Mapping[str, int] | None = None) -> None:
        self._queues: defaultdict[CounterKey, dict[str, Ticket]] = defaultdict(dict)
        for one in tickets:
            self._queues[one.queue][one.id] = one
        self.running = Counter(running or {})
        self.added: dict[str, Ticket] = {}
        self.removed: set[str] = set()

    def count(self, queue: CounterKey) -> int:
        return len(self._queues[queue])

    def find(self, queue: CounterKey, id: str) -> Ticket | None:
        return self._queues[queue].get(id)

    def drop_expired(self, now: float) -> None:
        """Those of a process that died or has lost the store."""
        for id in [one.id for queue in self._queues.values() for one in queue.values() if one.until <= now]:
            self.remove(id)

    def ordered(self, queue: CounterKey) -> list[Ticket]:
        return order_tickets(self._queues[queue].values(), self.running)

    def place(self, ticket: Ticket) -> int:
        """How many tickets of its queue come before this one, which need not be in the queue yet."""
        others = [one for one in self._queues[ticket.queue].values() if one.id != ticket.id]
        if not others:
            return 0
        ordered = order_tickets([*others, ticket], self.running)
        return next(place for place, one in enumerate(ordered) if one.id == ticket.id)

    def make_room(self, queue: CounterKey, user: str) -> bool:
        """Remove the last ticket of the user with the most, if that leaves it with at least as many as this user gets.

        The ask of that ticket looks for it, and is refused then.
        """
        tickets = self._queues[queue].values()
        counts = Counter(one.user for one in tickets)
        last = max(
            (one for one in tickets if not one.is_continuation),
            key=lambda one: (counts[one.user], one.number),
            default=None,
        )
        if last is None or counts[last.user] - 1 < counts[user] + 1:
            return False
        self.remove(last.id)
        return True

    def draw(self, queue: CounterKey, run_id: str, user: str, until: float, *, continues: str = "") -> Ticket:
        """The ask's ticket in this queue, or the one that it would get. See `Ticket.continues`."""
        if (known := self.find(queue, ticket_id(run_id))) is not None:
            return known
        waiting = list(self._queues[queue].values())
        number, turn = next_number(waiting), next_turn(waiting, user)
        is_first = bool(continues) and all(one.continues != continues for one in waiting)
        return Ticket(ticket_id(run_id), run_id, queue, user, number, turn, until, is_first, continues)

    def add(self, ticket: Ticket) -> None:
        self._queues[ticket.queue][ticket.id] = self.added[ticket.id] = ticket

    def remove(self, id: str) -> None:
        """It may be in a queue that was not read."""
        for queue in self._queues.values():
            queue.pop(id, None)
        self.added.pop(id, None)
        self.removed.add(id)
