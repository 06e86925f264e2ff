"""`auth` of plugin.json → how requests show who sends them."""

import re

from rightseat.egress.secrets import NAME, PLACEHOLDER
from rightseat.plugins.definition import Auth
from rightseat.plugins.loading.fields import kind
from rightseat.plugins.loading.limits import Operator
from rightseat.plugins.loading.notes import Node, Notes

TYPES = ("header", "param", "cookie", "oidc")
SPELLINGS = {"params": "param", "query": "param"}
OIDC = ("token_url", "issuer", "client_id", "client_secret", "scope", "audience", "grant", "header", "scheme")
OIDC_SECRETS = frozenset({"client_secret"})
ORIGINAL = ("domain", "access_token_url", "token_expire_time")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORBIDDEN = frozenset({"host", "content-length", "transfer-encoding", "connection"})


def read(node: Node | None, operator: Operator, notes: Notes) -> tuple[Auth, ...]:
    if node is None or node.value is None:
        return ()
    every = list(node.elements()) if isinstance(node.value, list) else [node]
    found = (_read_one(one, operator, notes) for one in every)
    return tuple(one for one in found if one is not None)


def is_forbidden(header: str) -> bool:
    """Would a request with this header be another one than it looks?"""
    return header.lower() in FORBIDDEN or header.lower().startswith("proxy-")


def _read_one(node: Node, operator: Operator, notes: Notes) -> Auth | None:
    if not isinstance(node.value, dict):
        notes.add("E110", node, f"`auth` should be a mapping or a list of them, not {kind(node.value)}.")
        return None
    type = _read_type(node, notes)
    args = _read_args(node, notes)
    if type is None or args is None:
        return None
    if type == "oidc":
        args = _read_oidc(node, args, notes)
    for name, value in args.items():
        _check_value(node, type, name, value, operator, notes)
    if type == "header":
        _check_headers(node, args, notes)
    return Auth(type, args)  # type: ignore[arg-type]  # `_read_type` gives one of the four


def _read_type(node: Node, notes: Notes) -> str | None:
    said = node.get("type")
    if said is None:
        notes.add("E110", node, "`auth.type` is missing.", f"one of: {', '.join(TYPES)}")
        return None
    if isinstance(said.value, str) and said.value in SPELLINGS:
        notes.add("W110", said, f"the type {said.value!r} is read as 'param'.", "write param")
        return SPELLINGS[said.value]
    if said.value not in TYPES:
        notes.add("E110", said, f"unknown type {said.value!r} of auth.", f"one of: {', '.join(TYPES)}")
        return None
    return str(said.value)


def _read_args(node: Node, notes: Notes) -> dict[str, str] | None:
    said = node.get("args")
    beside = any(key in node.value for key in ORIGINAL)
    if said is None:
        if not beside:
            notes.add("E110", node, "`auth.args` is missing.")
        return {} if beside else None
    if not isinstance(said.value, dict):
        notes.add("E110", said, f"`auth.args` should be a mapping, not {kind(said.value)}.")
        return None
    for value in (one for _, one in said.items()):
        if not isinstance(value.value, str):
            notes.add("E110", value, f"a value of `auth.args` should be text, not {kind(value.value)}.", "use quotes")
            return None
    return dict(said.value)


def _read_oidc(node: Node, args: dict[str, str], notes: Notes) -> dict[str, str]:
    old = [key for key in ORIGINAL if key in node.value]
    if old:
        said = f"{', '.join(f'`{key}`' for key in old)} beside `args`: read as in the original guide."
        notes.add("W111", node, said, "use args.token_url, grant, header and scheme")
        url = node.value.get("access_token_url") or node.value.get("domain") or ""
        args = {"token_url": str(url), "grant": "token_exchange", "header": "access-token", "scheme": "", **args}
    for key in args:
        if key not in OIDC:
            notes.add("W103", node, f"unknown key `args.{key}` of oidc.", f"known: {', '.join(OIDC)}")
    where = args.get("token_url") or args.get("issuer")
    if not where or not where.startswith(("http://", "https://")):
        notes.add("E110", node, "oidc needs `token_url` or `issuer`, an http or https address.")
    if args.get("grant", "client_credentials") not in ("client_credentials", "token_exchange"):
        notes.add("E110", node, f"unknown grant {args['grant']!r}.", "client_credentials or token_exchange")
    return args


def _check_value(node: Node, type: str, name: str, value: str, operator: Operator, notes: Notes) -> None:
    args = node.get("args")
    place = (args and args.get(name)) or node
    names = PLACEHOLDER.findall(value)
    if "${" in PLACEHOLDER.sub("", value) or not all(NAME.fullmatch(one) for one in names):
        notes.add("E110", place, f"`{name}` has a `${{` that is no secret.", "write ${secret:NAME}")
    is_secret = type != "oidc" or name in OIDC_SECRETS
    if is_secret and value and not names:
        notes.add("W112", place, f"the value of `{name}` stands in the file.", "move it to the secret store")
    for secret in names:
        if operator.secrets is not None and secret not in operator.secrets:
            notes.add("W113", place, f"there is no secret {secret!r} yet; runs that need it fail.")


def _check_headers(node: Node, args: dict[str, str], notes: Notes) -> None:
    for name in args:
        if not _TOKEN.fullmatch(name) or is_forbidden(name):
            notes.add("E402", node.get("args") or node, f"auth cannot set the header {name!r}.")
