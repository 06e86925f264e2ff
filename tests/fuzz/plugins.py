"""OpenAPI documents, flows and packages of plugins: a plugin, or diagnostics that say why there is none."""

import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from rightseat.plugins.loading import PluginLimits, load_files
from rightseat.plugins.packaging import archive as packages
from tests.fuzz.engine import Check, Target, plain
from tests.fuzz.mutation import TEXTS, mutate_bytes, mutate_json, mutate_text, write_json
from tests.plugins.loading.sample import SAMPLE

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
WORDS = (
    *("- ", "? ", "&a ", "*a", "<<: *a", "!x ", "!!binary ", "null", "~", "|\n", ">\n", "{", "}", "[", "]", ": ", "#"),
    *("\t", "\n", "  ", "1e999", "0x1f", "0o7", "2026-99-99", "12:30:45", ".inf", "yes", "'", '"', "\\", "%TAG"),
    *(
        "$ref: '#'\n",
        "$ref: '#/paths'",
        "$ref: other.yaml",
        "pattern: '(a+)+$'",
        "type: [object, 'null']",
        "next: start",
    ),
    *(
        "allOf: [{$ref: '#/components/schemas/A'}]",
        "$schema: http://127.0.0.1:1/x",
        "{question}",
        "{steps.x.y}",
        "{{a}}",
    ),
)


@cache
def plugins() -> tuple[tuple[str, dict[str, bytes]], ...]:
    """The text files of each, by their paths."""
    found = [("sample", {path: text.encode() for path, text in SAMPLE.items()})]
    for folder in sorted(EXAMPLES.iterdir()):
        if folder.is_dir():
            paths = [path for path in folder.rglob("*") if path.suffix in (".json", ".yaml", ".sql")]
            found.append((folder.name, {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}))
    return tuple(found)


def make(random: Random) -> Any:
    """The plugin's id, the mode, and its files."""
    id, files = random.choice(plugins())
    files = dict(files)
    for _ in range(random.randint(1, 2)):
        path = random.choice(sorted(files))
        files[path] = spoil(random, path, files[path])
    if random.random() < 0.1:
        files[random.choice(TEXTS)] = files.pop(random.choice(sorted(files)))
    return id, random.choice(("compat", "strict")), files


def spoil(random: Random, path: str, content: bytes) -> bytes:
    kind = random.random()
    if kind < 0.2:
        return mutate_bytes(random, content)
    if kind < 0.5 or path.endswith(".sql"):
        return mutate_text(random, content.decode(errors="replace"), WORDS).encode("utf-8", "surrogatepass")
    try:
        value = json.loads(content) if path.endswith(".json") else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError):
        return mutate_bytes(random, content)
    return write_json(random, mutate_json(random, value))  # which YAML reads too


def check(case: Any) -> None:
    id, mode, files = case
    found = load_files(Path("/plugins") / id, files, mode)

    assert (found.plugin is None) == bool(found.errors)
    for one in found.diagnostics:
        str(one)


# Packages


def make_package(random: Random) -> bytes:
    id, files = random.choice(plugins())
    if random.random() < 0.3:
        files = {random.choice(("../x", "/etc/x", "a//b", "\0", "x" * 300, path)): data for path, data in files.items()}
    packed = io.BytesIO()
    if random.random() < 0.5:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(zipfile.ZipInfo(f"{id}/{path}"), content)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, content in files.items():
                info = tarfile.TarInfo(f"{id}/{path}")
                info.size, info.type = len(content), random.choice((tarfile.REGTYPE,) * 20 + (tarfile.SYMTYPE, b"9"))
                archive.addfile(info, io.BytesIO(content))
    return mutate_bytes(random, packed.getvalue(), most=3) if random.random() < 0.7 else packed.getvalue()


@asynccontextmanager
async def opened() -> AsyncIterator[Check]:
    with tempfile.TemporaryDirectory() as folder:

        async def check(case: Any) -> None:
            path = Path(folder) / ("plugin.zip" if case.startswith(b"PK") else "plugin.tar.gz")
            path.write_bytes(case)
            with suppress(packages.PackageRefused):
                packages.read(path, PluginLimits())

        yield check


SAMPLES = tuple((id, "compat", files) for id, files in plugins())
TARGETS = (
    Target("plugins", make, plain(check), SAMPLES, night_cases=250),
    Target("packages", make_package, opened, night_cases=150),
)
