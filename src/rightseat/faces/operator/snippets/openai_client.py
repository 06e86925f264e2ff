"""OpenAI's SDKs, Codex, and anything else that calls chat completions or Responses."""

from collections.abc import Mapping, Sequence

from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import (
    QUESTION,
    YOUR_KEY,
    Snippet,
    SnippetTarget,
    build_curl,
    build_post,
    quote_code,
)

NAME = "OpenAI"

PYTHON = """\
# pip install openai
from openai import OpenAI

client = OpenAI(base_url={url}, api_key={key})
stream = client.chat.completions.create(
    model={agent},
    messages=[{{"role": "user", "content": {question}}}],
    stream=True,
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
"""
JAVASCRIPT = """\
// npm install openai
import OpenAI from "openai";

const client = new OpenAI({{ baseURL: {url}, apiKey: {key} }});
const stream = await client.chat.completions.create({{
  model: {agent},
  messages: [{{ role: "user", content: {question} }}],
  stream: true,
}});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
console.log();
"""
CODEX = """\
# ~/.codex/config.toml{hint}
model = {agent}
model_provider = "rightseat"

[model_providers.rightseat]
name = "rightseat"
base_url = {url}
wire_api = "responses"
stream_idle_timeout_ms = 1800000  # a local model may read the first prompt for minutes
"""
CODEX_HINT = f"; first: export RIGHTSEAT_API_KEY={YOUR_KEY}"
CODEX_KEY = 'env_key = "RIGHTSEAT_API_KEY"\n'


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    values = {
        "url": quote_code(target.url),
        "key": quote_code(YOUR_KEY if target.requires_key else "none"),  # the SDKs require some key
        "agent": quote_code(target.agent),
        "question": quote_code(QUESTION),
    }
    body: JsonValue = {"model": target.agent, "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    curl = build_curl(target, "curl", "/chat/completions", target.bearer, body)
    return (
        curl,
        Snippet("Python", "python", PYTHON.format(**values), curl.request),
        Snippet("JavaScript", "javascript", JAVASCRIPT.format(**values), curl.request),
        build_codex(target, values),
    )


def build_codex(target: SnippetTarget, values: Mapping[str, str]) -> Snippet:
    code = CODEX.format(**values, hint=CODEX_HINT if target.requires_key else "")
    body: JsonValue = {"model": target.agent, "stream": True, "store": False, "input": QUESTION}
    request = build_post(target, "/responses", target.bearer, body)
    return Snippet("Codex", "toml", code + CODEX_KEY if target.requires_key else code, request)
