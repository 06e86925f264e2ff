"""Make the files of a release, and its commit and tag: `just release 1.2.3`. Nothing is published.

All steps run in a clone of what is committed. With `--dry-run` the clone is all that changes; otherwise its commit and
tag are fetched into this checkout once every step has passed. The files are in `dist/VERSION`, or in `--to FOLDER`.
docs/contributing/release.md has the checklist around it.
"""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.release.steps import ROOT, STEPS, NotHere, Release, fetch_tag, refuse_unfit

LEFT = "Left to a person: push the branch and the tag, and approve what release.yml does with them."


def main() -> int:
    parser = argparse.ArgumentParser(prog="just release", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--dry-run", action="store_true", help="leave this checkout as it is")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="the folder for the files [dist/VERSION]")
    options = parser.parse_args()
    try:
        refuse_unfit(ROOT, options.version)
    except ValueError as problem:
        sys.stdout.write(f"{problem}\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        files = (options.to or ROOT / "dist" / options.version).absolute()
        release = Release(options.version, Path(folder) / "clone", files, datetime.now(UTC).date())
        if not run(release):
            return 1
        if options.dry_run:
            sys.stdout.write("This was a dry run: no commit and no tag was made in this checkout.\n")
        else:
            fetch_tag(ROOT, release)
    sys.stdout.write(f"{LEFT}\n")
    return 0


def run(release: Release) -> bool:
    """Run each step, and print how it ended. A step that this machine cannot run does not fail the release."""
    for name, step in STEPS.items():
        started = datetime.now(UTC)
        try:
            outcome = step(release)
        except NotHere as reason:
            outcome = f"NOT RUN: {reason}"
        except (ValueError, OSError) as problem:
            sys.stdout.write(f"FAILED   {name}: {problem}\n")
            return False
        seconds = (datetime.now(UTC) - started).total_seconds()
        sys.stdout.write(f"{seconds:6.1f} s  {name}: {outcome}\n")
        sys.stdout.flush()
    return True


if __name__ == "__main__":
    sys.exit(main())
