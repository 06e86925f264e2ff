"""Reads the fields of a mapping, and notes what is missing or not what it should be."""

from collections.abc import Collection

from rightseat.core.values import JsonValue
from rightseat.parts import hint
from rightseat.plugins.loading.notes import Node, Notes


class Fields:
    """`code` is what a wrong field is told with."""

    def __init__(self, node: Node, notes: Notes, code: str) -> None:
        self.node = node
        self._notes = notes
        self._code = code

    def text(self, key: str, *, required: bool = False, most: int | None = None) -> str:
        """Empty where it is missing or wrong, which has been noted then."""
        node = self._find(key, required)
        if node is None:
            return ""
        if not isinstance(node.value, str) or (required and not node.value.strip()):
            self.wrong(node, f"`{key}` should be text, not {kind(node.value)}.")
            return ""
        if most is not None and len(node.value) > most:
            self.wrong(node, f"`{key}` has {len(node.value)} characters; at most {most} are allowed.")
        return node.value

    def texts(self, key: str, *, or_one: bool = False) -> tuple[str, ...] | None:
        """A list of texts; None where it is not given."""
        node = self._find(key, False)
        if node is None:
            return None
        if or_one and isinstance(node.value, str):
            return (node.value,)
        if not isinstance(node.value, list) or not all(isinstance(one, str) for one in node.value):
            self.wrong(node, f"`{key}` should be a list of texts{' or a text' if or_one else ''}.")
            return None
        return tuple(node.value)

    def flag(self, key: str) -> bool | None:
        node = self._find(key, False)
        if node is not None and not isinstance(node.value, bool):
            self.wrong(node, f"`{key}` should be true or false, not {kind(node.value)}.")
            return None
        return None if node is None else node.value

    def number(self, key: str, low: float, high: float, *, whole: bool = False) -> float | None:
        node = self._find(key, False)
        if node is None:
            return None
        is_number = isinstance(node.value, int if whole else int | float) and not isinstance(node.value, bool)
        if not is_number or not low <= node.value <= high:
            what = "a whole number" if whole else "a number"
            self.wrong(node, f"`{key}` should be {what} from {low:g} to {high:g}.")
            return None
        return float(node.value)

    def choice(self, key: str, known: Collection[JsonValue]) -> JsonValue:
        node = self._find(key, False)
        if node is not None and (node.value not in known or isinstance(node.value, bool)):
            self.wrong(node, f"`{key}` should be one of: {', '.join(map(str, known))}.")
            return None
        return None if node is None else node.value

    def mapping(self, key: str) -> Node | None:
        node = self._find(key, False)
        if node is not None and not isinstance(node.value, dict):
            self.wrong(node, f"`{key}` should be a mapping, not {kind(node.value)}.")
            return None
        return node

    def sequence(self, key: str, *, required: bool = False) -> Node | None:
        node = self._find(key, required)
        if node is not None and not isinstance(node.value, list):
            self.wrong(node, f"`{key}` should be a list, not {kind(node.value)}.")
            return None
        return node

    def refuse_others(self, code: str, known: Collection[str], what: str = "key") -> None:
        for key, node in self.node.items():
            if key not in known:
                said = f"unknown {what} `{key}`; it is ignored.{hint(key, known)}"
                self._notes.add(code, node, said, f"known: {', '.join(known)}" if known else "", at="key")

    def wrong(self, node: Node, message: str, hint: str = "") -> None:
        self._notes.add(self._code, node, message, hint)

    def _find(self, key: str, required: bool) -> Node | None:
        """A key with nothing behind it is as if it were not there."""
        node = self.node.get(key)
        if node is not None and node.value is not None:
            return node
        if required:
            self.wrong(self.node, f"`{key}` is missing.")
        return None


def kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text" if value.strip() else "empty"
        case list():
            return "a list"
    return "a mapping"
