"""Prints the configuration for the suite anthropic, with the model `local` where RS_LLAMA_URL is a llama-server."""

import os

TEXT = """
# An open address and one behind keys: the same agents and models at each, with names of Claude as aliases.
models:
  upstream: {type: openai, model: fake-model, base_url: "${RS_UPSTREAM_OPENAI}", api_key: sk-fake, client_effort: true}
@local@agents:
  default: {type: loop, model: upstream, instructions: You are a test agent., max_turns: 5}
  helper: &helper
    type: loop
    model: upstream
    instructions: You are a test agent.
    max_turns: 5
    tools: ["tests.acceptance.actions:file_tools"]
prices: {upstream: {input: 1.0, output: 2.0}}
guards:
  - {type: patterns, phrases: [project nightjar], reason: That is not for this chat.}
access:
  keys:
    - {name: alice, key: key-alice}
    - {name: bob, key: key-bob}
    - {name: carol, key: key-carol}
    - {name: dave, key: key-dave}
    - {name: olga, key: key-olga, scopes: ["*", "operator.watch:*", "operator.read:*", "operator.act:*"]}
limits:
  - {name: few, subject: key, match: carol, requests: {most: 2, per: 60s}}
  - {name: small, subject: key, match: dave, requests_per_day: 1}
faces:
  - &messages
    type: anthropic
    path: /anthropic
    access: open
    aliases: {claude-haiku-*: upstream, claude-*: default}
    keep_alive: 1
    approval_wait: 3
  - {<<: *messages, path: /secure/anthropic, access: keys}
  - {type: operator, access: keys}
server:
  state_dir: ${RS_STATE_DIR}
"""
LOCAL = """  local: {type: completion, backend: {url: "${RS_LLAMA_URL}", timeout: 1200}}
"""

print(TEXT.strip().replace("@local@", LOCAL if "RS_LLAMA_URL" in os.environ else ""))
