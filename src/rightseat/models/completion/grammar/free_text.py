"""Text in which a word does not occur, as rules for engines that have no word for it.

Without a limit the rules are the states of a search: how much of the word has been said so far. A character goes on
with the word, or falls back to the longest beginning of it that is still said, or to none. With a limit that would be
rules for each state and each length; so counted text never says the word's first two characters one after another, and
a long one is either without the first of them, or counted as if each character were two.
"""

from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat, Rule, Sequence

NOTHING = Literal("")
SHORT = 64
"""Characters that are counted exactly."""


def rules(end: str, most: int | None, name: str) -> tuple[Node, dict[str, Node]]:
    """The node at which it starts, and its rules, whose names begin with `name`."""
    if most is not None:
        return _short(end, most, name) if len(end) > 1 and most <= SHORT else (_long(end, most), {})
    moves = _moves(end)
    return Rule(f"{name}-0"), {f"{name}-{state}": _state(end, moves, state, name) for state in range(len(end))}


def _short(end: str, most: int, name: str) -> tuple[Node, dict[str, Node]]:
    """A rule for each number of characters that are left, and one more where the first of `end` was just said."""
    found: dict[str, Node] = {}
    for left in range(most + 1):
        plain, said = f"{name}-{left - 1}", f"{name}-{left - 1}-said"
        again = [Sequence((Literal(end[0]), Rule(said)))] if said in found else []
        others = [Sequence((_but(end[0]), Rule(plain)))] if left else []
        found[f"{name}-{left}"] = Choice((*others, *again, NOTHING))
        behind: list[Node] = [Sequence((_but(end[:2]), Rule(plain)))] if left else []
        behind += again if end[0] != end[1] else []
        behind += [NOTHING] if _may_stop(end, 1) else []
        if behind:
            found[f"{name}-{left}-said"] = Choice(tuple(behind))
    return Rule(f"{name}-{most}"), found


def _long(end: str, most: int) -> Node:
    plain = Repeat(_but(end[0]), 0, most)
    if len(end) == 1:
        return plain
    unit = Choice((_but(end[0]), Sequence((Literal(end[0]), _but(end[:2])))))
    return Choice((plain, Repeat(unit, 0, most // 2)))


def _may_stop(end: str, said: int) -> bool:
    """Whether the text may end here: the word behind it is not said sooner because of what was said last."""
    return (end[:said] + end).find(end) == said


def _but(letters: str) -> Chars:
    return Chars(tuple((ord(letter), ord(letter)) for letter in sorted(set(letters))), negated=True)


def _moves(end: str) -> list[dict[str, int]]:
    """For each state, the characters that lead to another one than 0; the last one leads to the word itself."""
    letters = dict.fromkeys(end)
    moves: list[dict[str, int]] = []
    for state in range(len(end)):
        to = {letter: _kept(end, end[:state] + letter) for letter in letters}
        moves.append({letter: follows for letter, follows in to.items() if follows})
    return moves


def _kept(end: str, said: str) -> int:
    return next((size for size in range(min(len(end), len(said)), 0, -1) if said.endswith(end[:size])), 0)


def _state(end: str, moves: list[dict[str, int]], state: int, name: str) -> Node:
    options: list[Node] = [Sequence((_but("".join(moves[state])), Rule(f"{name}-0")))]
    for letter, follows in moves[state].items():
        if follows < len(end):
            options.append(Sequence((Literal(letter), Rule(f"{name}-{follows}"))))
    if _may_stop(end, state):
        options.append(NOTHING)
    return Choice(tuple(options))
