"""One step of a flow file → a `Step`."""

import re

from rightseat.parts import hint
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import Retry, Step
from rightseat.plugins.loading import params
from rightseat.plugins.loading.fields import Fields, kind
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.params import Surroundings

NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
KNOWN = ("name", "call_type", "params", "next", "dangerous", "timeout", "retry", "args")
RESERVED = ("parallel", "foreach", "flow", "edges")
RETRIED = ("timeout", "connect", "429", "5xx", "llm_failed")
MOST_RETRIES = 5
LONGEST = 86_400.0  # seconds


def read(node: Node, around: Surroundings, notes: Notes) -> Step | None:
    """None where it has no name or no call; both have been noted then."""
    fields = Fields(node, notes, "E310")
    name = read_name(fields, notes)
    step = read_call(node, name, around, notes)
    return step if name else None


def read_name(fields: Fields, notes: Notes) -> str:
    """Of a flow or a step."""
    name = fields.text("name", required=True)
    node = fields.node.get("name")
    if name and node is not None:
        if "." in name:
            notes.add("E302", node, f"the name {name!r} has a dot in it.", "a dot stands between plugin and flow")
        elif not re.fullmatch(NAME, name):
            rule = "letters, digits, _ and -, at most 64"
            notes.add("W301", node, f"the name {name!r} is unusual.", rule)
    return name


def read_call(node: Node, name: str, around: Surroundings, notes: Notes) -> Step | None:
    """A step or `on_error`, which has no name."""
    fields = Fields(node, notes, "E310")
    refuse_reserved(node, notes)
    fields.refuse_others("W303", (*KNOWN, *RESERVED))
    call, is_lib = _read_call_type(fields, around, notes)
    if not call:
        return None
    written = fields.mapping("params")
    args = fields.mapping("args")
    if args is not None and not is_lib and not call_types()[call].takes_args:
        notes.add("W303", args, f"`args` are for api and lib, not for {call}; they are ignored.", at="key")
    params.check(node, name, call, written, args, around, notes, is_lib=is_lib)
    return Step(
        name,
        call,
        written.value if written else {},
        fields.text("next") or None,
        bool(fields.flag("dangerous")),
        fields.number("timeout", 0.001, LONGEST),
        _read_retry(fields, notes),
        args.value if args else {},
        is_lib,
    )


def refuse_reserved(node: Node, notes: Notes) -> None:
    for key in RESERVED:
        if (found := node.get(key)) is not None:
            said = f"`{key}` is reserved for a later version: steps run one after another."
            notes.add("E308", found, said, "use next and choice", at="key")


def _read_call_type(fields: Fields, around: Surroundings, notes: Notes) -> tuple[str, bool]:
    call = fields.text("call_type", required=True)
    node = fields.node.get("call_type")
    if not call or node is None or call in call_types():
        return call, False
    tool = call.removeprefix("lib.")
    if tool in around.lib_words:
        return tool, True
    known = [*call_types(), *(f"lib.{word}" for word in sorted(around.lib_words) if word.isidentifier())]
    where = "" if around.lib_words else "; there is no lib/"
    said = f"unknown call type {call!r}{where}.{hint(call, known)}"
    notes.add("E304", node, said, f"one of {', '.join(call_types())}, or lib.<tool>")
    return "", False


def _read_retry(fields: Fields, notes: Notes) -> Retry | None:
    node = fields.mapping("retry")
    if node is None:
        return None
    inner = Fields(node, notes, "E310")
    inner.refuse_others("W303", ("times", "on", "backoff"))
    times = inner.number("times", 0, MOST_RETRIES, whole=True)
    backoff = inner.number("backoff", 0, 300)
    on = node.get("on")
    causes: list[str] = []
    for one in on.elements() if on else ():
        if str(one.value) not in RETRIED:
            inner.wrong(one, f"`retry.on` does not know {str(one.value)[:40]!r}.", f"one of: {', '.join(RETRIED)}")
        causes.append(str(one.value))
    if on is not None and not isinstance(on.value, list):
        inner.wrong(on, f"`retry.on` should be a list, not {kind(on.value)}.")
    return Retry(int(times or 0), frozenset(causes), 1.0 if backoff is None else backoff)
