"""The JSON Schema of datasets, for editors."""

from pathlib import Path
from typing import Any

import msgspec
from pydantic.json_schema import models_json_schema

from rightseat.evals.cases import Dataset
from rightseat.evals.scorer_options import SCORERS

SCHEMA_FILE = Path(".rightseat", "evals.schema.json")
"""Beside the folder of the datasets. The first line of a dataset names it."""


def make_schema() -> dict[str, Any]:
    kinds = dict.fromkeys(SCORERS.values())
    keys, definitions = models_json_schema([(kind, "validation") for kind in kinds])
    schema = Dataset.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A dataset of rightseat"
    schema["$defs"] |= definitions.get("$defs", {})
    schema["$defs"]["Scorer"] = {
        "type": "object",
        "properties": {name: keys[kind, "validation"] for name, kind in SCORERS.items()},
        "patternProperties": {"[.:]": {"description": "A scorer of your own, `module:function`."}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    for owner in (schema, schema["$defs"]["Case"]):
        owner["properties"]["scorers"]["items"] = {"$ref": "#/$defs/Scorer"}
    return schema


def format_schema() -> str:
    return msgspec.json.format(msgspec.json.encode(make_schema())).decode() + "\n"


def write_schema(project: Path) -> None:
    """`project` is the folder around that of the datasets."""
    path = project / SCHEMA_FILE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(format_schema(), encoding="utf-8")
