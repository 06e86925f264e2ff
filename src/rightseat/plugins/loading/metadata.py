"""plugin.json → what a plugin says of itself."""

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rightseat.plugins.definition import Auth, Database, Words
from rightseat.plugins.loading import auth
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import Operator
from rightseat.plugins.loading.notes import Node, Notes

KNOWN = (
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
ID = r"^[a-z][a-z0-9_-]{0,62}$"
MOST_NAME = 64
MOST_DESCRIPTION = 1500
ORIGINAL_NAME = 15
VAGUE = 15
VERSION = r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"
HOST_PORT = r"^([^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$"


@dataclass(frozen=True, slots=True)
class Metadata:
    words: Words
    version: str = "0.0.0"
    i18n: Mapping[str, Words] = field(default_factory=dict)
    is_automatic: bool = False
    auth: tuple[Auth, ...] = ()
    allow_private: tuple[str, ...] = ()
    databases: Mapping[str, Database] = field(default_factory=dict)


def read(node: Node, id: str, files: Files, operator: Operator, notes: Notes) -> Metadata:
    if not isinstance(node.value, dict):
        notes.add("E107", node, "plugin.json should be a mapping.")
        return Metadata(Words(id, ""))
    fields = Fields(node, notes, "E107")
    fields.refuse_others("W103", KNOWN)
    _check_id(fields, id, notes)
    words = _read_words(fields, notes)
    return Metadata(
        words,
        _read_version(fields),
        _read_i18n(fields, words, notes),
        bool(fields.flag("automatic_flow")),
        auth.read(node.get("auth"), operator, notes),
        _read_private(fields, notes),
        _read_databases(fields, files, notes),
    )


def _check_id(fields: Fields, id: str, notes: Notes) -> None:
    """The folder's name is the id, whatever the file says."""
    said = fields.text("id", required=True)
    node = fields.node.get("id")
    if said and node is not None:
        if not re.fullmatch(ID, said.lower()):
            rule = "a lower-case letter, then lower-case letters, digits, _ and -, at most 63 in all"
            fields.wrong(node, f"the id {said!r} cannot be used.", rule)
        elif said != said.lower():
            notes.add("W104", node, f"the id {said!r} has upper-case letters.", f"write {said.lower()!r}")
        if said.lower() != id.lower():
            notes.add("W101", node, f"the id is {said!r}, the folder is {id!r}; the folder wins.", "make them one")
    if not re.fullmatch(ID, id.lower()):
        fields.wrong(fields.node, f"the name of the folder, {id!r}, cannot be an id.", "rename the folder")


def _read_words(fields: Fields, notes: Notes) -> Words:
    name = unicodedata.normalize("NFC", fields.text("name", required=True, most=MOST_NAME))
    description = fields.text("description", required=True, most=MOST_DESCRIPTION)
    if (node := fields.node.get("name")) is not None and name:
        if any(unicodedata.category(character) == "Cc" for character in name):
            notes.add("E104", node, "the name has control characters in it.")
        if len(name) >= ORIGINAL_NAME:
            said = f"the name has {len(name)} characters."
            notes.add("W105", node, said, f"the original limit is fewer than {ORIGINAL_NAME}")
    if (node := fields.node.get("description")) is not None and description and len(description) < VAGUE:
        notes.add("W106", node, "the description is too vague to be chosen reliably.", "say function, input and output")
    return Words(name, description, fields.texts("predefined_question", or_one=True) or ())


def _read_version(fields: Fields) -> str:
    version = fields.text("version") or "0.0.0"
    if not re.fullmatch(VERSION, version) and (node := fields.node.get("version")) is not None:
        fields.wrong(node, f"the version {version!r} is none.", "three numbers, such as 1.0.0")
    return version


def _read_i18n(fields: Fields, words: Words, notes: Notes) -> dict[str, Words]:
    found: dict[str, Words] = {}
    languages = fields.mapping("i18n")
    for tag, node in languages.items() if languages else ():
        if not isinstance(node.value, dict):
            fields.wrong(node, f"`i18n.{tag}` should be a mapping.")
            continue
        inner = Fields(node, notes, "E107")
        inner.refuse_others("W103", ("name", "description", "predefined_question"))
        found[tag] = Words(
            inner.text("name", most=MOST_NAME) or words.name,
            inner.text("description", most=MOST_DESCRIPTION) or words.description,
            inner.texts("predefined_question", or_one=True) or words.starters,
        )
    return found


def _read_private(fields: Fields, notes: Notes) -> tuple[str, ...]:
    network = fields.mapping("network")
    if network is None:
        return ()
    inner = Fields(network, notes, "E107")
    inner.refuse_others("W103", ("allow_private",))
    hosts = inner.texts("allow_private") or ()
    for index, host in enumerate(hosts):
        if not re.fullmatch(HOST_PORT, host) or int(host.rpartition(":")[2]) > 65535:
            node = Node(network.source, (*network.path, "allow_private", index), host)
            inner.wrong(node, f"{host!r} is not a host and a port.", "such as 10.0.0.5:8080")
    return hosts


def _read_databases(fields: Fields, files: Files, notes: Notes) -> dict[str, Database]:
    found: dict[str, Database] = {}
    databases = fields.mapping("databases")
    for name, node in databases.items() if databases else ():
        if not isinstance(node.value, dict):
            fields.wrong(node, f"`databases.{name}` should be a mapping.")
            continue
        inner = Fields(node, notes, "E107")
        inner.refuse_others("W103", ("description", "catalog", "bundled"))
        catalog, bundled = (_find(inner, key, files, notes) for key in ("catalog", "bundled"))
        found[name] = Database(name, inner.text("description"), catalog, bundled)
    return found


def _find(fields: Fields, key: str, files: Files, notes: Notes) -> Path | None:
    said = fields.text(key)
    node = fields.node.get(key)
    if not said or node is None:
        return None
    path = posixpath.normpath(said)
    if path not in files:
        notes.add("E111", node, f"there is no file {said!r} in the plugin's folder.")
        return None
    return Path(path)


def placed(databases: Mapping[str, Database], folder: Path) -> dict[str, Database]:
    """With files as they stand on disk, whatever the working folder is later."""
    here = folder.absolute()
    return {
        name: replace(one, catalog=one.catalog and here / one.catalog, bundled=one.bundled and here / one.bundled)
        for name, one in databases.items()
    }
