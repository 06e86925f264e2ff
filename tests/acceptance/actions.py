"""The server-side actions that the suites ask for."""

from typing import Annotated

from pydantic import Field

from rightseat.toolboxes.functions import tool


@tool(name="getWeather", description="weather for a city")
async def get_weather(city: Annotated[str, Field(description="the city")]) -> dict[str, object]:
    return {"city": city, "tempC": 4}


@tool(description="always fails")
async def explode() -> None:
    raise RuntimeError("kaboom")


actions = [get_weather, explode]
