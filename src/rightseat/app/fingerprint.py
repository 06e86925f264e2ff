"""A hash of the version and of the configuration of models and agents, for clients that compare responses.

It is the same in every process that serves the same configuration, and in every replica. Secrets are not part of it:
pydantic writes asterisks for them.
"""

from hashlib import sha256
from importlib.metadata import version

from rightseat.config import Config, ConfiguredPart


def fingerprint_of(config: Config) -> str:
    digest = sha256(version("rightseat").encode())
    for section in (config.models, config.agents):
        for name, part in section.items():
            digest.update(f"{name}\0{part.type}\0{_encode(part)}\0".encode())
    return digest.hexdigest()


def _encode(part: ConfiguredPart) -> str:
    """The options as JSON. A value that JSON cannot represent is replaced by its type: its repr may hold an address."""
    return part.options.model_dump_json(fallback=lambda value: type(value).__qualname__)
