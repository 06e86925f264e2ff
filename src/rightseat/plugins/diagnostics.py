"""What can be said of a plugin: every code, how grave it is, and what it means.

A warning that is `marked` is an error in strict mode, which is for authors: the original guide allows less than we do,
or the field does what no guide allows.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "information"]
Mode = Literal["compat", "strict"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`line` and `column` are counted from 1, 0 where the matter is a whole file. `pointer` is a JSON pointer."""

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    pointer: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.code} {self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Kind:
    code: str
    meaning: str
    is_marked: bool = False

    def severity(self, mode: Mode) -> Severity:
        if self.code.startswith("E") or (self.is_marked and mode == "strict"):
            return "error"
        return "warning" if self.code.startswith("W") else "information"


_ROWS = """
I100  a file that the format does not know; it is kept and not read
E101  a text file is not UTF-8
E102  plugin.json is not JSON: comments and trailing commas are none
E103  a key is given twice in plugin.json
E104  a control character in the name
E105  more than one of openapi.yaml, openapi.yml and openapi.json
E106  there is no plugin.json
E107  a field of plugin.json is missing, or is not what it should be
E108  more than the limits allow
E109  a link or a special file
E110  `auth` cannot be used as it is
E111  a file that plugin.json names is not in the folder
E112  lib/ has no __init__.py
W101  the id is not the name of the folder, which wins
W102  neither an operation nor a flow nor a tool
W103  an unknown key in plugin.json
W104▲ upper case in the id
W105▲ the name has 15 characters or more
W106  the description is too short to be chosen by
W110  `params` or `query` for the kind of auth `param`
W111▲ `oidc` with the original fields beside `args`
W112▲ a secret stands in plugin.json
W113  a secret that the operator has not set
W114  a parameter that `auth` sets is hidden from the model
E201  OpenAPI 2.0, or a version that is not known
E202  a key is given twice
E203  a YAML tag
E204  no version of OpenAPI
E205  no server with an absolute http or https address
E206  the address of the server is relative
E207  the address of the server has a user or a password in it
E208  the address of the server has a placeholder in it
E209  an operationId is given twice
E210  no content type of the request body that can be sent
E211  a `$ref` that leads nowhere, or out of the folder
E220  an unknown type
E221  a schema given as a list of several
E222  a pattern that cannot be matched in linear time, or is no regular expression
E223  a backslash in double quotes that YAML does not know
E224  a file deeper inside a multipart body
E228  a tab as indentation
E229  the file is not YAML
E230  nested too deep, or aliases and references make too much of it
E231  the document does not have the form that OpenAPI gives it
W201  info.title or info.version is missing
W202▲ more than one server; the first is used
W203▲ a method other than get and post
W204  a method that is ignored
W205▲ an operation has a summary and no description
W206▲ an operation has neither a description nor a summary
W207▲ a post, put or patch without a request body
W208▲ a get, head or delete with a request body: its properties become query parameters
W209▲ `x-www-form-urlencoded` without `application/`
W210▲ an operation has no responses
W211  path parameters that do not fit the path
W213  servers below a path are ignored
W220▲ the type `any`
W221▲ the type `timestamp`
W222▲ the type `date`
W223▲ a schema given as a list with one element
W224  more than 8 alternatives
W226▲ a backslash in double quotes was doubled
E301  two flows have one name
E302  a dot in the name of a flow or a step
E303  two steps have one name
E304  an unknown call type
E305  no step is named `start`
E306  `next` names no step
E307  steps go round in circles without a choice
E308  a key that is reserved for a later version
E309  `on_error` is a choice
E310  a field of a flow is missing, or is not what it should be
W301▲ an unusual character in the name of a flow or a step
W302  `on_error` has a name or a next step, which is ignored
W303  an unknown key
W304  the step `end` has a next step, which is ignored
W305▲ a `none` step goes on; the original ended there
W306  a step that cannot be reached
W307  steps can go round in circles
I301  a step ends the flow and is not named `end`
E401  there is no such operation
E402  a header that a request may not set
E403  a choice leads to no step
E404  a choice leads to itself
E406  `extract` has no keys
E407  a parameter of a step is missing, or is not what it should be
E408  a condition that cannot be read
E409  a path that cannot be read
W405  a choice has `next`, which is ignored
E501  an unknown placeholder (strict)
W501  an unknown placeholder; it is left as written
W502  this looks like Jinja
W510▲ a placeholder of the original SDK
E601  it is not clear which database is meant
I601  a flow file replaces the flow made of an operation
W601  `automatic_flow` without operations
W602  more than 20 flows made of operations
W701  a tool of the original shape
W702  `lib` is not allowed yet; flows that use it are disabled
W801  `next_flow` names no flow
"""


def _read(row: str) -> Kind:
    code, meaning = row.split(None, 1)
    return Kind(code.rstrip("▲"), meaning.strip(), code.endswith("▲"))


KINDS: dict[str, Kind] = {kind.code: kind for kind in map(_read, _ROWS.strip().splitlines())}
