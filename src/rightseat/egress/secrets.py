"""Secrets of plugins: the operator's keys, tokens and passwords, each bound to the plugins and hosts that may use it.

A plugin refers to a secret as `${secret:NAME}` and never sees its value, which is inserted when the request is sent. It
comes from the environment variable `RIGHTSEAT_SECRET_NAME`, or from a file `secrets.json` that only its owner may read:

    {"WEATHER_KEY": {"value": "…", "hosts": ["api.weather.example"]}, "OTHER": "…"}

The configuration says which plugins may send which secrets to which hosts (`SecretGrant`); `hosts` in the file are a
binding too. A secret that nothing binds is sent nowhere: the author of a plugin could have it sent to any server.

Other environment variables cannot be referenced: a plugin could send the server's own keys anywhere.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from rightseat.core.errors import ConfigError, RightseatError
from rightseat.egress.addresses import matches_host_pattern, parse_host_pattern, parse_host_port
from rightseat.egress.redaction import MIN_SECRET_CHARS
from rightseat.operations.secret_uses import SecretUse

PREFIX = "RIGHTSEAT_SECRET_"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
PLACEHOLDER = re.compile(r"\$\{secret:([^{}]*)\}")


class SecretMissing(RightseatError):
    """The secret does not exist, or may not be sent to the host that would receive it."""

    code = "secret_missing"
    status = 500


class SecretNotBound(SecretMissing):
    """Nothing allows this plugin to send this secret to this host."""

    def __init__(self, use: SecretUse) -> None:
        super().__init__(
            f"The plugin {use.plugin!r} may not send the secret {use.secret!r} to {use.host}: it is not bound to them. "
            f"An operator can add to `secrets` of the toolbox: {format_grant(use)}"
        )


class SecretGrant(msgspec.Struct, frozen=True):
    """These plugins may send the secret to these hosts; None stands for all of them."""

    name: str
    plugins: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None

    def allows(self, use: SecretUse) -> bool:
        return (
            self.name in (use.secret, EVERY_SECRET)
            and (self.plugins is None or use.plugin in self.plugins)
            and (self.hosts is None or any(matches_host(host, use.host) for host in self.hosts))
        )


EVERY_SECRET = "*"  # noqa: S105 - a pattern
"""In a grant, for the person who runs a plugin in their own terminal. No secret can have this name."""


class StoredSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`hosts` are names (`api.example.com`, `.example.com`) or `host:port`; None allows every host."""

    value: str | None = None
    hosts: tuple[str, ...] | None = None


class Secrets:
    """`file` need not exist. The environment's value overrides the file's; the file's `hosts` still apply.

    `recorded` are uses from before secrets were bound; `record` sets them.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        file: Path | None = None,
        grants: Sequence[SecretGrant] = (),
    ) -> None:
        self._environ = environ or {}
        self._file = file
        self._grants = grants
        self.recorded: frozenset[SecretUse] = frozenset()

    def of_plugin(self, plugin: str) -> "PluginSecrets":
        """The only way to a value."""
        return PluginSecrets(self, plugin)

    def record(self, uses: Iterable[SecretUse]) -> None:
        """These uses are allowed although nothing binds their secrets."""
        self.recorded = frozenset(uses)

    def is_bound(self, use: SecretUse) -> bool:
        """Whether the operator allows the use, without the record. Raises `ConfigError` for an invalid file."""
        stored = self._read().get(use.secret, StoredSecret())
        if stored.hosts is not None and any(matches_host(entry, use.host) for entry in stored.hosts):
            return True
        return any(grant.allows(use) for grant in self._grants)

    def check(self, use: SecretUse, named_by: str = "") -> None:
        """Raises `SecretMissing` if the plugin may not send the secret there, see `PluginSecrets.resolve`."""
        stored = self._read().get(use.secret, StoredSecret())
        if stored.hosts is not None and not any(matches_host(entry, use.host) for entry in stored.hosts):
            raise SecretMissing(
                f"The secret {use.secret!r} may not be sent to {use.host}, only to "
                f"{', '.join(stored.hosts) or 'no host'}."
            )
        known = (use, msgspec.structs.replace(use, host=named_by.lower()))
        if not self.is_bound(use) and self.recorded.isdisjoint(known):
            raise SecretNotBound(use)

    def _read_value(self, name: str) -> str:
        """Raises `SecretMissing`."""
        value = self._environ.get(variable_name(name)) or self._read().get(name, StoredSecret()).value
        if not value:
            message = f"The secret {name!r} is missing: set {variable_name(name)}, or add it to the secrets file."
            raise SecretMissing(message)
        if len(value) < MIN_SECRET_CHARS:
            raise SecretMissing(
                f"The secret {name!r} has fewer than {MIN_SECRET_CHARS} characters, which is too short to redact."
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


class PluginSecrets:
    """The secrets as one plugin may use them."""

    def __init__(self, secrets: Secrets, plugin: str) -> None:
        self._secrets = secrets
        self._plugin = plugin

    async def resolve(self, name: str, *, host: str, named_by: str = "") -> str:
        """`host` is the recipient, as `host:port`. Raises `SecretMissing`, and `ConfigError` for an invalid file.

        `named_by` is the host of an issuer whose own document names the recipient: who may send a secret there before
        secrets were bound may send it on.
        """
        value = self._secrets._read_value(name)
        self._secrets.check(SecretUse(self._plugin, name, host.lower()), named_by)
        return value

    def check(self, name: str, *, host: str) -> None:
        """Raises `SecretMissing` if the secret may not be sent there. It need not exist."""
        self._secrets.check(SecretUse(self._plugin, name, host.lower()))


def format_grant(use: SecretUse) -> str:
    """The line of the configuration that allows this use."""
    return f'- {{name: {use.secret}, plugins: [{use.plugin}], hosts: ["{use.host}"]}}'


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
