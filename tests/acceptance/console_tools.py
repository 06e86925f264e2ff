"""The tools of the agents in the suite console."""

import asyncio
import os

import aiohttp

from rightseat.toolboxes.functions import tool


@tool(name="getWeather", description="weather for a city", effect="read")
async def get_weather(city: str) -> dict[str, object]:
    await asyncio.sleep(0.3)
    return {"city": city, "tempC": 21}


@tool(name="deleteFile", description="delete a file", approval="Delete the file?")
async def delete_file(path: str) -> dict[str, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{os.environ['RS_UPSTREAM_API']}/deleted", json={"path": path}) as response,
    ):
        response.raise_for_status()
    return {"deleted": path}


@tool(
    name="refundOrder",
    description="refund an order",
    title={"en": "Refund an order", "zh-CN": "订单退款"},
    approval={"en": "Refund order {order}?", "zh-CN": "为订单 {order} 退款？"},
    effect="write",
)
async def refund_order(order: str) -> dict[str, str]:
    return {"refunded": order}


tools = [get_weather, delete_file, refund_order]
