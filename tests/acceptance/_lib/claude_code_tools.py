"""Requests with the tools that Claude Code sends, each with a forced call, and what must hold for the answers.

In turn any tool is forced, which the model chooses, and one tool by its name, so that each is called.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[2] / "recordings" / "claude_code"
QUESTIONS = (
    "List the files of the folder src.",
    "Read the file notes.txt.",
    "Replace the word alpha by beta in notes.txt.",
    "Write a file hello.py that prints hello.",
    "Run the tests.",
    "Find out who wrote the function main.",
    "Remind me in ten minutes.",
    "What is in the README?",
    "Delete the folder build.",
    "Look for the skill that makes pictures.",
)
PLACEHOLDER = "DeferredToolPlaceholder"
"""Claude Code lists it, and no model sees it."""
MAX_TOKENS = 512

CUT = "(cut)"

Tools = Sequence[Mapping[str, Any]]
FindErrors = Callable[[Mapping[str, Any], Any], Iterable[str]]
"""What is wrong with a value, by a schema."""


def read_tools(name: str = "tools") -> Tools:
    tools: Tools = json.loads((RECORDINGS / f"{name}.json").read_text())["tools"]
    return tools


def callable_names(tools: Tools) -> list[str]:
    return [tool["name"] for tool in tools if tool["name"] != PLACEHOLDER]


def write_request(number: int, model: str, tools: Tools) -> dict[str, Any]:
    """Even numbers force a call of any tool, odd ones a call of each tool in turn."""
    choice = {"type": "any"}
    if number % 2:
        names = callable_names(tools)
        choice = {"type": "tool", "name": names[number // 2 % len(names)]}
    question = f"{QUESTIONS[number % len(QUESTIONS)]} This is request {number}."
    return {
        "model": model,
        "max_tokens": MAX_TOKENS,
        "tools": tools,
        "tool_choice": {**choice, "disable_parallel_tool_use": True},
        "messages": [{"role": "user", "content": question}],
    }


def judge(message: Mapping[str, Any], request: Mapping[str, Any], find_errors: FindErrors) -> tuple[str, list[str]]:
    """The tool that was called, and what is wrong with its input or with the message.

    An answer that the limit of tokens cut is no call: clients do not run it.
    """
    if message["stop_reason"] == "max_tokens":
        return CUT, []
    uses = [block for block in message["content"] if block["type"] == "tool_use"]
    if len(uses) != 1:
        return "", [f"{len(uses)} calls, stop_reason {message['stop_reason']}"]
    name, forced = uses[0]["name"], request["tool_choice"].get("name")
    if forced not in (None, name):
        return name, [f"{forced} was forced, {name} is called"]
    schema = next((tool["input_schema"] for tool in request["tools"] if tool["name"] == name), None)
    if schema is None:
        return name, [f"{name} was not offered"]
    return name, [f"{name}: {error}" for error in find_errors(schema, uses[0]["input"])]
