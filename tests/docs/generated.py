"""The files that are made from the code: `just generate` writes those that differ.

console/src/api/schema.d.ts is made from one of them by `npm run api`; `npm run check` in console/ fails if it is stale.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.compatibility import page as compatibility
from tests.docs import configuration, coverage, operator_api, plugins, rules
from tests.stability import frozen

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "console"
GENERATORS = (
    configuration.generate,
    plugins.generate,
    operator_api.generate,
    rules.generate,
    compatibility.generate,
    coverage.generate,
    frozen.generate,
)
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def main() -> None:
    for file, text in generate().items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
            sys.stdout.write(f"wrote {file.relative_to(ROOT)}\n")
    write_types()


def generate() -> dict[Path, str]:
    """Each file with the text that it should have."""
    return {file: text for make in GENERATORS for file, text in make().items()}


def find_stale(files: Mapping[Path, str]) -> list[Path]:
    return [file for file, text in files.items() if not is_current(file, text)]


def is_current(file: Path, text: str) -> bool:
    if not file.exists():
        return False
    current = file.read_text()
    return current == text or (file == rules.PAGE and rules.without_tests(current) == rules.without_tests(text))


def write_types() -> None:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("console/src/api/schema.d.ts was not written: npm is not installed.")
    if not (CONSOLE / "node_modules").exists():
        subprocess.run([npm, *INSTALL], cwd=CONSOLE, check=True)
    subprocess.run([npm, "run", "api"], cwd=CONSOLE, check=True)


if __name__ == "__main__":
    main()
