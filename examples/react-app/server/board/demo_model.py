"""A model for trying the board without a key: it goes by keywords, and calls the tools as a real one would.

It reads the board first. Then it points at tasks, proposes a change or lists tasks, and says what came of it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from board.tools import Task
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Result
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk

HELP = (
    "I look after this board. Ask me, for example:\n\n"
    "- *What is holding up the release?*\n"
    "- *What is on my plate?*\n"
    "- *Mark the release notes as done*\n"
    "- *Give the launch webinar to Jonas*\n\n"
    "I am a small script that goes by keywords. For a real model, change one line in server/rightseat.yaml."
)
TEAM = ("Mira", "Jonas", "Priya")
COLUMNS = {
    "done": r"\b(done|finish\w*|complet\w*|close\w*)\b",
    "doing": r"\b(start\w*|progress|doing|begin)\b",
    "todo": r"\b(to ?do|reopen\w*|back)\b",
}
NAMES = {"todo": "To do", "doing": "In progress", "done": "Done"}
CHANGES = r"\b(move|mark|set|finish|complete|close|start|begin|reopen|give|assign|hand)\b"
TROUBLE = r"\b(hold\w*|block\w*|stuck|wait\w*|risk\w*|late|trouble)\b"


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    chunk_delay: float = Field(default=0.03, ge=0)
    """How many seconds pass between two words, so that streaming can be seen."""


def build(options: Options) -> Model:
    return DemoModel(options.chunk_delay)


class DemoModel:
    def __init__(self, chunk_delay: float) -> None:
        self._chunk_delay = chunk_delay

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        for chunk in answer(prompt):
            yield chunk
            await asyncio.sleep(self._chunk_delay)


def answer(prompt: Prompt) -> list[Chunk]:
    """What comes next in this turn follows from what was asked, and from which tools have answered by now."""
    question, results = read_turn(prompt.messages)
    owner = read_owner(question, prompt.messages)
    if re.search(CHANGES, question):
        return change(question, results)
    if re.search(TROUBLE, question):
        return point_at_trouble(results, can_point=any(tool.name == "highlightTasks" for tool in prompt.tools))
    if owner:
        return list_of(owner, results)
    return speak(HELP)


def read_turn(messages: Sequence[Message]) -> tuple[str, dict[str, Result]]:
    """The last question in small letters, and the results that have come since, by the name of the tool."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    since = [part for message in messages[last:] for part in message.parts]
    return messages[last].text.lower(), {part.name: part for part in since if isinstance(part, Result)}


def read_owner(question: str, messages: Sequence[Message]) -> str | None:
    """Whose tasks are meant: somebody's by name, or those of the person whom the page says is signed in."""
    for name in TEAM:
        if re.search(rf"\b{name.lower()}\b", question):
            return name
    if not re.search(r"\b(my|mine|me|i)\b", question):
        return None
    known = "\n".join(message.text for message in messages if message.role == "system")
    return next((name for name in TEAM if re.search(rf"Signed in: .*{name}", known)), None)


def change(question: str, results: dict[str, Result]) -> list[Chunk]:
    if done := results.get("update_task"):
        return conclude(done)
    if "list_tasks" not in results:
        return [*words("Let me find it on the board."), *call("list_tasks", {})]
    task = best_match(question, read_tasks(results["list_tasks"]))
    column = next((name for name, pattern in COLUMNS.items() if re.search(pattern, question)), None)
    owner = next((name for name in TEAM if re.search(rf"\bto {name.lower()}\b", question)), None)
    if task is None:
        return speak("I cannot tell which task you mean. Its number, or a word or two of its title, will do.")
    if column is None and owner is None:
        return speak(f"Where should **{task.title}** go? To do, In progress, Done, or to one of {', '.join(TEAM)}?")
    wanted: dict[str, JsonValue] = {"id": task.id}
    return call("update_task", wanted | ({"owner": owner} if owner else {"column": column}))


def conclude(done: Result) -> list[Chunk]:
    if done.error == "refused":
        return speak("All right, the board stays as it is.")
    if done.error:
        return speak(f"That did not work. {done.content}")
    task = Task.model_validate_json(done.content)
    return speak(f"**{task.title}** is in *{NAMES[task.column]}* now, with {task.owner}.")


def point_at_trouble(results: dict[str, Result], *, can_point: bool) -> list[Chunk]:
    if "list_tasks" not in results:
        return [*words("Let me look at the board."), *call("list_tasks", {})]
    blocked = [task for task in read_tasks(results["list_tasks"]) if task.blocked and task.column != "done"]
    if not blocked:
        return speak("Nothing is waiting for anybody. The release is on its way.")
    if can_point and "highlightTasks" not in results:
        return call("highlightTasks", {"ids": [task.id for task in blocked]})
    lines = [f"- **{task.title}** ({task.owner}): {task.blocked}" for task in blocked]
    count = "one task" if len(blocked) == 1 else f"{len(blocked)} tasks"
    return speak(f"The release waits for {count}, marked on the board:\n\n" + "\n".join(lines))


def list_of(owner: str, results: dict[str, Result]) -> list[Chunk]:
    if "list_tasks" not in results:
        return call("list_tasks", {"owner": owner})
    left = [task for task in read_tasks(results["list_tasks"]) if task.column != "done"]
    if not left:
        return speak(f"{owner} has nothing left to do.")
    lines = [f"- **{task.title}**, {NAMES[task.column].lower()}" for task in left]
    return speak(f"{owner} has {len(left)} open task{'s' if len(left) > 1 else ''}:\n\n" + "\n".join(lines))


def best_match(question: str, tasks: Sequence[Task]) -> Task | None:
    """The task that is named by its number, or shares the most words with the question."""
    asked = set(re.findall(r"[\w-]{4,}", question))
    shared = {task.id: len(asked & set(task.title.lower().split())) for task in tasks}
    best = max(tasks, key=lambda task: (task.id.lower() in question, shared[task.id]), default=None)
    return best if best and (best.id.lower() in question or shared[best.id]) else None


def read_tasks(result: Result) -> list[Task]:
    try:
        return TypeAdapter(list[Task]).validate_json(result.content)
    except ValueError:  # the tool failed, and said so in a sentence
        return []


def speak(text: str) -> list[Chunk]:
    return [*words(text), StopChunk("stop")]


def words(text: str) -> list[Chunk]:
    return [TextChunk(word) for word in re.findall(r"\s*\S+", text)]


def call(name: str, arguments: dict[str, JsonValue]) -> list[Chunk]:
    return [CallChunk(0, json.dumps(arguments), new_id("call"), name), StopChunk("tool_calls")]
