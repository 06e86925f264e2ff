"""Inputs of a local model's calls of Claude Code's tools: does each fit the tool's schema?

    python -m tests.measure.client_tools URL [--model local] [--tools tools|few-tools] [--calls 100] [--first 0]

URL is a server with the face `anthropic` and a model of the type `completion`, as `tests/acceptance/serve anthropic
PORT` starts one with RS_LLAMA_URL. Each request has the recorded list of tools, a short question and a forced call; the
scenario `local-hundred` of the suite anthropic sends the same ones. A line of JSON is printed for each, then the sums.
`--first N` leaves out the first N requests, to go on where a run ended. The exit status is 1 if an input does not fit,
or a request fails or has no call.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

import httpx2
import jsonschema_rs

from tests.acceptance._lib.claude_code_tools import CUT, MAX_TOKENS, callable_names, judge, read_tools, write_request

TIMEOUT_S = 1800.0


def find_errors(schema: Mapping[str, Any], value: Any) -> Iterable[str]:
    return (error.message for error in jsonschema_rs.validator_for(dict(schema)).iter_errors(value))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.client_tools")
    parser.add_argument("url")
    parser.add_argument("--model", default="local")
    parser.add_argument("--tools", choices=("tools", "few-tools"), default="tools")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    tools = read_tools(options.tools)
    called, seconds, wrong = dict.fromkeys([*callable_names(tools), CUT], 0), list[float](), 0
    with httpx2.Client(base_url=options.url, timeout=TIMEOUT_S, headers={"x-api-key": "none"}) as client:
        for number in range(options.first, options.calls):
            request = write_request(number, options.model, tools)
            start = time.monotonic()
            response = client.post("/anthropic/v1/messages", json=request)
            seconds.append(time.monotonic() - start)
            answer = response.json()
            if response.status_code == 200:
                name, problems = judge(answer, request, find_errors)
            else:
                name, problems = "", [f"HTTP {response.status_code}: {response.text[:300]}"]
            called[name] = called.get(name, 0) + 1
            wrong += bool(problems)
            line = {"number": number, "seconds": round(seconds[-1], 1), "tool": name, "problems": problems}
            print(json.dumps(line | {"usage": answer.get("usage")}), flush=True)
    cut = called.pop(CUT)
    print(f"{len(seconds)} requests: {len(seconds) - wrong - cut} inputs fit, {wrong} do not: {json.dumps(called)}")
    print(f"{cut} answers were cut at {MAX_TOKENS} tokens")
    print(f"first {seconds[0]:.1f} s, then {statistics.median(seconds[1:] or seconds):.1f} s (median)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
