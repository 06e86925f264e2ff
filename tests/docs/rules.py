"""The rules of plugins and flows with the tests of each: docs/reference/plugin-diagnostics.md.

A test belongs to a rule by the number in its name: `test_R_7_10_…` tests R-7.10. A test belongs to a scenario of the
second table by `section_17_4` or `R_17_4` in its name, or by being listed here.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "plugin-diagnostics.md"
MAX_TESTS = 3
"""Maximum number of tests that the page names for each rule."""

_TABLE = re.compile(r"(<!-- table: (\w+) -->\n\n)((?:\|[^\n]*\n)*)")
_TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
_NUMBER = re.compile(r"(?<![A-Za-z0-9])(?:R|section)_(\d+)_(\d+)(?!\d)")

SECTIONS = {
    1: "Folder", 3: "Authentication and secrets", 4: "OpenAPI documents", 5: "Flow files", 6: "Generated flows",
    7: "Calls", 8: "Databases", 9: "Python tools", 10: "Errors", 11: "Runs", 12: "Selection and suggestions",
}  # fmt: skip

RULES = {
    "1.1": "the plugin id is the name of the folder; plugin.json cannot change it",
    "1.2": "unknown files are reported; hidden files and `__pycache__` are ignored",
    "1.3": "if one file has an error, the plugin is not loaded, and its previous version stays active",
    "1.4": "loading and checking a plugin runs none of its code",
    "1.5": "a loaded plugin is immutable and is identified by id, version and digest",
    "1.6": "a plugin without flows is reported",
    "1.7": "files are UTF-8, with or without a byte order mark",
    "3.1": "auth values are sent in headers, cookies or the query string, with every method",
    "3.2": "`oidc` gets a token by client credentials or token exchange; the original field names are accepted",
    "3.3": "a token is cached until shortly before it expires, shared by concurrent requests, and renewed after a 401",
    "3.4": "all entries of an `auth` list apply",
    "3.5": "`${secret:NAME}` is resolved when a request is sent; `install` moves other secrets to the secret store",
    "3.6": "a missing secret does not prevent loading; a run that needs it fails before it sends a request",
    "3.7": "secrets are redacted in responses, prompts, logs, records and errors, in every encoding",
    "3.8": "a model cannot set parameters that auth sets",
    "3.9": "the operator allows each private address; the author may declare them, and checks report them to both",
    "4.1": "references stay inside the folder; recursive ones are kept for validation and cut for models",
    "4.2": "a response without a schema may be any JSON",
    "4.3": "a pattern without anchors matches the whole value, also of numbers, in linear time",
    "4.4": "a backslash in double quotes is reported, and repaired in compat mode",
    "4.5": "defaults and single allowed values need no model; examples are never used as values",
    "4.6": "`readOnly` properties are not sent, `writeOnly` ones not expected, deprecated ones hidden from models",
    "4.7": "file parameters are recognized by their format, alone or in a list",
    "4.8": "a text field of a response can become a file to download",
    "5.1": "a flow begins at `start`",
    "5.2": "`next` names an existing step",
    "5.3": "a step without `next` is the last one",
    "5.4": "`end` is run like any other step, and is the last one",
    "5.5": "`none` does nothing and continues",
    "5.6": "unreachable steps are reported; cycles need a choice",
    "5.7": "a flow has a maximum number of steps",
    "5.8": "steps run one after another; reserved keys are reported as reserved",
    "6.1": "with `automatic_flow` every operation is a flow",
    "6.2": "a flow file overrides an operation of the same name",
    "6.3": "a generated flow needs approval, unless its operation is read-only",
    "6.4": "too many generated flows are reported",
    "7.0": "`data` is the output of the last step; choices, charts and `none` do not change it",
    "7.1": "a path value stays one segment; `.`, `..` and empty values are refused",
    "7.2": "headers and cookies have no control characters, and parameters cannot set headers of the connection",
    "7.3": "forms and multipart bodies are encoded by the standard, and files are streamed",
    "7.4": "redirects are not followed, and proxies of the environment are not used",
    "7.5": "every connection goes through the one client that checks addresses",
    "7.6": "duration, size and decompressed size are limited",
    "7.7": "any 2xx status is a success; JSON, text and files are distinguished",
    "7.8": "the output is the complete response",
    "7.9": "a response that does not fit its schema causes a warning, not a failure",
    "7.10": "conditions are evaluated before a model is asked",
    "7.11": "a model chooses among the listed steps, by majority vote where the step sets `votes`",
    "7.12": "without a valid decision the default is taken, or the step fails",
    "7.13": "`next` of a choice is ignored; two choices may lead to one step",
    "7.14": "`extract` names values by the last part of their paths",
    "7.15": "a path without a value is an error that lists the existing keys, or null, or left out",
    "7.16": "paths begin at the body of the response",
    "7.17": "charts are built by code from a table; a model only chooses among columns",
    "7.18": "pie charts, log scales and many points have their own rules, and every change is reported",
    "7.19": "a chart is output and artifact; images are rendered on request",
    "7.20": "a prompt uses at most 80 % of the context window",
    "7.21": "data that is too long is truncated to valid JSON, with a note for the model",
    "7.22": "the context is composed by code, and summarized by a model only if it is too long",
    "7.23": "placeholders are filled in one pass",
    "7.24": "unknown placeholders are reported and left unchanged",
    "7.25": "strings are inserted unchanged, other values as compact JSON",
    "7.26": "a placeholder is a name, not an expression",
    "7.27": "external text is marked as data for the model",
    "8.1": "a step names its database, unless the plugin has only one",
    "8.2": "a script that may only create and insert builds a bundled database; the operator binds others",
    "8.3": "a model knows only the tables and columns of the catalog, and can use no others",
    "8.4": "a model receives catalog, dialect, date and question",
    "8.5": "a statement is parsed, checked and rewritten before it is run",
    "8.6": "the database connection itself is read-only and limited too",
    "8.7": "a refused statement is returned to the model with the reason, at most twice",
    "8.8": "rows are objects of plain values, cut at a limit with a note; the statement is recorded",
    "8.9": "a result without rows is a success; duplicate column names are numbered",
    "9.1": "plugin code runs only after the operator allowed exactly these bytes",
    "9.2": "plugin code runs in its own process, without environment, secrets or network, and with limits",
    "9.3": "the tools of plugin code are listed in that process too",
    "9.4": "parameters of a tool are filled and validated like those of a request",
    "9.5": "runs of plugin code share no state, and never use the interpreter of the server",
    "10.1": "a failed step runs `on_error` once, and the flow ends",
    "10.2": "if `on_error` fails too, the run ends with a fixed text",
    "10.3": "failed requests are retried within limits; those that write only if the flow sets `retry`",
    "10.4": "without `on_error` a model explains the error",
    "10.5": "a dangerous step shows its request and waits for a person: allow, edit or deny",
    "10.6": "a cancelled run ends without `on_error`",
    "11.1": "every step is recorded before the next begins",
    "11.2": "a flow resumes after a restart; a request that may have had an effect is not repeated without approval",
    "11.3": "an open question expires",
    "11.4": "the answer is the text of a model, the last result, composed, or none",
    "11.5": "the events of a run have an order, and clients can replay them",
    "11.6": "a run keeps the plugin that it began with",
    "11.7": "users cannot see files or runs of other users",
    "11.8": "a dry run shows every request and sends none",
    "12.1": "an agent can use no plugins, all, some, or one flow",
    "12.2": "a search narrows many flows down, and a model chooses one of the rest or none",
    "12.3": "only runnable flows of plugins that the user may use are candidates; the choice is recorded",
    "12.4": "the `next_flow` of a flow is suggested as questions, at most three",
    "12.5": "without `next_flow` a search suggests flows; an empty list suggests none",
}

SCENARIOS: Mapping[int, tuple[str, tuple[str, ...]]] = {
    1: ("each code has a sample that causes it, at its line", ()),
    2: ("the samples of the original guide", ()),
    3: ("common deviations from the format", ()),
    4: ("an `on_error` that fails", ()),
    5: ("two concurrent runs", ()),
    6: (
        "path values that would change the path",
        (
            "test_R_7_1_path_values_are_encoded_completely",
            "test_R_7_1_dot_segments_and_empty_path_values_are_refused",
        ),
    ),
    7: (
        "every spelling of a private address",
        (
            "test_R_7_5_no_spelling_of_a_private_address_is_reached",
            "test_R_7_5_a_host_name_with_one_private_address_is_refused",
            "test_R_7_4_R_7_5_a_redirect_is_not_followed",
        ),
    ),
    8: ("a secret that must appear nowhere", ("test_R_3_7_a_secret_appears_in_no_output_record_or_log",)),
    9: (
        "hostile statements in four dialects, and an endless one",
        ("test_R_8_5_a_hostile_statement_is_refused", "test_R_8_6_an_endless_query_is_stopped_within_its_limit"),
    ),
    10: ("malicious archives", ()),
    11: ("instructions in a response", ()),
    12: ("a server that is killed after each step", ()),
    13: ("random templates", ("test_R_7_23_random_braces_never_raise",)),
    14: ("random conditions", ("test_R_7_10_random_conditions_never_raise_and_never_call_host_code",)),
    15: ("the examples' own cases", ()),
}


def generate() -> dict[Path, str]:
    return {PAGE: page(PAGE.read_text())}


def without_tests(text: str) -> str:
    """A new test of a rule may be missing on the page."""
    return "\n".join(line.rpartition(" | ")[0] if line.startswith("|") else line for line in text.splitlines())


def page(text: str) -> str:
    tables = {"rules": rules(), "scenarios": scenarios()}
    return _TABLE.sub(lambda match: match[1] + tables[match[2]], text)


def rules() -> str:
    found = by_number()
    lines = ["| rule | | tested by |", "|---|---|---|"]
    for number, meaning in RULES.items():
        section, _, place = number.partition(".")
        if place in ("0", "1") and number != "7.1":
            lines.append(f"| | **{SECTIONS[int(section)]}** | |")
        lines.append(f"| R-{number} | {meaning} | {list_tests(found[number])} |")
    return "\n".join(lines) + "\n"


def scenarios() -> str:
    found, every = by_number(), dict(tests())
    lines = ["| | scenario | tested by |", "|---|---|---|"]
    for number, (meaning, names) in SCENARIOS.items():
        shown = [*found[f"17.{number}"], *(f"{every[name]}::{name}" for name in names)]
        lines.append(f"| {number} | {meaning} | {list_tests(shown)} |")
    return "\n".join(lines) + "\n"


def by_number() -> Mapping[str, list[str]]:
    """Return the tests of each rule, as `path::name`."""
    found = defaultdict[str, list[str]](list)
    for name, path in tests():
        for section, place in _NUMBER.findall(name):
            found[f"{section}.{place}"].append(f"{path}::{name}")
    return found


def tests() -> Iterator[tuple[str, str]]:
    """Yield the name and the file of each test, in a stable order. Parsing the files would take a second."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _TEST.findall(path.read_text()):
            yield name, str(path.relative_to(ROOT))


def list_tests(shown: list[str]) -> str:
    """Group tests by file, so that a line has each path once."""
    files = defaultdict[str, list[str]](list)
    for one in shown[:MAX_TESTS]:
        path, _, name = one.partition("::")
        files[path].append(name)
    lines = [f"`{path}`: {', '.join(f'`{name}`' for name in names)}" for path, names in files.items()]
    more = ["and more"] if len(shown) > MAX_TESTS else []
    return "<br>".join([*lines, *more])
