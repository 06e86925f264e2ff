"""The rule alone, with times that the test chooses. `tests/simulation` plays it against schedules of faults."""

from dataclasses import replace

import pytest

from rightseat.stores.lease_rule import LeaseJudge, LeaseRow

LEASE = 8.0
OTHER = 7
ROW = LeaseRow(1, LEASE)
STEP = LEASE / 8


class Watch:
    """A judge whose own lease is renewed in time unless the test says otherwise; it looks at one other process."""

    def __init__(self) -> None:
        self.judge = LeaseJudge(LEASE)
        self.now = 1000.0
        self.renews = True
        self.renew()

    def renew(self) -> None:
        self.judge.record_renewal(self.now, self.now)

    def see(self, row: LeaseRow | None, *, seconds: float) -> bool:
        """Look at the row again and again, for so long. Whether its process is dead in the end."""
        until = self.now + seconds
        while self.now < until:
            self.now += STEP
            if self.renews:
                self.renew()
            self.judge.find_suspects({OTHER: row}, self.now, self.now)
        return self.judge.is_dead(OTHER, row, self.now, self.now)


@pytest.fixture
def watch() -> Watch:
    return Watch()


def test_a_row_that_does_not_change_for_a_lease_is_that_of_a_dead_process(watch: Watch) -> None:
    assert not watch.see(ROW, seconds=LEASE)  # seen for the first time a step after the start
    assert watch.see(ROW, seconds=STEP)


def test_a_row_that_changes_is_never_that_of_a_dead_process(watch: Watch) -> None:
    assert not any(watch.see(LeaseRow(value, LEASE), seconds=LEASE) for value in range(10))


def test_a_closed_connection_is_a_sign_of_death_after_half_a_lease(watch: Watch) -> None:
    closed = replace(ROW, is_disconnected=True)

    assert not watch.see(closed, seconds=LEASE / 2)
    assert watch.see(closed, seconds=STEP)


def test_suspects_are_found_after_half_a_lease_so_that_few_rows_are_locked(watch: Watch) -> None:
    watch.see(ROW, seconds=LEASE / 2)
    early = watch.judge.find_suspects({OTHER: ROW}, watch.now, watch.now)
    watch.see(ROW, seconds=STEP)
    late = watch.judge.find_suspects({OTHER: ROW}, watch.now, watch.now)

    assert (early, late) == ([], [OTHER])


def test_a_process_that_has_ended_by_itself_is_dead_at_once(watch: Watch) -> None:
    released = LeaseRow(1, LEASE, is_released=True)

    assert watch.judge.find_suspects({OTHER: released}, watch.now, watch.now) == [OTHER]
    assert watch.judge.is_dead(OTHER, released, watch.now, watch.now)


def test_a_row_that_is_missing_proves_nothing_before_a_lease_is_over(watch: Watch) -> None:
    assert not watch.see(None, seconds=LEASE)
    assert watch.see(None, seconds=STEP)


def test_a_longer_lease_of_the_other_process_counts(watch: Watch) -> None:
    row = LeaseRow(1, 3 * LEASE)

    assert not watch.see(row, seconds=3 * LEASE)
    assert watch.see(row, seconds=STEP)


def test_a_shorter_lease_of_the_other_process_does_not_count(watch: Watch) -> None:
    row = LeaseRow(1, LEASE / 4)

    assert not watch.see(row, seconds=LEASE)
    assert watch.see(row, seconds=STEP)


def test_nobody_is_judged_while_ones_own_renewals_do_not_succeed(watch: Watch) -> None:
    watch.see(ROW, seconds=LEASE)
    watch.renews = False
    watch.judge.record_failure()

    assert not watch.see(ROW, seconds=10 * LEASE)


def test_nobody_is_judged_while_ones_own_renewal_is_late(watch: Watch) -> None:
    """As after the process stood still: the row was read, and the thread that renews has not continued yet."""
    watch.see(ROW, seconds=LEASE)
    watch.now += LEASE / 2

    assert not watch.judge.is_dead(OTHER, ROW, watch.now, watch.now)


@pytest.mark.parametrize("fails", [True, False])
def test_after_an_outage_everybody_has_a_whole_lease_to_renew(watch: Watch, fails: bool) -> None:
    watch.see(ROW, seconds=LEASE)
    if fails:
        watch.judge.record_failure()
    else:
        watch.now += LEASE / 2  # it only took long
    watch.renew()

    assert not watch.see(ROW, seconds=LEASE)
    assert watch.see(ROW, seconds=STEP)


def test_a_renewal_that_took_long_may_hide_an_outage(watch: Watch) -> None:
    watch.see(ROW, seconds=LEASE)
    began_at, watch.now = watch.now, watch.now + LEASE / 2
    watch.judge.record_renewal(began_at, watch.now)

    assert not watch.see(ROW, seconds=LEASE - STEP)


def test_a_row_counts_as_unchanged_until_the_statement_was_sent_that_read_it(watch: Watch) -> None:
    """Its answer may have been on its way for long."""
    watch.see(ROW, seconds=LEASE)
    asked_at = watch.now
    watch.now += STEP

    assert not watch.judge.is_dead(OTHER, ROW, asked_at, watch.now)


def test_what_was_seen_of_a_process_without_runs_is_forgotten(watch: Watch) -> None:
    watch.see(ROW, seconds=LEASE)
    watch.judge.find_suspects({}, watch.now, watch.now)

    assert not watch.see(ROW, seconds=STEP)


def test_renewals_fit_into_a_lease() -> None:
    """Whoever lives renews after an outage before others may judge: it fails once more, waits, and succeeds."""
    times = LeaseJudge(LEASE).times

    assert times.attempt_timeout + times.retry_delay + times.attempt_timeout < LEASE
    assert times.attempt_timeout + times.retry_delay < LEASE / 2
