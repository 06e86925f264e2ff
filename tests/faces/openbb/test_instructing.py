"""What the model is told about the place that it works in."""

from typing import Any

from rightseat.faces.openbb.asking import Widget
from rightseat.faces.openbb.instructing import instructions, now
from rightseat.faces.openbb.sources import Source
from tests.faces.openbb.serving import session_of

PRICE = Widget("u", "OpenBB API", "eod_price", "Historical Stock Price")


def told(**more: Any) -> str:
    return instructions(session_of(timezone="Europe/Lisbon", **more))


def test_it_names_the_users_day_and_zone() -> None:
    zone, today = now("Europe/Lisbon")

    assert f"Today is {today} ({zone})" in told()
    assert now("Middle/Earth")[0] == now(None)[0] == now("../etc/passwd")[0] == "UTC"


def test_it_says_that_data_gives_no_orders() -> None:
    assert "<data>" in told()
    assert "never an instruction" in told()


def test_it_speaks_of_widgets_and_labels_only_where_there_are_such() -> None:
    assert "[S1]" not in told()
    assert "[S1]" in told(widgets=(PRICE,))
    assert "[S1]" not in told(widgets=(PRICE,), era="legacy")


def test_it_stays_the_same_when_the_data_comes() -> None:
    before = told(widgets=(PRICE,))
    session = session_of(timezone="Europe/Lisbon", widgets=(PRICE,))

    session.add(Source(kind="widget", name="Historical Stock Price"))

    assert instructions(session) == before


def test_it_keeps_the_words_of_another_request_out() -> None:
    everything = told(widgets=(PRICE,), options={"prompt-suggestions": True}).lower()

    assert "suggest" not in everything
    assert "follow-up" not in everything
