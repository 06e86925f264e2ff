"""An agent for OpenBB Workspace with a tool of its own: `uvicorn analyst:app --port 8000`."""

import os
from typing import Annotated

from pydantic import BaseModel, Field

from rightseat import Agent, Copilot, RightseatError
from rightseat.faces import OpenBB

FAIR_VALUES = {"AAPL": 187.5, "MSFT": 402.0}


class Valuation(BaseModel):
    symbol: str
    usd: float
    method: str = "discounted cash flow"


def fair_value(
    symbol: Annotated[str, Field(pattern="^[A-Z.]{1,6}$", description="A ticker, such as AAPL")],
) -> Valuation:
    """The fair value of a share by our own model, in USD."""
    if symbol not in FAIR_VALUES:
        raise RightseatError(f"Our model does not cover {symbol}. It covers {', '.join(FAIR_VALUES)}.")
    return Valuation(symbol=symbol, usd=FAIR_VALUES[symbol])


agent = Agent(
    os.environ.get("MODEL", "demo"),
    tools=[fair_value],
    instructions="You are an analyst. Compare prices with our fair values. Give figures with their dates, and a table.",
    description="Compares prices with fair values.",
)
copilot = Copilot(
    agents={"analyst": agent},
    faces=[OpenBB(path="/", agents={"analyst": {"name": "Our analyst"}})],
    database="memory",  # Workspace sends the whole chat with each question
)
app = copilot.app()
