"""What an OpenAPI document says of requests and responses reaches the model."""

from dataclasses import replace
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, Plugin, Step
from rightseat.plugins.response_notes import MAX_FIELDS, MAX_NOTE_BYTES, describe_response
from rightseat.plugins.scope import Scope
from tests.plugins.flows.playing import Play, exchange, flow_of, get, none, plugin_of, post, speak

RESPONSE: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The host's own name."},
        "open": {"type": "array", "items": {"$ref": "#/$defs/cve"}},
    },
    "$defs": {
        "cve": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Number of the CVE."},
                "level": {"type": "string", "enum": ["high", "low"]},
                "part_of": {"$ref": "#/$defs/cve"},
            },
        }
    },
}
SAID = "Response of GET /items: All CVEs of one host."


def described(**changes: Any) -> Plugin:
    plugin = plugin_of()
    items = replace(plugin.operations["GET /items"], response=RESPONSE, response_description="All CVEs of one host.")
    return replace(plugin, operations={**plugin.operations, "GET /items": replace(items, **changes)})


async def played(*steps: Step, model: dict[str, Any], **rest: Any) -> Play:
    http = [exchange("GET", "/items", json={"name": "a", "open": []})]
    flow = flow_of(*steps, **rest)
    play = await Play(flow, model, http, Scope("What is there?"), described()).run()
    assert play.problems == []
    return play


def test_fields_of_a_response_are_listed_with_types_descriptions_and_values() -> None:
    text = describe_response(described().operations["GET /items"])

    assert text.startswith(SAID)
    assert "- name (string): The host's own name." in text
    assert "- open[].id (string): Number of the CVE." in text
    assert '- open[].level (string): (one of "high", "low")' in text


def test_a_response_without_descriptions_has_no_note() -> None:
    assert describe_response(Operation("GET", "/a")) == ""


def test_the_note_of_a_huge_response_schema_is_shortened_and_counts_the_omitted_fields() -> None:
    names: dict[str, JsonValue] = {f"field{n}": {"type": "string"} for n in range(300)}
    many = describe_response(Operation("GET", "/a", response={"type": "object", "properties": names}))
    long = describe_response(Operation("GET", "/a", response_description="字" * 5000))

    assert f"… ({300 - MAX_FIELDS} more fields)" in many
    assert len(long.encode()) <= MAX_NOTE_BYTES
    assert "more characters)" in long


async def test_an_llm_step_receives_the_note_of_its_data() -> None:
    play = await played(get("start", "tell"), speak("tell", "{data}"), model={"tell": "Fine."})

    assert SAID in play.model_caller.prompts[0]
    assert "- name (string): The host's own name." in play.model_caller.prompts[0]


async def test_an_llm_step_without_the_data_receives_no_note() -> None:
    play = await played(get("start", "tell"), speak("tell", "{question}"), model={"tell": "Fine."})

    assert "Response of" not in "".join(play.model_caller.prompts)


async def test_a_choice_receives_the_note_of_its_data() -> None:
    choices: list[JsonValue] = [{"step": name, "description": name} for name in ("a", "b")]
    step = Step("pick", "choice", {"instruction": "Which?", "choices": choices})
    play = await played(get("start", "pick"), step, none("a"), none("b"), model={"pick": "b"}, answer="none")

    assert SAID in play.model_caller.prompts[0]


async def test_the_call_that_composes_the_answer_receives_the_note_of_the_data() -> None:
    play = await played(get("start"), model={"answer": "Fine."})

    assert SAID in play.model_caller.prompts[0]


async def test_extracted_fields_keep_the_note_of_their_response() -> None:
    extract = Step("take", "extract", {"keys": ["name"]}, "tell")
    play = await played(get("start", "take"), extract, speak("tell", "{data}"), model={"tell": "Fine."})

    assert SAID in play.model_caller.prompts[0]


async def test_the_slot_filler_receives_the_descriptions_of_the_body_and_of_earlier_data() -> None:
    plugin = described()
    order = replace(plugin.operations["POST /orders"], request_description="The name is that of a host.")
    plugin = replace(plugin, operations={**plugin.operations, order.name: order})
    http = [
        exchange("GET", "/items", json={"name": "a"}),
        exchange("POST", "/orders", json={}),
    ]
    flow = flow_of(get("start", "order"), post("order"), answer="none")
    play = await Play(flow, {"order": {"name": "a", "count": None}}, http, Scope("Order."), plugin).run()

    assert "Its request body: The name is that of a host." in play.model_caller.prompts[1]
    assert SAID in play.model_caller.prompts[0]


async def test_the_explanation_of_an_error_receives_no_response_note() -> None:
    play = await Play(flow_of(get("start")), {"on_error": "Sorry."}, [exchange("GET", "/items", 500)],
                      Scope("What is there?"), described()).run()  # fmt: skip

    assert "Response of" not in "".join(play.model_caller.prompts)


async def test_a_long_note_is_shortened_to_fit_the_window() -> None:
    scope = Scope("What is there?", window=1024)
    http = [exchange("GET", "/items", json={"name": "a" * 5000})]
    plugin = described(response_description="字" * 5000)
    play = await Play(flow_of(get("start", "tell"), speak("tell")), {"tell": "Fine."}, http, scope, plugin).run()

    assert play.trace.status() == "succeeded"
    assert sum(len(text.encode()) for text in play.model_caller.prompts) < 1024 * 3
