"""Finds the datasets and the results of the project, for commands that need no model."""

from pathlib import Path

from rightseat.config import FILE
from rightseat.config.loader import read_evals_folder, read_server
from rightseat.evals.result_store import ResultStore


def find_folder(path: Path | None) -> Path:
    """That of the datasets, which the configuration at `path` names."""
    return read_evals_folder(path or Path(FILE))


def open_results(path: Path | None) -> ResultStore:
    """Those in the state folder that the configuration at `path` names, which may have problems elsewhere."""
    return ResultStore(read_server(path or Path(FILE)).state_dir / "evals")
