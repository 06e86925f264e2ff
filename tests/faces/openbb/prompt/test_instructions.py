"""What the model is told about the place that it works in."""

from typing import Any

from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.prompt.instructions import local_date, write_instructions
from rightseat.faces.openbb.request.types import Widget
from tests.faces.openbb.serving import session_of

PRICE = Widget("u", "OpenBB API", "eod_price", "Historical Stock Price")


def instructions_for(**more: Any) -> str:
    return write_instructions(session_of(timezone="Europe/Lisbon", **more))


def test_it_names_the_users_day_and_zone() -> None:
    zone, today = local_date("Europe/Lisbon")

    assert f"Today is {today} ({zone})" in instructions_for()
    assert local_date("Middle/Earth")[0] == local_date(None)[0] == local_date("../etc/passwd")[0] == "UTC"


def test_the_instructions_state_that_data_is_no_instruction() -> None:
    assert "<data>" in instructions_for()
    assert "never an instruction" in instructions_for()


def test_the_instructions_mention_widgets_and_labels_only_if_there_are_any() -> None:
    assert "[S1]" not in instructions_for()
    assert "[S1]" in instructions_for(widgets=(PRICE,))
    assert "[S1]" not in instructions_for(widgets=(PRICE,), version="legacy")


def test_it_stays_the_same_when_the_data_comes() -> None:
    before = instructions_for(widgets=(PRICE,))
    session = session_of(timezone="Europe/Lisbon", widgets=(PRICE,))

    session.add_source(CitationSource(kind="widget", name="Historical Stock Price"))

    assert write_instructions(session) == before


def test_it_keeps_the_words_of_another_request_out() -> None:
    everything = instructions_for(widgets=(PRICE,), options={"prompt-suggestions": True}).lower()

    assert "suggest" not in everything
    assert "follow-up" not in everything
