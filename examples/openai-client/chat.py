"""OpenAI's own client in front of rightseat, with a tool that this program runs itself.

    rightseat serve
    pip install openai
    python examples/openai-client/chat.py "read_clock UTC"

A server on another port: RIGHTSEAT_URL=http://127.0.0.1:8123/v1 python examples/openai-client/chat.py

The built-in model calls a tool that the question names, so no key is needed.
"""

import json
import os
import sys
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from openai import APIConnectionError, OpenAI

URL = os.environ.get("RIGHTSEAT_URL", "http://127.0.0.1:8000/v1")

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "read_clock",
            "description": "The time in a time zone.",
            "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]},
        },
    }
]


def read_clock(zone: str) -> str:
    try:
        return f"It is {datetime.now(ZoneInfo(zone)):%H:%M} in {zone}."
    except (ZoneInfoNotFoundError, ValueError):
        return f"There is no time zone {zone!r}. Try UTC or Europe/Oslo."


def chat(question: str, base_url: str = URL, model: str = "default") -> str:
    """Send the question, run the tools that the model calls, and return its answer."""
    client = OpenAI(base_url=base_url, api_key="none")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        said = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        if not said.tool_calls:
            return said.content or ""
        messages.append(said)
        for call in said.tool_calls:
            if call.type == "function":
                result = read_clock(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    try:
        print(chat(" ".join(sys.argv[1:]) or "read_clock UTC"))
    except APIConnectionError:
        sys.exit(f"Cannot reach {URL}. Is `rightseat serve` running?")
