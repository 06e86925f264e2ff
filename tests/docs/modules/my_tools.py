"""A module that the configurations of the documentation name."""


def get_weather(city: str) -> dict[str, object]:
    """The weather in a city."""
    return {"city": city, "celsius": 21.5}
