"""Inputs of a local model's calls of Claude Code's tools: does each fit the tool's schema?

    python -m tests.measure.client_tools URL [--model local] [--tools tools|few-tools] [--calls 100] [--minutes 25]

URL is a server with the face `anthropic` and a model of the type `completion`, as `tests/acceptance/serve anthropic
PORT` starts one with RS_LLAMA_URL. Each request has the recorded list of tools, a short question and a forced call.
A line of JSON is printed for each, then the sums. The exit status is 1 if an input does not fit or a request fails.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude_code"
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
MAX_TOKENS = 400
TIMEOUT_S = 1800.0


def write_requests(model: str, tools: list[dict[str, Any]], calls: int) -> Iterator[dict[str, Any]]:
    for number in range(calls):
        question = f"{QUESTIONS[number % len(QUESTIONS)]} This is request {number}."
        yield {
            "model": model,
            "max_tokens": MAX_TOKENS,
            "tools": tools,
            "tool_choice": {"type": "any"},
            "messages": [{"role": "user", "content": question}],
        }


def judge(message: dict[str, Any], schemas: dict[str, jsonschema_rs.Validator]) -> tuple[int, list[str]]:
    """How many calls have an input that fits, and what is wrong with the others or with the message."""
    uses = [block for block in message["content"] if block["type"] == "tool_use"]
    errors = {use["id"]: list(schemas[use["name"]].iter_errors(use["input"])) for use in uses}
    problems = [f"{use['name']}: {errors[use['id']][0].message}" for use in uses if errors[use["id"]]]
    fitting = len(uses) - len(problems)
    if not uses and message["stop_reason"] != "max_tokens":
        problems.append(f"no call, stop_reason {message['stop_reason']}")
    return fitting, problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.client_tools")
    parser.add_argument("url")
    parser.add_argument("--model", default="local")
    parser.add_argument("--tools", choices=("tools", "few-tools"), default="tools")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=25)
    options = parser.parse_args()
    tools = json.loads((RECORDINGS / f"{options.tools}.json").read_text())["tools"]
    schemas = {tool["name"]: jsonschema_rs.validator_for(tool["input_schema"]) for tool in tools}
    began, seconds, fitting, wrong, cut = time.monotonic(), [], 0, 0, 0
    with httpx2.Client(base_url=options.url, timeout=TIMEOUT_S, headers={"x-api-key": "none"}) as client:
        for request in write_requests(options.model, tools, options.calls):
            if time.monotonic() - began > options.minutes * 60:
                break
            start = time.monotonic()
            response = client.post("/anthropic/v1/messages", json=request)
            seconds.append(time.monotonic() - start)
            answer = response.json()
            if response.status_code == 200:
                fits, problems = judge(answer, schemas)
            else:
                fits, problems = 0, [f"HTTP {response.status_code}: {response.text[:300]}"]
            is_cut = answer.get("stop_reason") == "max_tokens"
            fitting, wrong, cut = fitting + fits, wrong + len(problems), cut + is_cut
            line = {"seconds": round(seconds[-1], 1), "fits": fits, "problems": problems, "cut": is_cut}
            print(json.dumps(line | {"usage": answer.get("usage")}), flush=True)
    print(f"{len(seconds)} requests: {fitting} inputs fit, {wrong} do not, {cut} answers cut at {MAX_TOKENS} tokens")
    print(f"first {seconds[0]:.1f} s, then {statistics.median(seconds[1:] or seconds):.1f} s (median)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
