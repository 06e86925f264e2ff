"""What it costs to make a grammar out of 200 KB of tools, in CPU time.

    python tests/measure/grammar_cost.py [--rounds 20]

The tools have descriptions, an enum of thirty values, bounds, and an object of optional fields: about two kilobytes
each. Measured is the way from schemas to the text that a backend gets, the best and the middle one of all rounds.
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

from rightseat.models.completion.grammar.nodes import Choice, Concat, Grammar, LiteralText, Node
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.grammar.schema import GrammarBuilder

TOOLS = 110


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    given = tools()
    size = len(json.dumps(given))
    for name, write in (("schemas to GBNF", gbnf.write), ("schemas to Lark", lark.write)):
        times, text = [], ""
        for _ in range(rounds):
            start = time.process_time()
            text = write(grammar(given))
            times.append(1_000 * (time.process_time() - start))
        best, middle = min(times), statistics.median(times)
        sys.stdout.write(f"{name}: {size:,} characters of tools, {len(text):,} of grammar, ")
        sys.stdout.write(f"best {best:.1f} ms, middle {middle:.1f} ms\n")


def grammar(given: list[dict[str, Any]]) -> Grammar:
    builder = GrammarBuilder()
    calls: list[Node] = []
    for tool in given:
        arguments = builder.arguments(tool["parameters"], f"tool {tool['name']!r}: parameters")
        calls.append(Concat((LiteralText(f'{{"name": "{tool["name"]}", "arguments": '), arguments, LiteralText("}"))))
    return builder.grammar(Choice(tuple(calls)))


def tools() -> list[dict[str, Any]]:
    return [
        {"name": f"service_{i}", "description": "What it does. " * 30, "parameters": parameters(i)}
        for i in range(TOOLS)
    ]


def parameters(number: int) -> dict[str, Any]:
    fields = {f"field_{i}": {"type": "string", "description": "A field. " * 4} for i in range(6)}
    return {
        "type": "object",
        "required": ["key"],
        "properties": {
            "key": {"type": "string", "description": "The key. " * 12},
            "mode": {"type": "string", "enum": [f"mode_{number}_{i}" for i in range(30)], "description": "How. " * 20},
            "count": {"type": "integer", "minimum": 0, "maximum": 100 + number},
            "filter": {"type": "object", "properties": fields},
        },
    }


if __name__ == "__main__":
    main()
