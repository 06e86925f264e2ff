"""Diagrams of flows."""

import re
from pathlib import Path

import pytest

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Plugin, Step
from rightseat.plugins.drawing import mermaid, scheme
from rightseat.plugins.loading import load
from tests.plugins.flows.playing import flow_of, get, none, plugin_of, post, speak

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
NASTY = 'say "no" <script>alert(1)</script> & `x` #quot; ]]> \x00'


def example(name: str) -> Plugin:
    found = load(EXAMPLES / name).plugin
    assert found is not None
    return found


def test_a_flow_is_written_as_mermaid() -> None:
    plugin = example("host_security")

    assert mermaid([scheme(plugin, plugin.flows["scan_host"])]) == (
        "flowchart TD\n"
        '    subgraph f0["scan_host"]\n'
        '        f0s0["<b>start</b><br>api POST /scans<br>⚠ asks first"]\n'
        '        f0s1(["<b>end</b><br>extract task_id, eta_seconds"])\n'
        "        f0s0 --> f0s1\n"
        "    end\n"
        '    f0 -. on error .-> f0e(["<b>on_error</b><br>llm explains what went wrong"])\n'
        "    class f0s0 asks\n"
        "    class f0e error\n"
        "    classDef asks stroke:#c0392b,stroke-width:3px\n"
        "    classDef error stroke:#c0392b,stroke-dasharray:4 3\n"
    )


def test_branches_have_their_conditions_or_the_words_a_model_gets() -> None:
    plugin = example("host_security")
    drawn = mermaid([scheme(plugin, plugin.flows["list_host_cves"])])

    assert '-->|"when data.total #gt; 0"|' in drawn
    assert '-->|"用户只想知道是否有漏洞、有多少或是否严重"|' in drawn
    assert '{"<b>any_found</b>' in drawn


def test_of_several_flows_each_has_a_frame_and_an_arrow_to_what_it_suggests() -> None:
    plugin = example("host_security")
    drawn = mermaid([scheme(plugin, flow) for flow in plugin.flows.values()])

    assert re.findall(r'subgraph f\d\["(\w+)"\]', drawn) == ["cve_detail", "list_host_cves", "scan_host"]
    assert "f2 -. suggests .-> f1" in drawn


@pytest.mark.parametrize("name", ["host_security", "sales_insight", "weather", "file_convert"])
def test_a_diagram_shows_every_step_every_arrow_and_every_error(name: str) -> None:
    plugin = example(name)
    schemes = [scheme(plugin, flow) for flow in plugin.flows.values()]
    drawn = mermaid(schemes)

    for one in schemes:
        assert f'["{one.name}"]' in drawn
        assert [box.name for box in one.boxes if f"<b>{box.name}</b>" not in drawn] == []
    assert len(re.findall(r"f\d+s\d+ -->", drawn)) == sum(len(one.arrows) for one in schemes)
    assert drawn.count('-->|"when ') == sum(arrow.is_condition for one in schemes for arrow in one.arrows)
    assert drawn.count("<b>on_error</b>") == drawn.count("-. on error .->") == len(schemes)
    assert drawn.count("⚠ asks first") == sum(box.dangerous for one in schemes for box in one.boxes)


def test_what_only_an_operation_calls_dangerous_is_marked_too() -> None:
    plugin = example("host_security")
    step = Step("start", "api", {"endpoint": "POST /scans"})

    assert scheme(plugin, flow_of(step)).boxes[0].dangerous


def test_the_default_of_a_choice_and_an_own_on_error_are_drawn() -> None:
    choices: JsonValue = [{"step": "a", "description": "one"}, {"step": "end", "description": "two"}]
    choice = Step("start", "choice", {"instruction": "Which?", "choices": choices, "default": "end"})
    flow = flow_of(choice, speak("a", next="end"), none("end"), on_error=post(""))
    drawn = scheme(plugin_of(flow), flow)

    assert [(arrow.end, arrow.label) for arrow in drawn.arrows] == [
        ("a", "one"), ("end", "two"), ("end", "undecided"), ("end", "")
    ]  # fmt: skip
    assert drawn.on_error.text == "POST /orders"


def test_words_of_an_author_stay_words() -> None:
    choices: JsonValue = [
        {"step": "end", "description": NASTY},
        {"step": "a", "description": NASTY, "when": "data == '\">'"},
    ]
    choice = Step("look", "choice", {"instruction": NASTY, "choices": choices})
    flow = flow_of(get("start", "look"), choice, speak("a"), none("end"))
    one = scheme(plugin_of(flow), flow)

    drawn = mermaid([one])
    assert "<script>" not in drawn
    assert all(line.count('"') in (0, 2) for line in drawn.splitlines())
