"""Readers of formats that we wrote ourselves: heads of GGUF files, patches, paths, conditions, catalogs, tables,
configuration files; and of documents, which are read in a process of their own."""

import io
import json
import tempfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from rightseat import config
from rightseat.core.errors import ConfigError, UnreadableFile
from rightseat.core.json_patch import BadPatch, apply_patch
from rightseat.data import rows
from rightseat.data.child import Child, ChildFailed
from rightseat.data.documents import MEMORY_BYTES, DocumentLimits, DocumentReader, ParsedDocument
from rightseat.data.documents.parsing import ParseRequest
from rightseat.models.completion import gguf
from rightseat.plugins.expressions import conditions, paths, templates
from rightseat.plugins.sql import catalog
from tests.data.pdfs import pdf
from tests.data.test_documents import LETTER, workbook
from tests.fuzz.engine import Check, Target, plain
from tests.fuzz.mutation import make_value, mutate_bytes, mutate_json, mutate_text, write_json
from tests.models.completion.test_gguf import WHOLE, head

ROOT = Path(__file__).parents[2]

# Heads of GGUF files

GGUF = head(WHOLE)


@asynccontextmanager
async def gguf_opened() -> AsyncIterator[Check]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"

        async def check(case: Any) -> None:
            path.write_bytes(case)
            with suppress(ConfigError):
                gguf.read(path)

        yield check


def make_gguf(random: Random) -> bytes:
    data = mutate_bytes(random, GGUF)
    if random.random() < 0.5:  # a length that is none
        at = random.randint(0, len(data))
        data = data[:at] + random.choice((2**63, 2**64 - 1, 2**31, 2**24, 0)).to_bytes(8, "little") + data[at + 8 :]
    return data


# What stands in flows and events: patches, paths, conditions, placeholders

STATE: Any = {"items": [{"name": "a", "id": 1}, {"name": "b"}], "a.b": {"c": [1, [2]]}, "question": "all", "n": 3.5}
PATCH: Any = [
    {"op": "add", "path": "/items/-", "value": {"name": "c"}},
    {"op": "replace", "path": "/items/0/name", "value": "z"},
    {"op": "move", "from": "/n", "path": "/a.b/c/0"},
    {"op": "copy", "from": "/items/1", "path": "/x~1y"},
    {"op": "test", "path": "/question", "value": "all"},
    {"op": "remove", "path": "/a.b"},
]
PATHS = ("items[0].name", "items[*].id", '["a.b"].c[-1][0]', "items.1.name", "question")
CONDITIONS = (
    "data.total > 0 and not question contains 'all'",
    "len(data.items) >= 2 or (data.n == 3.5 and 'a' in data.items[0].name)",
    "steps.start.output != null",
)
FILLED = "Answer {question} with {steps.start.items[0].name}, {{data}} and {time}: {data} {error.message}"
WORDS = (
    *("[*]", "[-1]", "[0]", '["', '"]', ".", "..", "[99999999999]", "(", ")", "((((((((((", "not ", "and ", "or "),
    *("'", "len(", "data", "question", "null", "in", "contains", "==", "<=", "{", "}", "{{", "}}", "1e999", "٣", "\n"),
)


MISSING: tuple[paths.Missing, ...] = ("error", "null", "skip")


def make_expression(random: Random) -> Any:
    state = STATE if random.random() < 0.6 else mutate_json(random, STATE)
    patch = mutate_json(random, PATCH)
    path = mutate_text(random, random.choice(PATHS), WORDS)
    condition = mutate_text(random, random.choice(CONDITIONS), WORDS)
    return {"state": state, "patch": patch, "path": path, "condition": condition, "text": mutate_text(random, FILLED)}


def check_expression(case: Any) -> None:
    state, patch = case.get("state"), case.get("patch")
    with suppress(BadPatch):
        apply_patch(state, patch if isinstance(patch, list) else [])
    try:
        found = paths.parse(case.get("path", ""))
    except paths.InvalidPath:
        pass
    else:
        for missing in MISSING:
            with suppress(paths.PathNotFound):
                paths.find(state, found, missing)
    try:
        condition = conditions.parse(case.get("condition", ""))
    except conditions.InvalidCondition:
        pass
    else:
        conditions.evaluate(condition, {"data": state, "question": "all of it", "steps": {}, "files": []})
    text = case.get("text", "")
    list(templates.find_placeholders(text))
    list(templates.find_jinja(text))
    templates.fill(text, lambda placeholder: placeholder.name * 2)


# Catalogs of databases, tables that clients send, and configuration files

CATALOG = (ROOT / "examples/plugins/sales_insight/data/catalog.yaml").read_bytes()
TABLES: tuple[Any, ...] = (
    [{"date": "2024-10-15", "close": 233.85}, {"date": "2024-10-14", "close": 231.3, "more": None}],
    [["a", "b"], [1, 2], [3, 4]],
    {"a": [1, 2, 3], "b": ["x", "y", None]},
    {"data": [{"a": {"b": 1}}, {"a": [1]}], "total": 2},
)
CSV = "name;amount\nAda;1,5\n\"Bob; the 2nd\";2\n\n'x';\n"
CONFIGURATION = (ROOT / "examples/plugins-app/server/rightseat.yaml").read_text()


def make_catalog(random: Random) -> bytes:
    return mutate_bytes(random, CATALOG)


def check_catalog(case: Any) -> None:
    try:
        found = catalog.parse(case)
    except ValueError:
        return
    catalog.describe(found, "What was the revenue by region?", 500)


def make_table(random: Random) -> Any:
    if random.random() < 0.3:
        return "csv", mutate_text(random, CSV)
    value = mutate_json(random, random.choice(TABLES)) if random.random() < 0.8 else make_value(random, 4)
    text = write_json(random, value)
    return "json", mutate_bytes(random, text) if random.random() < 0.3 else text


def check_table(case: Any) -> None:
    kind, text = case
    with suppress(UnreadableFile):
        rows.read_csv(text) if kind == "csv" else rows.read_json(text)


YAML = ("${", "${env:X}", "*a", "&a ", "<<: ", "!!python/object:os.system ", "- ", ": ", "\t", "null", "{", "[", "'")


def make_configuration(random: Random) -> str:
    return mutate_text(random, CONFIGURATION, YAML)


def check_configuration(case: Any) -> None:
    with suppress(ConfigError):
        config.parse(case, environ={})


# Documents

HTML = b"<!doctype html><html><head><title>T</title></head><body><h1>A</h1><p>b &amp; c<table><tr><td>1</table></html>"


@cache
def documents() -> tuple[tuple[str, bytes], ...]:
    import docx

    file = io.BytesIO()
    letter = docx.Document()
    letter.add_heading("Letter", 1)
    letter.add_paragraph("Dear shareholders, revenue increased by 15 %.")
    table = letter.add_table(2, 2)
    table.cell(0, 0).text = "Region"
    letter.save(file)
    book = workbook({"One": [["name", "amount"], ["Ada", 1.5], ["=A1", None]], "Two": [[True, "x" * 50]]})
    return (
        ("pdf", pdf(LETTER)),
        ("docx", file.getvalue()),
        ("xlsx", book),
        ("html", HTML * 20),
        ("csv", CSV.encode() * 20),
        ("json", json.dumps(TABLES).encode()),
    )


def make_document(random: Random) -> Any:
    kind, data = random.choice(documents())
    data = repack(random, data) if data.startswith(b"PK") and random.random() < 0.8 else mutate_bytes(random, data)
    return kind if random.random() < 0.9 else random.choice(documents())[0], data


def repack(random: Random, data: bytes) -> bytes:
    """The same archive with one file in it spoilt, left out or given twice."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        spoilt = random.choice([name for name in source.namelist() if name.endswith((".xml", ".rels"))])
        for name in source.namelist():
            content = source.read(name)
            if name == spoilt:
                if random.random() < 0.1:
                    continue
                content = mutate_bytes(random, content)
            target.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


@asynccontextmanager
async def documents_opened() -> AsyncIterator[Check]:
    """One process reads all documents, where the product starts one for each."""
    limits = DocumentLimits(seconds=5.0)
    child = Child("rightseat.data.documents.parsing", MEMORY_BYTES)

    async def check(case: Any) -> None:
        kind, data = case
        with suppress(
            UnreadableFile, ChildFailed
        ):  # it is lost where it is killed; where it failed inside, the log has an error
            await child.ask(ParseRequest(kind, f"file.{kind}", limits), ParsedDocument, limits.seconds, data)

    try:
        yield check
    finally:
        await child.aclose()
    with suppress(UnreadableFile):
        await DocumentReader(limits).read(make_document(Random(1))[1], "pdf")


TARGETS = (
    Target("gguf", make_gguf, gguf_opened, (GGUF,), night_cases=1_000),
    Target(
        "expressions", make_expression, plain(check_expression), ({"state": STATE, "patch": PATCH},), night_cases=800
    ),
    Target("catalogs", make_catalog, plain(check_catalog), (CATALOG,), night_cases=150),
    Target("tables", make_table, plain(check_table), (("csv", CSV),), night_cases=1_000),
    Target("configuration", make_configuration, plain(check_configuration), (CONFIGURATION,), night_cases=100),
    Target("documents", make_document, documents_opened, (("html", HTML),), night_cases=100),
)
