"""Tools and hooks that a configuration can name."""

from collections.abc import Callable

from rightseat import tool
from rightseat.core.ask import Ask
from rightseat.core.errors import NotConfigured
from rightseat.core.events import RunFailed
from rightseat.core.messages import Message
from rightseat.toolboxes.functions import FunctionToolbox


@tool
async def get_weather(city: str) -> dict[str, object]:
    """The weather of a city."""
    return {"city": city, "sky": "clear"}


@tool
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


both: list[Callable[..., object]] = [get_weather, add]
box = FunctionToolbox([get_weather])
number = 7
seen: list[str] = []


async def refuse_spam(ask: Ask) -> None:
    if "spam" in ask.messages[-1].text:
        raise NotConfigured("No spam, please.")


async def remember(ask: Ask, messages: tuple[Message, ...]) -> None:
    seen.append(messages[-1].text)


async def complain(ask: Ask, failure: RunFailed) -> None:
    seen.append(failure.code)
