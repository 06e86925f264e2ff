"""Prints the configuration for the suite console, as JSON, which is YAML."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

ENVIRONMENT = os.environ
TOOLS = Path(__file__).parent.parent / "console_tools.py"
SCOPES = {
    "alice": ["*"],
    "bob": ["*"],
    "olga": ["*", "operator.watch:*", "operator.read:*", "operator.act:*"],
    "wu": ["operator.watch:*"],
    "ada": ["*", "operator.author:*"],
    "ops": ["operator:ops"],
}


def configuration() -> dict[str, Any]:
    return {
        "models": {"upstream": model()},
        "toolboxes": {"steps": plugins()},
        "agents": agents(),
        "faces": faces(),
        "engine": {"type": "dbos"},
        "evals": {"record_prompts": True},
        "prices": {"upstream": {"input": 1.0, "output": 2.0}},
        "server": {
            "state_dir": ENVIRONMENT["RS_STATE_DIR"],
            "hosts": ["lan.test", "app.sister.test"],
            "origins": [ENVIRONMENT["RS_SISTER_ORIGIN"]],
        },
        **({"access": access()} if ENVIRONMENT["RS_CONSOLE_MODE"] == "keys" else {}),
    }


def model() -> dict[str, Any]:
    return {
        "type": "openai",
        "model": "fake-model",
        "base_url": ENVIRONMENT["RS_UPSTREAM_OPENAI"],
        "api_key": "sk-fake",
    }


def plugins() -> dict[str, Any]:
    address = ENVIRONMENT["RS_UPSTREAM_API"].removeprefix("http://")
    return {
        "type": "plugins",
        "model": "upstream",
        "folders": [ENVIRONMENT["RS_PLUGINS_DIR"]],
        "allow_private": {"steps": [address]},
        "secrets": [{"name": "STEPS_TOKEN", "plugins": ["steps"], "hosts": [address]}],
    }


def agents() -> dict[str, Any]:
    loop = {
        "type": "loop",
        "model": "upstream",
        "tools": [f"{copy_tools().stem}:tools"],
        "toolboxes": ["steps"],
    }
    return {
        "default": loop,
        "ops": {"type": "flows", "model": "upstream", "toolbox": "steps"},
        "lasting": loop | {"durable": True},
        "keeper": {"type": "loop", "model": "upstream", "memory": {"save": "always_ask"}},
    }


def copy_tools() -> Path:
    """Beside the configuration, where every command of rightseat finds them: scenarios call some."""
    return Path(shutil.copyfile(TOOLS, Path(ENVIRONMENT["RS_STATE_DIR"], TOOLS.name)))


def faces() -> list[dict[str, Any]]:
    operator: dict[str, Any] = {"type": "operator", "edit": True}
    if hours := ENVIRONMENT.get("RS_SESSION_HOURS"):
        operator["session_hours"] = float(hours)
    others = ("copilotkit", "openai", "metrics", "console")
    return [*({"type": name} for name in others), {"type": "openbb", "path": "/openbb"}, operator]


def access() -> dict[str, Any]:
    left_out = ENVIRONMENT.get("RS_WITHOUT_KEY")
    keys = [
        {"name": user, "key": f"key-{user}", "user": user, "scopes": scopes}
        for user, scopes in SCOPES.items()
        if left_out not in (user, f"key-{user}")
    ]
    return {"keys": keys}


if __name__ == "__main__":
    print(json.dumps(configuration(), indent=2))
