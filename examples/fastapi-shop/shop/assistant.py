"""The copilot of the shop and its tools."""

import os
from typing import Annotated

from fastapi import Depends
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from rightseat import Copilot, Limit, Principal, RightseatError, tool
from shop.database import DATABASE_URL, Order, get_session
from shop.users import principal

Database = Annotated[AsyncSession, Depends(get_session)]


@tool
async def my_orders(caller: Principal, session: Database) -> list[str]:
    """The open orders of the person who asks, with their numbers."""
    wanted = select(Order).where(Order.person_id == int(caller.id), Order.is_cancelled.is_(False)).order_by(Order.id)
    return [f"{order.id}: {order.title}" for order in await session.scalars(wanted)]


@tool(approval="Cancel this order?", effect="write", timeout=10)
async def cancel_order(order_id: int, caller: Principal, session: Database) -> str:
    """Cancel an order of the person who asks."""
    order = await session.get(Order, order_id)
    if order is None or order.person_id != int(caller.id):
        raise RightseatError(f"You have no order {order_id}.")
    order.is_cancelled = True
    await session.commit()
    return f"{order.title} is cancelled."


copilot = Copilot(
    os.environ.get("MODEL", "demo"),
    instructions="You help people with their orders in a shop for furniture. Be brief.",
    tools=[my_orders, cancel_order],
    faces=["copilotkit", "openai"],
    authenticate=principal,
    database=DATABASE_URL,
    limits=[Limit(name="each", subject="user", requests_per_minute=20, concurrent_runs=2)],
)
