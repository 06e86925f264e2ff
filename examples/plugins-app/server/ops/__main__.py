"""Starts the demo APIs and rightseat: python -m ops. Options such as `--port 8123` go to `rightseat serve`.

An API whose port is in use takes a free one.
"""

import os
import sys
import tempfile
from pathlib import Path

from ops.apis import PORTS, configure, serve
from rightseat.cli import main

SECRETS = ("WEATHER_KEY", "HOST_SECURITY_TOKEN", "FILE_CONVERT_SECRET")

if __name__ == "__main__":
    apis = {plugin: serve(plugin, port) for plugin, port in PORTS.items()}
    for plugin, api in apis.items():
        print(f"demo API of {plugin}: http://127.0.0.1:{api.server_port}", flush=True)
    for name in SECRETS:
        os.environ.setdefault(f"RIGHTSEAT_SECRET_{name}", "demo")
    with tempfile.TemporaryDirectory() as folder:
        file = configure({plugin: api.server_port for plugin, api in apis.items()}, Path(folder))
        main(["serve", str(file), *sys.argv[1:]])
