"""A flow as Mermaid, which GitHub, GitLab and most documentation tools draw.

Conditions are written with `when`; what a model decides stands there in the words that it gets. Steps that ask a person
first have a thick red border and say so.
"""

from collections.abc import Sequence

from rightseat.plugins.drawing.scheme import ASKS, Arrow, Box, Scheme

STYLES = (
    "classDef asks stroke:#c0392b,stroke-width:3px",
    "classDef error stroke:#c0392b,stroke-dasharray:4 3",
)
_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;", "&": "#38;"}


def mermaid(schemes: Sequence[Scheme]) -> str:
    """One chart of all of them, each in a frame, with dotted arrows to what each suggests."""
    lines = ["flowchart TD"]
    for place, one in enumerate(schemes):
        lines += [f"    {line}" for line in framed(one, f"f{place}")]
    frames = {one.name: f"f{place}" for place, one in enumerate(schemes)}
    for one in schemes:
        known = [name for name in one.suggests if name in frames and name != one.name]
        lines += [f"    {frames[one.name]} -. suggests .-> {frames[name]}" for name in known]
    return "\n".join([*lines, *(f"    {style}" for style in STYLES)]) + "\n"


def framed(one: Scheme, frame: str) -> list[str]:
    ids = {box.name: f"{frame}s{place}" for place, box in enumerate(one.boxes)}
    asking = [ids[box.name] for box in one.boxes if box.dangerous]
    return [
        f'subgraph {frame}["{written(one.name)}"]',
        *(f"    {ids[box.name]}{shaped(box)}" for box in one.boxes),
        *(f"    {drawn(arrow, ids)}" for arrow in one.arrows),
        "end",
        f"{frame} -. on error .-> {frame}e{shaped(one.on_error, 'on_error')}",
        *([f"class {','.join(asking)} asks"] if asking else []),
        f"class {frame}e error",
    ]


def shaped(box: Box, name: str = "") -> str:
    """A choice is a rhombus, the last box has round ends."""
    mark = f"<br>{ASKS}" if box.dangerous else ""
    does = " ".join(part for part in (box.call, written(box.text)) if part)
    text = f"<b>{written(name or box.name)}</b><br>{does}{mark}"
    if box.call == "choice":
        return f'{{"{text}"}}'
    return f'(["{text}"])' if box.is_last else f'["{text}"]'


def drawn(arrow: Arrow, ids: dict[str, str]) -> str:
    words = f"when {arrow.label}" if arrow.is_condition else arrow.label
    label = f'|"{written(words)}"|' if words else ""
    return f"{ids[arrow.start]} -->{label} {ids[arrow.end]}"


def written(text: str) -> str:
    """On one line, and with nothing in it that Mermaid would read as its own."""
    return "".join(_ENTITIES.get(letter, letter) for letter in " ".join(text.split()))
