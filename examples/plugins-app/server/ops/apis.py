"""The demo APIs of the example plugins, with made-up data. `python -m ops` starts them and the server."""

import errno
import runpy
import shutil
import threading
from collections.abc import Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path

SERVER = Path(__file__).parents[1]
PLUGINS = SERVER.parents[1] / "plugins"
PORTS = {"host_security": 39181, "weather": 39182, "file_convert": 39183}


def serve(plugin: str, port: int) -> ThreadingHTTPServer:
    """Serve the API of one plugin in a thread. Port 0 is any that is free, and so is a port that is in use."""
    module = runpy.run_path(str(PLUGINS / plugin / "demo" / "server.py"), run_name=f"demo_{plugin}")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), module["Handler"])
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        server = ThreadingHTTPServer(("127.0.0.1", 0), module["Handler"])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def configure(ports: Mapping[str, int], folder: Path) -> Path:
    """Return the configuration for these ports: the example's own, or a copy in `folder` with copies of the plugins."""
    configuration = SERVER / "rightseat.yaml"
    if ports == PORTS:
        return configuration
    shutil.copytree(PLUGINS, folder / "plugins")
    text = configuration.read_text().replace("../../plugins", "plugins")
    state = f"\nserver: {{state_dir: '{SERVER / '.rightseat'}'}}\n"
    (folder / "rightseat.yaml").write_text(replace_ports(text, ports) + state)
    for file in [*folder.glob("plugins/*/plugin.json"), *folder.glob("plugins/*/openapi.yaml")]:
        file.write_text(replace_ports(file.read_text(), ports))
    return folder / "rightseat.yaml"


def replace_ports(text: str, ports: Mapping[str, int]) -> str:
    for plugin, port in ports.items():
        text = text.replace(f"127.0.0.1:{PORTS[plugin]}", f"127.0.0.1:{port}")
    return text
