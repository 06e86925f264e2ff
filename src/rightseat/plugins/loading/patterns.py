"""Checks and anchors the regular expressions of schemas, which must run in linear time."""

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema


@lru_cache(maxsize=1024)
def find_problem(pattern: str) -> str | None:
    """Return why the linear-time regex library rejects the pattern; None if it accepts it."""
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        return str(error).rsplit("error: ", 1)[-1].rsplit("SchemaError: ", 1)[-1].strip().rstrip(".")
    return None


def anchor(pattern: str) -> str:
    """Anchor the pattern to the whole value, unless it has an anchor itself."""
    ends = pattern.endswith("$") and not pattern.endswith("\\$")
    return pattern if pattern.startswith("^") or ends else f"^(?:{pattern})$"
