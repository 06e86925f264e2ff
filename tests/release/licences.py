"""The licences of the packages in an environment: `python -I licences.py FILE` writes their notices.

It runs with the Python of that environment, which has the packages of the image and nothing of the workshop, so it
imports the standard library alone.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

PERMISSIVE = re.compile(
    r"\b(mit(-cmu)?|bsd|[023]-clause|apache|isc|psf|python software foundation|python-2\.0|unlicense|zlib|0bsd|hpnd)\b",
    re.IGNORECASE,
)
RESTRICTED = re.compile(r"\b(l?gpl|agpl|mpl|epl|eupl|sspl|gnu|mozilla|proprietary|commercial)", re.IGNORECASE)
OWN = "rightseat"
EXPECTED = {"psycopg": "LGPL", "psycopg-binary": "LGPL", "certifi": "MPL", "resvg-py": ""}
"""Packages that are not under a permissive licence, or name none, as docs/contributing/supply-chain.md has them."""


def main(file: Path) -> int:
    found = sorted((one for one in distributions() if name_of(one) != OWN), key=name_of)
    file.write_text("\n".join(write_notice(one) for one in found), encoding="utf-8")
    problems = list(find_problems((name_of(one), read_licence(one)) for one in found))
    sys.stdout.write(f"{len(found)} packages\n")
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


def find_problems(found: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, licence in found:
        if name in EXPECTED and EXPECTED[name] in licence:
            continue
        if RESTRICTED.search(licence) or not PERMISSIVE.search(licence):
            yield f"{name} is under {licence or 'no licence that it names'!r}: decide, then name it in supply-chain.md."


def read_licence(one: Distribution) -> str:
    """The expression, or else the classifiers, or else the first line of the text."""
    expression, licence = (one.metadata.get_all(name) for name in ("License-Expression", "License"))
    if expression:
        return str(expression[0])
    classifiers = [line for line in one.metadata.get_all("Classifier") or () if line.startswith("License :: ")]
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.count(" :: ") > 1]
    return "; ".join(named) or (licence or [""])[0].strip().partition("\n")[0]


def write_notice(one: Distribution) -> str:
    texts = "\n\n".join(dict.fromkeys(read_texts(one))) or "The package has no file with the text of its licence.\n"
    line = "=" * 100
    return f"{line}\n{name_of(one)} {one.version}\n{read_licence(one) or 'names no licence'}\n{line}\n\n{texts}"


def read_texts(one: Distribution) -> Iterator[str]:
    for path in one.files or ():
        if ".dist-info" in str(path) and re.match(r"(?i)(licen[cs]e|copying|notice|authors)", path.name):
            yield path.read_text(encoding="utf-8")


def name_of(one: Distribution) -> str:
    return re.sub(r"[-_.]+", "-", str(one.metadata["Name"])).lower()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
