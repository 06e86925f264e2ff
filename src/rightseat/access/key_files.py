"""Files with a random key, which the processes of a server share."""

import os
from contextlib import suppress
from pathlib import Path

from rightseat.core.errors import ConfigError
from rightseat.parts import private_folder

KEY_BYTES = 32


def load_or_create_key(path: Path) -> bytes:
    """Create the key if missing. Processes that start together get the same one."""
    private_folder(path.parent)
    try:
        if not path.exists():
            _create_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot store the signing key in {path}: {error.strerror}.") from error
    if len(key) < KEY_BYTES:
        raise ConfigError(f"The signing key in {path} is invalid. Delete the file to create a new key.")
    return key


def _create_key(path: Path) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        fresh.touch(mode=0o600)
        fresh.write_bytes(os.urandom(KEY_BYTES))
        with suppress(FileExistsError):  # another process was faster
            os.link(fresh, path)  # atomic, so that no process reads a key that is half written
    finally:
        fresh.unlink(missing_ok=True)
