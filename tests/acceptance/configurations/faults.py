"""Prints the configuration for the suite faults: a fleet with PostgreSQL and Redis, or a laptop with a folder."""

import json
import os
from typing import Any


def fleet(database: str, redis: str) -> dict[str, Any]:
    lease, wait = float(os.environ.get("RS_LEASE_SECONDS", 5)), int(os.environ.get("RS_REDIS_WAIT", 0))
    return {
        "threads": {"type": "sql", "url": database, "lease": lease},
        "log": {"type": "redis", "url": redis, "wait": wait},
        "engine": {"type": "dbos", "url": database, "attempts": attempts},
    }


attempts = int(os.environ.get("RS_RUN_ATTEMPTS", 5))
database, redis = os.environ.get("RS_DATABASE_URL"), os.environ.get("RS_REDIS_URL")
kept = fleet(database, redis) if database and redis else {"engine": {"type": "dbos", "attempts": attempts}}
upstream = {"type": "openai", "model": "fake", "base_url": os.environ["RS_UPSTREAM_OPENAI"], "api_key": "sk-fake"}
survivor = {"type": "loop", "model": "upstream", "durable": True, "tools": ["tests.acceptance.shop:tools"]}
whole = kept | {
    "models": {"upstream": upstream},
    "agents": {"survivor": survivor},
    "faces": [{"type": "copilotkit", "path": "/copilotkit", "agent": "survivor"}],
    "server": {"state": os.environ.get("RS_STATE_DIR", ".rightseat")},
}
print(json.dumps(whole, indent=1))  # JSON is YAML
