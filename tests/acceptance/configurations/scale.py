"""Prints the configuration for the suite scale: a laptop with a folder. `fleet.py` makes a server of a fleet of it."""

import json
import os
from typing import Any

durable = {"durable": "RS_DURABLE" in os.environ}
upstream = {"type": "openai", "model": "fake", "base_url": os.environ["RS_UPSTREAM_OPENAI"], "api_key": "sk-fake"}
whole: dict[str, Any] = {
    "models": {"upstream": upstream},
    "agents": {
        "default": {"type": "loop", "model": "upstream", **durable},
        "asking": {"type": "loop", "model": "upstream", "tools": ["tests.acceptance.shop:approve_refund"], **durable},
    },
    "faces": [
        {"type": "copilotkit", "path": "/copilotkit", "agent": "default"},
        {"type": "openai", "path": "/v1"},
        {"type": "ai_sdk", "path": "/api/chat"},
        {"type": "mcp", "path": "/mcp"},
        {"type": "openbb", "path": "/"},
    ],
    "threads": {"type": "sql"},
    "log": {"type": "sqlite", "compact_after_seconds": 1},
    "server": {"state_dir": os.environ.get("RS_STATE_DIR", ".rightseat")},
}
if "RS_DURABLE" in os.environ:
    whole["engine"] = {"type": "dbos"}
if days := os.environ.get("RS_EXPIRE_DAYS"):
    whole["threads"] |= {"retention_days": float(days)}
print(json.dumps(whole, indent=1))  # JSON is YAML
