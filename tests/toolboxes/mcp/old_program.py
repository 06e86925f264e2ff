"""An MCP server of 2025, spoken by hand over stdin and stdout: it asks while its tool runs."""

import json
import sys
from typing import Any

ASKED = {
    "message": "How many?",
    "requestedSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}
TOOL = {"name": "order", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}}
OPENED = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"}}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    calling = None
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"method": "initialize", "id": id}:
                say(id=id, result=OPENED)
            case {"method": "tools/list", "id": id}:
                say(id=id, result={"tools": [TOOL]})
            case {"method": "tools/call", "id": id}:
                calling = id
                say(id="q1", method="elicitation/create", params=ASKED)
            case {"method": "notifications/cancelled"}:
                calling = None
            case {"id": "q1", "result": {"action": "accept", "content": {"number": number}}} if calling is not None:
                say(id=calling, result={"content": [{"type": "text", "text": f"ordered {number}"}]})
            case {"method": _, "id": id}:
                say(id=id, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
