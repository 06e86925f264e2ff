"""The grammars of the tool-call cases, and texts to try on them."""

import importlib.machinery
import importlib.util
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rightseat.core.ask import Parameters
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.models.completion import plan
from rightseat.models.completion.grammar.nodes import Grammar
from rightseat.models.completion.styles import STYLES
from tests.models.completion.grammar import words

SUITE = Path(__file__).parents[3] / "acceptance" / "tool-calls"
LONGEST = 400  # characters of a text that is tried
SPOILERS = '"\\<>{}[],:bcf0 \n\x01é'


def read_own() -> list[Any]:
    """The 40 cases of this project."""
    return _read(SUITE / "cases.jsonl")


def read_all() -> list[Any]:
    """All 200: the others are fetched once, as a package."""
    loader = importlib.machinery.SourceFileLoader("tool_call_cases", str(SUITE / "cases"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return _read(module.whole())


def _read(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def tools_of(case: Any) -> tuple[Tool, ...]:
    functions = [tool["function"] for tool in case["tools"]]
    return tuple(Tool(one["name"], one.get("description", ""), one["parameters"]) for one in functions)


def build(tools: Sequence[Tool], choice: str, style: str = "forced-hermes") -> Grammar:
    """The grammar that holds the model from its first token on; `choice` is `auto` or `required`."""
    prompt = Prompt((user("Hi"),), tuple(tools), Parameters(tool_choice=choice))  # type: ignore[arg-type]  # one of two
    constraint = plan.make_plan(prompt, STYLES[style], triggers=False).constraint("", thinks=False)
    assert constraint is not None
    return constraint.grammar


def samples(grammar: Grammar) -> Iterator[tuple[str, bool]]:
    """Short words of the grammar and spoilt ones, each with whether the grammar lets it through."""
    chance = random.Random(0)
    for seed in range(5):
        word = words.Speaker(grammar, seed).word()
        if len(word) > LONGEST:
            continue
        yield word, True
        for _ in range(3):
            at = chance.randrange(len(word) + 1)
            spoilt = word[:at] + chance.choice(SPOILERS) + word[at + chance.randrange(2) :]
            yield spoilt, words.accepts(grammar, spoilt)
