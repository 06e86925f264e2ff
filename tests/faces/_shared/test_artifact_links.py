"""Files and charts in words, for clients that know nothing else."""

from typing import Any

import pytest
from starlette.requests import Request

from rightseat.core.events import Custom, Event, RunFailed, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.log import Entry
from rightseat.core.types import JsonValue
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url

BASE = "http://here/copilotkit/files"
CHART: dict[str, JsonValue] = {"kind": "chart", "name": "Revenue", "id": "file_1", "option": {}}
FILE: dict[str, JsonValue] = {"kind": "file", "name": "a.md", "id": "file_2"}


def shown(*events: Event, base: str | None = BASE) -> list[Event]:
    linker = ArtifactLinker(base)
    return [one for event in events for one in linker.expand(event)]


def test_a_chart_is_a_picture_and_a_file_a_link_at_the_end_of_the_answer() -> None:
    said = shown(Custom("artifact", CHART), TextDelta("m", "Hi"), Custom("artifact", FILE), RunFinished("done"))

    id = "shown-file_1"
    assert said == [
        Custom("artifact", CHART | {"url": f"{BASE}/file_1"}),
        TextDelta("m", "Hi"),
        Custom("artifact", FILE | {"url": f"{BASE}/file_2"}),
        TextStarted(id),
        TextDelta(id, f"![Revenue]({BASE}/file_1.svg)\n\n[a.md]({BASE}/file_2)"),
        TextEnded(id),
        RunFinished("done"),
    ]


def test_what_was_made_before_a_failure_is_shown_too() -> None:
    *before, last = shown(Custom("artifact", FILE), RunFailed("x", "Bad"))

    assert last == RunFailed("x", "Bad")
    assert TextDelta("shown-file_2", f"[a.md]({BASE}/file_2)") in before


def test_without_an_address_there_is_the_name_alone() -> None:
    said = shown(Custom("artifact", FILE), RunFinished("done"), base=None)

    assert said[0] == Custom("artifact", FILE)
    assert TextDelta("shown-file_2", "**a.md**") in said


def test_the_name_of_a_file_cannot_be_markdown() -> None:
    evil = FILE | {"name": "x](http://evil) ![y](z)\n# <b>"}

    text = shown(Custom("artifact", evil), RunFinished("done"))[2]

    assert text == TextDelta("shown-file_2", rf"[x\]\(http://evil\) \!\[y\]\(z\) \# \<b\>]({BASE}/file_2)")


def test_added_link_events_have_no_position_in_the_log() -> None:
    entries = [Entry(1, 4, Custom("artifact", FILE)), Entry(1, 5, RunFinished("done"))]

    places = [(entry.seq, type(entry.event)) for entry in ArtifactLinker(BASE).expand_entries(entries)]

    assert places == [(4, Custom), (0, TextStarted), (0, TextDelta), (0, TextEnded), (5, RunFinished)]


@pytest.mark.parametrize("last", [RunFinished("done"), RunFailed("x", "Bad")], ids=["finished", "failed"])
def test_a_batch_of_entries_expands_to_the_events_that_each_event_expands_to(last: Event) -> None:
    step = Custom("flow.step", {"value": {"record": "SELECT 1"}})
    texts = (TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m"))
    events: list[Event] = [*texts, step, Custom("artifact", FILE), last]

    entries = [Entry(1, seq, event) for seq, event in enumerate(events, 1)]
    expanded = ArtifactLinker(BASE).expand_entries(entries)

    assert [entry.event for entry in expanded] == shown(*events)


def test_details_of_a_failure_and_records_of_steps_are_for_operators() -> None:
    about: JsonValue = {"error": {"code": "http_status"}, "details": {"body": "stack trace"}, "record": {"sql": "…"}}

    (said,) = shown(Custom("flow.step", {"event": "failed", "step": "start", "value": about}))

    assert said == Custom(
        "flow.step", {"event": "failed", "step": "start", "value": {"error": {"code": "http_status"}}}
    )


def test_another_custom_event_passes_as_it_is() -> None:
    event = Custom("artifact", {"kind": "file", "name": "without an id"})

    assert shown(event, RunFinished("done")) == [event, RunFinished("done")]


@pytest.mark.parametrize(
    "differing",
    [
        {},
        {"headers": [(b"host", b"copilot.example.com")], "scheme": "https"},
        {"headers": [(b"host", b"[::1]:8000")]},
        {"headers": [(b"host", b"no host/at all")]},
        {"headers": [], "server": None},
        {"root_path": "/behind/a proxy", "app_root_path": "/behind"},
        {"root_path": "/behind/"},
    ],
)
def test_the_address_of_files_is_below_that_of_the_request(differing: dict[str, Any]) -> None:
    scope = {
        "type": "http",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "path": "/v1/query",
        "query_string": b"a=b",
    }
    request = Request({**scope, "headers": [(b"host", b"localhost:8000")], **differing})

    assert files_url(request, "/v1/") == f"{str(request.base_url).rstrip('/')}/v1/files"
