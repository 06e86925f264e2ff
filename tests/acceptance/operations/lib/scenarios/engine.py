"""The engine stands on DBOS's public interface, and works with the newest version."""

import ast
import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import packages
from fleet import PROJECT
from stage import Finding, Stage

from tests.acceptance._lib.services import Missing

ENGINES = PROJECT / "src/rightseat/engines"


async def private_names(stage: Stage, found: Finding) -> None:
    """src/rightseat/engines imports no name of `dbos` that begins with an underscore, and reads no such attribute of it."""
    uses: list[str] = []
    for path in sorted(ENGINES.rglob("*.py")):
        uses += [f"{path.relative_to(ENGINES)}:{line} {name}" for line, name in private_in(path)]
    found.figures["private uses"] = len(uses)
    for use in uses:
        found.expect(False, use)


def private_in(path: Path) -> list[tuple[int, str]]:
    tree, found = ast.parse(path.read_text()), []
    names = {"dbos", "DBOS"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dbos":
            names |= {alias.asname or alias.name for alias in node.names}
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(node.lineno, name) for name in whole if re.search(r"\._", name)]
        elif isinstance(node, ast.Import):
            found += [
                (node.lineno, alias.name)
                for alias in node.names
                if alias.name.startswith("dbos.") and "._" in alias.name
            ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            if re.match(r"_[^_]", node.attr):
                found.append((node.lineno, f"{node.value.id}.{node.attr}"))
    return sorted(set(found))


async def newest(stage: Stage, found: Finding) -> None:
    """The engine's own tests (tests/engines, SQLite) pass with the newest DBOS of the package index."""
    target = packages.CACHE / "dbos"
    shutil.rmtree(target, ignore_errors=True)
    python = PROJECT / ".venv/bin/python"
    done = await run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, "dbos"])
    if done.returncode:
        raise Missing("the newest dbos cannot be installed")
    path = ":".join([str(target), str(PROJECT / "src"), str(PROJECT)])
    version = await run([python, "-c", "import importlib.metadata as m; print(m.version('dbos'))"], PYTHONPATH=path)
    found.figures["dbos"] = version.stdout.strip()
    tests = [
        python,
        "-m",
        "pytest",
        "tests/engines",
        "-q",
        "-k",
        "not postgres",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=line",
    ]
    done = await run(tests, PYTHONPATH=path)
    summary = next(
        (line for line in reversed(done.stdout.splitlines()) if re.search(r"passed|failed|error", line)), "no result"
    )
    found.figures["tests"] = summary.strip("= ")
    for name in re.findall(r"^FAILED (\S+)", done.stdout, re.M):
        found.expect(False, name.split("::")[-1])
    found.expect(done.returncode == 0, summary.strip("= "))


async def run(command: list, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RS_")}
    return await asyncio.to_thread(
        subprocess.run,
        list(map(str, command)),
        cwd=PROJECT,
        env=clean | environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


SCENARIOS = {"engine-private-names": private_names, "engine-newest-dbos": newest}
