"""A hash of the version and of the configuration of models and agents, for clients that compare responses.

It is the same in every process that serves the same configuration, and in every replica. Secrets are not part of it:
pydantic writes asterisks for them.
"""

from hashlib import sha256
from importlib.metadata import version

from rightseat.config import Config, Part


def fingerprint_of(config: Config) -> str:
    digest = sha256(version("rightseat").encode())
    for section in (config.models, config.agents):
        for name, part in section.items():
            digest.update(f"{name}\0{part.type}\0{_write(part)}\0".encode())
    return digest.hexdigest()


def _write(part: Part) -> str:
    """The options as JSON. A value that JSON has no form for counts by its type: its text may hold an address."""
    return part.options.model_dump_json(fallback=lambda value: type(value).__qualname__)
