"""What the operator keeps for plugins to send: keys, tokens, passwords, each for the hosts it belongs to.

A plugin names a secret as `${secret:NAME}` and never sees it: it is looked up at the moment of sending. Its value is
that of the environment variable `RIGHTSEAT_SECRET_NAME`, or one in a file, `secrets.json`, that only its owner reads:

    {"WEATHER_KEY": {"value": "…", "hosts": ["api.weather.example"]}, "OTHER": "…"}

Other variables of the environment cannot be named: a plugin would send the server's own keys wherever it likes.
"""

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from rightseat.core.errors import ConfigError, RightseatError
from rightseat.egress.addresses import is_named, read_name, read_place
from rightseat.egress.redaction import SHORTEST

PREFIX = "RIGHTSEAT_SECRET_"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
PLACEHOLDER = re.compile(r"\$\{secret:([^{}]*)\}")


class SecretMissing(RightseatError):
    """There is no such secret, or it is not for the host that would get it."""

    code = "secret_missing"
    status = 500


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`hosts` are names (`api.example.com`, `.example.com`) or places (`127.0.0.1:8080`); None is any."""

    value: str | None = None
    hosts: tuple[str, ...] | None = None


class Secrets:
    """`file` need not be there. The environment wins over the file, which may then still say for which hosts."""

    def __init__(self, environ: Mapping[str, str] | None = None, file: Path | None = None) -> None:
        self._environ = environ or {}
        self._file = file

    async def resolve(self, name: str, *, host: str) -> str:
        """`host` is where the value would go: `host:port`. Raises `SecretMissing`, and `ConfigError` for a bad file."""
        kept = self._read().get(name, Kept())
        value = self._environ.get(variable(name)) or kept.value
        if not value:
            message = f"The secret {name!r} is missing: set {variable(name)}, or put it into the file of secrets."
            raise SecretMissing(message)
        if len(value) < SHORTEST:
            raise SecretMissing(f"The secret {name!r} has fewer than {SHORTEST} characters: it could not be covered.")
        if kept.hosts is not None and not any(is_for(entry, host) for entry in kept.hosts):
            raise SecretMissing(
                f"The secret {name!r} is not for {host}: it is for {', '.join(kept.hosts) or 'no host'}."
            )
        return value

    def has(self, name: str) -> bool:
        return bool(self._environ.get(variable(name)) or self._read().get(name, Kept()).value)

    def keep(self, name: str, value: str, hosts: Sequence[str] | None = None) -> None:
        """Write it to the file. Raises `ConfigError` where there is no file, or the name or a host cannot be one."""
        if self._file is None:
            raise ConfigError("There is no file for secrets: name one, or set environment variables.")
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name!r} cannot name a secret: letters, digits, _ . and - can, with a letter first.")
        for entry in hosts or ():
            check_host(entry)
        whole = self._read() | {name: Kept(value, None if hosts is None else tuple(hosts))}
        write(self._file, json.dumps(msgspec.to_builtins(whole), ensure_ascii=False, indent=2))

    def _read(self) -> dict[str, Kept]:
        """Anew each time, so that a new key needs no restart."""
        if self._file is None or not self._file.exists():
            return {}
        mode = self._file.stat().st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise ConfigError(f"{self._file} can be read by others than its owner: chmod 600 {self._file}")
        try:
            read = msgspec.json.decode(self._file.read_bytes(), type=dict[str, str | Kept])
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{self._file} is no file of secrets: {error}") from None
        return {name: Kept(kept) if isinstance(kept, str) else kept for name, kept in read.items()}


def variable(name: str) -> str:
    """Of the environment, where a name has no dots and no hyphens."""
    return PREFIX + re.sub(r"[.-]", "_", name)


def write(file: Path, text: str) -> None:
    """As a whole or not at all, and for nobody else from its first byte on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent, prefix=".secrets", delete=False, encoding="utf-8") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    Path(new.name).replace(file)  # made with mode 600


def check_host(entry: str) -> None:
    try:
        if read_place(entry) is None:
            read_name(entry)
    except ValueError:
        raise ConfigError(f"{entry!r} is no host: write api.example.com, .example.com or 127.0.0.1:8080.") from None


def is_for(entry: str, host: str) -> bool:
    if ":" in entry.rpartition("]")[2]:
        return read_place(entry) == read_place(host)
    name = host.rpartition(":")[0].strip("[]") if read_place(host) else host
    return is_named(name.lower(), [entry.lower()])


def named_in(text: str) -> tuple[str, ...]:
    """The secrets that a text asks for."""
    return tuple(PLACEHOLDER.findall(text))
