"""OpenAI's own client in front of rightseat, with a tool that this program runs itself.

    rightseat serve
    pip install openai
    python examples/openai-client/chat.py "read_clock in Oslo"

The built-in model calls a tool that the question names, so no key is needed.
"""

import json
import sys
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "read_clock",
            "description": "The time at a place.",
            "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
        },
    }
]


def read_clock(place: str) -> str:
    return f"It is {datetime.now(UTC):%H:%M} in UTC, wherever {place} may be."


def chat(question: str, base_url: str = "http://127.0.0.1:8000/v1", model: str = "default") -> str:
    """Ask until there is an answer in words."""
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
    print(chat(" ".join(sys.argv[1:]) or "read_clock in Oslo"))
