"""Detects recursion that a grammar must not have: rules that never end, and left recursion."""

from collections.abc import Callable, Iterator, Mapping

from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat, Rule, Until


def find_reachable(root: Node, rules: Mapping[str, Node]) -> dict[str, Node]:
    """Return the rules that a grammar uses, in their order."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        for name in find_calls(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(rules[name])
    return {name: node for name, node in rules.items() if name in found}


def find_calls(node: Node) -> Iterator[str]:
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Rule(name):
                yield name
            case Concat(parts):
                waiting.extend(parts)
            case Choice(options):
                waiting.extend(options)
            case Repeat(part, _, _):
                waiting.append(part)
            case _:
                pass  # text calls no rules


def has_endless_rule(rules: Mapping[str, Node]) -> bool:
    """Whether some rule can never end."""
    return len(_find_fixpoint(rules, can_end)) < len(rules)


def _find_fixpoint(rules: Mapping[str, Node], predicate: Callable[[Node, set[str]], bool]) -> set[str]:
    known: set[str] = set()
    grown = True
    while grown:
        new = {name for name, node in rules.items() if name not in known and predicate(node, known)}
        known |= new
        grown = bool(new)
    return known


def can_end(node: Node, known: set[str]) -> bool:
    match node:
        case Rule(name):
            return name in known
        case Concat(parts):
            return all(can_end(part, known) for part in parts)
        case Choice(options):
            return any(can_end(option, known) for option in options)
        case Repeat(part, least, _):
            return least == 0 or can_end(part, known)
    return True


def has_left_recursion(rules: Mapping[str, Node]) -> bool:
    """Whether a rule calls itself before consuming a character; backends reject that or loop forever."""
    silent = _find_fixpoint(rules, can_be_empty)
    first = {name: set(_find_first_rules(node, silent)) for name, node in rules.items()}
    while first:
        leaves = {name for name, others in first.items() if not others & first.keys()}
        if not leaves:
            return True
        first = {name: others for name, others in first.items() if name not in leaves}
    return False


def can_be_empty(node: Node, known: set[str]) -> bool:
    match node:
        case LiteralText(text):
            return not text
        case Chars():
            return False
        case Rule(name):
            return name in known
        case Concat(parts):
            return all(can_be_empty(part, known) for part in parts)
        case Choice(options):
            return any(can_be_empty(option, known) for option in options)
        case Repeat(part, least, _):
            return least == 0 or can_be_empty(part, known)
        case Until():
            return True


def _find_first_rules(node: Node, silent: set[str]) -> Iterator[str]:
    """Yield the rules that may come first."""
    match node:
        case Rule(name):
            yield name
        case Concat(parts):
            for part in parts:
                yield from _find_first_rules(part, silent)
                if not can_be_empty(part, silent):
                    return
        case Choice(options):
            for option in options:
                yield from _find_first_rules(option, silent)
        case Repeat(part, _, _):
            yield from _find_first_rules(part, silent)
        case _:
            pass  # text
