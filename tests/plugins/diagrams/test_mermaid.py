"""Diagrams of flows."""

import re
from pathlib import Path

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Plugin, Step
from rightseat.plugins.diagrams import build_graph, render_mermaid
from rightseat.plugins.loading import load
from tests.plugins.flows.playing import flow_of, get, none, plugin_of, post, speak

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
NASTY = 'say "no" <script>alert(1)</script> & `x` #quot; ]]> \x00'


def example(name: str) -> Plugin:
    found = load(EXAMPLES / name).plugin
    assert found is not None
    return found


def test_a_flow_is_rendered_as_mermaid() -> None:
    plugin = example("host_security")

    assert render_mermaid([build_graph(plugin, plugin.flows["scan_host"])]) == (
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


def test_branches_are_labelled_with_their_condition_or_description() -> None:
    plugin = example("host_security")
    drawn = render_mermaid([build_graph(plugin, plugin.flows["list_host_cves"])])

    assert '-->|"when data.total #gt; 0"|' in drawn
    assert '-->|"The user only asks whether there are vulnerabilities, how many or how severe"|' in drawn
    assert '{"<b>any_found</b>' in drawn


def test_several_flows_are_subgraphs_with_arrows_to_suggested_flows() -> None:
    plugin = example("host_security")
    drawn = render_mermaid([build_graph(plugin, flow) for flow in plugin.flows.values()])

    assert re.findall(r'subgraph f\d\["(\w+)"\]', drawn) == ["cve_detail", "list_host_cves", "scan_host"]
    assert "f2 -. suggests .-> f1" in drawn


@pytest.mark.parametrize("name", ["host_security", "sales_insight", "weather", "file_convert"])
def test_a_diagram_shows_every_step_transition_and_error_handler(name: str) -> None:
    plugin = example(name)
    schemes = [build_graph(plugin, flow) for flow in plugin.flows.values()]
    drawn = render_mermaid(schemes)

    for one in schemes:
        assert f'["{one.name}"]' in drawn
        assert [box.name for box in one.nodes if f"<b>{box.name}</b>" not in drawn] == []
    assert len(re.findall(r"f\d+s\d+ -->", drawn)) == sum(len(one.edges) for one in schemes)
    assert drawn.count('-->|"when ') == sum(arrow.is_condition for one in schemes for arrow in one.edges)
    assert drawn.count("<b>on_error</b>") == drawn.count("-. on error .->") == len(schemes)
    assert drawn.count("⚠ asks first") == sum(box.dangerous for one in schemes for box in one.nodes)


def test_a_step_whose_operation_is_dangerous_is_marked_too() -> None:
    plugin = example("host_security")
    step = Step("start", "api", {"endpoint": "POST /scans"})

    assert build_graph(plugin, flow_of(step)).nodes[0].dangerous


def test_the_default_of_a_choice_and_the_on_error_of_a_step_are_drawn() -> None:
    choices: JsonValue = [{"step": "a", "description": "one"}, {"step": "end", "description": "two"}]
    choice = Step("start", "choice", {"instruction": "Which?", "choices": choices, "default": "end"})
    flow = flow_of(choice, speak("a", next="end"), none("end"), on_error=post(""))
    drawn = build_graph(plugin_of(flow), flow)

    assert [(arrow.end, arrow.label) for arrow in drawn.edges] == [
        ("a", "one"), ("end", "two"), ("end", "undecided"), ("end", "")
    ]  # fmt: skip
    assert drawn.on_error.text == "POST /orders"


def test_text_of_an_author_is_escaped() -> None:
    choices: JsonValue = [
        {"step": "end", "description": NASTY},
        {"step": "a", "description": NASTY, "when": "data == '\">'"},
    ]
    choice = Step("look", "choice", {"instruction": NASTY, "choices": choices})
    flow = flow_of(get("start", "look"), choice, speak("a"), none("end"))
    one = build_graph(plugin_of(flow), flow)

    drawn = render_mermaid([one])
    assert "<script>" not in drawn
    assert all(line.count('"') in (0, 2) for line in drawn.splitlines())
