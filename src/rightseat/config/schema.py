"""The JSON Schema of the configuration file, for editors, with the options of every built-in part.

It is a file of the package, because building it imports every part, and with them the packages of every extra.
"""

from pathlib import Path

FILE = Path(__file__).with_name("rightseat.schema.json")


def read_schema() -> str:
    return FILE.read_text(encoding="utf-8")
