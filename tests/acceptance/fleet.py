"""fleet.py FILE: prints a configuration as a fleet would have it, from RS_DATABASE_URL and RS_REDIS_URL.

Threads and finished steps are in PostgreSQL, the log is in Redis, and the runs of our own loops are durable.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml


def on_a_fleet(configuration: dict[str, Any]) -> dict[str, Any]:
    agents = {name: lasting(agent) for name, agent in configuration["agents"].items()}
    stores = kept()
    stores["threads"] = configuration.get("threads", {}) | stores["threads"]
    return configuration | stores | {"agents": agents}


def kept() -> dict[str, Any]:
    database, redis = os.environ["RS_DATABASE_URL"], os.environ["RS_REDIS_URL"]
    lease, replicas = float(os.environ.get("RS_LEASE_SECONDS", 5)), int(os.environ.get("RS_REDIS_WAIT", 0))
    return {
        "threads": {"type": "sql", "url": database, "lease_seconds": lease},
        "log": {"type": "redis", "url": redis, "min_replicas": replicas},
        "engine": {"type": "dbos", "url": database, "max_attempts": int(os.environ.get("RS_RUN_ATTEMPTS", 5))},
    }


def lasting(agent: dict[str, Any]) -> dict[str, Any]:
    return agent | {"durable": True} if agent.get("type", "loop") == "loop" else agent


if __name__ == "__main__":
    print(json.dumps(on_a_fleet(yaml.safe_load(Path(sys.argv[1]).read_text())), indent=1))  # JSON is YAML
