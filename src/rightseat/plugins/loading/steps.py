"""Reads one step of a flow file into a `Step`."""

import re

from rightseat.parts import hint
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import RetryPolicy, Step
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.loading import params
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields, describe_kind
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
KNOWN_KEYS = ("name", "call_type", "params", "next", "dangerous", "timeout", "retry", "args")
RESERVED_KEYS = ("parallel", "foreach", "flow", "edges")
RETRY_CAUSES = ("timeout", "connect", "429", "5xx", "llm_failed")
MAX_RETRIES = 5
MAX_TIMEOUT_S = 86_400.0


def read(node: SourceNode, context: LoadContext, report: DiagnosticReport) -> Step | None:
    """None if the step has no name or no call type, which is reported."""
    fields = Fields(node, report, "E310")
    name = read_name(fields, report)
    step = read_call(node, name, context, report)
    return step if name else None


def read_name(fields: Fields, report: DiagnosticReport) -> str:
    """Read the name of a flow or a step."""
    name = fields.text("name", required=True)
    node = fields.node.get("name")
    if name and node is not None:
        if "." in name:
            report.add("E302", node, f"the name {name!r} contains a dot.", "a dot separates plugin and flow")
        elif not re.fullmatch(NAME_PATTERN, name):
            rule = "letters, digits, _ and -, at most 64"
            report.add("W301", node, f"the name {name!r} is unusual.", rule)
    return name


def read_call(node: SourceNode, name: str, context: LoadContext, report: DiagnosticReport) -> Step | None:
    """Read a step, or `on_error`, which has no name."""
    fields = Fields(node, report, "E310")
    report_reserved_keys(node, report)
    fields.report_unknown_keys("W303", (*KNOWN_KEYS, *RESERVED_KEYS))
    call, is_lib = _read_call_type(fields, context, report)
    if not call:
        return None
    written = fields.mapping("params")
    args = fields.mapping("args")
    if args is not None and not is_lib and not call_types()[call].takes_args:
        report.add("W303", args, f"`args` are for api and lib, not for {call}; they are ignored.", at="key")
    params.check(node, name, call, written, args, context, report, is_lib=is_lib)
    return Step(
        name,
        call,
        written.value if written else {},
        fields.text("next") or None,
        bool(fields.flag("dangerous")),
        fields.number("timeout", 0.001, MAX_TIMEOUT_S),
        _read_retry(fields, report),
        args.value if args else {},
        is_lib,
    )


def report_reserved_keys(node: SourceNode, report: DiagnosticReport) -> None:
    for key in RESERVED_KEYS:
        if (found := node.get(key)) is not None:
            message = f"`{key}` is reserved for a later version: steps run one after another."
            report.add("E308", found, message, "use next and choice", at="key")


def _read_call_type(fields: Fields, context: LoadContext, report: DiagnosticReport) -> tuple[str, bool]:
    call = fields.text("call_type", required=True)
    node = fields.node.get("call_type")
    if not call or node is None or call in call_types():
        return call, False
    tool = call.removeprefix("lib.")
    if tool in context.lib_identifiers:
        return tool, True
    known = [*call_types(), *(f"lib.{word}" for word in sorted(context.lib_identifiers) if word.isidentifier())]
    missing_lib = "" if context.lib_identifiers else "; the plugin has no lib/"
    message = f"unknown call type {call!r}{missing_lib}.{hint(call, known)}"
    better = find_replacement(call, known)
    report.add("E304", node, message, f"one of {', '.join(call_types())}, or lib.<tool>", replacement=better)
    return "", False


def _read_retry(fields: Fields, report: DiagnosticReport) -> RetryPolicy | None:
    node = fields.mapping("retry")
    if node is None:
        return None
    inner = Fields(node, report, "E310")
    inner.report_unknown_keys("W303", ("times", "on", "backoff"))
    times = inner.number("times", 0, MAX_RETRIES, integer=True)
    backoff = inner.number("backoff", 0, 300)
    on = node.get("on")
    causes: list[str] = []
    for one in on.elements() if on else ():
        if str(one.value) not in RETRY_CAUSES:
            inner.report_error(
                one, f"unknown cause {str(one.value)[:40]!r} in `retry.on`.", f"one of: {', '.join(RETRY_CAUSES)}"
            )
        causes.append(str(one.value))
    if on is not None and not isinstance(on.value, list):
        inner.report_error(on, f"`retry.on` should be a list, not {describe_kind(on.value)}.")
    return RetryPolicy(int(times or 0), frozenset(causes), 1.0 if backoff is None else backoff)
