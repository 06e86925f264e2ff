"""Every recorded request gets the recorded answer, compared as the client reads it (tests/recordings/openbb/README.md).

The model does what the recording needs of it: it says the recorded text, and calls tools whose effects were recorded.
"""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ModelUnreachable
from rightseat.core.events import Custom, Event, TextDelta, TextEnded, TextStarted
from rightseat.core.model import CallChunk, TextChunk
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.conftest import Serve
from tests.faces.openbb.serving import Sent, app, ask, call_of, calls_of, data_of, events, names, post, text_of

RECORDINGS = Path(__file__).parents[2] / "recordings" / "openbb"
SCENARIOS: dict[str, dict[str, Any]] = {
    one["name"]: one for one in json.loads((RECORDINGS / "scenarios.json").read_text())
}
STATUS = "copilotStatusUpdate"


def request_of(name: str) -> dict[str, Any]:
    """As recorded. Workspace always sends a timezone; recordings of messages alone were made without Workspace."""
    found: dict[str, Any] = json.loads((RECORDINGS / f"{name}.request.json").read_text())
    return found | {"timezone": "UTC"} if found.keys() == {"messages"} else found


def answer_of(name: str) -> Sent:
    return events((RECORDINGS / f"{name}.response.sse").read_bytes().decode())


def statuses_count(name: str) -> bool:
    return name.startswith(("10_", "13_")) or name.endswith("_error")


def test_all_53_scenarios_are_here() -> None:
    assert len(SCENARIOS) == 53
    assert all((RECORDINGS / f"{name}.response.sse").exists() for name in SCENARIOS)


BY_AN_AGENT = ("07_citations", "10_reasoning_steps")
"""What no model makes by calling a tool of ours, but an agent may say."""

APART = (*BY_AN_AGENT, "13_error_model_failure", "13_error_empty_messages")


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in APART])
async def test_a_recorded_request_gets_the_recorded_answer(name: str, serve: Serve) -> None:
    follows = SCENARIOS[name]["follows"]

    async with serve(files()) as elsewhere:
        before = await answered(follows, serve) if follows and states(request_of(name)) else None
        request = rewritten(name, before, elsewhere)
        async with serve(app(model_for(name), allow_private_hosts=("127.0.0.0/8",))) as url:
            sent = await ask(url, request)

    compare(name, sent)


@pytest.mark.parametrize("name", BY_AN_AGENT)
async def test_events_of_an_agent_are_written_as_recorded(name: str, serve: Serve) -> None:
    request = request_of(name)
    for message in states(request):
        message["extra_state"] = {}

    async with serve(app(agent=Saying(answer_of(name)))) as url:
        sent = await ask(url, request)

    compare(name, sent)


async def test_a_model_failure_is_written_as_recorded(serve: Serve) -> None:
    """Scenario 13: the words are ours; what kinds of events say it is recorded."""
    model = ScriptedModel([[ModelUnreachable("upstream timeout")]])

    async with serve(app(model)) as url:
        sent = await ask(url, request_of("13_error_model_failure"))

    wanted = answer_of("13_error_model_failure")
    assert list(dict.fromkeys(names(sent))) == list(dict.fromkeys(names(wanted)))
    (status,), (recorded,) = data_of(sent, STATUS), data_of(wanted, STATUS)
    assert status == recorded
    assert text_of(sent) == "upstream timeout"


async def test_a_request_without_messages_is_refused_as_recorded(serve: Serve) -> None:
    async with serve(app(ScriptedModel([]))) as url:
        answer = await post(url, request_of("13_error_empty_messages"))

    assert answer.status_code == 400  # OpenBB's own agents answer 400 or 422
    assert answer.headers["content-type"] == "application/json"
    assert "messages" in answer.json()["message"]


# The model of a scenario


def model_for(name: str) -> ScriptedModel:
    wanted = answer_of(name)
    request = request_of(name)
    script: list[ScriptedResponse] = []
    for event, data in grouped(wanted):
        if event == "text":
            script.append(says(*data))
        elif event == "copilotFunctionCall":
            script.append(calls_of(*tool_calls(data, request)))
        elif event == "copilotMessageArtifact":
            script.append(calls_of(artifact_call(data)))
        elif event == "copilotPromptSuggestions":
            script.append(calls_of(("suggest_prompts", data)))
    return ScriptedModel([*joined(script), says()])


def grouped(sent: Sent) -> list[tuple[str, Any]]:
    """Pieces of text that follow each other are one thing that the model says."""
    found: list[tuple[str, Any]] = []
    for name, data in sent:
        if name != "copilotMessageChunk":
            found.append((name, data))
        elif found and found[-1][0] == "text":
            found[-1][1].append(data["delta"])
        else:
            found.append(("text", [data["delta"]]))
    return found


def joined(script: list[ScriptedResponse]) -> list[ScriptedResponse]:
    """Text and a call after it are one answer."""
    found: list[ScriptedResponse] = []
    for answer in script:
        if found and isinstance(found[-1][-2], TextChunk) and isinstance(answer[0], CallChunk):
            found[-1] = [*found[-1][:-1], *answer]
        else:
            found.append(answer)
    return found


def tool_calls(call: dict[str, Any], request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    function, given = call["function"], call["input_arguments"]
    if function == "get_widget_data" and "widget_uuid" in given:
        return [("read_Historical_Stock_Price", {})]
    if function == "get_widget_data":
        return [(f"read_{one['id']}", read_arguments(one)) for one in given["data_sources"]]
    if function == "execute_agent_tool":
        return [(given["tool_name"], given["parameters"])]
    if function == "get_params_options":
        (query,) = given["param_options_queries"]
        return [(function, {"widget": f"read_{query['id']}", "param": query["param"]})]
    return [(function, given)]


def read_arguments(source: dict[str, Any]) -> dict[str, Any]:
    return {"query": source["ssm_request"]["query"]} if "ssm_request" in source else dict(source["input_args"])


def artifact_call(artifact: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    given = {"name": artifact["name"], "description": artifact["description"]}
    if artifact["type"] == "chart":
        keys = {"chartType": "type", "xKey": "x_key", "yKey": "y_keys", "angleKey": "angle_key"}
        keys["calloutLabelKey"] = "callout_label_key"
        parameters = {keys[key]: value for key, value in artifact["chart_params"].items()}
        return "create_chart", given | {"data": artifact["content"]} | parameters
    key = "data" if artifact["type"] == "table" else "content"
    return f"create_{artifact['type']}", given | {key: artifact["content"]}


class Saying:
    """An agent that says what was recorded."""

    description = ""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        for number, (name, data) in enumerate(self._sent):
            if name == STATUS:
                yield Custom("openbb.status", data)
            elif name == "copilotMessageArtifact":
                yield Custom("openbb.artifact", data)
            elif name == "copilotCitationCollection":
                yield Custom("openbb.citations", data["citations"])
            else:
                yield TextStarted(f"m{number}")
                yield TextDelta(f"m{number}", data["delta"])
                yield TextEnded(f"m{number}")


# The second request of a round trip


async def answered(name: str, serve: Serve) -> dict[str, Any]:
    """The function call that the request before it led to."""
    async with serve(app(model_for(name))) as url:
        return call_of(await ask(url, request_of(name)))


def states(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in request["messages"] if message.get("extra_state")]


def rewritten(name: str, before: dict[str, Any] | None, elsewhere: str) -> dict[str, Any]:
    """With our state in the place of another agent's, and with files where they are in this test."""
    request = request_of(name)
    for message in states(request):
        assert before is not None
        message["extra_state"] = before["extra_state"] if is_answer(message, before) else {}
    text = json.dumps(request)
    return dict(json.loads(text.replace("http://127.0.0.1:9", elsewhere)))


def is_answer(message: dict[str, Any], call: dict[str, Any]) -> bool:
    return bool(message["input_arguments"] == call["input_arguments"])


def files() -> Starlette:
    """The recorded PDF, where the recorded request says that it is."""

    async def pdf(request: Request) -> Response:
        recorded = request_of("06_pdf_widget.2")["messages"][-1]["data"][0]["items"][0]["content"]
        return Response(base64.b64decode(recorded), media_type="application/pdf")

    return Starlette(routes=[Route("/{path:path}", pdf)])


# Comparing: names in order, text joined, data as JSON but for what is `volatile`, and nothing after a call


def compare(name: str, sent: Sent) -> None:
    ours, theirs = (merged(one, statuses_count(name)) for one in (sent, answer_of(name)))

    assert names(ours) == names(theirs)
    for (event, data), (_, recorded) in zip(ours, theirs, strict=True):
        assert event != "copilotFunctionCall" or data["extra_state"]
        for path in (*SCENARIOS[name]["volatile"], *OURS.get(event, ())):
            data, recorded = without(path, data), without(path, recorded)
        if event == "copilotCitationCollection":
            data, recorded = compared_citations(data, recorded)
        assert data == recorded
    assert "copilotFunctionCall" not in names(sent[:-1])


OURS = {"copilotFunctionCall": ("extra_state",)}
"""What an agent writes for itself alone. Ours is signed, and is there even where none was recorded."""

SAID_BESIDES = (("source_info", "name"), ("source_info", "description"), ("details",))
"""What a citation of ours says of its source where the recorded one says nothing: what Workspace shows to the user."""

APART_FROM_A_LIBRARY = 4
"""Points by which the box of a text differs between what reads PDF here and what was recorded: which heights count."""


def merged(sent: Sent, statuses: bool) -> Sent:
    found: Sent = []
    for name, data in sent:
        if name == STATUS and not statuses:
            continue
        if name == "copilotMessageChunk" and found and found[-1][0] == name:
            found[-1] = (name, {"delta": found[-1][1]["delta"] + data["delta"]})
        else:
            found.append((name, data))
    return found


def without(path: str, data: Any) -> Any:
    """`citations[].id`: the field of every object in a list."""
    head, _, rest = path.partition(".")
    key = head.removesuffix("[]")
    if not isinstance(data, dict) or key not in data:
        return data
    if not rest:
        return {name: value for name, value in data.items() if name != key}
    return data | {key: [without(rest, one) for one in data[key]]}


def compared_citations(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Both without what differs for a reason that is named above."""
    assert len(ours["citations"]) == len(theirs["citations"])
    pairs = [compared(*pair) for pair in zip(ours["citations"], theirs["citations"], strict=True)]
    return [one for one, _ in pairs], [recorded for _, recorded in pairs]


def compared(one: dict[str, Any], recorded: dict[str, Any]) -> tuple[Any, Any]:
    for path in SAID_BESIDES:
        if not has(path, recorded):
            one = skipped(path, one)
    if "details" in recorded and "details" in one:
        assert recorded["details"][0].items() <= one["details"][0].items()
        one = one | {"details": recorded["details"]}
    boxes = one.get("quote_bounding_boxes")
    if boxes and len(boxes) == len(known := recorded.get("quote_bounding_boxes", ())):
        one = one | {"quote_bounding_boxes": [list(map(near, *pair)) for pair in zip(boxes, known, strict=True)]}
    return one, recorded


def has(path: tuple[str, ...], data: Any) -> bool:
    return not path or (path[0] in data and has(path[1:], data[path[0]]))


def skipped(path: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
    key, *rest = path
    if rest:
        return data | {key: skipped(tuple(rest), data[key])}
    return {name: value for name, value in data.items() if name != key}


def near(box: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """The recorded sides, where ours are as good."""
    sides = ("x0", "top", "x1", "bottom")
    return box | {side: recorded[side] for side in sides if abs(box[side] - recorded[side]) < APART_FROM_A_LIBRARY}
