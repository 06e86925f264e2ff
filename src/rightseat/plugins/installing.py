"""Installs a plugin: read, look, tell what it would be allowed, and only then put it in its place.

package = packages.read(Path("weather.zip"), Limits())
prospect = look(package)
install(prospect, Path("plugins"))
"""

import json
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rightseat.core.values import JsonValue
from rightseat.egress.secrets import named_in
from rightseat.plugins import copies, loading
from rightseat.plugins.definition import Plugin
from rightseat.plugins.diagnostics import Mode
from rightseat.plugins.loading import Limits, Loaded
from rightseat.plugins.loading.auth import OIDC_SECRETS
from rightseat.plugins.loading.reading import METADATA
from rightseat.plugins.packages import Package, PackageRefused


@dataclass(frozen=True, slots=True)
class Summary:
    """What a plugin would do and asks for, to be shown before it is installed.

    `moved` are secrets that stood in plugin.json, by the name under which they belong in the secret store.
    """

    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    lib: str | None = None
    dangerous: tuple[str, ...] = ()
    moved: dict[str, str] = field(default_factory=dict, repr=False)

    def lines(self) -> list[str]:
        rows = {
            "contacts": self.hosts,
            "private targets, each to be confirmed": self.private,
            "needs the secrets": self.secrets,
            "databases": self.databases,
            "runs code of its own, if its digest is allowed": (self.lib,) if self.lib else (),
            "operations that ask first": self.dangerous,
            "secrets moved out of plugin.json, shown as ••••": tuple(self.moved),
        }
        return [f"{what}: {', '.join(values)}" for what, values in rows.items() if values]


@dataclass(frozen=True, slots=True)
class Prospect:
    package: Package
    loaded: Loaded
    summary: Summary


def look(package: Package, mode: Mode = "compat", limits: Limits = loading.LIMITS) -> Prospect:
    """Nothing is written yet. Secrets that stand in plugin.json have been taken out of the package."""
    clean, moved = move_secrets(package)
    loaded = loading.load_files(Path("/") / clean.id, clean.files, mode, limits)
    return Prospect(clean, loaded, summarize(loaded.plugin, moved) if loaded.plugin else Summary(moved=moved))


def install(prospect: Prospect, into: Path) -> Path:
    """Unpacked beside and renamed: what was there before is replaced as a whole, or not at all.

    Raises `PackageRefused` where the plugin has errors.
    """
    if prospect.loaded.plugin is None:
        first = prospect.loaded.errors[0]
        raise PackageRefused("invalid", f"The plugin has {len(prospect.loaded.errors)} errors; the first is {first}")
    place = into / prospect.loaded.plugin.id
    into.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".installing-", dir=into))
    try:
        new, old = beside / "new", beside / "old"
        new.mkdir()
        copies.write(prospect.package.files, new)
        if place.exists():
            place.rename(old)
        try:
            new.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return place


def summarize(plugin: Plugin, moved: dict[str, str]) -> Summary:
    urls = [plugin.server] if plugin.server else []
    urls += [one.args[key] for one in plugin.auth for key in ("token_url", "issuer") if key in one.args]
    secrets = [name for one in plugin.auth for value in one.args.values() for name in named_in(value)]
    dangerous = {one.name: None for one in plugin.operations.values() if one.dangerous}
    for flow in plugin.flows.values():
        for step in flow.steps.values():
            if step.dangerous:
                called = plugin.operation(str(step.params.get("endpoint", "")))
                dangerous[called.name if called else f"{flow.name}: {step.name}"] = None
    return Summary(
        tuple(dict.fromkeys(urlsplit(url).netloc for url in urls)),
        plugin.allow_private,
        tuple(dict.fromkeys(secrets)),
        tuple(plugin.databases),
        plugin.lib,
        tuple(dangerous),
        moved,
    )


def move_secrets(package: Package) -> tuple[Package, dict[str, str]]:
    """Values of `auth` that stand in plugin.json become `${secret:…}`; the values are for the secret store (R-3.5)."""
    try:
        written = json.loads(package.files[METADATA].decode("utf-8-sig"))
        auth = written["auth"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return package, {}
    moved: dict[str, str] = {}
    for one in auth if isinstance(auth, list) else [auth]:
        _move(one, package.id, moved)
    if not moved:
        return package, {}
    text = json.dumps(written, ensure_ascii=False, indent=2) + "\n"
    return Package(package.id, {**package.files, METADATA: text.encode()}), moved


def _move(auth: JsonValue, id: str, moved: dict[str, str]) -> None:
    args = auth.get("args") if isinstance(auth, dict) else None
    if not isinstance(args, dict) or not isinstance(auth, dict):
        return
    for name, value in args.items():
        is_secret = auth.get("type") != "oidc" or name in OIDC_SECRETS
        if is_secret and isinstance(value, str) and value and not named_in(value):
            base = re.sub(r"[^A-Z0-9]+", "_", f"{id}_{name}".upper()).strip("_")
            secret = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 99))) if one not in moved)
            moved[secret] = value
            args[name] = f"${{secret:{secret}}}"
