"""What of a database a plugin may read, and what a model is told about it.

Tables and columns that are not listed do not exist for the plugin. A catalog is a file of the plugin or of the
operator; where neither has one, `draft` writes one from the database, for the operator to read, to cut and to put in
its place.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from rightseat.plugins.results import StepFailed

LARGEST = 1_000_000  # bytes of a catalog
RANKED_CHARACTERS = 10_000  # of a question, by which its tables are chosen; the model gets all of it

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: str
    sql: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`columns` are by name, each with its description. `values` are all that a column may hold, where known."""

    columns: dict[str, str | None]
    description: str = ""
    values: dict[str, list[str | int | float]] = {}


class Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`joins` and `rules` are sentences for the model. `dialect` is a note of the author: the connection decides."""

    tables: dict[str, Table]
    dialect: str = ""
    joins: list[str] = []
    rules: list[str] = []
    examples: list[Example] = []

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(table.columns) for name, table in self.tables.items()}


def load(path: Path) -> Catalog:
    """Raises `StepFailed`: the file cannot be read, or is no catalog."""
    try:
        return read(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StepFailed("sql_failed", f"The catalog {path.name} cannot be used: {error}") from None


def read(text: bytes) -> Catalog:
    """Raises `ValueError`."""
    if len(text) > LARGEST:
        raise ValueError(f"it has {len(text):,} bytes; {LARGEST:,} are allowed")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, LOADER)):
            raise ValueError("it has YAML aliases, which a catalog does not need")
        return msgspec.convert(yaml.load(text, LOADER), Catalog)  # noqa: S506 (LOADER is a safe one)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def draft(found: Mapping[str, Sequence[tuple[str, str]]], dialect: str) -> str:
    """A catalog of everything there is, as YAML: tables with their columns and types. To be cut by the operator."""
    tables = {
        name: {"description": "", "columns": {column: kind.lower() for column, kind in columns}}
        for name, columns in found.items()
    }
    written = yaml.safe_dump(
        {"dialect": dialect, "tables": tables, "joins": [], "rules": [], "examples": []},
        allow_unicode=True,
        sort_keys=False,
    )
    return f"{DRAFT}{written}"


DRAFT = """\
# Made from the database. Whatever stands here can be read by everybody who may use the plugin:
# delete tables and columns that they shall not see, and describe the others for the model.
"""


def describe(catalog: Catalog, question: str, most: int) -> tuple[str, list[str]]:
    """For a model, in at most about `most` characters, and the tables that had to be left out.

    The tables that share the most with the question come first; what is left out is named, so that nobody takes the
    rest for the whole.
    """
    asked = marks(question[:RANKED_CHARACTERS])
    ranked = sorted(catalog.tables, key=lambda name: -likeness(asked, name, catalog))
    pieces: dict[str, str] = {}
    length = 0
    for name in ranked:
        piece = describe_table(name, catalog.tables[name])
        if pieces and length + len(piece) > most:
            continue
        pieces[name] = piece
        length += len(piece)
    left_out = [name for name in catalog.tables if name not in pieces]
    lines = [pieces[name] for name in catalog.tables if name in pieces]
    if left_out:
        lines.append(f"Further tables, not shown here: {', '.join(left_out)}.")
    lines += [f"Join: {join}" for join in catalog.joins if not any(mentions(join, name) for name in left_out)]
    lines += [f"Rule: {rule}" for rule in catalog.rules]
    shown = [one for one in catalog.examples if not any(mentions(one.sql, name) for name in left_out)]
    lines += [f"Example: {one.question}\n{one.sql}" for one in shown]
    return "\n".join(lines), left_out


def describe_table(name: str, table: Table) -> str:
    lines = [f"Table {name}: {table.description}".rstrip(": ")]
    for column, said in table.columns.items():
        values = table.values.get(column)
        among = f" One of: {', '.join(map(str, values))}." if values else ""
        lines.append(f"  {column}: {said or ''}{among}".rstrip(": "))
    return "\n".join(lines)


def likeness(asked: set[str], name: str, catalog: Catalog) -> int:
    """How many of the question's words, or pairs of characters where words are not spaced, the table knows."""
    table = catalog.tables[name]
    known = marks(f"{name} {describe_table(name, table)}")
    return len(asked & known) + 2 * len(asked & marks(name.replace("_", " ")))


def marks(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.casefold())
    pairs = (word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1))
    stems = (word.rstrip("s") for word in words if word.isascii() and len(word) > 2)
    return {*pairs, *stems}


def mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is not None
