"""The server-side actions that the suites ask for."""

from typing import Annotated

from pydantic import Field, JsonValue

from rightseat.core.tools import Invocation
from rightseat.toolboxes.functions import tool


@tool(name="getWeather", description="weather for a city")
async def get_weather(city: Annotated[str, Field(description="the city")]) -> dict[str, object]:
    return {"city": city, "tempC": 4}


@tool(description="always fails")
async def explode() -> None:
    raise RuntimeError("kaboom")


actions = [get_weather, explode]


@tool(name="getWeather", description="weather for a city")
async def weather_today(city: str) -> dict[str, object]:
    return {"city": city, "tempC": 21}


@tool(name="deleteFile", description="delete a file", approval="Delete the file?")
async def delete_file(path: str, invocation: Invocation) -> JsonValue:
    """Touches nothing: what the person answered is the result."""
    return invocation.approval


tools = [weather_today, delete_file]


@tool(name="deleteFile", description="delete a file", approval="Delete the file?")
async def delete_named_file(path: str) -> str:
    """Touches nothing."""
    return f"{path} is deleted."


chat_tools = [weather_today, delete_named_file, explode]
file_tools = [weather_today, delete_named_file]
