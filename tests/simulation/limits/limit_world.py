"""A schedule of limits: some processes, a burst of asks, and faults, all from one seed."""

import random as global_random
from collections.abc import Iterable, Iterator
from functools import partial
from random import Random
from unittest.mock import patch

from rightseat.core.ask import Ask, Parameters, Principal
from rightseat.core.messages import user
from rightseat.limits.rules import Limit, LimitRule, Limits
from rightseat.limits.store import UsageQuery
from rightseat.limits.windows import CalendarWindow, SlidingWindow
from rightseat.stores import limit_queries
from tests.simulation.clock import Clock
from tests.simulation.database import LEASE
from tests.simulation.limits.counted_database import CountedDatabase
from tests.simulation.limits.flaws import OpenLimits, without_flaw
from tests.simulation.limits.metered_replica import Fleet, MeteredReplica
from tests.simulation.limits.provider import MAX_TOKENS, RESERVED_TOKENS, Provider
from tests.simulation.world import Verdict, mute

NOON = 1_700_049_600.0
"""Unix time at which a schedule starts: far from the end of a day."""
ASKS = 6
ASK_MAX_TOKENS = (MAX_TOKENS, MAX_TOKENS, MAX_TOKENS + 5, 3 * MAX_TOKENS, MAX_TOKENS // 2)
"""With these the first call of an ask is predicted as it is, slightly too large, much too large, or too small."""
BURST_S = 0.3
PAUSES_ONCE_ADMITTED = 0.1
"""How often a process stands still between the admission and the claim of a run: other faults rarely hit it."""
STORM_S = 5.0  # within which asks and faults start
CALM_S = STORM_S + 8 * LEASE  # after which nothing may be reserved any more
AFTERMATH_S = 1.0  # in which a process that was paused continues


class LimitWorld:
    def __init__(self, seed: int, open_limits: OpenLimits = without_flaw) -> None:
        self.random = Random(seed)
        self.clock = Clock(self.random)
        limits = choose_limits(self.random)
        self.database = CountedDatabase(self.clock, limits, NOON)
        self.provider = Provider(self.random)
        self.fleet = Fleet(self.database, self.provider, limits, open_limits)
        self.replicas = [self._new_replica() for _ in range(self.random.choice((2, 3)))]
        self.dead: list[MeteredReplica] = []
        self.diary = [str(limits)]
        self._calm_since = 0.0
        burst = self.random.uniform(0.5, STORM_S / 2)
        for number in range(ASKS):
            start = self.random.choice((burst + self.random.uniform(0, BURST_S), self.random.uniform(0.5, STORM_S)))
            self.clock.after(start, partial(self._ask, number))
        for _ in range(self.random.randint(1, 3)):
            self.clock.after(self.random.uniform(0.5, STORM_S), self._fault)

    def run(self) -> list[str]:
        with patch.object(limit_queries, "read_clock", lambda _: self.database.time):
            self.clock.run(self._is_over, CALM_S)
            return [*self._judge()]

    def _is_over(self) -> bool:
        if self.database.problems:
            return True
        is_busy = self.database.holds or any(one.runs or not one.loop.is_awake for one in self.replicas)
        if is_busy or self.clock.now < STORM_S:
            self._calm_since = self.clock.now
        return self.clock.now > self._calm_since + AFTERMATH_S

    def _judge(self) -> Iterator[str]:
        yield from self.database.problems
        for hold in self.database.holds:
            yield f"{hold.id} is still reserved: {[tuple(one) for one in hold.amounts]}"
        rows = self.database.transact(limit_queries.list_usage, UsageQuery(("model",)))
        counted = {
            row.group[0]: row.counts.input_tokens + row.counts.output_tokens + row.counts.estimated_tokens
            for row in rows
        }
        for name, call in self.provider.calls.items():
            if not call.is_settled_by(counted.get(name, 0)):
                yield f"{name} is counted as {counted.get(name, 0)} tokens, not as one of {sorted(call.possible)}"
        yield from (f"unexpected: {one}" for replica in self.replicas + self.dead for one in replica.failures())

    def _new_replica(self) -> MeteredReplica:
        return MeteredReplica(self.clock, self.fleet)

    def _ask(self, number: int) -> None:
        ready = [one for one in self.replicas if one.is_ready and one.loop.is_awake]
        if not ready:
            return
        replica, is_durable = self.random.choice(ready), self.random.random() < 0.5
        ask = Ask(
            messages=(user("Hi"),),
            thread_id=f"t{number}",
            run_id=f"r{number}",
            principal=Principal(self.random.choice(("alice", "bob"))),
            parameters=Parameters(max_tokens=self.random.choice(ASK_MAX_TOKENS)),
            durable=is_durable,
            transient=not is_durable,
        )
        kind = "durable" if is_durable else "transient"
        self._note(f"process {replica.process} receives {kind} {ask.run_id} of {ask.principal.id}")
        is_pausing = self.random.random() < PAUSES_ONCE_ADMITTED
        replica.accept(ask, self.random.uniform(0.1, 6.0), partial(self._pause, replica) if is_pausing else None)

    # Faults

    def _fault(self) -> None:
        replica = self.random.choice(self.replicas) if self.replicas else None
        if replica is not None:
            self.random.choice((self._kill, self._kill, self._pause, self._pause, self._cut, self._lose))(replica)

    def _kill(self, replica: MeteredReplica) -> None:
        self._note(f"process {replica.process} is killed")
        replica.loop.kill()
        self.replicas.remove(replica)
        self.dead.append(replica)
        self.clock.after(self.random.uniform(0.2, LEASE), lambda: self.replicas.append(self._new_replica()))

    def _pause(self, replica: MeteredReplica) -> None:
        seconds = self.random.uniform(0.5, 3 * LEASE)
        self._note(f"process {replica.process} is paused for {seconds:.1f} s")
        replica.loop.pause()
        self.clock.after(seconds, replica.loop.wake)

    def _cut(self, replica: MeteredReplica) -> None:
        seconds = self.random.uniform(0.2, 2 * LEASE)
        self._note(f"process {replica.process} cannot reach the database for {seconds:.1f} s")
        replica.link.cut(seconds, hangs=False)

    def _lose(self, replica: MeteredReplica) -> None:
        self._note(f"process {replica.process} loses responses of the database for 2 s")
        replica.link.losing = 0.3
        self.clock.after(2.0, lambda: setattr(replica.link, "losing", 0.0))

    def _note(self, text: str) -> None:
        self.diary.append(f"{self.clock.now:8.3f} {text}")


def choose_limits(random: Random) -> Limits:
    """Small enough that a burst exceeds them."""
    budget = LimitRule("tokens", random.randint(1, 5) * RESERVED_TOKENS, CalendarWindow("day"))
    slots = LimitRule("runs", random.randint(1, 4))
    requests = LimitRule("requests", random.randint(2, ASKS), SlidingWindow(3))
    return Limits([Limit("each", "user", [slots, requests]), Limit("all", "everyone", [budget])])


def play_limits(seed: int, open_limits: OpenLimits = without_flaw) -> Verdict:
    global_random.seed(seed)
    world = LimitWorld(seed, open_limits)
    return Verdict(seed, world.run(), world.diary)


def play_many_limits(seeds: Iterable[int], open_limits: OpenLimits = without_flaw) -> Iterator[Verdict]:
    with mute():
        for seed in seeds:
            yield play_limits(seed, open_limits)
