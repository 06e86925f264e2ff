"""A draft of a plugin becomes files."""

from pathlib import Path

from rightseat.core.errors import ConfigError
from rightseat.plugins import drafts


def write(draft: drafts.Draft, into: Path) -> Path:
    try:
        return drafts.write(draft, into)
    except FileExistsError:
        raise ConfigError(f"{into / draft.id} is there already. Remove it, or take another name.") from None
    except OSError as error:
        raise ConfigError(f"{into / draft.id} cannot be written: {error.strerror}.") from error
