"""Renders flow graphs as Mermaid, which GitHub, GitLab and most documentation tools display.

Conditions are labelled with `when`; decisions of a model are labelled with their description. Steps that need approval
have a thick red border and a label.
"""

from collections.abc import Sequence

from rightseat.operations.flows import FlowEdge, FlowGraph, FlowNode

APPROVAL_LABEL = "⚠ asks first"
STYLES = (
    "classDef asks stroke:#c0392b,stroke-width:3px",
    "classDef error stroke:#c0392b,stroke-dasharray:4 3",
)
_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;", "&": "#38;"}


def render_mermaid(graphs: Sequence[FlowGraph]) -> str:
    """Render one chart with a subgraph per flow and dotted arrows to the flows that each suggests."""
    lines = ["flowchart TD"]
    for place, one in enumerate(graphs):
        lines += [f"    {line}" for line in render_subgraph(one, f"f{place}")]
    frames = {one.name: f"f{place}" for place, one in enumerate(graphs)}
    for one in graphs:
        known = [name for name in one.next_flows if name in frames and name != one.name]
        lines += [f"    {frames[one.name]} -. suggests .-> {frames[name]}" for name in known]
    return "\n".join([*lines, *(f"    {style}" for style in STYLES)]) + "\n"


def render_subgraph(one: FlowGraph, frame: str) -> list[str]:
    ids = {node.name: f"{frame}s{place}" for place, node in enumerate(one.nodes)}
    asking = [ids[node.name] for node in one.nodes if node.dangerous]
    return [
        f'subgraph {frame}["{escape_text(one.name)}"]',
        *(f"    {ids[node.name]}{render_node(node)}" for node in one.nodes),
        *(f"    {render_edge(edge, ids)}" for edge in one.edges),
        "end",
        f"{frame} -. on error .-> {frame}e{render_node(one.on_error)}",
        *([f"class {','.join(asking)} asks"] if asking else []),
        f"class {frame}e error",
    ]


def render_node(node: FlowNode) -> str:
    """A choice is a rhombus; the last node has round ends."""
    mark = f"<br>{APPROVAL_LABEL}" if node.dangerous else ""
    does = " ".join(part for part in (node.call, escape_text(node.text)) if part)
    text = f"<b>{escape_text(node.name)}</b><br>{does}{mark}"
    if node.call == "choice":
        return f'{{"{text}"}}'
    return f'(["{text}"])' if node.is_last else f'["{text}"]'


def render_edge(edge: FlowEdge, ids: dict[str, str]) -> str:
    words = f"when {edge.label}" if edge.is_condition else edge.label
    label = f'|"{escape_text(words)}"|' if words else ""
    return f"{ids[edge.start]} -->{label} {ids[edge.end]}"


def escape_text(text: str) -> str:
    """Join lines and escape characters that Mermaid would interpret."""
    return "".join(_ENTITIES.get(letter, letter) for letter in " ".join(text.split()))
