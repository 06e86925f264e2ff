"""JSON as models were trained to read and write it: a space behind commas and colons, letters as they are."""

import json


def spell(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
