"""Reads `auth` of plugin.json: how requests to the API authenticate."""

import re

from rightseat.egress.secrets import NAME, PLACEHOLDER
from rightseat.plugins.definition import Auth
from rightseat.plugins.loading.fields import describe_kind
from rightseat.plugins.loading.limits import OperatorSettings
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

TYPES = ("header", "param", "cookie", "oidc")
TYPE_ALIASES = {"params": "param", "query": "param"}
OIDC_KEYS = ("token_url", "issuer", "client_id", "client_secret", "scope", "audience", "grant", "header", "scheme")
OIDC_SECRET_KEYS = frozenset({"client_secret"})
ORIGINAL_OIDC_KEYS = ("domain", "access_token_url", "token_expire_time")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORBIDDEN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection"})


def read(node: SourceNode | None, operator: OperatorSettings, report: DiagnosticReport) -> tuple[Auth, ...]:
    if node is None or node.value is None:
        return ()
    every = list(node.elements()) if isinstance(node.value, list) else [node]
    found = (_read_one(one, operator, report) for one in every)
    return tuple(one for one in found if one is not None)


def is_forbidden_header(header: str) -> bool:
    """Whether the header controls routing or framing, so that setting it could smuggle another request."""
    return header.lower() in FORBIDDEN_HEADERS or header.lower().startswith("proxy-")


def _read_one(node: SourceNode, operator: OperatorSettings, report: DiagnosticReport) -> Auth | None:
    if not isinstance(node.value, dict):
        report.add("E110", node, f"`auth` should be a mapping or a list of them, not {describe_kind(node.value)}.")
        return None
    type = _read_type(node, report)
    args = _read_args(node, report)
    if type is None or args is None:
        return None
    if type == "oidc":
        args = _read_oidc(node, args, report)
    for name, value in args.items():
        _check_value(node, type, name, value, operator, report)
    if type == "header":
        _check_headers(node, args, report)
    return Auth(type, args)  # type: ignore[arg-type]  # `_read_type` returns one of the four


def _read_type(node: SourceNode, report: DiagnosticReport) -> str | None:
    type = node.get("type")
    if type is None:
        report.add("E110", node, "`auth.type` is missing.", f"one of: {', '.join(TYPES)}")
        return None
    if isinstance(type.value, str) and type.value in TYPE_ALIASES:
        report.add("W110", type, f"the type {type.value!r} is read as 'param'.", "write param")
        return TYPE_ALIASES[type.value]
    if type.value not in TYPES:
        report.add("E110", type, f"unknown auth type {type.value!r}.", f"one of: {', '.join(TYPES)}")
        return None
    return str(type.value)


def _read_args(node: SourceNode, report: DiagnosticReport) -> dict[str, str] | None:
    args = node.get("args")
    has_original_keys = any(key in node.value for key in ORIGINAL_OIDC_KEYS)
    if args is None:
        if not has_original_keys:
            report.add("E110", node, "`auth.args` is missing.")
        return {} if has_original_keys else None
    if not isinstance(args.value, dict):
        report.add("E110", args, f"`auth.args` should be a mapping, not {describe_kind(args.value)}.")
        return None
    for value in (one for _, one in args.items()):
        if not isinstance(value.value, str):
            message = f"a value of `auth.args` should be text, not {describe_kind(value.value)}."
            report.add("E110", value, message, "use quotes")
            return None
    return dict(args.value)


def _read_oidc(node: SourceNode, args: dict[str, str], report: DiagnosticReport) -> dict[str, str]:
    original_keys = [key for key in ORIGINAL_OIDC_KEYS if key in node.value]
    if original_keys:
        names = ", ".join(f"`{key}`" for key in original_keys)
        message = f"{names} next to `args`: read as the original guide defines them."
        report.add("W111", node, message, "use args.token_url, grant, header and scheme")
        url = node.value.get("access_token_url") or node.value.get("domain") or ""
        args = {"token_url": str(url), "grant": "token_exchange", "header": "access-token", "scheme": "", **args}
    for key in args:
        if key not in OIDC_KEYS:
            report.add("W103", node, f"unknown key `args.{key}` of oidc.", f"known: {', '.join(OIDC_KEYS)}")
    address = args.get("token_url") or args.get("issuer")
    if not address or not address.startswith(("http://", "https://")):
        report.add("E110", node, "oidc needs `token_url` or `issuer` as an http or https address.")
    if args.get("grant", "client_credentials") not in ("client_credentials", "token_exchange"):
        report.add("E110", node, f"unknown grant {args['grant']!r}.", "client_credentials or token_exchange")
    return args


def _check_value(
    node: SourceNode, type: str, name: str, value: str, operator: OperatorSettings, report: DiagnosticReport
) -> None:
    args = node.get("args")
    place = (args and args.get(name)) or node
    names = PLACEHOLDER.findall(value)
    if "${" in PLACEHOLDER.sub("", value) or not all(NAME.fullmatch(one) for one in names):
        report.add("E110", place, f"`{name}` has a `${{` that is not a secret placeholder.", "write ${secret:NAME}")
    is_secret = type != "oidc" or name in OIDC_SECRET_KEYS
    if is_secret and value and not names:
        report.add("W112", place, f"the value of `{name}` is written in the file.", "move it to the secret store")
    for secret in names:
        if operator.secrets is not None and secret not in operator.secrets:
            report.add("W113", place, f"the secret {secret!r} is not set; runs that need it fail.")


def _check_headers(node: SourceNode, args: dict[str, str], report: DiagnosticReport) -> None:
    for name in args:
        if not _HEADER_NAME.fullmatch(name) or is_forbidden_header(name):
            report.add("E402", node.get("args") or node, f"auth cannot set the header {name!r}.")
