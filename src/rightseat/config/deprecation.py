"""Finds deprecated keys in a configuration: options whose pydantic `Field` has `deprecated="use OTHER instead."`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from rightseat.config.shape import Config


def deprecation_warnings(config: Config) -> Iterator[str]:
    """One sentence for each deprecated key that the file sets, with its place: `models.main.KEY is deprecated: …`."""
    yield from find_deprecated(config.server, "server")
    for section in ("models", "toolboxes", "agents"):
        for name, part in getattr(config, section).items():
            yield from find_deprecated(part.options, f"{section}.{name}")
    for section in ("guards", "faces"):
        for number, part in enumerate(getattr(config, section)):
            yield from find_deprecated(part.options, f"{section}[{number}]")
    for section in ("log", "threads", "engine"):
        yield from find_deprecated(getattr(config, section).options, section)


def find_deprecated(value: Any, place: str) -> Iterator[str]:
    match value:
        case BaseModel():
            for name in sorted(value.model_fields_set):
                field = type(value).model_fields[name]
                if field.deprecated:
                    cure = field.deprecated if isinstance(field.deprecated, str) else "it will be removed."
                    yield f"{place}.{field.alias or name} is deprecated: {cure}"
                else:
                    yield from find_deprecated(getattr(value, name), f"{place}.{field.alias or name}")
        case Mapping():
            for name, item in value.items():
                yield from find_deprecated(item, f"{place}.{name}")
        case str() | bytes():
            pass
        case Sequence():
            for number, item in enumerate(value):
                yield from find_deprecated(item, f"{place}[{number}]")
