"""Tool calls of a model on llama-server: `type: completion` against llama-server's own chat endpoint.

    python -m tests.measure.tool_calls [--model qwen] [--cases 200] [--without 60] [--choices auto]
        [--ways completion hermes forced-hermes generic chat openai] [--results FILE]

Asks the cases of the acceptance suite tool-calls (40 of our own, 160 of BFCL v4, downloaded once) with `tool_choice`
`required` and `auto`, at temperature 0, with at most 300 tokens for an answer, as the suite does. `--cases N` takes
the first N of a fixed order in which every five have one case of our own, two of BFCL's `simple_python` and two of its
`multiple`, as the whole has. `--without N` adds the first N of the 60 questions of questions_without_tools.txt, with
`auto`: each has the tools of one of our own cases and needs none of them, so a call is a false one. The ways:

    completion    a model of the type `completion`, which writes prompt and grammar itself and uses POST /completion
    hermes, forced-hermes, generic
                  the same with this `style`
    chat          llama-server's own POST /v1/chat/completions, started with --jinja, through the official client
    openai        the same endpoint through a model of the type `openai`

The server is the newest llama.cpp that pip installs here (xllamacpp), one thread; `--server llama-server` takes the
older stand-alone program. Each result is appended to the file (default: tool-calls-MODEL.jsonl in the current folder),
and what is in it is not asked again. CPU seconds are those of the server process. The ways take turns in being first,
since a prompt that the server has read for one way is in its cache for the next.
"""

import argparse
import asyncio
import http.client
import json
import math
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import jsonschema_rs
import openai

from rightseat.core.ask import Parameters
from rightseat.core.errors import RightseatError
from rightseat.core.messages import user
from rightseat.core.model import CallChunk, Model, Prompt, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.egress.deadlines import Timeouts
from rightseat.models.completion import backends
from rightseat.models.completion.backends.options import LlamaCppOptions
from rightseat.models.completion.model import Completion
from rightseat.models.openai import OpenAI, Options
from tests.conditions import wait_until
from tests.local_models import SUITE, load_parts

QUESTIONS = Path(__file__).parent / "questions_without_tools.txt"
STYLES = ("hermes", "forced-hermes", "generic")
MAX_TOKENS, SEED = 300, 1
TIMEOUT_S = 3600.0  # on a busy machine a prompt alone took more than 300 s
SOURCES = ("own", "bfcl_simple_python", "bfcl_multiple", "bfcl_simple_python", "bfcl_multiple")
TICKS = os.sysconf("SC_CLK_TCK")

Choice = Literal["required", "auto"]
CHOICES: tuple[Choice, ...] = ("required", "auto")
Case = dict[str, Any]
Way = Callable[[Case, Choice], Awaitable[dict[str, Any]]]
"""Asks one case, and returns calls, text and tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("qwen", "smollm2", "gemma"), default="qwen")
    parser.add_argument("--server", choices=("xllamacpp", "llama-server"), default="xllamacpp")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--without", type=int, default=0)
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=list(CHOICES))
    ways = ("completion", *STYLES, "chat", "openai")
    parser.add_argument("--ways", nargs="+", choices=ways, default=["completion", "chat"])
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    file = given.results or Path(f"tool-calls-{given.model}.jsonl")
    every = read_cases()
    cases = mix(every[: given.cases], read_cases_without(every)[: given.without])
    known = read_results(file)
    keys = [key for at, case in enumerate(cases) for key in in_turn(case, given.ways, at, given.choices)]
    wanted = [key for key in keys if key not in known]
    if wanted:
        with served(given.server, given.model) as (url, pid):
            asyncio.run(ask_all({case["id"]: case for case in cases}, wanted, url, pid, file))
    write(cases, given.ways, read_results(file))


def read_cases() -> list[Case]:
    printed = subprocess.run([sys.executable, str(SUITE / "cases")], stdout=subprocess.PIPE, text=True, check=True)
    every = [json.loads(line) for line in Path(printed.stdout.strip()).read_text().splitlines()]
    sources = {name: [case for case in every if case["src"] == name] for name in SOURCES}
    for found in sources.values():
        random.Random(1).shuffle(found)
    return [sources[name].pop() for _ in range(len(every) // len(SOURCES)) for name in SOURCES]


def read_cases_without(every: Sequence[Case]) -> list[Case]:
    """Questions that need no tool, each with the tools of one of our own cases."""
    own = sorted(
        (case for case in every if case["src"] == "own"), key=lambda case: int(case["id"].removeprefix("own_"))
    )
    return [
        {
            "id": f"without_{at}",
            "src": "without",
            "messages": [{"role": "user", "content": question}],
            "tools": own[at * 7 % len(own)]["tools"],
            "expect": [],
        }
        for at, question in enumerate(QUESTIONS.read_text().splitlines())
    ]


def mix(cases: Sequence[Case], more: Sequence[Case]) -> list[Case]:
    """Spread the second evenly over the first, so that a measurement that ends early has some of both."""
    placed = [(at / len(both), case) for both in (cases, more) for at, case in enumerate(both)]
    return [case for _, case in sorted(placed, key=lambda one: one[0])]


Key = tuple[str, str, Choice]


def in_turn(case: Case, ways: Sequence[str], at: int, choices: Sequence[Choice] = CHOICES) -> list[Key]:
    """A question that needs no tool is asked with `auto` only."""
    mine = [choice for choice in choices if case["expect"] or choice == "auto"]
    keys = [(case["id"], way, choice) for way in ways for choice in mine]
    first = at % len(keys) if keys else 0
    return keys[first:] + keys[:first]


def read_results(file: Path) -> dict[Key, dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {(entry["id"], entry["way"], entry["choice"]): entry for entry in map(json.loads, lines)}


@contextmanager
def served(kind: str, model: str) -> Iterator[tuple[str, int]]:
    """A llama.cpp server, on one thread, with two slots of 8,192 tokens: its address and its process."""
    parts = load_parts()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    if kind == "xllamacpp":
        command = [sys.executable, str(SUITE / "lib" / "xserve.py"), str(parts.model(model)), str(port)]
        env["PYTHONPATH"] = str(parts.library())
    else:
        command = [str(parts.binary()), "-m", str(parts.model(model)), "--host", "127.0.0.1", "--port", str(port)]
        command += ["-t", "1", "-tb", "1", "-c", "16384", "-np", "2", "--jinja", "--no-webui", "--props", "--slots"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_ready(port, process), 300)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(30)


def is_ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise SystemExit(f"the server ended with status {process.returncode} before it answered")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


async def ask_all(cases: dict[str, Case], wanted: Sequence[Key], url: str, pid: int, file: Path) -> None:
    async with AsyncExitStack() as stack:
        backend = backends.build(LlamaCppOptions(url=url, timeout=TIMEOUT_S))
        timeouts = Timeouts(TIMEOUT_S, TIMEOUT_S)
        styled = {way: Completion(backend, style=style, timeouts=timeouts) for way, style in style_of_ways().items()}
        for model in styled.values():
            await stack.enter_async_context(model)
        options = Options(model="local", base_url=f"{url}/v1", api_key="none", timeout=TIMEOUT_S)
        through = await stack.enter_async_context(OpenAI(options))
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT_S)
        ways = {"openai": by_model(through), "chat": by_client(client)}
        ways |= {way: by_model(model) for way, model in styled.items()}
        for number, (id, way, choice) in enumerate(wanted):
            before, start = cpu_seconds(pid), time.monotonic()
            try:
                result = await ways[way](cases[id], choice)
            except (RightseatError, openai.APIError) as error:
                result = {"error": f"{type(error).__name__}: {error}"[:500]}
            entry = {"id": id, "way": way, "choice": choice, **result}
            entry |= {"seconds": time.monotonic() - start, "cpu_seconds": cpu_seconds(pid) - before}
            with file.open("a") as out:
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")
            sys.stderr.write(f"\r{number + 1} of {len(wanted)} ")


def style_of_ways() -> dict[str, str]:
    return {"completion": "auto", **{style: style for style in STYLES}}


def by_model(model: Model) -> Way:
    async def ask(case: Case, choice: Choice) -> dict[str, Any]:
        tools = [
            Tool(one["function"]["name"], one["function"].get("description", ""), one["function"]["parameters"])
            for one in case["tools"]
        ]
        parameters = Parameters(temperature=0.0, max_tokens=MAX_TOKENS, seed=SEED, tool_choice=choice)
        messages = tuple(user(one["content"]) for one in case["messages"])
        text, calls, tokens = "", dict[int, list[str]](), (0, 0)
        async for chunk in model.stream(Prompt(messages, tools, parameters)):
            if isinstance(chunk, TextChunk):
                text += chunk.text
            elif isinstance(chunk, CallChunk):
                call = calls.setdefault(chunk.index, ["", ""])
                call[0] = call[0] or chunk.name
                call[1] += chunk.arguments
            elif isinstance(chunk, UsageChunk):
                tokens = (chunk.input_tokens, chunk.output_tokens)
        return {"calls": list(calls.values()), "text": text, "tokens": tokens}

    return ask


def by_client(client: openai.AsyncOpenAI) -> Way:
    async def ask(case: Case, choice: Choice) -> dict[str, Any]:
        answer: Any = await client.chat.completions.create(
            model="local",
            messages=case["messages"],
            tools=case["tools"],
            tool_choice=choice,
            temperature=0,
            max_tokens=MAX_TOKENS,
            seed=SEED,
        )
        message, usage = answer.choices[0].message, answer.usage
        calls = [[call.function.name, call.function.arguments] for call in message.tool_calls or ()]
        return {"calls": calls, "text": message.content or "", "tokens": (usage.prompt_tokens, usage.completion_tokens)}

    return ask


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def write(cases: Sequence[Case], ways: Sequence[str], results: dict[Key, dict[str, Any]]) -> None:
    lines = ["| tool_choice | way | n | a call | fits its schema | right tool | right arguments | tokens | CPU s |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for choice in CHOICES:
        for way in ways:
            found = [
                (case, results[key])
                for case in cases
                if case["expect"] and (key := (case["id"], way, choice)) in results
            ]
            lines += [row(choice, way, found)] if found else []
    lines += write_false_calls(cases, ways, results)
    failed = [entry for entry in results.values() if "error" in entry]
    lines += [f"error: {entry['id']} {entry['way']} {entry['choice']}: {entry['error']}" for entry in failed]
    both = [case["id"] for case in cases if (case["id"], "openai", "auto") in results]
    for choice in CHOICES if both and "chat" in ways else ():
        same = sum(calls_of(results[id, "openai", choice]) == calls_of(results[id, "chat", choice]) for id in both)
        lines.append(f"{choice}: {same} of {len(both)} have equal calls through `type: openai` and the official client")
    sys.stdout.write("\n".join(lines) + "\n")


def write_false_calls(cases: Sequence[Case], ways: Sequence[str], results: dict[Key, dict[str, Any]]) -> list[str]:
    lines = []
    for way in ways:
        found = [results[key] for case in cases if not case["expect"] and (key := (case["id"], way, "auto")) in results]
        called = sum(bool(entry.get("calls")) for entry in found)
        empty = sum(not entry.get("calls") and not entry.get("text", "").strip() for entry in found)
        if found:
            shares = f"{share(called, len(found))} | {share(empty, len(found))}"
            lines.append(f"| {way} | {len(found)} | {shares} |")
    head = ["", "| way, `auto`, no tool needed | n | a false call | neither call nor text |", "|---|---|---|---|"]
    return [*head, *lines] if lines else []


def share(count: int, n: int) -> str:
    """A share with its 95 % interval, by Wilson."""
    z, p = 1.96, count / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return f"{p:.0%} ({max(low, 0):.0%} to {min(high, 1):.0%})"


def row(choice: str, way: str, found: Sequence[tuple[Case, dict[str, Any]]]) -> str:
    n = len(found)
    scores = [score(case, entry) for case, entry in found]
    shares = [share(sum(one[at] for one in scores), n) for at in range(4)]
    tokens = [sum(entry.get("tokens", (0, 0))[at] for _, entry in found) / n for at in (0, 1)]
    cpu = sum(entry["cpu_seconds"] for _, entry in found) / n
    return f"| {choice} | {way} | {n} | {' | '.join(shares)} | {tokens[0]:.0f} + {tokens[1]:.0f} | {cpu:.1f} |"


def calls_of(entry: dict[str, Any]) -> list[Any]:
    return [[name, read(arguments)] for name, arguments in entry.get("calls", ())]


def score(case: Case, entry: dict[str, Any]) -> tuple[bool, bool, bool, bool]:
    """As the suite does: there is a call; every call fits; the first has the right name, and the right arguments."""
    calls = calls_of(entry)
    schemas = {one["function"]["name"]: one["function"]["parameters"] for one in case["tools"]}
    fits = bool(calls) and all(name in schemas and is_valid(schemas[name], value) for name, value in calls)
    expected, values = next(iter(case["expect"][0].items()))
    is_named = fits and calls[0][0] == expected
    return bool(calls), fits, is_named, is_named and has_right_arguments(calls[0][1], values)


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def is_valid(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(value)


def has_right_arguments(given: Any, expected: dict[str, list[Any]]) -> bool:
    return isinstance(given, dict) and all(
        any(is_same(given[name], one) for one in allowed) if name in given else "" in allowed or not allowed
        for name, allowed in expected.items()
    )


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip().lower() == other.strip().lower()
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) < 1e-6
    return bool(one == other)


if __name__ == "__main__":
    main()
