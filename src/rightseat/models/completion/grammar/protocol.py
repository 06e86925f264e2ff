"""The compiler as the modules of single keywords use it. They do not import `compiler`, which imports them."""

from typing import Any, NoReturn, Protocol

from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.nodes import Node, Rule

Schema = dict[str, Any] | bool


class Compiler(Protocol):
    """Compiles one schema. `where` is the path of a schema, which begins every message about it."""

    bounds: GrammarBounds
    root: Schema
    where: str
    space: Node

    def build(self, schema: Schema, where: str) -> Node:
        """Compile a nested schema."""

    def build_any(self) -> Node:
        """Compile the schema `true`."""

    def build_key(self) -> Node:
        """Return the key of an undeclared member."""

    def named(self, kind: str, node: Node) -> Rule:
        """Return a rule for this node, the same one for equal nodes."""

    def shared(self, name: str, node: Node) -> Rule:
        """Return a rule with a fixed name."""

    def resolve(self, reference: str, where: str) -> Schema:
        """Return the target of a `$ref`."""

    def count_step(self) -> None:
        """Fail if the schema needs more steps than allowed."""

    def narrow(self, where: str, keyword: str, how: str) -> None:
        """Report to the schema's author that the grammar is narrower than the keyword."""

    def fail(self, where: str, keyword: str, problem: str) -> NoReturn:
        """Fail, because no grammar can enforce the keyword."""

    def fail_unsatisfiable(self, where: str, keyword: str, problem: str) -> NoReturn:
        """Fail, because no value is valid."""
