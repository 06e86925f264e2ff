"""Records which plugin sends which secret where at the first start of the version that binds secrets.

Until then every plugin could send every secret anywhere. What was in use keeps working, with a warning; the record is
made once, so that nobody can add to it later. Servers that share a database share the record; other servers have it in
the state folder of their plugins.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from rightseat.egress.secrets import Secrets, write_private_file
from rightseat.operations.secret_uses import SecretUse, SecretUseStore
from rightseat.plugins.definition import Plugin
from rightseat.plugins.operations.secret_uses import list_uses

FILE = "secret-uses.json"


@asynccontextmanager
async def record_uses(
    secrets: Secrets,
    state: Path,
    shared: SecretUseStore | None,
    toolbox: str,
    list_plugins: Callable[[], Mapping[str, Plugin]],
) -> AsyncIterator[None]:
    """Entered before the plugins are loaded, which writes to the folder `state`. Left when they are loaded."""
    store = shared or SecretUseFile(state)
    yield
    found = [use for use in order_uses(list_uses(list_plugins())) if secrets.has(use.secret)]
    secrets.record(await store.settle(toolbox, [use for use in found if not secrets.is_bound(use)]))


class SecretUseFile:
    """The record of one server. If no version before has used the state folder, it is made at once, and is empty."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        if not self._file.exists() and not is_used_folder(state):  # before another worker of this server looks
            write_file(self._file, ())

    async def settle(self, toolbox: str, in_use: Sequence[SecretUse]) -> Sequence[SecretUse]:
        if not self._file.exists():
            write_file(self._file, in_use)
        return read_file(self._file)


def write_file(file: Path, uses: Sequence[SecretUse]) -> None:
    write_private_file(file, msgspec.json.encode(uses).decode())


def read_file(file: Path) -> Sequence[SecretUse]:
    return msgspec.json.decode(file.read_bytes(), type=list[SecretUse])


def is_used_folder(state: Path) -> bool:
    return state.is_dir() and any(state.iterdir())


def order_uses(uses: Iterable[SecretUse]) -> list[SecretUse]:
    return sorted(set(uses))
