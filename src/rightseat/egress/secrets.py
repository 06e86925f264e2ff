"""Secrets of plugins: the operator's keys, tokens and passwords, each bound to the hosts that may receive it.

A plugin refers to a secret as `${secret:NAME}` and never sees its value, which is inserted when the request is sent. It
comes from the environment variable `RIGHTSEAT_SECRET_NAME`, or from a file `secrets.json` that only its owner may read:

    {"WEATHER_KEY": {"value": "…", "hosts": ["api.weather.example"]}, "OTHER": "…"}

Other environment variables cannot be referenced: a plugin could send the server's own keys anywhere.
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
from rightseat.egress.addresses import matches_host_pattern, parse_host_pattern, parse_host_port
from rightseat.egress.redaction import MIN_SECRET_CHARS

PREFIX = "RIGHTSEAT_SECRET_"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
PLACEHOLDER = re.compile(r"\$\{secret:([^{}]*)\}")


class SecretMissing(RightseatError):
    """The secret does not exist, or the host that would receive it is not one of its hosts."""

    code = "secret_missing"
    status = 500


class StoredSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`hosts` are names (`api.example.com`, `.example.com`) or `host:port`; None allows every host."""

    value: str | None = None
    hosts: tuple[str, ...] | None = None


class Secrets:
    """`file` need not exist. The environment's value overrides the file's; the file's `hosts` still apply."""

    def __init__(self, environ: Mapping[str, str] | None = None, file: Path | None = None) -> None:
        self._environ = environ or {}
        self._file = file

    async def resolve(self, name: str, *, host: str) -> str:
        """`host` is the recipient, as `host:port`. Raises `SecretMissing`, and `ConfigError` for an invalid file."""
        stored = self._read().get(name, StoredSecret())
        value = self._environ.get(variable_name(name)) or stored.value
        if not value:
            message = f"The secret {name!r} is missing: set {variable_name(name)}, or add it to the secrets file."
            raise SecretMissing(message)
        if len(value) < MIN_SECRET_CHARS:
            raise SecretMissing(
                f"The secret {name!r} has fewer than {MIN_SECRET_CHARS} characters, which is too short to redact."
            )
        if stored.hosts is not None and not any(matches_host(entry, host) for entry in stored.hosts):
            raise SecretMissing(
                f"The secret {name!r} may not be sent to {host}, only to {', '.join(stored.hosts) or 'no host'}."
            )
        return value

    def has(self, name: str) -> bool:
        return bool(self._environ.get(variable_name(name)) or self._read().get(name, StoredSecret()).value)

    def store(self, name: str, value: str, hosts: Sequence[str] | None = None) -> None:
        """Write it to the file. Raises `ConfigError` without a file, and for an invalid name or host."""
        if self._file is None:
            raise ConfigError("No secrets file is configured. Configure one, or set environment variables.")
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is not a valid secret name: use letters, digits, _ . and -, a letter first.")
        for entry in hosts or ():
            check_host(entry)
        secrets = self._read() | {name: StoredSecret(value, None if hosts is None else tuple(hosts))}
        write_private_file(self._file, json.dumps(msgspec.to_builtins(secrets), ensure_ascii=False, indent=2))

    def _read(self) -> dict[str, StoredSecret]:
        """Reads the file each time, so that a new key needs no restart."""
        if self._file is None or not self._file.exists():
            return {}
        mode = self._file.stat().st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise ConfigError(f"{self._file} is readable by other users. Run: chmod 600 {self._file}")
        try:
            entries = msgspec.json.decode(self._file.read_bytes(), type=dict[str, str | StoredSecret])
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{self._file} is not a valid secrets file: {error}") from None
        return {name: StoredSecret(entry) if isinstance(entry, str) else entry for name, entry in entries.items()}


def variable_name(name: str) -> str:
    """The environment variable of a secret. Variables cannot have dots and hyphens."""
    return PREFIX + re.sub(r"[.-]", "_", name)


def write_private_file(file: Path, text: str) -> None:
    """Atomic, and readable by its owner alone from the first byte on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent, prefix=".secrets", delete=False, encoding="utf-8") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    Path(new.name).replace(file)  # made with mode 600


def check_host(entry: str) -> None:
    try:
        if parse_host_port(entry) is None:
            parse_host_pattern(entry)
    except ValueError:
        raise ConfigError(
            f"{entry!r} is not a valid host: write api.example.com, .example.com or 127.0.0.1:8080."
        ) from None


def matches_host(entry: str, host: str) -> bool:
    if ":" in entry.rpartition("]")[2]:
        return parse_host_port(entry) == parse_host_port(host)
    name = host.rpartition(":")[0].strip("[]") if parse_host_port(host) else host
    return matches_host_pattern(name.lower(), [entry.lower()])


def find_placeholders(text: str) -> tuple[str, ...]:
    """The names of the secrets that a text refers to."""
    return tuple(PLACEHOLDER.findall(text))
