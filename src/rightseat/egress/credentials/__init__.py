"""Who asks, for servers that take no key which stays the same: signatures of AWS, tokens that are renewed.

`Credentials` makes the headers of one request. Each cloud has a module of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rightseat.egress.request import OutgoingRequest


class Credentials(Protocol):
    @property
    def secrets(self) -> Iterable[str]:
        """What must not be found in a text, as of now."""
        ...

    async def headers(self, asked: OutgoingRequest) -> Mapping[str, str]:
        """Those that say who asks. Raises `ModelError` where nobody can say."""
        ...

    def renews(self, refused: Mapping[str, str]) -> bool:
        """The server answered 401 to these headers. Will there be others, so that it is worth to ask once more?"""
        ...

    async def aclose(self) -> None: ...
