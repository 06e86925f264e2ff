"""Which tools ask a person before they run."""

from dataclasses import replace
from typing import Literal

from rightseat.core.tools import Approval, Tool

Policy = Literal["always", "never", "write"]
"""`write`: tools that change something ask, and those that say so themselves."""


def asking(tool: Tool, policy: Policy) -> Tool:
    """The tool, with an approval where the policy wants one. The client's own tools are the client's to guard."""
    if not tool.is_ours or tool.approval == "exempt":
        return tool
    if policy == "never":
        return replace(tool, approval=None)
    if tool.approval is None and (policy == "always" or tool.writes):
        return replace(tool, approval=Approval(f"May {tool.name} be run?"))
    return tool
