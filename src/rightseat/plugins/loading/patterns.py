"""Regular expressions of schemas: whole values, and in linear time."""

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema


@lru_cache(maxsize=1024)
def problem(pattern: str) -> str | None:
    """What a linear-time engine has against it; None where it takes it."""
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        return str(error).rsplit("error: ", 1)[-1].rsplit("SchemaError: ", 1)[-1].strip().rstrip(".")
    return None


def anchored(pattern: str) -> str:
    """As written where it says itself where it begins or ends; else it is for the whole value."""
    ends = pattern.endswith("$") and not pattern.endswith("\\$")
    return pattern if pattern.startswith("^") or ends else f"^(?:{pattern})$"
