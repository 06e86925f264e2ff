"""Prints the configuration for the suite limits: RS_LIMITS as it is. `fleet.py` makes a server of a fleet of it."""

import json
import os

USERS = ("alice", "bob", "carol", *(f"u{number}" for number in range(8)))


def model(name: str, **more: object) -> dict[str, object]:
    upstream = {"type": "openai", "model": name, "base_url": os.environ["RS_UPSTREAM_OPENAI"], "api_key": "sk-fake"}
    return upstream | more


def key(name: str, user: str, scopes: tuple[str, ...] = ("*",)) -> dict[str, object]:
    return {"name": name, "key": f"sk-{name}", "user": user, "scopes": scopes}


faces = [
    {"type": "copilotkit", "path": "/copilotkit", "agent": "default"},
    {"type": "openai", "path": "/v1"},
    {"type": "openbb", "path": "/"},
    {"type": "metrics", "path": "/metrics"},
    {"type": "usage", "path": "/usage"},
]
whole = {
    "models": {"big": model("big"), "small": model("small"), "bounded": model("big", max_tokens=100)},
    "agents": {
        "default": {"model": "big"},
        "helper": {"model": "big"},
        "thrifty": {"model": "small"},
        "looping": {"model": "bounded", "tools": ["tests.acceptance.again:again"]},
    },
    "faces": faces,
    "access": {
        "keys": [
            *(key(name, name) for name in USERS),
            key("alice-ci", "alice"),
            key("ops", "ops", ("*", "usage:*")),
        ]
    },
    "server": {"state_dir": os.environ.get("RS_STATE_DIR", ".rightseat"), "max_concurrent_runs_per_user": 0},
    **json.loads(os.environ["RS_LIMITS"]),
}
print(json.dumps(whole, indent=1))  # JSON is YAML
