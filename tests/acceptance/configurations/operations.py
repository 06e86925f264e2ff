"""Prints the configuration for the suite operations, which writes a whole file for each of its servers."""

import os
from pathlib import Path

print(Path(os.environ["RS_CONFIG"]).read_text())
