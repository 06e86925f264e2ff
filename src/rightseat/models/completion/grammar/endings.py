"""What recursion must not do: never end, or call itself before it has said anything."""

from collections.abc import Callable, Iterator, Mapping

from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat, Rule, Sequence, Until


def reachable(root: Node, rules: Mapping[str, Node]) -> dict[str, Node]:
    """The rules that a grammar needs, in their order."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        for name in calls(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(rules[name])
    return {name: node for name, node in rules.items() if name in found}


def calls(node: Node) -> Iterator[str]:
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Rule(name):
                yield name
            case Sequence(parts):
                waiting.extend(parts)
            case Choice(options):
                waiting.extend(options)
            case Repeat(part, _, _):
                waiting.append(part)
            case _:
                pass  # text, which calls nothing


def endless(rules: Mapping[str, Node]) -> bool:
    """Whether one of the rules can never come to an end."""
    return len(_growing(rules, ends)) < len(rules)


def _growing(rules: Mapping[str, Node], holds: Callable[[Node, set[str]], bool]) -> set[str]:
    known: set[str] = set()
    grown = True
    while grown:
        new = {name for name, node in rules.items() if name not in known and holds(node, known)}
        known |= new
        grown = bool(new)
    return known


def ends(node: Node, known: set[str]) -> bool:
    match node:
        case Rule(name):
            return name in known
        case Sequence(parts):
            return all(ends(part, known) for part in parts)
        case Choice(options):
            return any(ends(option, known) for option in options)
        case Repeat(part, least, _):
            return least == 0 or ends(part, known)
    return True


def circular(rules: Mapping[str, Node]) -> bool:
    """Whether a rule calls itself before it has said a character: engines refuse that, or never return."""
    silent = _growing(rules, empty)
    first = {name: set(_first(node, silent)) for name, node in rules.items()}
    while first:
        leaves = {name for name, others in first.items() if not others & first.keys()}
        if not leaves:
            return True
        first = {name: others for name, others in first.items() if name not in leaves}
    return False


def empty(node: Node, known: set[str]) -> bool:
    match node:
        case Literal(text):
            return not text
        case Chars():
            return False
        case Rule(name):
            return name in known
        case Sequence(parts):
            return all(empty(part, known) for part in parts)
        case Choice(options):
            return any(empty(option, known) for option in options)
        case Repeat(part, least, _):
            return least == 0 or empty(part, known)
        case Until():
            return True


def _first(node: Node, silent: set[str]) -> Iterator[str]:
    """The rules that may stand at the very beginning."""
    match node:
        case Rule(name):
            yield name
        case Sequence(parts):
            for part in parts:
                yield from _first(part, silent)
                if not empty(part, silent):
                    return
        case Choice(options):
            for option in options:
                yield from _first(option, silent)
        case Repeat(part, _, _):
            yield from _first(part, silent)
        case _:
            pass  # text
