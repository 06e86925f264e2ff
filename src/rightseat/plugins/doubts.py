"""What an operator should know of plugins before somebody asks: what is broken, and what they need and have not."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rightseat.egress.secrets import Secrets, variable
from rightseat.plugins import loading
from rightseat.plugins.definition import Plugin
from rightseat.plugins.diagnostics import Mode
from rightseat.plugins.installing import summarize
from rightseat.plugins.loading import Operator
from rightseat.plugins.shelf import places


def of_folders(folders: Sequence[Path], mode: Mode, operator: Operator) -> tuple[dict[str, Plugin], list[str]]:
    """The plugins in the folders, and what is wrong with the others. Nothing is kept, and nothing of them is run."""
    found, missing = places(folders)
    said = [f"There is no folder {folder}; no plugins are loaded from it." for folder in missing]
    plugins: dict[str, Plugin] = {}
    for folder in found:
        loaded = loading.load(folder, mode, operator=operator)
        if loaded.plugin is not None:
            plugins[loaded.plugin.id] = loaded.plugin
            continue
        more = f" and {len(loaded.errors) - 1} more" if len(loaded.errors) > 1 else ""
        said.append(f"The plugin {folder.name} has errors: {loaded.errors[0]}{more}; see `rightseat plugin check`.")
    return plugins, said


def of_needs(
    plugins: Mapping[str, Plugin],
    secrets: Secrets,
    confirmed: Mapping[str, Sequence[str]],
    databases: Mapping[str, Mapping[str, object]],
) -> Iterator[str]:
    """What plugins need that the operator has not given. Raises `ConfigError`: the file of secrets cannot be read."""
    for id, plugin in plugins.items():
        for name in summarize(plugin, {}).secrets:
            if not secrets.has(name):
                yield f"The plugin {id} needs the secret {name}: set {variable(name)}."
        for place in plugin.allow_private:
            if place not in confirmed.get(id, ()):
                yield f"The plugin {id} asks for {place}, which is not public: confirm it in allow_private."
        for name, database in plugin.databases.items():
            if database.bundled is None and name not in databases.get(id, {}):
                yield f"The plugin {id} asks for the database {name}: say in databases where it is."
