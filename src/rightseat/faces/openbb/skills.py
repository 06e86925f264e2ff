"""Skills: ways of working that the user has written down in Workspace, for agents to read when a question needs them.

Workspace sends the list; the model asks for one by its slug. What the user chose for a question comes whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import Context, ToolOffer
from rightseat.core.errors import BadAsk
from rightseat.faces.openbb.functions import Function, schema
from rightseat.faces.openbb.session import Session

MOST = 100
LONGEST = 20_000


def functions(session: Session) -> Sequence[Function]:
    if "skills_catalog" not in session.query.raw:
        return []
    known = catalogue(session)
    return [*([reading(known)] if known else []), SAVING]


def catalogue(session: Session) -> dict[str, str]:
    """Descriptions by slug."""
    named = [(skill.get("slug"), skill.get("description")) for skill in session.query.skills[:MOST]]
    return {slug: str(text or "") for slug, text in named if isinstance(slug, str) and slug}


def reading(known: Mapping[str, str]) -> Function:
    listed = "\n".join(f"- {slug}: {description}"[:300] for slug, description in known.items())
    offer = ToolOffer(
        "get_skill_content",
        f"Read one of the user's skills before a task that it is made for. The skills are:\n{listed}",
        schema({"slug": {"type": "string", "enum": list(known)}, "reason": {"type": "string"}}, ("slug",)),
    )

    def write(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments.get("slug") not in known:
            raise BadAsk(f"There is no skill {arguments.get('slug')!r}. There are: {', '.join(known)}.")
        return {key: str(arguments[key]) for key in ("slug", "reason") if arguments.get(key)}

    return Function(offer, write, lambda arguments: f"Reading the skill {arguments.get('slug')}")


def write_saving(arguments: Mapping[str, Any]) -> dict[str, Any]:
    name, instructions = arguments.get("name"), arguments.get("instructions")
    if not isinstance(name, str) or not name.strip() or not isinstance(instructions, str) or not instructions.strip():
        raise BadAsk("name and instructions must both be texts.")
    return {"name": name.strip(), "instructions": instructions}


SAVING = Function(
    ToolOffer(
        "save_skill",
        "Save a way of working as a skill of the user's. Only when the user asks for it.",
        schema(
            {
                "name": {"type": "string"},
                "instructions": {"type": "string", "description": "Markdown: what to do, step by step."},
            },
            ("name", "instructions"),
        ),
    ),
    write_saving,
    lambda arguments: f"Saving the skill {arguments.get('name')}",
)


def context(session: Session) -> Sequence[Context]:
    """The skills that the user chose for this question."""
    return [
        Context(f"The user wants this to be done by the skill {skill.get('slug') or 'without a name'}", shortened(text))
        for skill in session.query.selected_skills[:MOST]
        if isinstance(text := skill.get("contentMarkdown"), str) and text.strip()
    ]


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[… {len(text) - LONGEST} characters left out]"
