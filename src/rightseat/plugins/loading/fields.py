"""Reads typed fields of a mapping and reports missing or mistyped ones."""

from collections.abc import Collection

from rightseat.core.types import JsonValue
from rightseat.parts import hint
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode


class Fields:
    """`code` is the diagnostic code of a missing or mistyped field."""

    def __init__(self, node: SourceNode, report: DiagnosticReport, code: str) -> None:
        self.node = node
        self._report = report
        self._code = code

    def text(self, key: str, *, required: bool = False, max_chars: int | None = None) -> str:
        """Empty if the field is missing or mistyped; the latter is reported."""
        node = self._find(key, required)
        if node is None:
            return ""
        if not isinstance(node.value, str) or (required and not node.value.strip()):
            self.report_error(node, f"`{key}` should be text, not {describe_kind(node.value)}.")
            return ""
        if max_chars is not None and len(node.value) > max_chars:
            self.report_error(node, f"`{key}` has {len(node.value)} characters; at most {max_chars} are allowed.")
        return node.value

    def texts(self, key: str, *, or_single: bool = False) -> tuple[str, ...] | None:
        """A list of texts; None if the key is absent."""
        node = self._find(key, False)
        if node is None:
            return None
        if or_single and isinstance(node.value, str):
            return (node.value,)
        if not isinstance(node.value, list) or not all(isinstance(one, str) for one in node.value):
            self.report_error(node, f"`{key}` should be a list of texts{' or a text' if or_single else ''}.")
            return None
        return tuple(node.value)

    def flag(self, key: str) -> bool | None:
        node = self._find(key, False)
        if node is not None and not isinstance(node.value, bool):
            self.report_error(node, f"`{key}` should be true or false, not {describe_kind(node.value)}.")
            return None
        return None if node is None else node.value

    def number(self, key: str, low: float, high: float, *, integer: bool = False) -> float | None:
        node = self._find(key, False)
        if node is None:
            return None
        is_number = isinstance(node.value, int if integer else int | float) and not isinstance(node.value, bool)
        if not is_number or not low <= node.value <= high:
            what = "a whole number" if integer else "a number"
            self.report_error(node, f"`{key}` should be {what} from {low:g} to {high:g}.")
            return None
        return float(node.value)

    def choice(self, key: str, known: Collection[JsonValue]) -> JsonValue:
        node = self._find(key, False)
        if node is not None and (node.value not in known or isinstance(node.value, bool)):
            self.report_error(node, f"`{key}` should be one of: {', '.join(map(str, known))}.")
            return None
        return None if node is None else node.value

    def mapping(self, key: str) -> SourceNode | None:
        node = self._find(key, False)
        if node is not None and not isinstance(node.value, dict):
            self.report_error(node, f"`{key}` should be a mapping, not {describe_kind(node.value)}.")
            return None
        return node

    def sequence(self, key: str, *, required: bool = False) -> SourceNode | None:
        node = self._find(key, required)
        if node is not None and not isinstance(node.value, list):
            self.report_error(node, f"`{key}` should be a list, not {describe_kind(node.value)}.")
            return None
        return node

    def report_unknown_keys(self, code: str, known: Collection[str], what: str = "key") -> None:
        for key, node in self.node.items():
            if key not in known:
                message = f"unknown {what} `{key}`; it is ignored.{hint(key, known)}"
                names = f"known: {', '.join(known)}" if known else ""
                self._report.add(code, node, message, names, at="key", replacement=find_replacement(key, known))

    def report_error(self, node: SourceNode, message: str, hint: str = "") -> None:
        self._report.add(self._code, node, message, hint)

    def _find(self, key: str, required: bool) -> SourceNode | None:
        """A key whose value is null counts as absent."""
        node = self.node.get(key)
        if node is not None and node.value is not None:
            return node
        if required:
            self.report_error(self.node, f"`{key}` is missing.")
        return None


def describe_kind(value: object) -> str:
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
