"""Prints the configuration for the suite openbb-flows: the example plugins, moved to the APIs of RS_PLUGIN_APIS."""

import json
import os
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
PORTS = {"host_security": 39181, "weather": 39182, "file_convert": 39183}
SECRETS = {"host_security": "HOST_SECURITY_TOKEN", "weather": "WEATHER_KEY", "file_convert": "FILE_CONVERT_SECRET"}
FILES = ("plugin.json", "openapi.yaml")

state = Path(os.environ["RS_STATE_DIR"])
apis: dict[str, int] = json.loads(os.environ["RS_PLUGIN_APIS"])
shutil.copytree(EXAMPLES, state / "plugins")
for plugin, port in apis.items():
    for path in (state / "plugins" / plugin / name for name in FILES):
        path.write_text(path.read_text().replace(f":{PORTS[plugin]}", f":{port}"))

whole = {
    "models": {
        "default": {
            "type": "openai",
            "model": "fake-small",
            "base_url": os.environ["RS_UPSTREAM_OPENAI"],
            "api_key": "sk-fake",
        }
    },
    "toolboxes": {
        "ops": {
            "type": "plugins",
            "folders": [str(state / "plugins")],
            "allow_private": {plugin: [f"127.0.0.1:{port}"] for plugin, port in apis.items()},
            "secrets": [
                {"name": SECRETS[plugin], "plugins": [plugin], "hosts": [f"127.0.0.1:{port}"]}
                for plugin, port in apis.items()
            ],
        }
    },
    "agents": {
        "flows": {"type": "flows", "toolbox": "ops", "description": "Answers with plugins."},
        "loop": {"model": "default", "toolboxes": ["ops"], "description": "Calls flows as tools."},
    },
    "faces": [{"type": "openbb", "agent": "flows", "access": "open"}],
    "server": {"state_dir": str(state)},
}
print(json.dumps(whole, indent=1))  # JSON is YAML
