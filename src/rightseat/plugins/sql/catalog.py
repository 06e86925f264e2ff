"""The catalog of a database: the tables and columns that a plugin may read, with descriptions for the model.

Unlisted tables and columns do not exist for the plugin. A catalog is a file of the plugin or of the operator; if there
is none, `draft` writes one from the database for the operator to review and shorten.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from rightseat.plugins.results import StepFailed

MAX_CATALOG_BYTES = 1_000_000
MAX_RANKED_CHARACTERS = 10_000  # of the question that ranks tables; the model receives all of it

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader takes a tenth of the time


class CatalogExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: str
    sql: str


class CatalogTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`columns` maps names to descriptions. `values` lists all possible values of a column, where known."""

    columns: dict[str, str | None]
    description: str = ""
    values: dict[str, list[str | int | float]] = {}


class Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`joins` and `rules` are sentences for the model. `dialect` is only a note: the connection decides."""

    tables: dict[str, CatalogTable]
    dialect: str = ""
    joins: list[str] = []
    rules: list[str] = []
    examples: list[CatalogExample] = []

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(table.columns) for name, table in self.tables.items()}


def load(path: Path) -> Catalog:
    """Raises `StepFailed` if the file cannot be read or is not a catalog."""
    try:
        return parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StepFailed("sql_failed", f"The catalog {path.name} cannot be used: {error}") from None


def parse(text: bytes) -> Catalog:
    """Raises `ValueError`."""
    if len(text) > MAX_CATALOG_BYTES:
        raise ValueError(f"it has {len(text):,} bytes; at most {MAX_CATALOG_BYTES:,} are allowed")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, LOADER)):
            raise ValueError("YAML aliases are not allowed")
        return msgspec.convert(yaml.load(text, LOADER), Catalog)  # noqa: S506 (LOADER is a safe one)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def draft(tables: Mapping[str, Sequence[tuple[str, str]]], dialect: str) -> str:
    """A catalog of all tables, columns and types as YAML, for the operator to shorten."""
    listed = {
        name: {"description": "", "columns": {column: kind.lower() for column, kind in columns}}
        for name, columns in tables.items()
    }
    text = yaml.safe_dump(
        {"dialect": dialect, "tables": listed, "joins": [], "rules": [], "examples": []},
        allow_unicode=True,
        sort_keys=False,
    )
    return f"{DRAFT_HEADER}{text}"


DRAFT_HEADER = """\
# Generated from the database. Every user of the plugin can read the tables and columns listed here:
# delete those that they must not see, and describe the others for the model.
"""


def describe(catalog: Catalog, question: str, max_characters: int) -> tuple[str, list[str]]:
    """Return (a description for the model of about `max_characters`, the names of omitted tables).

    Tables that share most with the question are kept. The text names the omitted ones, so that the model knows that
    they exist.
    """
    question_terms = split_terms(question[:MAX_RANKED_CHARACTERS])
    ranked = sorted(catalog.tables, key=lambda name: -score_table(question_terms, name, catalog))
    pieces: dict[str, str] = {}
    length = 0
    for name in ranked:
        piece = describe_table(name, catalog.tables[name])
        if pieces and length + len(piece) > max_characters:
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


def describe_table(name: str, table: CatalogTable) -> str:
    lines = [f"Table {name}: {table.description}".rstrip(": ")]
    for column, description in table.columns.items():
        values = table.values.get(column)
        choices = f" One of: {', '.join(map(str, values))}." if values else ""
        lines.append(f"  {column}: {description or ''}{choices}".rstrip(": "))
    return "\n".join(lines)


def score_table(question_terms: set[str], name: str, catalog: Catalog) -> int:
    """Count the terms of the question in the table's description; those in its name count three times."""
    table = catalog.tables[name]
    terms = split_terms(f"{name} {describe_table(name, table)}")
    return len(question_terms & terms) + 2 * len(question_terms & split_terms(name.replace("_", " ")))


def split_terms(text: str) -> set[str]:
    """Words without a final s, and character pairs in scripts without spaces."""
    words = re.findall(r"[^\W_]+", text.casefold())
    pairs = (word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1))
    stems = (word.rstrip("s") for word in words if word.isascii() and len(word) > 2)
    return {*pairs, *stems}


def mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is not None
