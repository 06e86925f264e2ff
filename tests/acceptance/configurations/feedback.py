"""Prints the configuration for the suite feedback, as JSON, which is YAML."""

import json
import os
from typing import Any

USERS = [f"u{number:03}" for number in range(1, 241)]
SCOPES = {
    **{user: ["*"] for user in USERS},
    "olga": ["*", "operator.watch:*", "operator.read:*", "operator.act:*"],
    "wu": ["operator.watch:*"],
}


def configuration() -> dict[str, Any]:
    upstream = {
        "type": "openai",
        "model": "fake-model",
        "base_url": os.environ["RS_UPSTREAM_OPENAI"],
        "api_key": "sk-fake",
    }
    agent = {"model": "upstream", "instructions": "You are a test agent.", "max_turns": 5}
    return {
        "models": {"upstream": upstream},
        "agents": {"default": agent, "plain": agent},
        "faces": faces(),
        "access": {"keys": keys()},
        "server": {"state_dir": os.environ["RS_STATE_DIR"]},
    }


def faces() -> list[dict[str, Any]]:
    return [
        {"type": "copilotkit", "path": "/copilotkit"},
        {"type": "copilotkit", "path": "/bare", "agent": "plain", "agents": []},
        {"type": "openbb", "path": "/openbb"},
        {"type": "ai_sdk", "path": "/api/chat"},
        {"type": "openai", "path": "/v1"},
        {"type": "anthropic", "path": "/anthropic"},
        {"type": "operator", "path": "/operator"},
    ]


def keys() -> list[dict[str, Any]]:
    return [{"name": user, "key": f"key-{user}", "user": user, "scopes": scopes} for user, scopes in SCOPES.items()]


if __name__ == "__main__":
    print(json.dumps(configuration(), indent=1))
