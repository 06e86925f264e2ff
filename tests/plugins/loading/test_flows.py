"""Flow files, and flows made of operations."""

import pytest

from rightseat.plugins.definition import Flow, Plugin, RetryPolicy
from rightseat.plugins.diagnostics import Replacement
from rightseat.plugins.loading import LoadResult, OperatorSettings
from tests.plugins.loading.sample import FLOW, METADATA, OPENAPI, SAMPLE, codes, load, one, spoilt

F = "flows/look_up.yaml"
ABOUT, NEXT = "Looks up one thing and explains it.", "next_flow: []"
AUTOMATIC = METADATA.replace("false", "true")
LIB = {"lib/__init__.py": "class Rank:\n    name = 'rank'\nexported = [Rank]\n"}


def plugin(loaded: LoadResult) -> Plugin:
    assert loaded.plugin is not None, [str(one) for one in loaded.diagnostics]
    return loaded.plugin


def flow(old: str = "", new: str = "") -> Flow:
    return plugin(load(spoilt(F, old, new) if old else SAMPLE)).flows["look_up"]


def test_R_5_every_field_of_a_flow_is_read() -> None:
    found = flow()

    assert (found.name, found.description, found.file) == ("look_up", ABOUT, F)
    assert (found.max_steps, found.timeout, found.answer, found.next_flow) == (50, 600, "auto", ())
    assert list(found.steps) == ["start", "which", "explain", "end"]
    assert (found.steps["start"].call, found.steps["start"].next) == ("api", "which")
    assert found.on_error is not None
    assert found.on_error.call == "llm"


def test_R_5_every_file_of_the_folder_is_a_flow_with_its_own_description_and_next_flows() -> None:
    texts = {name: FLOW.replace("name: look_up", f"name: {name}").replace(ABOUT, f"{name}!") for name in ("a", "b")}
    files = {f"flows/{name}.yml": text.replace(NEXT, f"next_flow: [look_up, {name}]") for name, text in texts.items()}

    flows = plugin(load({**SAMPLE, **files})).flows

    assert {name: (one.description, one.next_flow) for name, one in flows.items()} == {
        "look_up": (ABOUT, ()),
        "a": ("a!", ("look_up", "a")),
        "b": ("b!", ("look_up", "b")),
    }


def test_R_5_extensions_are_read() -> None:
    found = flow("next_flow: []", "max_steps: 9\ntimeout: 30\nanswer: last")

    assert (found.max_steps, found.timeout, found.answer, found.next_flow) == (9, 30, "last", None)


def test_R_5_a_step_sets_its_retries() -> None:
    retry = "retry: {times: 2, on: [timeout, 429, 5xx], backoff: 0.5}"
    more = f"next: which\n    timeout: 15\n    dangerous: true\n    {retry}\n    args: {{id: '{{question}}'}}"

    start = flow("next: which", more).steps["start"]

    assert start.retry == RetryPolicy(2, frozenset({"timeout", "429", "5xx"}), 0.5)
    assert (start.timeout, start.dangerous, start.args) == (15, True, {"id": "{question}"})


@pytest.mark.parametrize(
    "wrong",
    ["retry: {times: 6}", "retry: {on: [500]}", "timeout: soon", "dangerous: maybe", "args: [1]", "params: text"],
)
def test_R_5_wrong_fields_are_errors(wrong: str) -> None:
    assert "E310" in codes(load(spoilt(F, "next: which", f"next: which\n    {wrong}"))) or wrong.startswith("params")


@pytest.mark.parametrize("name", ["a", "A-1_b", "0x", "_" * 64])
def test_R_5_1_letters_digits_and_separators_are_valid_flow_names(name: str) -> None:
    assert codes(load(spoilt(F, "name: look_up", f"name: '{name}'"))) == []


def test_R_5_1_a_flow_begins_at_start() -> None:
    assert one(load(spoilt(F, "name: start", "name: first")), "E305").pointer == "/steps"


def test_R_5_2_next_names_a_step() -> None:
    misspelt = one(load(spoilt(F, "next: which", "next: wich")), "E306")
    assert misspelt.message.endswith("Did you mean 'which'?")
    assert misspelt.replacement == Replacement("wich", "which")


def test_R_5_3_a_flow_may_end_anywhere() -> None:
    found = load(spoilt(F, "    next: end\n", ""))

    assert codes(found) == ["I301"]
    assert one(found, "I301").severity == "information"
    assert plugin(found).flows["look_up"].steps["explain"].next is None


def test_R_5_4_end_may_have_any_call() -> None:
    assert codes(load(spoilt(F, "call_type: none", "call_type: llm"))) == []


def test_R_5_5_a_none_step_may_have_a_next_step() -> None:
    going = spoilt(F, "    call_type: api\n    params:\n      endpoint: GET /things/{id}\n", "    call_type: none\n")

    assert codes(load(going)) == ["W305"]
    assert load(going, "strict").plugin is None


def test_R_5_6_cycles_need_a_choice() -> None:
    assert codes(load(spoilt(F, "    next: end", "    next: start"))) == ["W307"]
    assert "E307" in codes(load(spoilt(F, "    next: end", "    next: explain")))


def test_R_5_6_the_default_of_a_choice_makes_a_step_reachable() -> None:
    steps = "next_flow: []\n"
    more = FLOW.replace("      choices:", "      default: spare\n      choices:").replace(
        "  - name: end\n", "  - name: spare\n    call_type: none\n  - name: end\n"
    )

    assert steps in more
    assert codes(load({**SAMPLE, F: more})) == ["I301"]


def test_R_5_7_max_steps_is_a_number() -> None:
    assert "E310" in codes(load(spoilt(F, "next_flow: []", "max_steps: 0")))


@pytest.mark.parametrize("key", ["parallel", "foreach", "flow", "edges"])
def test_R_5_8_reserved_keys_are_reported_as_reserved(key: str) -> None:
    assert "later version" in one(load(spoilt(F, "next_flow: []", f"{key}: []")), "E308").message


def test_R_6_1_each_operation_is_a_flow() -> None:
    document = OPENAPI.replace("      operationId: get_thing\n", "")
    found = plugin(load({"plugin.json": AUTOMATIC, "openapi.yaml": document}))

    assert list(found.flows) == ["get_things_id", "start_job"]
    made = found.flow("get /things/{id}")
    assert made is found.flows["get_things_id"]
    assert made is not None
    assert made.description == "One thing by its id."
    assert [(one.name, one.call, one.next) for one in made.steps.values()] == [
        ("start", "api", "end"),
        ("end", "none", None),
    ]
    assert made.on_error is None


def test_R_6_1_an_operation_id_that_is_no_flow_name_becomes_an_alias() -> None:
    found = plugin(load({"plugin.json": AUTOMATIC, "openapi.yaml": OPENAPI.replace("get_thing", "things.get")}))

    assert "things_get" in found.flows
    assert found.flow("things.get") is found.flows["things_get"]


def test_R_6_2_a_flow_file_overrides_an_operation() -> None:
    mine = FLOW.replace("name: look_up", "name: Get_Thing")
    found = load({**SAMPLE, "plugin.json": AUTOMATIC, F: mine})

    assert codes(found) == ["I601"]
    assert sorted(plugin(found).flows) == ["Get_Thing", "start_job"]
    assert codes(load({"plugin.json": AUTOMATIC})) == ["W102", "W601"]


@pytest.mark.parametrize(
    ("said", "dangerous"), [("", True), ("x-dangerous: false", False), ("x-dangerous: true", True)]
)
def test_R_6_3_a_generated_flow_that_writes_is_dangerous(said: str, dangerous: bool) -> None:
    document = OPENAPI.replace("      operationId: start_job\n", f"      operationId: start_job\n      {said}\n")
    found = plugin(load({"plugin.json": AUTOMATIC, "openapi.yaml": document}))

    assert found.flows["start_job"].steps["start"].dangerous is dangerous
    assert not found.flows["get_thing"].steps["start"].dangerous


def test_R_6_4_too_many_generated_flows_are_reported() -> None:
    more = "".join(f"  /n{n}:\n    get: {{description: Number {n}.}}\n" for n in range(19))

    assert "W602" in codes(load({"plugin.json": AUTOMATIC, "openapi.yaml": OPENAPI + more}))


@pytest.mark.parametrize("call", ["lib.rank", "rank"])
def test_R_9_1_a_flow_that_uses_code_is_disabled_until_the_code_is_allowed(call: str) -> None:
    files = {**spoilt(F, "call_type: none", f"call_type: {call}"), **LIB}

    found = load(files)
    waiting = plugin(found)
    assert codes(found) == ["W702"]
    assert not waiting.flows["look_up"].enabled
    assert (waiting.flows["look_up"].steps["end"].call, waiting.flows["look_up"].steps["end"].is_lib) == ("rank", True)

    assert waiting.lib is not None
    allowed = plugin(load(files, operator=OperatorSettings(lib={waiting.lib})))
    assert allowed.flows["look_up"].enabled
    changed = files | {"lib/__init__.py": LIB["lib/__init__.py"] + "\n"}
    assert not plugin(load(changed, operator=OperatorSettings(lib={waiting.lib}))).flows["look_up"].enabled


def test_a_tool_that_no_code_defines_is_unknown() -> None:
    found = load({**spoilt(F, "call_type: none", "call_type: lib.rnk"), **LIB})

    assert one(found, "E304").message.endswith("Did you mean 'lib.rank'?")


def test_R_12_4_next_flows_may_be_of_another_plugin() -> None:
    found = load(spoilt(F, "next_flow: []", "next_flow: [look_up, sample.look_up, other.flow, sample.nothing]"))

    assert codes(found) == ["W801"]
    assert "sample.nothing" in one(found, "W801").message
