"""Child processes of `rightseat serve`: new interpreters, which import the modules as they are now."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import SpawnProcess

SPAWN = multiprocessing.get_context("spawn")


def start_process(target: Callable[..., None], *arguments: object) -> SpawnProcess:
    """`target` gets the id of this process before the arguments."""
    process = SPAWN.Process(target=target, args=(os.getpid(), *arguments))
    process.start()
    return process
