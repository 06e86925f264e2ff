"""A to-do list with a copilot that can read it and add to it.

    uvicorn --app-dir examples/python-app app:app

The page's `runtimeUrl` is http://127.0.0.1:8000/copilotkit. The built-in model answers, so no key is needed:
ask it to "add_task Water the plants", then to "list_tasks".
"""

from typing import Annotated

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from pydantic import Field

from rightseat import Copilot

tasks = ["Read the quickstart"]

copilot = Copilot(instructions="You keep the user's to-do list.")


@copilot.tool
async def list_tasks() -> list[str]:
    """All tasks that are still to be done."""
    return tasks


@copilot.tool
async def add_task(title: Annotated[str, Field(description="What is to be done", max_length=200)]) -> str:
    """Put a task on the list."""
    tasks.append(title)
    return f"Added. There are {len(tasks)} tasks now."


app = FastAPI(title="To do")
app.add_middleware(
    CORSMiddleware,
    allow_origins=["http://localhost:3000"],
    allow_methods=["GET", "POST"],
    allow_headers=["content-type", "x-copilotkit-runtime-client-gql-version"],
)
app.include_router(copilot.router())


@app.get("/tasks")
async def tasks_page() -> list[str]:
    return tasks
