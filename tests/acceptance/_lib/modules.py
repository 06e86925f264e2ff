"""What a suite takes from its neighbours: modules of their `lib`, by name. Names of its own come first."""

import sys
from pathlib import Path


def add_modules(suite: str) -> Path:
    """The neighbour's folder."""
    folder = Path(__file__).resolve().parents[1] / suite
    if not (folder / "lib").is_dir():
        sys.exit(f"{folder}/lib is missing: this suite stands beside the suite {suite}")
    sys.path.append(str(folder / "lib"))
    return folder
