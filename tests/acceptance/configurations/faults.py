"""Prints the configuration for the suite faults: a laptop with a folder. `fleet.py` makes a server of a fleet of it."""

import json
import os

upstream = {"type": "openai", "model": "fake", "base_url": os.environ["RS_UPSTREAM_OPENAI"], "api_key": "sk-fake"}
survivor = {"type": "loop", "model": "upstream", "durable": True, "tools": ["tests.acceptance.shop:tools"]}
whole = {
    "engine": {"type": "dbos", "max_attempts": int(os.environ.get("RS_RUN_ATTEMPTS", 5))},
    "models": {"upstream": upstream},
    "agents": {"survivor": survivor},
    "faces": [{"type": "copilotkit", "path": "/copilotkit", "agent": "survivor"}],
    "server": {"state_dir": os.environ.get("RS_STATE_DIR", ".rightseat")},
}
print(json.dumps(whole, indent=1))  # JSON is YAML
