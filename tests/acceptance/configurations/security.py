"""Prints the configuration for the suite security, as JSON, which is YAML."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ENVIRONMENT = os.environ
PLUGINS = Path(ENVIRONMENT["RS_PLUGINS_DIR"])
FLOWS = PLUGINS / "probe" / "flows"


def configuration() -> dict[str, Any]:
    databases = plugin_databases()
    backends = local_backends()
    return {
        "models": {"default": hosted_model(), **backends},
        "toolboxes": toolboxes(databases),
        "agents": agents(databases, len(backends)),
        "guards": guards(),
        "faces": faces(),
        "server": server(),
        "access": access(),
        **storage(),
    }


def server() -> dict[str, Any]:
    return {
        "state_dir": ENVIRONMENT["RS_STATE_DIR"],
        "docs": True,
        "read_timeout": float(ENVIRONMENT["RS_READ_SECONDS"]),
        "write_timeout": float(ENVIRONMENT["RS_UNREAD_SECONDS"]),
        "max_concurrent_runs_per_user": int(ENVIRONMENT["RS_STREAMS_PER_USER"]),
    }


def hosted_model() -> dict[str, Any]:
    return {
        "type": "openai",
        "model": "fake",
        "base_url": ENVIRONMENT["RS_UPSTREAM_OPENAI"],
        "api_key": ENVIRONMENT["RS_SECRET_MODEL"],
        "headers": {"x-extra": ENVIRONMENT["RS_SECRET_HEADER"]},
        "extra": {"user": ENVIRONMENT["RS_SECRET_EXTRA"]},
        "timeout": float(ENVIRONMENT["RS_SILENCE_SECONDS"]),
        "total_timeout": float(ENVIRONMENT["RS_ANSWER_SECONDS"]),
    }


def local_backends() -> dict[str, Any]:
    url = ENVIRONMENT["RS_ENGINE_URL"]
    return {
        f"backend-{number}": {"type": "completion", "backend": {"url": f"{url}/{number}", "timeout": 10}}
        for number in range(int(ENVIRONMENT["RS_ENGINES"]))
    }


def plugin_databases() -> dict[str, Any]:
    catalog = ENVIRONMENT["RS_CATALOG_FILE"]
    databases: dict[str, Any] = {
        "lite": {"url": f"sqlite:///{ENVIRONMENT['RS_SQLITE_FILE']}", "catalog": catalog},
        "duck": {"url": f"duckdb:///{ENVIRONMENT['RS_DUCKDB_FILE']}", "catalog": catalog},
    }
    if "RS_SQL_URL" in ENVIRONMENT:
        databases["pg"] = {"url": ENVIRONMENT["RS_SQL_URL"], "schema": "public", "catalog": catalog}
    return databases


def toolboxes(databases: dict[str, Any]) -> dict[str, Any]:
    token = ENVIRONMENT["RS_SECRET_MCP"]
    return {
        "bank": {"type": "mcp", "name": "bank", "url": ENVIRONMENT["RS_REMOTE_MCP"], "cache_seconds": 0},
        "away": {
            "type": "mcp",
            "name": "away",
            "url": ENVIRONMENT["RS_AWAY_MCP"],
            "cache_seconds": 0,
            "headers": {"authorization": f"Bearer {token}"},
        },
        "plugins": {
            "type": "plugins",
            "folders": [str(PLUGINS)],
            "allowed_lib_digests": [digest("probe")],
            "databases": {"books": databases},
            "allow_private": {"probe": [ENVIRONMENT["RS_PLUGIN_API"]]},
        },
    }


def digest(plugin: str) -> str:
    """The digest of a plugin's code at the first start. It is kept beside the plugins, so later changes do not fit."""
    known = PLUGINS.parent / f"{plugin}.digest"
    if not known.exists():
        program = Path(sys.executable).with_name("rightseat")
        command = [str(program), "plugin", "check", str(PLUGINS / plugin)]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        known.write_text(re.findall(r"digest ([0-9a-f]{64})", printed)[0])
    return known.read_text()


def agents(databases: dict[str, Any], backends: int) -> dict[str, Any]:
    return {
        "plain": {"model": "default"},
        "banker": {"model": "default", "toolboxes": ["bank"]},
        "away": {"model": "default", "toolboxes": ["away"]},
        "lasting": {"model": "default", "toolboxes": ["bank"], "durable": True},
        "probe": flow("probe.probe"),
        "item": flow("probe.item"),
        **{name: flow(f"probe.{name}") for name in ("result", "costly") if (FLOWS / f"{name}.yaml").exists()},
        "payer": flow("probe.pay"),
        "filer": flow("probe.file"),
        "stranger": flow("stranger.run"),
        **{f"sql-{name}": flow(f"books.ask_{name}") for name in databases},
        **{f"template-{number}": {"model": f"backend-{number}"} for number in range(backends)},
    }


def flow(name: str) -> dict[str, Any]:
    return {"type": "flows", "toolbox": "plugins", "flow": name, "suggestions": False}


def guards() -> list[dict[str, Any]]:
    kinds = ENVIRONMENT.get("RS_GUARDS", "").split(",")
    found: list[dict[str, Any]] = []
    if "phrases" in kinds:
        found.append({"type": "patterns", "phrases": ["topsecret", "blue falcon"]})
    if "personal" in kinds:
        found.append({"type": "personal_data"})
    if "RS_GUARD_PATTERN" in ENVIRONMENT:
        found.append({"type": "patterns", "name": "own", "patterns": [ENVIRONMENT["RS_GUARD_PATTERN"]]})
    return found


def faces() -> list[dict[str, Any]]:
    served: list[dict[str, Any]] = [{"type": "metrics"}]
    for base, access in (("", "keys"), ("/open", "open")):
        served += [
            {"type": "copilotkit", "path": f"{base}/copilotkit", "agent": "plain", "access": access},
            {"type": "openai", "path": f"{base}/v1", "access": access},
            {"type": "openbb", "path": f"{base}/openbb", "agent": "plain", "access": access},
            {"type": "ai_sdk", "path": f"{base}/api/chat", "agent": "plain", "access": access},
            {"type": "mcp", "path": f"{base}/mcp", "agents": ["banker"], "access": access},
        ]
    return served


def access() -> dict[str, Any]:
    return {
        "keys": [
            {"name": "alice", "key": "key-alice-0123456789", "user": "alice"},
            {"name": "bob", "key": "key-bob-0123456789", "user": "bob"},
            {
                "name": "alice-plain",
                "key": "key-alice-plain-0123456789",
                "user": "alice",
                "scopes": ["copilotkit:plain"],
            },
            {
                "name": "alice-openai",
                "key": "key-alice-openai-0123456789",
                "user": "alice",
                "scopes": ["openai:plain"],
            },
            {"name": "nothing", "key": "key-nothing-0123456789", "user": "alice", "scopes": []},
        ],
        "jwt": {
            "issuer": ENVIRONMENT["RS_JWT_ISSUER"],
            "audience": ENVIRONMENT["RS_JWT_AUDIENCE"],
            "jwks": ENVIRONMENT["RS_JWKS_URL"],
        },
        "cookie": "session",
    }


def storage() -> dict[str, Any]:
    if "RS_DATABASE_URL" not in ENVIRONMENT:
        return {"engine": {"type": "dbos"}}
    database = ENVIRONMENT["RS_DATABASE_URL"]
    return {
        "threads": {"type": "sql", "url": database},
        "log": {"type": "redis", "url": ENVIRONMENT["RS_REDIS_URL"]},
        "engine": {"type": "dbos", "url": database},
    }


def merge(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with `more`: objects are merged, and lists are appended.

    A list that begins with None replaces the one before, and None removes a key.
    """
    merged = dict(base)
    for name, value in more.items():
        match merged.get(name), value:
            case _, None:
                merged.pop(name, None)
            case _, [None, *replacing]:
                merged[name] = replacing
            case dict(known), dict():
                merged[name] = merge(known, value)
            case list(known), list():
                merged[name] = [*known, *value]
            case _:
                merged[name] = value
    return merged


if __name__ == "__main__":
    print(json.dumps(merge(configuration(), json.loads(ENVIRONMENT.get("RS_OVERLAY", "{}"))), indent=1))
