"""The protocol of parts whose files the workers of one server share."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class SharesFile(Protocol):
    def share_file(self) -> None:
        """Other processes of this machine use the file, too. Call this before the part is opened.

        A part on a database server does nothing: processes share that in any case.
        """
        ...
