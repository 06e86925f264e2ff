"""The head of a GGUF file."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rightseat.core.errors import ConfigError
from rightseat.models.completion import gguf

Value = str | int | float | bool | Sequence[str] | bytes


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, value: Value) -> bytes:
    match value:
        case bool():
            return text(key) + struct.pack("<I?", 7, value)
        case int():
            return text(key) + struct.pack("<II", 4, value)
        case float():
            return text(key) + struct.pack("<If", 6, value)
        case str():
            return text(key) + struct.pack("<I", 8) + text(value)
        case bytes():
            return text(key) + struct.pack("<IIQ", 9, 0, len(value)) + value
    return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))


def head(entries: Mapping[str, Value], version: int = 3) -> bytes:
    body = b"".join(entry(key, value) for key, value in entries.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + body


def write(folder: Path, data: bytes) -> Path:
    path = folder / "m.gguf"
    path.write_bytes(data)
    return path


WHOLE: dict[str, Value] = {
    "general.architecture": "llama",
    "general.name": "Small",
    "llama.context_length": 8192,
    "llama.rope.freq_base": 1.5,
    "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "é"],
    "tokenizer.ggml.token_type": b"\x01\x02\x03\x04",
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 3,
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.chat_template": "{{ messages }}",
}


@pytest.mark.parametrize("version", [2, 3])
def test_the_metadata_of_a_gguf_file_is_read(tmp_path: Path, version: int) -> None:
    path = write(tmp_path, head(WHOLE, version) + b"tensors")

    assert gguf.read(path) == gguf.Header(
        architecture="llama",
        name="Small",
        template="{{ messages }}",
        context_window=8192,
        bos="<s>",
        eos="é",
        size=path.stat().st_size,
    )


def test_a_response_may_be_empty(tmp_path: Path) -> None:
    header = gguf.read(write(tmp_path, head({})))

    assert (header.template, header.context_window, header.bos) == ("", None, "")


def test_a_head_may_be_longer_than_what_is_read_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "HEADER_BYTES", (64, 4096))

    assert gguf.read(write(tmp_path, head(WHOLE) + bytes(9999))).name == "Small"


def test_a_token_that_the_vocabulary_does_not_have_is_none(tmp_path: Path) -> None:
    assert gguf.read(write(tmp_path, head(WHOLE | {"tokenizer.ggml.bos_token_id": 99}))).bos == ""


BAD = {
    "nothing": b"",
    "another format": b"PK\x03\x04" + bytes(99),
    "an old version": head({}, version=1),
    "no end": head(WHOLE)[:150],
    "too many entries": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
    "a long text": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62),
    "a long array": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 1 << 60),
    "a text in an array that is longer than memory": b"GGUF"
    + struct.pack("<IQQ", 3, 0, 1)
    + text("k")
    + struct.pack("<IIQQ", 9, 8, 2, 2**64 - 6),
    "an array of arrays": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(99),
    "an unknown kind": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 77) + bytes(99),
}


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_file_is_reported(tmp_path: Path, what: str) -> None:
    with pytest.raises(ConfigError, match=r"m\.gguf is (not|truncated)"):
        gguf.read(write(tmp_path, BAD[what]))


def test_every_truncated_file_is_reported_and_none_is_a_crash(tmp_path: Path) -> None:
    whole = head(WHOLE)
    for end in range(len(whole)):
        with pytest.raises(ConfigError):
            gguf.read(write(tmp_path, whole[:end]))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        gguf.read(tmp_path / "none.gguf")


def test_a_vocabulary_is_walked_over_and_not_kept(tmp_path: Path) -> None:
    tokens = [f"token {number}" for number in range(150_000)]
    path = write(tmp_path, head(WHOLE | {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.eos_token_id": 149_999}))

    assert gguf.read(path).eos == "token 149999"
