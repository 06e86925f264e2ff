"""The page about events says what the code says."""

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from rightseat import events
from rightseat.core.events import Event, ModelResponseEnded, RunFinished, SpanStarted

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+)$", PAGE.read_text(), re.MULTILINE))


def test_the_page_has_every_event_in_the_order_of_the_code() -> None:
    assert list(ROWS) == [event.__name__ for event in get_args(Event)]


def test_every_event_is_a_name_of_the_python_api() -> None:
    assert {event.__name__ for event in get_args(Event)} <= {*events.__all__}


@pytest.mark.parametrize("event", get_args(Event))
def test_the_page_has_every_field(event: type[msgspec.Struct]) -> None:
    fields = [field.name if field.required else f"{field.name}?" for field in msgspec.structs.fields(event)]

    assert re.findall(r"`([\w?]+)`", ROWS[event.__name__].split(" | ")[0]) == fields


@pytest.mark.parametrize(
    ("event", "field"), [(ModelResponseEnded, "reason"), (RunFinished, "outcome"), (SpanStarted, "kind")]
)
def test_the_page_has_every_value(event: type[Any], field: str) -> None:
    for value in get_args(get_type_hints(event)[field]):
        assert f"`{value}`" in ROWS[event.__name__]
