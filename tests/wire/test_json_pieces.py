"""Large JSON values are encoded in pieces, and are the same as in one piece."""

from typing import Any

import msgspec
import pytest

from rightseat.core.messages import Call, File, Message, Text
from rightseat.wire.json_pieces import PIECE_BYTES, encode_pieces, is_large

LONG = 'é"\\\n\u2028🙂' * 40_000


class Tagged(msgspec.Struct, tag_field="kind", tag="tagged", rename="camel", omit_defaults=True):
    first_text: str
    other_text: str = ""
    number: int = 7
    rest: Any = None


VALUES: dict[str, Any] = {
    "text": LONG,
    "a list of many": list(range(100_000)),
    "a list of lists": [[LONG], [], [[LONG, 1, None]]],
    "an object with many keys": {f"key {number}": number for number in range(30_000)},
    "an object with other keys": dict.fromkeys(range(3), LONG),
    "nested": {"data": [{"content": [{"text": LONG}, {"text": "short"}]}], "has_more": False},
    "a struct": Tagged(LONG, rest={"a": LONG}),
    "a struct of small fields": Tagged("x" * 60_000, "y" * 60_000),
    "messages": [
        Message("user", (Text(LONG), File("document", "text/plain", LONG)), id="m"),
        Message("assistant", (Call("c", "t", LONG),), id="n"),
    ],
    "raw": {"a": msgspec.Raw(b'{"b": 1}'), "c": LONG},
    "a tuple": (LONG, (1, 2)),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_pieces_of_a_value_are_its_json(name: str) -> None:
    pieces = list(encode_pieces(VALUES[name]))

    assert b"".join(pieces) == msgspec.json.encode(VALUES[name])
    assert max(map(len, pieces)) <= 8 * PIECE_BYTES  # six bytes for a character that is escaped
    assert len(pieces) > 1 or name == "a struct of small fields"


def test_a_small_value_is_one_piece_and_not_large() -> None:
    value = {"a": ["x" * 1000, {"b": None}], "c": 1.5}

    assert not is_large(value)
    assert list(encode_pieces(value)) == [msgspec.json.encode(value)]


def test_the_size_of_a_value_is_looked_at_only_up_to_the_limit() -> None:
    class Endless(list[str]):
        def __iter__(self) -> Any:
            for number in range(100):
                assert number < 10, "it went on after the limit"
                yield "x" * 20_000

    assert is_large(Endless())
