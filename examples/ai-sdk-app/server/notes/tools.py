"""The tools of the notes: one that reads, and one that asks the person first."""

from rightseat.toolboxes.functions import tool

NOTES = ["Buy bread", "Call Mira", "Water the plants"]
"""In memory: they are back after a restart."""


@tool(description="List the titles of all notes.")
async def list_notes() -> list[str]:
    return NOTES


@tool(description="Delete a note.", approval="Delete this note?", effect="write")
async def delete_note(title: str) -> str:
    if title not in NOTES:
        return f"There is no note {title!r}."
    NOTES.remove(title)
    return f"{title} is deleted."


tools = [list_notes, delete_note]
