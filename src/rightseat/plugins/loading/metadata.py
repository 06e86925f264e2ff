"""Reads plugin.json: names, version, translations, auth, network and databases of a plugin."""

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rightseat.plugins.definition import Auth, PluginDatabase, PluginTexts
from rightseat.plugins.loading import auth
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import OperatorSettings
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

KNOWN_KEYS = (
    "id",
    "name",
    "description",
    "predefined_question",
    "automatic_flow",
    "auth",
    "version",
    "i18n",
    "network",
    "databases",
)
ID_PATTERN = r"^[a-z][a-z0-9_-]{0,62}$"
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1500
ORIGINAL_NAME_CHARS = 15
MIN_DESCRIPTION_CHARS = 15
VERSION_PATTERN = r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"
HOST_PORT_PATTERN = r"^([^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$"


@dataclass(frozen=True, slots=True)
class Metadata:
    words: PluginTexts
    version: str = "0.0.0"
    i18n: Mapping[str, PluginTexts] = field(default_factory=dict)
    is_automatic: bool = False
    auth: tuple[Auth, ...] = ()
    allow_private: tuple[str, ...] = ()
    databases: Mapping[str, PluginDatabase] = field(default_factory=dict)


def read(node: SourceNode, id: str, files: Files, operator: OperatorSettings, report: DiagnosticReport) -> Metadata:
    if not isinstance(node.value, dict):
        report.add("E107", node, "plugin.json should be a mapping.")
        return Metadata(PluginTexts(id, ""))
    fields = Fields(node, report, "E107")
    fields.report_unknown_keys("W103", KNOWN_KEYS)
    _check_id(fields, id, report)
    words = _read_words(fields, report)
    return Metadata(
        words,
        _read_version(fields),
        _read_i18n(fields, words, report),
        bool(fields.flag("automatic_flow")),
        auth.read(node.get("auth"), operator, report),
        _read_private(fields, report),
        _read_databases(fields, files, report),
    )


def _check_id(fields: Fields, id: str, report: DiagnosticReport) -> None:
    """The folder's name is the id; an `id` in the file that differs is reported."""
    declared = fields.text("id", required=True)
    node = fields.node.get("id")
    if declared and node is not None:
        if not re.fullmatch(ID_PATTERN, declared.lower()):
            rule = "a lower-case letter, then lower-case letters, digits, _ and -, at most 63 in all"
            fields.report_error(node, f"{declared!r} is not a valid id.", rule)
        elif declared != declared.lower():
            report.add("W104", node, f"the id {declared!r} has upper-case letters.", f"write {declared.lower()!r}")
        if declared.lower() != id.lower():
            message = f"the id is {declared!r} but the folder is named {id!r}; the folder's name is used."
            report.add("W101", node, message, "use the same name for both")
    if not re.fullmatch(ID_PATTERN, id.lower()):
        fields.report_error(fields.node, f"the folder's name {id!r} is not a valid id.", "rename the folder")


def _read_words(fields: Fields, report: DiagnosticReport) -> PluginTexts:
    name = unicodedata.normalize("NFC", fields.text("name", required=True, max_chars=MAX_NAME_CHARS))
    description = fields.text("description", required=True, max_chars=MAX_DESCRIPTION_CHARS)
    if (node := fields.node.get("name")) is not None and name:
        if any(unicodedata.category(character) == "Cc" for character in name):
            report.add("E104", node, "the name contains control characters.")
        if len(name) >= ORIGINAL_NAME_CHARS:
            message = f"the name has {len(name)} characters."
            report.add("W105", node, message, f"the original limit is fewer than {ORIGINAL_NAME_CHARS}")
    if (
        (node := fields.node.get("description")) is not None
        and description
        and len(description) < MIN_DESCRIPTION_CHARS
    ):
        message = "the description is too short for a model to choose the plugin reliably."
        report.add("W106", node, message, "describe function, input and output")
    return PluginTexts(name, description, fields.texts("predefined_question", or_single=True) or ())


def _read_version(fields: Fields) -> str:
    version = fields.text("version") or "0.0.0"
    if not re.fullmatch(VERSION_PATTERN, version) and (node := fields.node.get("version")) is not None:
        fields.report_error(node, f"{version!r} is not a version.", "three numbers, such as 1.0.0")
    return version


def _read_i18n(fields: Fields, words: PluginTexts, report: DiagnosticReport) -> dict[str, PluginTexts]:
    found: dict[str, PluginTexts] = {}
    languages = fields.mapping("i18n")
    for tag, node in languages.items() if languages else ():
        if not isinstance(node.value, dict):
            fields.report_error(node, f"`i18n.{tag}` should be a mapping.")
            continue
        inner = Fields(node, report, "E107")
        inner.report_unknown_keys("W103", ("name", "description", "predefined_question"))
        found[tag] = PluginTexts(
            inner.text("name", max_chars=MAX_NAME_CHARS) or words.name,
            inner.text("description", max_chars=MAX_DESCRIPTION_CHARS) or words.description,
            inner.texts("predefined_question", or_single=True) or words.starters,
        )
    return found


def _read_private(fields: Fields, report: DiagnosticReport) -> tuple[str, ...]:
    network = fields.mapping("network")
    if network is None:
        return ()
    inner = Fields(network, report, "E107")
    inner.report_unknown_keys("W103", ("allow_private",))
    hosts = inner.texts("allow_private") or ()
    for index, host in enumerate(hosts):
        if not re.fullmatch(HOST_PORT_PATTERN, host) or int(host.rpartition(":")[2]) > 65535:
            node = SourceNode(network.source, (*network.path, "allow_private", index), host)
            inner.report_error(node, f"{host!r} is not host:port.", "such as 10.0.0.5:8080")
    return hosts


def _read_databases(fields: Fields, files: Files, report: DiagnosticReport) -> dict[str, PluginDatabase]:
    found: dict[str, PluginDatabase] = {}
    databases = fields.mapping("databases")
    for name, node in databases.items() if databases else ():
        if not isinstance(node.value, dict):
            fields.report_error(node, f"`databases.{name}` should be a mapping.")
            continue
        inner = Fields(node, report, "E107")
        inner.report_unknown_keys("W103", ("description", "catalog", "bundled"))
        catalog, bundled = (_find_file(inner, key, files, report) for key in ("catalog", "bundled"))
        found[name] = PluginDatabase(name, inner.text("description"), catalog, bundled)
    return found


def _find_file(fields: Fields, key: str, files: Files, report: DiagnosticReport) -> Path | None:
    name = fields.text(key)
    node = fields.node.get(key)
    if not name or node is None:
        return None
    path = posixpath.normpath(name)
    if path not in files:
        report.add("E111", node, f"the plugin's folder has no file {name!r}.")
        return None
    return Path(path)


def resolve_database_paths(databases: Mapping[str, PluginDatabase], folder: Path) -> dict[str, PluginDatabase]:
    """Make the databases' file paths absolute, so that they do not depend on the working directory."""
    root = folder.absolute()
    return {
        name: replace(one, catalog=one.catalog and root / one.catalog, bundled=one.bundled and root / one.bundled)
        for name, one in databases.items()
    }
