"""The model `local`: 270 million parameters behind llama.cpp's server, as the suite tool-calls fetches it.

The tools that Claude Code sends have 7,700 of its tokens. Most of its layers look back 512 tokens, so that such a prompt
takes a processor a fraction of the time that a model of 135 million parameters without a sliding window needs.
"""

from pathlib import Path

from tests.acceptance._lib.modules import add_modules
from tests.acceptance._lib.processes import Server

add_modules("tool-calls")

import parts
from engine import Engine


def start_engine(folder: Path) -> Server:
    kind = "xllamacpp" if parts.explain_unusable() else "llama-server"
    return Engine(kind, parts.model("gemma"), folder / "engine.log", context=16384, slots=1)
