"""The application: `uvicorn shop.main:app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from starlette.middleware.sessions import SessionMiddleware

from shop.assistant import copilot
from shop.database import Order, Person, prepared
from shop.users import Database, current_person
from shop.users import router as users

PAGE = Path(__file__).parent / "page.html"


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Around the copilot's, which comes with its router."""
    async with prepared():
        yield


app = FastAPI(title="Shop", lifespan=lifespan)
app.add_middleware(SessionMiddleware, secret_key=os.environ["SHOP_SECRET"], same_site="lax")
app.include_router(users)
app.include_router(copilot.router(), prefix="/ai")


@app.get("/")
async def page(request: Request) -> HTMLResponse:
    state = "signed-in" if request.session.get("person") else "signed-out"
    return HTMLResponse(PAGE.read_text().replace("STATE", state))


@app.get("/orders")
async def orders(person: Annotated[Person, Depends(current_person)], session: Database) -> list[str]:
    wanted = select(Order.title).where(Order.person_id == person.id, Order.is_cancelled.is_(False)).order_by(Order.id)
    return list(await session.scalars(wanted))


@app.post("/summary")
async def summary(person: Annotated[Person, Depends(current_person)]) -> str:
    """The copilot without a client, for the same person."""
    return (await copilot.ask("Summarize my_orders.", user=str(person.id))).text
