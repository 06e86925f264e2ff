"""A store of threads that stores nothing beside them."""

from pydantic import BaseModel


class Options(BaseModel):
    pass


class ThreadsOnly:
    reap_every: float | None = None


def build(options: Options) -> ThreadsOnly:
    return ThreadsOnly()
