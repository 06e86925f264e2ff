"""The demo APIs of the example plugins, all in one process: python -m ops.apis

Each is a small server of its plugin's folder, with made-up data, on the port that the plugin names.
"""

import runpy
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

PLUGINS = Path(__file__).parents[3] / "plugins"
PORTS = {"host_security": 39181, "weather": 39182, "file_convert": 39183}


def serve(plugin: str, port: int) -> ThreadingHTTPServer:
    """Port 0 is any that is free."""
    module = runpy.run_path(str(PLUGINS / plugin / "demo" / "server.py"), run_name=f"demo_{plugin}")
    server = ThreadingHTTPServer(("127.0.0.1", port), module["Handler"])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    for plugin, port in PORTS.items():
        serve(plugin, port)
        print(f"{plugin}: http://127.0.0.1:{port}")
    threading.Event().wait()
