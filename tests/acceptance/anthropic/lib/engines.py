"""The model `local`: 135 million parameters behind llama.cpp's server, as the suite tool-calls fetches and starts it.

Claude Code's prompt without tools has 1,500 tokens, which a processor with other work reads in minutes even so.
"""

from pathlib import Path

from tests.acceptance._lib.modules import add_modules
from tests.acceptance._lib.processes import Server

add_modules("tool-calls")

import parts
from engine import Engine


def start_engine(folder: Path) -> Server:
    kind = "xllamacpp" if parts.explain_unusable() else "llama-server"
    return Engine(kind, parts.model("smollm2"), folder / "engine.log")
