"""What was left out, in a header: a JSON array in plain ASCII."""

import json
from collections.abc import Sequence

NAME = "x-rightseat-warnings"
ROOM = 3000  # characters; clients and proxies refuse heads that are too large


def header(warnings: Sequence[str]) -> dict[str, str]:
    """None where there is nothing to say. The body has those that find no room."""
    kept: list[str] = []
    for number, warning in enumerate(warnings):
        if len(json.dumps([*kept, warning])) > ROOM:
            kept.append(f"{len(warnings) - number} more in the body")
            break
        kept.append(warning)
    return {NAME: json.dumps(kept)} if kept else {}
