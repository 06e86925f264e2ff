"""Which plugin sent which secret where before secrets were bound, and the protocol of the store that remembers it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class SecretUse(msgspec.Struct, frozen=True, order=True):
    """`host` is `host:port`, in lower case."""

    plugin: str
    secret: str
    host: str


class SecretUseStore(Protocol):
    async def settle(self, toolbox: str, in_use: Sequence[SecretUse]) -> Sequence[SecretUse]:
        """The recorded uses of a toolbox, which never change once they are recorded.

        The first call records those that are `in_use`, and on a new installation none.
        """
        ...
