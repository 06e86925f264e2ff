"""Makes a failing case small: parts are left out as long as it still fails."""

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

TIME_S = 15.0
TRIES = 600


async def reduce_case(case: Any, fails: Callable[[Any], Awaitable[bool]]) -> Any:
    until = time.monotonic() + TIME_S
    tries = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in reductions(case):
            tries += 1
            if tries > TRIES or time.monotonic() > until:
                return case
            if await fails(smaller):
                case, is_smaller = smaller, True
                break
    return case


def reductions(value: Any) -> Iterator[Any]:
    """The value with something less in it, the largest pieces first."""
    match value:
        case dict():
            for key in list(value):
                yield {other: inner for other, inner in value.items() if other != key}
            for key, inner in value.items():
                for smaller in reductions(inner):
                    yield {**value, key: smaller}
        case list():
            yield from slices(value)
            for place, inner in enumerate(value):
                for smaller in reductions(inner):
                    yield [*value[:place], smaller, *value[place + 1 :]]
        case tuple():  # fixed fields: each is reduced, none is left out
            for place, inner in enumerate(value):
                for smaller in reductions(inner):
                    yield (*value[:place], smaller, *value[place + 1 :])
        case str() | bytes():
            yield from slices(value)


def slices(value: Any) -> Iterator[Any]:
    size = len(value)
    while size:
        for at in range(0, len(value), size):
            yield value[:at] + value[at + size :]
        size //= 2
