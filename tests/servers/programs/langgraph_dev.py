"""The graph in LangGraph's own server: `langgraph dev`."""

import json
import os
import socket
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONFIGURATION = {"dependencies": ["."], "graphs": {"agent": f"{HERE / 'graph.py'}:served"}, "env": {}}

with socket.create_server(("127.0.0.1", 0)) as listener:
    port = str(listener.getsockname()[1])
Path("langgraph.json").write_text(json.dumps(CONFIGURATION))
print(port, flush=True)
command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
os.environ |= {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
os.dup2(2, 1)  # what it says of itself goes to the log
os.execv(sys.executable, [*command, "--host", "127.0.0.1", "--port", port])  # noqa: S606
