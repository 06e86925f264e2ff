"""The tools of the suite faults: a shop that charges, and a refund that a person has to approve."""

import os
import ssl

import httpx2

from rightseat.core.tools import Invocation
from rightseat.toolboxes.functions import tool

CERTIFICATES = ssl.create_default_context()  # read once: a client without it reads them each time, and all runs wait


@tool(description="charge an order")
async def charge(amount: int, order: str, invocation: Invocation) -> str:
    """The same key for the same call, however often it is made: the shop charges once."""
    async with httpx2.AsyncClient(timeout=60, verify=CERTIFICATES) as client:
        answer = await client.post(
            os.environ["RS_TOOL_URL"] + "/charge",
            json={"amount": amount, "order": order},
            headers={"Idempotency-Key": invocation.key},
        )
        answer.raise_for_status()
        return answer.text


@tool(description="refund an order", approval="Refund the order?")
async def approve_refund(order: str) -> str:
    return f"{order} is refunded."


tools = [charge, approve_refund]
