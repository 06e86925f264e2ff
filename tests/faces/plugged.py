"""The example plugins behind all faces of a real server, with their demo APIs on free ports.

The configuration is the one of examples/plugins-app, with another place for its plugins and their APIs.
"""

import importlib
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from rightseat import app, config
from tests.conftest import serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugins-app" / "server"
FILES = ("plugin.json", "openapi.yaml")
SECRETS = ("WEATHER_KEY", "HOST_SECURITY_TOKEN", "FILE_CONVERT_SECRET")

WEATHER = "What will the weather be in Hangzhou, for 3 days?"
SALES = "Chart the revenue of 2025 by region"
SCAN = "Scan the host db-01"
CONVERT = "Convert this CSV file to Markdown"


@asynccontextmanager
async def plugged(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    secret: str = "demo",
    *,
    is_allowed: bool = True,
    is_declared: bool = True,
    **changes: Any,
) -> AsyncIterator[str]:
    """The address of the server. `secret` is what it sends, and `demo` what the APIs want. The operator allows the
    addresses of the APIs, and the plugins declare them. `changes` replace whole sections of the configuration."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    apis: Any = importlib.import_module("ops.apis")  # of the example
    for name in SECRETS:
        monkeypatch.setenv(f"RIGHTSEAT_SECRET_{name}", secret)
    shutil.copytree(apis.PLUGINS, folder / "plugins")
    servers = {plugin: apis.serve(plugin, 0) for plugin in apis.PORTS}
    try:
        written = yaml.safe_load((EXAMPLE / "rightseat.yaml").read_text())
        written["models"]["default"]["chunk_delay"] = 0
        toolbox = written["toolboxes"]["ops"]
        toolbox["folders"] = ["plugins"]
        for plugin, server in servers.items():
            place = [f"127.0.0.1:{server.server_port}"]
            toolbox["allow_private"][plugin] = place
            for binding in toolbox["secrets"]:
                binding["hosts"] = place if binding["plugins"] == [plugin] else binding["hosts"]
            move(folder / "plugins" / plugin, apis.PORTS[plugin], server.server_port)
            if not is_declared:
                remove_declaration(folder / "plugins" / plugin / "plugin.json")
        if not is_allowed:
            del toolbox["allow_private"]
        (folder / "rightseat.yaml").write_text(yaml.safe_dump(written | changes, allow_unicode=True))
        async with serving(app.build(config.read(folder / "rightseat.yaml"))) as url:
            yield url
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()
        for name in [name for name in sys.modules if name == "ops" or name.startswith("ops.")]:
            del sys.modules[name]


def move(plugin: Path, old: int, new: int) -> None:
    """The plugin's API is at another port."""
    for name in FILES:
        path = plugin / name
        path.write_text(path.read_text().replace(f":{old}", f":{new}"))


def remove_declaration(path: Path) -> None:
    about = json.loads(path.read_text())
    del about["network"]
    path.write_text(json.dumps(about, ensure_ascii=False))
