"""The order in which asks that wait for a limit are admitted."""

from collections.abc import Mapping

from rightseat.limits.rules import CounterKey
from rightseat.limits.tickets import Ticket, WaitingTickets

QUEUE = CounterKey("a", "concurrent_runs", "everyone")


def line_up(*users: str, running: Mapping[str, int] | None = None) -> WaitingTickets:
    """Asks of these users, in the order in which they came. The run of an ask is its user and a number."""
    waiting = WaitingTickets(running=running)
    for number, user in enumerate(users):
        add(waiting, f"{user}{number}", user)
    return waiting


def add(waiting: WaitingTickets, run: str, user: str, *, continues: str = "") -> Ticket:
    ticket = waiting.draw(QUEUE, run, user, until=100.0, continues=continues)
    waiting.add(ticket)
    return ticket


def runs(waiting: WaitingTickets) -> list[str]:
    return [one.run_id for one in waiting.ordered(QUEUE)]


def test_asks_of_one_user_go_in_the_order_in_which_they_came() -> None:
    assert runs(line_up("a", "a", "a")) == ["a0", "a1", "a2"]


def test_the_user_with_the_fewest_running_runs_goes_first() -> None:
    waiting = line_up("a", "a", "b", "b", running={"a": 2, "b": 1})

    assert runs(waiting) == ["b2", "a0", "b3", "a1"]


def test_users_with_equally_many_runs_alternate_also_after_each_admission() -> None:
    waiting = line_up("a", "a", "a", "a", "b", "b")
    order = []
    while runs(waiting):
        order.append(first := runs(waiting)[0])
        waiting.remove(f"{first}:ticket")  # its run ends at once, as in a window without concurrent runs

    assert order == ["a0", "b4", "a1", "b5", "a2", "a3"]


def test_an_ask_that_continues_a_run_goes_before_all_others() -> None:
    waiting = line_up("a", "b", running={"c": 5})
    add(waiting, "c-answered", "c", continues="c1")

    assert runs(waiting) == ["c-answered", "a0", "b1"]


def test_a_ticket_that_is_not_in_the_queue_yet_has_a_place() -> None:
    waiting = line_up("a", "a", running={"a": 1})
    of_a = waiting.draw(QUEUE, "a-new", "a", 100.0)
    of_b = waiting.draw(QUEUE, "b-new", "b", 100.0)

    assert (waiting.place(of_a), waiting.place(of_b)) == (2, 0)
    assert waiting.count(QUEUE) == 2


def test_expired_tickets_are_removed() -> None:
    waiting = line_up("a", "b")
    waiting.drop_expired(100.0)

    assert runs(waiting) == []
    assert waiting.removed == {"a0:ticket", "b1:ticket"}


def test_an_ask_that_continues_the_same_run_again_waits_like_any_other() -> None:
    waiting = line_up("a")
    add(waiting, "c1", "c", continues="asked")
    add(waiting, "c2", "c", continues="asked")

    assert runs(waiting) == ["c1", "a0", "c2"]


def test_the_user_with_the_most_tickets_makes_room_for_one_with_fewer() -> None:
    waiting = line_up("a", "a", "a", "b")

    assert waiting.make_room(QUEUE, "c")
    assert runs(waiting) == ["a0", "b3", "a1"]


def test_no_ticket_is_removed_if_its_user_would_have_fewer_than_the_new_one() -> None:
    waiting = line_up("a", "a", "b")

    assert not waiting.make_room(QUEUE, "a")
    assert not waiting.make_room(QUEUE, "b")
    assert waiting.count(QUEUE) == 3


def test_an_ask_that_continues_a_run_keeps_its_place_in_a_full_queue() -> None:
    waiting = line_up("a")
    for number in range(3):
        add(waiting, f"a-answered{number}", "a", continues=f"asked{number}")

    assert waiting.make_room(QUEUE, "b")
    assert not waiting.make_room(QUEUE, "b")
