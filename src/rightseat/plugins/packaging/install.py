"""Installs a plugin in two steps: plan, which shows the permissions it needs, and install, which writes the files.

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

from rightseat.core.types import JsonValue
from rightseat.egress.secrets import find_placeholders
from rightseat.plugins import loading
from rightseat.plugins.definition import Plugin, list_token_urls
from rightseat.plugins.loading import LoadResult
from rightseat.plugins.loading.auth import OIDC_SECRET_KEYS
from rightseat.plugins.loading.yaml_json import METADATA
from rightseat.plugins.operations.private_addresses import list_private_addresses
from rightseat.plugins.packaging import versions
from rightseat.plugins.packaging.archive import Package, PackageRefused


@dataclass(frozen=True, slots=True)
class PermissionSummary:
    """The hosts, secrets, databases and code of a plugin, shown before it is installed.

    `moved` are secrets taken out of plugin.json, by their names in the secret store.
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
            "runs its own code, if its digest is allowed": (self.lib,) if self.lib else (),
            "operations that need approval": self.dangerous,
            "secrets moved out of plugin.json, shown as ••••": tuple(self.moved),
        }
        return [f"{what}: {', '.join(values)}" for what, values in rows.items() if values]


@dataclass(frozen=True, slots=True)
class InstallPlan:
    package: Package
    loaded: LoadResult
    summary: PermissionSummary


def plan_install(package: Package) -> InstallPlan:
    """Load the package without writing anything, and move secrets out of its plugin.json."""
    clean, moved = move_secrets(package)
    loaded = loading.load_files(Path("/") / clean.id, clean.files)
    return InstallPlan(
        clean, loaded, summarize(loaded.plugin, moved) if loaded.plugin else PermissionSummary(moved=moved)
    )


def install(plan: InstallPlan, into: Path) -> Path:
    """Write to a temporary folder and rename it: an installed version is replaced completely or not at all.

    Raises `PackageRefused` if the plugin has errors.
    """
    if plan.loaded.plugin is None:
        first = plan.loaded.errors[0]
        raise PackageRefused("invalid", f"The plugin has {len(plan.loaded.errors)} errors; the first is {first}")
    target = into / plan.loaded.plugin.id
    into.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".installing-", dir=into))
    try:
        new, old = beside / "new", beside / "old"
        new.mkdir()
        versions.write_files(plan.package.files, new)
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def summarize(plugin: Plugin, moved: dict[str, str]) -> PermissionSummary:
    urls = [plugin.server] if plugin.server else []
    urls += [url for one in plugin.auth for url in list_token_urls(one)]
    secrets = [name for one in plugin.auth for value in one.args.values() for name in find_placeholders(value)]
    dangerous = {one.name: None for one in plugin.operations.values() if one.dangerous}
    for flow in plugin.flows.values():
        for step in flow.steps.values():
            if step.dangerous:
                called = plugin.operation(str(step.params.get("endpoint", "")))
                dangerous[called.name if called else f"{flow.name}: {step.name}"] = None
    return PermissionSummary(
        tuple(dict.fromkeys(urlsplit(url).netloc for url in urls)),
        list_private_addresses(plugin),
        tuple(dict.fromkeys(secrets)),
        tuple(plugin.databases),
        plugin.lib,
        tuple(dangerous),
        moved,
    )


def move_secrets(package: Package) -> tuple[Package, dict[str, str]]:
    """Replace secrets in `auth` by `${secret:…}` and return their values for the secret store (R-3.5)."""
    try:
        written = json.loads(package.files[METADATA].decode("utf-8-sig"))
        auth = written["auth"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return package, {}
    moved: dict[str, str] = {}
    for one in auth if isinstance(auth, list) else [auth]:
        _move_auth_secrets(one, package.id, moved)
    if not moved:
        return package, {}
    text = json.dumps(written, ensure_ascii=False, indent=2) + "\n"
    return Package(package.id, {**package.files, METADATA: text.encode()}), moved


def _move_auth_secrets(auth: JsonValue, id: str, moved: dict[str, str]) -> None:
    args = auth.get("args") if isinstance(auth, dict) else None
    if not isinstance(args, dict) or not isinstance(auth, dict):
        return
    for name, value in args.items():
        is_secret = auth.get("type") != "oidc" or name in OIDC_SECRET_KEYS
        if is_secret and isinstance(value, str) and value and not find_placeholders(value):
            base = re.sub(r"[^A-Z0-9]+", "_", f"{id}_{name}".upper()).strip("_")
            secret = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 99))) if one not in moved)
            moved[secret] = value
            args[name] = f"${{secret:{secret}}}"
