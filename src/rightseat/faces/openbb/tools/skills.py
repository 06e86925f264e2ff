"""Functions to read and save the user's skills: instructions written down in Workspace.

Workspace sends the list, and the model reads one by its slug. Skills selected for a question are sent in full.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import Context, ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.functions import WorkspaceFunction, schema

MAX_SKILLS = 100
MAX_SKILL_CHARS = 20_000


def functions(session: Session) -> Sequence[WorkspaceFunction]:
    if "skills_catalog" not in session.query.raw:
        return []
    descriptions = describe_skills(session)
    return [*([get_skill_function(descriptions)] if descriptions else []), SAVE_SKILL]


def describe_skills(session: Session) -> dict[str, str]:
    """Descriptions by slug."""
    named = [(skill.get("slug"), skill.get("description")) for skill in session.query.skills[:MAX_SKILLS]]
    return {slug: str(text or "") for slug, text in named if isinstance(slug, str) and slug}


def get_skill_function(descriptions: Mapping[str, str]) -> WorkspaceFunction:
    listed = "\n".join(f"- {slug}: {description}"[:300] for slug, description in descriptions.items())
    offer = ToolOffer(
        "get_skill_content",
        f"Read one of the user's skills before a task that it is made for. The skills are:\n{listed}",
        schema({"slug": {"type": "string", "enum": list(descriptions)}, "reason": {"type": "string"}}, ("slug",)),
    )

    def write(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments.get("slug") not in descriptions:
            raise BadRequest(f"There is no skill {arguments.get('slug')!r}. There are: {', '.join(descriptions)}.")
        return {key: str(arguments[key]) for key in ("slug", "reason") if arguments.get(key)}

    return WorkspaceFunction(offer, write, lambda arguments: f"Reading the skill {arguments.get('slug')}")


def write_skill(arguments: Mapping[str, Any]) -> dict[str, Any]:
    name, instructions = arguments.get("name"), arguments.get("instructions")
    if not isinstance(name, str) or not name.strip() or not isinstance(instructions, str) or not instructions.strip():
        raise BadRequest("name and instructions must both be texts.")
    return {"name": name.strip(), "instructions": instructions}


SAVE_SKILL = WorkspaceFunction(
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
    write_skill,
    lambda arguments: f"Saving the skill {arguments.get('name')}",
)


def selected_skills_context(session: Session) -> Sequence[Context]:
    """The skills that the user selected for this question."""
    return [
        Context(
            f"The user wants this to be done by the skill {skill.get('slug') or 'without a name'}", truncate_skill(text)
        )
        for skill in session.query.selected_skills[:MAX_SKILLS]
        if isinstance(text := skill.get("contentMarkdown"), str) and text.strip()
    ]


def truncate_skill(text: str) -> str:
    return (
        text
        if len(text) <= MAX_SKILL_CHARS
        else f"{text[:MAX_SKILL_CHARS]}\n[… {len(text) - MAX_SKILL_CHARS} characters left out]"
    )
