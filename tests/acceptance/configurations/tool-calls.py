"""Prints the configuration for the suite tool-calls: a model for each entry of RS_MODELS_FILE, and OpenAI's face."""

import json
import os
from pathlib import Path
from typing import Any


def write(entry: dict[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = {"type": "completion", "backend": backend(entry), "style": entry.get("style", "auto")}
    return model | ({"tool_signature_format": entry["signatures"]} if "signatures" in entry else {})


def backend(entry: dict[str, Any]) -> dict[str, Any]:
    """One that runs already, or one that is started with one thread and two slots of 8,192 tokens."""
    if "url" in entry:
        return {"url": entry["url"]}
    return {"model": entry["model"], "binary": entry["binary"], "port": entry["port"], "threads": 1}


entries = json.loads(Path(os.environ["RS_MODELS_FILE"]).read_text())
whole = {
    "models": {entry["name"]: write(entry) for entry in entries},
    "agents": {"default": {"model": entries[0]["name"]}},
    "faces": [{"type": "openai"}],
    "server": {"state_dir": os.environ["RS_STATE_DIR"]},
}
print(json.dumps(whole, indent=1))  # JSON is YAML
