"""How good the calls of the real model are: 40 cases of our own, and 160 of BFCL v4 where more are asked for."""

import json
import subprocess
import sys
from pathlib import Path

import openai

from harness import Case, expect, scenario, schema_error
from tools import named

SUITE = Path(__file__).resolve().parent.parent
OWN = [json.loads(line) for line in (SUITE / "cases.jsonl").open()]
NAMES = {"smollm2": 0.85, "qwen": 0.95, "gemma": 0.0}     # the share of right names that must be reached


def pick(n: int) -> list[dict]:
    """So many of our own, spread evenly; where that is more than there are, BFCL's besides: they are fetched once."""
    if n <= len(OWN):
        return [OWN[i * len(OWN) // n] for i in range(n)]
    fetched = subprocess.run([sys.executable, str(SUITE / "cases")], stdout=subprocess.PIPE, text=True, check=True)
    cases = [json.loads(line) for line in Path(fetched.stdout.strip()).open()]
    if n >= len(cases):
        return cases
    groups = [[c for c in cases if c["src"] == s] for s in ("own", "bfcl_simple_python", "bfcl_multiple")]
    more = (n - len(OWN)) // 2
    wanted = [len(OWN), n - len(OWN) - more, more]
    return [g[i * len(g) // w] for g, w in zip(groups, wanted) for i in range(w)]


def same(a, b) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a.strip().lower() == b.strip().lower()
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) < 1e-6
    return a == b


def right_arguments(args, expected: dict) -> bool:
    return isinstance(args, dict) and all(("" in v or not v) if k not in args else any(same(args[k], e) for e in v) for k, v in expected.items())


def say(t: Case, case: dict, stream: bool, **kw):
    return t.chat(case["messages"], stream=stream, tools=case["tools"], seed=1, **kw)


@scenario("quality-required", group="quality", quick=True, peer=True, beyond=True)
def required(t: Case):
    """tool_choice required: every answer a call that fits its schema; the right name in at least 85 % with SmolLM2."""
    cases = pick(t.options.cases)
    called = valid = right = exact = asked = said = 0
    bad = []
    for i, case in enumerate(cases):
        try:
            got = say(t, case, i % 2 == 1, tool_choice="required", max_tokens=300)
        except openai.APIError as e:
            bad.append(f"{case['id']}: {e}"[:200])
            continue
        asked, said = asked + got.usage.prompt_tokens, said + got.usage.completion_tokens
        if not got.calls:
            bad.append(f"{case['id']}: no call ({got.finish}): {got.text[:60]!r}")
            continue
        called += 1
        schemas = {x["function"]["name"]: x["function"]["parameters"] for x in case["tools"]}
        wrong = ""
        for call in got.calls:
            try:
                wrong = wrong or (schema_error(schemas[call.name], json.loads(call.arguments)) if call.name in schemas else f"unknown tool {call.name}")
            except ValueError as e:
                wrong = str(e)
        if wrong:
            bad.append(f"{case['id']}: {wrong}: {got.calls[0].arguments[:100]}")
            continue
        valid += 1
        name, args = next(iter(case["expect"][0].items()))
        right += got.calls[0].name == name
        exact += got.calls[0].name == name and right_arguments(got.calls[0].args(), args)
    n = len(cases)
    t.note(f"{t.options.model}, {n} cases: call {called / n:.0%}, fits {valid / n:.0%}, right name {right / n:.1%}, right arguments {exact / n:.1%}; tokens a case: prompt {asked / n:.0f}, answer {said / n:.0f}")
    expect(valid == n, "every call to fit its schema (100 %)", f"{valid} of {n}; {'; '.join(bad[:4])}")
    least = NAMES[t.options.model]
    expect(right >= least * n, f"the right name in at least {least:.0%}", f"{right} of {n}")


@scenario("quality-named", group="quality", peer=True, beyond=True)
def named_choice(t: Case):
    """A named choice that the question does not suggest is honoured in every case, and fits."""
    cases = [c for c in pick(t.options.cases) if len(c["tools"]) > 1][: 8 if t.options.cases <= 40 else 60]
    kept = 0
    for i, case in enumerate(cases):
        expected = next(iter(case["expect"][0]))
        other = next(x["function"] for x in reversed(case["tools"]) if x["function"]["name"] != expected)
        got = say(t, case, i % 2 == 1, tool_choice=named(other["name"]), max_tokens=300)
        ok = [c.name for c in got.calls] == [other["name"]] and not schema_error(other["parameters"], got.calls[0].args())
        kept += ok
    t.note(f"{kept} of {len(cases)} honoured")
    expect(kept == len(cases), f"all {len(cases)} named choices honoured", kept)


@scenario("quality-none", group="quality", peer=True)
def none(t: Case):
    """tool_choice none: not one call."""
    cases = pick(t.options.cases)[:: max(1, t.options.cases // 6)][:6]
    calls = sum(len(say(t, case, i % 2 == 1, tool_choice="none", max_tokens=16).calls) for i, case in enumerate(cases))
    expect(calls == 0, f"no calls in {len(cases)} cases", calls)
