"""Work for a child that goes wrong in the way it is asked to."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import UnreadableFile


class Do(msgspec.Struct):
    what: str


def build() -> Callable[[bytes, bytes], Any]:
    return lambda request, payload: do(msgspec.msgpack.decode(request, type=Do).what, payload)


def do(what: str, payload: bytes) -> Any:
    match what:
        case "count":
            return len(payload)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            threading.Event().wait()
        case "spin":
            while True:
                pass
        case "pid":
            return os.getpid()
        case "fill the memory":
            return len(b"x" * 2**31)
        case "write a file":
            Path("loot.txt").write_text("loot")
        case "print":
            sys.stdout.write("noise")
            sys.stdout.flush()
            return "quiet"
        case "fail":
            raise ZeroDivisionError
        case "refuse":
            raise UnreadableFile("It cannot be read.")
        case "environment":
            return dict(os.environ)
    return None
