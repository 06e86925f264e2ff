"""A part that needs two things said."""

from pydantic import BaseModel


class Options(BaseModel):
    one: str
    two: str
