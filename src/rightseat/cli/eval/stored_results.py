"""Opens the results of the project, for commands that only read them."""

from pathlib import Path

from rightseat.config import FILE
from rightseat.config.loader import read_server
from rightseat.evals.result_store import ResultStore


def open_results(path: Path | None) -> ResultStore:
    """Those in the state folder that the configuration at `path` names, which may have problems elsewhere."""
    return ResultStore(read_server(path or Path(FILE)).state_dir / "evals")
