"""Builds rules for text that does not contain a word, for backends without an operator for it.

Without a limit the rules are the states of a string search (Knuth–Morris–Pratt): how much of the word has been matched.
With a limit that would need rules for each state and each length; so limited text never has the word's first two
characters in sequence, and a long text either lacks the first of them, or counts each character as two.
"""

from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat, Rule

EMPTY = LiteralText("")
MAX_EXACT_CHARS = 64
"""Limits up to this are counted exactly."""


def build_rules(end: str, most: int | None, name: str) -> tuple[Node, dict[str, Node]]:
    """Return the start node, and its rules, whose names begin with `name`."""
    if most is not None:
        return (
            _build_exact(end, most, name)
            if len(end) > 1 and most <= MAX_EXACT_CHARS
            else (_build_approximate(end, most), {})
        )
    moves = _build_transitions(end)
    return Rule(f"{name}-0"), {f"{name}-{state}": _build_state(end, moves, state, name) for state in range(len(end))}


def _build_exact(end: str, most: int, name: str) -> tuple[Node, dict[str, Node]]:
    """One rule per number of characters left, and one more if the first character of `end` was just matched."""
    found: dict[str, Node] = {}
    for left in range(most + 1):
        plain, matched = f"{name}-{left - 1}", f"{name}-{left - 1}-matched"
        again = [Concat((LiteralText(end[0]), Rule(matched)))] if matched in found else []
        others = [Concat((_any_except(end[0]), Rule(plain)))] if left else []
        found[f"{name}-{left}"] = Choice((*others, *again, EMPTY))
        behind: list[Node] = [Concat((_any_except(end[:2]), Rule(plain)))] if left else []
        behind += again if end[0] != end[1] else []
        behind += [EMPTY] if _may_stop(end, 1) else []
        if behind:
            found[f"{name}-{left}-matched"] = Choice(tuple(behind))
    return Rule(f"{name}-{most}"), found


def _build_approximate(end: str, most: int) -> Node:
    plain = Repeat(_any_except(end[0]), 0, most)
    if len(end) == 1:
        return plain
    unit = Choice((_any_except(end[0]), Concat((LiteralText(end[0]), _any_except(end[:2])))))
    return Choice((plain, Repeat(unit, 0, most // 2)))


def _may_stop(end: str, matched: int) -> bool:
    """Whether the text may end here: the last characters do not make the word that follows match earlier."""
    return (end[:matched] + end).find(end) == matched


def _any_except(letters: str) -> Chars:
    return Chars(tuple((ord(letter), ord(letter)) for letter in sorted(set(letters))), negated=True)


def _build_transitions(end: str) -> list[dict[str, int]]:
    """Return, for each state, the characters that lead to a state other than 0."""
    letters = dict.fromkeys(end)
    moves: list[dict[str, int]] = []
    for state in range(len(end)):
        to = {letter: _longest_prefix(end, end[:state] + letter) for letter in letters}
        moves.append({letter: follows for letter, follows in to.items() if follows})
    return moves


def _longest_prefix(end: str, text: str) -> int:
    return next((size for size in range(min(len(end), len(text)), 0, -1) if text.endswith(end[:size])), 0)


def _build_state(end: str, moves: list[dict[str, int]], state: int, name: str) -> Node:
    options: list[Node] = [Concat((_any_except("".join(moves[state])), Rule(f"{name}-0")))]
    for letter, follows in moves[state].items():
        if follows < len(end):
            options.append(Concat((LiteralText(letter), Rule(f"{name}-{follows}"))))
    if _may_stop(end, state):
        options.append(EMPTY)
    return Choice(tuple(options))
