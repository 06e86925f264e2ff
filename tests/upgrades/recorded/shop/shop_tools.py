"""The tools of a small shop: one reads, one asks a person first."""

from rightseat import tool


@tool
def read_order(number: str) -> dict[str, str]:
    """Read an order."""
    return {"order": number, "state": "paid"}


@tool(effect="write")
def cancel_order(number: str) -> dict[str, str]:
    """Cancel an order."""
    return {"order": number, "state": "cancelled"}
