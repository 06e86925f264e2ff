"""Reads the metadata of a model from the header of its GGUF file.

    "GGUF"  version  number of tensors  number of entries  entry …
    entry   key  type  value
    text    its length in eight bytes, and its bytes
    array   the type of its items  their number  item …

Numbers are little-endian. A vocabulary is an array of a hundred thousand texts, so arrays are skipped, not decoded.
"""

import struct
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import ConfigError

HEADER_BYTES = (1 << 23, 1 << 26, 1 << 28)  # read; the next size if the header is longer
MAX_ENTRIES = 10_000
MAX_ARRAY_ITEMS = 8_000_000  # in all arrays together
MAX_TEXT_BYTES = 1 << 24

_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _ARRAY = 8, 9
_length = struct.Struct("<Q").unpack_from
_kind = struct.Struct("<I").unpack_from


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """`template` is empty if the model has none; `context_window` is the one it was trained with.

    `tool_template` is a second one for requests with tools, which gguf-py writes if a model publishes both.
    """

    architecture: str = ""
    name: str = ""
    template: str = ""
    tool_template: str = ""
    context_window: int | None = None
    has_pooling: bool = False
    """Whether the file says how the vectors of a text's tokens become one, as those of embedding models do."""
    bos: str = ""
    eos: str = ""
    size: int = 0


def read(path: Path) -> Header:
    """Raises `ConfigError` if the file cannot be read or is not a GGUF file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            for max_bytes in HEADER_BYTES:
                file.seek(0)
                try:
                    return _header(_HeaderReader(file.read(max_bytes)), size)
                except (struct.error, OverflowError):  # beyond the end, or an absurd length
                    if size <= max_bytes:
                        raise ConfigError(f"{path} is truncated: it ends inside the GGUF header.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not a supported GGUF file: {error}.") from None
    raise ConfigError(f"{path} is not a supported GGUF file: its header is larger than {HEADER_BYTES[-1]:,} bytes.")


def _header(reader: "_HeaderReader", size: int) -> Header:
    entries, vocabulary = reader.entries()
    architecture = _text(entries.get("general.architecture"))
    context = entries.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture,
        name=_text(entries.get("general.name")),
        template=_text(entries.get("tokenizer.chat_template")),
        tool_template=_text(entries.get("tokenizer.chat_template.tool_use")),
        context_window=context if isinstance(context, int) and context > 0 else None,
        has_pooling=isinstance(entries.get(f"{architecture}.pooling_type"), int),
        bos=reader.token(vocabulary, entries.get("tokenizer.ggml.bos_token_id")),
        eos=reader.token(vocabulary, entries.get("tokenizer.ggml.eos_token_id")),
        size=size,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class _HeaderReader:
    """Reads values in order. Raises `struct.error` beyond the end of the data."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"GGUF":
            raise ValueError("it does not start with GGUF")
        (version,) = _kind(data, 4)
        if version not in (2, 3):
            raise ValueError(f"its version is {version}, supported are 2 and 3")
        self._data = data
        self._at = 8
        self._items = 0

    def entries(self) -> tuple[dict[str, Any], tuple[int, int]]:
        """Return the plain values by key, and the position and number of the vocabulary's texts."""
        self._number("<Q")  # tensors
        count = self._number("<Q")
        if count > MAX_ENTRIES:
            raise ValueError(f"it claims {count:,} entries")
        values: dict[str, Any] = {}
        vocabulary = (0, 0)
        for _ in range(count):
            key, kind = self._string(), self._number("<I")
            if kind == _ARRAY:
                begin, items = self._skip_array()
                vocabulary = (begin, items) if key == "tokenizer.ggml.tokens" else vocabulary
            else:
                values[key] = self._string() if kind == _TEXT else self._number(_form(kind))
        return values, vocabulary

    def token(self, vocabulary: tuple[int, int], number: Any) -> str:
        """Return the text of a token, empty if there is none of that number."""
        begin, count = vocabulary
        if not isinstance(number, int) or not 0 <= number < count:
            return ""
        self._at = begin
        self._skip_strings(number)
        return self._string()

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _string(self) -> str:
        length = self._number("<Q")
        if length > MAX_TEXT_BYTES:
            raise ValueError(f"it claims a text of {length:,} bytes")
        end = self._at + length
        if end > len(self._data):
            raise struct.error
        text = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end
        return text

    def _skip_array(self) -> tuple[int, int]:
        kind, count = self._number("<I"), self._number("<Q")
        self._items += count
        if self._items > MAX_ARRAY_ITEMS:
            raise ValueError(f"it claims {self._items:,} items in its arrays")
        begin = self._at
        if kind == _TEXT:
            self._skip_strings(count)
        else:
            self._at += count * struct.calcsize(_form(kind))
        return begin, count

    def _skip_strings(self, count: int) -> None:
        data, at = self._data, self._at
        for _ in range(count):
            at += 8 + _length(data, at)[0]
        self._at = at


def _form(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"it has a value of the unknown type {kind}")
    return _NUMBERS[kind]
