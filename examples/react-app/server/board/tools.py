"""The tools of the task board: one reads, one writes and is asked about first.

The board is the state that the page and the agent share. The page sends it with every run, a tool that changes it sends
it back, and the page shows it at once. A board that lives in a database would be read and written here instead.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from rightseat import Invocation, RightseatError, tool
from rightseat.core.events import StateReplaced

Column = Literal["todo", "doing", "done"]
Owner = Literal["Mira", "Jonas", "Priya"]


class Task(BaseModel):
    id: str
    title: str
    owner: Owner
    column: Column
    blocked: str = ""
    """What it waits for."""


class Board(BaseModel):
    tasks: list[Task] = []


@tool
async def list_tasks(
    invocation: Invocation, owner: Annotated[Owner | None, Field(description="Only the tasks of this person")] = None
) -> list[Task]:
    """The tasks on the board."""
    return [task for task in read_board(invocation).tasks if owner in (None, task.owner)]


@tool(approval="May I change this task?")
async def update_task(
    invocation: Invocation,
    id: Annotated[str, Field(description="The task, such as HB-21")],
    column: Annotated[Column | None, Field(description="Where to move it")] = None,
    owner: Annotated[Owner | None, Field(description="Who to give it to")] = None,
) -> Task:
    """Move a task to another column, or give it to somebody else. A person is asked first."""
    board = read_board(invocation)
    task = find(board, id)
    task.column = column or task.column
    task.owner = owner or task.owner
    invocation.emit(StateReplaced(board.model_dump()))
    return task


tools = [list_tasks, update_task]


def read_board(invocation: Invocation) -> Board:
    return Board.model_validate(invocation.ask.state or {})


def find(board: Board, id: str) -> Task:
    for task in board.tasks:
        if task.id == id:
            return task
    known = ", ".join(task.id for task in board.tasks)
    raise RightseatError(f"There is no task {id!r}. On the board: {known or 'none'}.")
