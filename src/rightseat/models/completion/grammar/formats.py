"""Patterns for `format`, at least as strict as validators.

For example, days exist in their month, and an email address has one `@`. Formats without a pattern are not enforced by
the grammar; the finished value is validated.
"""

_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
_DATE = rf"(?:(?:19|20)\d\d-{_MONTH_DAY}|(?:19|20)(?:0[48]|[2468][048]|[13579][26])-02-29)"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)"
_LABEL = r"[a-z0-9](?:[a-z0-9]|-[a-z0-9]){0,20}"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{1,4}}"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]\d|\d)"
_PATH = r"[A-Za-z0-9._~!$&'()*+,;=:@-]"
_EMAIL = rf"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+){{0,4}}@{_HOST}"
_URI = rf"[a-z][a-z0-9]{{1,9}}://{_HOST}(?::[1-9]\d{{1,3}})?(?:/{_PATH}{{0,40}}){{0,8}}(?:\?(?:{_PATH}|/){{0,100}})?(?:#(?:{_PATH}|/){{0,40}})?"
_POINTER = r"(?:/(?:[A-Za-z0-9_. -]|~[01]){0,30}){0,16}"
_DAYS = r"(?:\d{1,4}Y(?:\d{1,3}M(?:\d{1,4}D)?)?|\d{1,3}M(?:\d{1,4}D)?|\d{1,4}D)"
_HOURS = r"(?:\d{1,4}H(?:\d{1,4}M(?:\d{1,4}S)?)?|\d{1,4}M(?:\d{1,4}S)?|\d{1,6}S)"
_HEX16 = r"[0-9a-f]{1,4}"

PATTERNS: dict[str, str] = {
    "date": rf"^{_DATE}$",
    "time": rf"^{_TIME}$",
    "date-time": rf"^{_DATE}T{_TIME}$",
    "duration": rf"^P(?:{_DAYS}(?:T{_HOURS})?|T{_HOURS}|\d{{1,4}}W)$",
    "uuid": r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    "email": rf"^{_EMAIL}$",
    "idn-email": rf"^{_EMAIL}$",
    "hostname": rf"^{_HOST}$",
    "idn-hostname": rf"^{_HOST}$",
    "ipv4": rf"^{_OCTET}(?:\.{_OCTET}){{3}}$",
    "ipv6": rf"^(?:{_HEX16}(?::{_HEX16}){{7}}|(?:{_HEX16}:){{1,6}}:{_HEX16}|::{_HEX16}(?::{_HEX16}){{0,5}}|::1?)$",
    "uri": rf"^{_URI}$",
    "iri": rf"^{_URI}$",
    "uri-reference": rf"^(?:{_URI}|(?:/{_PATH}{{1,40}}){{1,8}})$",
    "iri-reference": rf"^(?:{_URI}|(?:/{_PATH}{{1,40}}){{1,8}})$",
    "uri-template": rf"^{_URI}$",
    "json-pointer": rf"^{_POINTER}$",
    "relative-json-pointer": rf"^(?:0|[1-9]\d{{0,3}})(?:#|{_POINTER})$",
}
