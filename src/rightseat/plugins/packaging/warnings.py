"""Warnings for operators at startup: plugins that are broken or lack a secret, a confirmation or a database."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rightseat.egress.addresses import is_listed
from rightseat.egress.secrets import SecretMissing, Secrets, format_grant, variable_name
from rightseat.plugins import loading
from rightseat.plugins.definition import Plugin
from rightseat.plugins.diagnostics import Mode
from rightseat.plugins.loading import OperatorSettings
from rightseat.plugins.operations.private_addresses import list_private_addresses
from rightseat.plugins.operations.secret_uses import list_uses
from rightseat.plugins.packaging.install import summarize
from rightseat.plugins.registry import find_plugin_folders
from rightseat.plugins.secret_records import order_uses


def check_folders(
    folders: Sequence[Path], mode: Mode, operator: OperatorSettings
) -> tuple[dict[str, Plugin], list[str]]:
    """Return the plugins that load, and warnings about the others, without running or storing anything."""
    found, missing = find_plugin_folders(folders)
    warnings = [f"The plugin folder {folder} does not exist." for folder in missing]
    plugins: dict[str, Plugin] = {}
    for folder in found:
        loaded = loading.load(folder, mode, operator=operator)
        if loaded.plugin is not None:
            plugins[loaded.plugin.id] = loaded.plugin
            continue
        more = f" and {len(loaded.errors) - 1} more" if len(loaded.errors) > 1 else ""
        warnings.append(f"The plugin {folder.name} has errors: {loaded.errors[0]}{more}; see `rightseat plugin check`.")
    return plugins, warnings


def check_needs(
    plugins: Mapping[str, Plugin],
    secrets: Secrets,
    confirmed: Mapping[str, Sequence[str]],
    databases: Mapping[str, Mapping[str, object]],
) -> Iterator[str]:
    """Yield what plugins need and the operator has not configured. Raises `ConfigError` if secrets cannot be read."""
    for id, plugin in plugins.items():
        for name in summarize(plugin, {}).secrets:
            if not secrets.has(name):
                yield f"The plugin {id} needs the secret {name}: set {variable_name(name)}."
        yield from check_bindings(plugin, secrets)
        for place in list_private_addresses(plugin):
            if not is_listed(place, confirmed.get(id, ())):
                yield describe_blocked(plugin, place)
        for name, database in plugin.databases.items():
            if database.bundled is None and name not in databases.get(id, {}):
                yield f"The plugin {id} needs the database {name}: configure it in `databases`."


def describe_blocked(plugin: Plugin, place: str) -> str:
    """Both places that name a private address: the operator's, which allows it, and the author's, which asks for it."""
    asks = "asks" if is_listed(place, plugin.allow_private) else "could ask, so that people see it before they install"
    return (
        f"The plugin {plugin.id} needs the private address {place}, which is blocked. Allow it in this toolbox: "
        f'`allow_private: {{{plugin.id}: ["{place}"]}}`. (Its plugin.json {asks}: `network.allow_private`.)'
    )


def check_bindings(plugin: Plugin, secrets: Secrets) -> Iterator[str]:
    """Yield which secrets the plugin may not send, and which only because it sent them before secrets were bound."""
    for use in order_uses(list_uses({plugin.id: plugin})):
        try:
            secrets.of_plugin(plugin.id).check(use.secret, host=use.host)
        except SecretMissing as error:
            yield error.message
            continue
        if not secrets.is_bound(use):
            yield (
                f"The plugin {use.plugin!r} sends the secret {use.secret!r} to {use.host} because it did so before "
                f"secrets were bound. To keep it, add to `secrets` of the toolbox: {format_grant(use)}"
            )
