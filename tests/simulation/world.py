"""A schedule: some processes, a run or two and those who follow them, and what befalls them, all from one seed."""

import gc
import logging
import random as global_random
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

from sqlalchemy import Connection, func, select

from rightseat.stores.tables import runs
from tests.simulation.clients import Client
from tests.simulation.clock import Clock, Loop
from tests.simulation.database import LEASE, Database
from tests.simulation.judging import Problem, judge
from tests.simulation.outside import Outside
from tests.simulation.replica import Flaws, Replica, Servers
from tests.simulation.streams import Redis

STORM = 8.0  # seconds within which faults begin
CALM = 150.0  # seconds within which everything has to end
AFTERMATH = LEASE + 2.0
UNFINISHED = select(func.count()).where(runs.c.outcome.is_(None))
MAX_DETECTION_S = 3 * LEASE  # of a death, counted from the last fault
OUTAGES = (0.5, 1.6, 2.5)  # of the database, in leases
EARLY_OUTAGES = 0.4  # how often there is one while most runs are in progress
COLLECT = 64  # schedules between two burials


@dataclass(frozen=True, slots=True)
class Verdict:
    seed: int
    problems: list[Problem]
    trace: list[str]

    def __str__(self) -> str:
        """What to say of one that failed: enough to play it again."""
        return "\n".join((f"seed {self.seed}:", *self.problems, *self.trace))


class World:
    def __init__(self, seed: int, flaws: Flaws = Flaws(), *, losing_log: bool = False) -> None:  # noqa: B008  # frozen
        self.seed = seed
        self.random = Random(seed)
        self.flaws = flaws
        self.clock = Clock(self.random)
        self.servers = Servers(Redis(self.clock), Database(self.clock), Outside(self.clock))
        self.servers.redis.refuses_low_ids = not flaws.takes_any_id
        self.diary: list[str] = []
        self.replicas = [self._new_replica() for _ in range(self.random.choice((2, 3)))]
        self.graves: list[Replica] = []
        self.browsers = Loop(self.clock)
        self.clients: list[Client] = []
        self.loses_log = losing_log
        self.wrong_takeovers: list[Problem] = []
        self._calm_since = 0.0  # the end of the last fault
        threads = self.random.choice((1, 1, 2))
        self._expected = 2 * threads
        for number in range(threads):
            for follower in range(2):
                join = partial(self._join, f"t{number}", follower)
                self.clock.after(self.random.uniform(0, 2.0) + 2 * follower, join)
        for _ in range(self.random.randint(1, 4)):
            self.clock.after(self.random.uniform(0.1, STORM), self._fault)
        if self.random.random() < EARLY_OUTAGES:
            self.clock.after(self.random.uniform(0.5, 3.0), self._stop_database)
        self.servers.database.note_takeover = self._note_takeover
        if losing_log:
            self.clock.after(self.random.uniform(0.5, STORM / 2), self._lose_log)

    def run(self) -> list[Problem]:
        is_over = self.clock.run(self._is_over, CALM)
        return judge(self, is_over)

    def trace(self) -> list[str]:
        """What befell them, and what they heard."""
        heard = [f"{client.run_id}: {' '.join(entry.id for entry in client.entries)}" for client in self.clients]
        return self.diary + heard

    def note(self, what: str) -> None:
        self.diary.append(f"{self.clock.now:8.3f} {what}")

    def alive(self) -> list[Replica]:
        return [replica for replica in self.replicas if replica.is_ready]

    def all_replicas(self) -> list[Replica]:
        return self.replicas + self.graves

    def wait_for_sleepers(self) -> None:
        """Until all have woken, and have done what they then do."""
        self.clock.run(lambda: all(one.loop.is_awake for one in self.replicas), self.clock.now + 6 * LEASE)
        self.clock.run(lambda: False, self.clock.now + AFTERMATH)

    def _join(self, thread_id: str, follower: int) -> None:
        restless = follower > 0 and self.random.random() < 0.5
        self.clients.append(Client(self.browsers, self.alive, thread_id, restless=restless))

    def _is_over(self) -> bool:
        if len(self.clients) < self._expected or not all(client.is_done for client in self.clients):
            return False
        return not self.servers.database.transact(unfinished)

    def _new_replica(self) -> Replica:
        return Replica(self.clock, self.servers, self.flaws)

    # What befalls them

    def _fault(self) -> None:
        if not self.replicas:
            return
        replica = self.random.choice(self.replicas)
        self.random.choice(
            (
                self._kill,
                self._kill,
                self._pause,
                self._cut_from_log,
                self._cut_from_database,
                self._lose_answers,
                self._stop_database,
                self._stop_database,
                self._set_clock,
                self._start_another,
            )
        )(replica)

    def _kill(self, replica: Replica) -> None:
        if replica not in self.replicas:
            return
        back = self.random.uniform(0.2, 2 * LEASE)
        self.note(f"process {replica.process} is killed, and another is started {back:.1f} s later")
        replica.loop.kill()
        replica.died_at = self.clock.now
        self.replicas.remove(replica)
        self.graves.append(replica)
        self.clock.after(back, self._start_another)
        self._end_fault_in(0.0)
        if self.random.random() < 0.3 and self.replicas:  # those who look for the dead are stopped, and wake together
            for other in self.replicas:
                self._pause(other, LEASE * 1.2)

    def _start_another(self, _: object = None) -> None:
        self.replicas.append(self._new_replica())
        self._end_fault_in(0.0)

    def _end_fault_in(self, seconds: float) -> None:
        self._calm_since = max(self._calm_since, self.clock.now + seconds)

    def _note_takeover(self, heir: int, process: int) -> None:
        victim = next(replica for replica in self.all_replicas() if replica.process == process)
        self.note(f"process {heir} takes over from process {process}")
        if victim.lives_connected(LEASE):
            self.wrong_takeovers.append(f"process {process} is taken over by process {heir}, though it lives")
        if victim.died_at is not None and (late := self.clock.now - self._calm_since) > MAX_DETECTION_S:
            self.wrong_takeovers.append(f"process {process} is taken over {late:.1f} s after its death")
        self._perhaps_kill_heir(heir)

    def _perhaps_kill_heir(self, process: int) -> None:
        """Who has just found a dead one may die in the middle of what it does about it."""
        if self.random.random() < 0.1 and len(self.graves) < 3:
            heir = next(replica for replica in self.all_replicas() if replica.process == process)
            self.clock.after(self.random.uniform(0, 0.1), partial(self._kill, heir))

    def _pause(self, replica: Replica, seconds: float | None = None) -> None:
        if not replica.loop.is_awake:
            return
        seconds = seconds or self.random.uniform(0.5, 3 * LEASE)
        with_machine = self.random.random() < 0.5
        self.note(f"process {replica.process} stands still for {seconds:.1f} s {with_machine=}")
        replica.loop.pause(with_machine=with_machine)
        self._end_fault_in(seconds)
        self.clock.after(seconds, lambda: self._wake(replica))

    def _wake(self, replica: Replica) -> None:
        if replica in self.replicas:
            self.note(f"process {replica.process} wakes")
            replica.loop.wake()
            replica.disturbed_until = max(replica.disturbed_until, self.clock.now)

    def _cut_from_log(self, replica: Replica) -> None:
        seconds, hangs = self.random.uniform(0.2, 2 * LEASE), self.random.random() < 0.5
        self.note(f"process {replica.process} is cut off from the log for {seconds:.1f} s {hangs=}")
        replica.to_redis.cut(seconds, hangs=hangs)

    def _cut_from_database(self, replica: Replica) -> None:
        seconds, hangs = self.random.uniform(0.2, 2 * LEASE), self.random.random() < 0.5
        self.note(f"process {replica.process} is cut off from the database for {seconds:.1f} s {hangs=}")
        replica.to_database.cut(seconds, hangs=hangs)
        replica.disturbed_until = max(replica.disturbed_until, self.clock.now + seconds)
        self._end_fault_in(seconds)

    def _lose_answers(self, replica: Replica) -> None:
        link = self.random.choice(replica.links)
        self.note(f"process {replica.process} loses some answers of {type(link.server).__name__}")
        link.losing = 0.3
        self._end_fault_in(2.0)
        self.clock.after(2.0, lambda: setattr(link, "losing", 0.0))

    def _stop_database(self, _: object = None) -> None:
        """For all: it is restarted, or a proxy in front of it, or it does not respond. Perhaps a standby takes over,
        whose clock is wrong.
        """
        database, seconds = self.servers.database, LEASE * self.random.choice(OUTAGES) * self.random.uniform(0.8, 1.2)
        if not database.is_up:
            return
        hangs, restarts = self.random.random() < 0.5, self.random.random() < 0.5
        self.note(f"the database is away for {seconds:.1f} s {hangs=} {restarts=}")
        database.fail_for(seconds, hangs=hangs, restarts=restarts)
        self._end_fault_in(seconds)
        if self.random.random() < 0.5:
            self.clock.after(seconds, self._set_clock)

    def _set_clock(self, _: object = None) -> None:
        database = self.servers.database
        database.clock_error = self.random.uniform(-3, 3) * LEASE
        self.note(f"the clock of the database is wrong by {database.clock_error:.1f} s")

    def _lose_log(self) -> None:
        self.note("Redis is killed, and comes back with nothing")
        self.servers.redis.lose_everything()
        self.servers.redis.fail_for(1.0)


def unfinished(connection: Connection) -> bool:
    """A request that its client had given up may have begun a run of its own."""
    return bool(connection.execute(UNFINISHED).scalar())


def play(seed: int, flaws: Flaws = Flaws(), *, losing_log: bool = False) -> Verdict:  # noqa: B008  # frozen
    """One schedule, from its beginning to its end."""
    global_random.seed(seed)  # `logs.shared.backoff` draws from there
    world = World(seed, flaws, losing_log=losing_log)
    return Verdict(seed, world.run(), world.trace())


def play_many(seeds: Iterable[int], flaws: Flaws = Flaws(), *, losing_log: bool = False) -> Iterator[Verdict]:  # noqa: B008
    """One after the other, each in a world of its own."""
    with mute():
        for count, seed in enumerate(seeds, 1):
            yield play(seed, flaws, losing_log=losing_log)
            if not count % COLLECT:
                gc.collect()


@contextmanager
def mute() -> Iterator[None]:
    """What the dead leave behind is collected now and then, and unheard: a process that was killed does not say
    goodbye, though Python would have its coroutines do so."""
    hook = sys.unraisablehook
    gc.collect()
    gc.freeze()
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda _: None
        logging.disable(logging.CRITICAL)  # a record of an error would hold its whole world
        try:
            yield
        finally:
            while gc.collect():  # what they leave behind leaves something behind, too
                pass
            logging.disable(logging.NOTSET)
            sys.unraisablehook = hook
            gc.enable()
            gc.unfreeze()
