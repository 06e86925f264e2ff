"""Writes a drafted plugin to disk."""

from pathlib import Path

from rightseat.core.errors import ConfigError
from rightseat.plugins.packaging import scaffold


def write(draft: scaffold.PluginDraft, into: Path) -> Path:
    try:
        return scaffold.write(draft, into)
    except FileExistsError:
        raise ConfigError(f"{into / draft.id} already exists. Remove it, or choose another name.") from None
    except OSError as error:
        raise ConfigError(f"{into / draft.id} cannot be written: {error.strerror}.") from error
