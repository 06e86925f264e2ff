"""The diagnostics of plugins: every code with its severity and meaning.

A warning marked with ▲ is an error in strict mode, which is for authors: the original guide allows less than rightseat,
or the plugin does something that no guide allows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rightseat.parts import find_closest

Severity = Literal["error", "warning", "information"]
Mode = Literal["compat", "strict"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A probable correction: `text` instead of `found`, which begins at the diagnostic's place."""

    found: str
    text: str


def find_replacement(name: str, known: Iterable[str]) -> Replacement | None:
    closest = find_closest(name, known)
    return None if closest is None else Replacement(name, closest)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`line` and `column` start at 1, and are 0 for a whole file. `pointer` is a JSON Pointer."""

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    pointer: str
    message: str
    hint: str = ""
    replacement: Replacement | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.code} {self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class DiagnosticKind:
    code: str
    meaning: str
    is_strict_error: bool = False

    def severity(self, mode: Mode) -> Severity:
        if self.code.startswith("E") or (self.is_strict_error and mode == "strict"):
            return "error"
        return "warning" if self.code.startswith("W") else "information"


_ROWS = """
I100  unknown file; it is stored, but not read
E101  text file that is not UTF-8
E102  plugin.json is not valid JSON; comments and trailing commas are not allowed
E103  duplicate key in plugin.json
E104  control character in the name
E105  more than one of openapi.yaml, openapi.yml and openapi.json
E106  plugin.json is missing
E107  missing or invalid field in plugin.json
E108  limit exceeded
E109  symbolic link or special file
E110  invalid `auth`
E111  plugin.json names a file that is not in the folder
E112  lib/ has no __init__.py
W101  the id differs from the folder name; the folder name is used
W102  no operation, flow or tool
W103  unknown key in plugin.json
W104▲ upper case in the id
W105▲ name of 15 characters or more
W106  description too short for choosing the plugin
W110  `params` or `query` as the auth type; the name is `param`
W111▲ `oidc` with the original fields beside `args`
W112▲ secret in plugin.json
W113  secret that is not set on this server
W114  parameter that `auth` sets; it is hidden from the model
W115  private address that plugin.json does not declare; a server blocks it until its operator allows it
E201  OpenAPI 2.0, or an unknown version
E202  duplicate key
E203  YAML tag
E204  OpenAPI version is missing
E205  no server with an absolute http or https URL
E206  relative server URL
E207  server URL with a user name or a password
E208  server URL with a placeholder
E209  duplicate operationId
E210  no supported content type of the request body
E211  unresolvable `$ref`, or one to a file outside the folder
E220  unknown type
E221  list of several schemas instead of one schema
E222  invalid pattern, or one that cannot be matched in linear time
E223  unknown escape sequence in double quotes
E224  nested file in a multipart body
E228  tab as indentation
E229  invalid YAML
E230  nested too deeply, or too large after expanding aliases and references
E231  invalid OpenAPI document
W201  info.title or info.version is missing
W202▲ more than one server; the first is used
W203▲ method other than get and post
W204  unsupported method; it is ignored
W205▲ operation with a summary, but without a description
W206▲ operation without a description and a summary
W207▲ post, put or patch without a request body
W208▲ get, head or delete with a request body; its properties become query parameters
W209▲ `x-www-form-urlencoded` without `application/`
W210▲ operation without responses
W211  path parameters that do not match the path
W213  servers of a single path; they are ignored
W220▲ type `any`
W221▲ type `timestamp`
W222▲ type `date`
W223▲ list of one schema instead of a schema
W224  more than 8 alternatives
W226▲ single backslash in double quotes; it was doubled
E301  duplicate flow name
E302  dot in the name of a flow or a step
E303  duplicate step name
E304  unknown call type
E305  no step is named `start`
E306  `next` names an unknown step
E307  cycle of steps without a choice
E308  key that is reserved for a later version
E309  `on_error` is a choice
E310  missing or invalid field of a flow
W301▲ unusual character in the name of a flow or a step
W302  `on_error` with a name or a next step; both are ignored
W303  unknown key
W304  the step `end` has a next step; it is ignored
W305▲ `none` step with a next step; the original SDK ended the flow there
W306  unreachable step
W307  cycle of steps
I301  the last step is not named `end`
E401  unknown operation
E402  header that a request may not set
E403  choice of an unknown step
E404  choice that leads to itself
E406  `extract` without keys
E407  missing or invalid parameter of a step
E408  invalid condition
E409  invalid path
W405  choice with `next`; it is ignored
E501  unknown placeholder, in strict mode
W501  unknown placeholder; it stays in the text
W502  text that looks like Jinja
W510▲ placeholder of the original SDK
E601  ambiguous database: name one
I601  flow file that replaces the flow of an operation
W601  `automatic_flow` without operations
W602  more than 20 flows made of operations
W701  tool in the original format
W702  `lib` is not approved yet; flows that use it are disabled
W801  `next_flow` names an unknown flow
"""


def _parse_row(row: str) -> DiagnosticKind:
    code, meaning = row.split(None, 1)
    return DiagnosticKind(code.rstrip("▲"), meaning.strip(), code.endswith("▲"))


KINDS: dict[str, DiagnosticKind] = {kind.code: kind for kind in map(_parse_row, _ROWS.strip().splitlines())}
