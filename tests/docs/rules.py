"""The rules of plugins and flows with the tests that show each: docs/reference/plugin-rules.md.

A test shows a rule by having its number in its name: `test_R_7_10_…` shows R-7.10. Of the list of trials at the end, a
test says `section_17_4` or `R_17_4`, or is named here. `python -m tests.docs.rules` writes the page anew.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "plugin-rules.md"
SHOWN = 3
"""How many tests of a rule the page names."""

_TABLE = re.compile(r"(<!-- table: (\w+) -->\n\n)((?:\|[^\n]*\n)*)")
_NUMBER = re.compile(r"(?<![A-Za-z0-9])(?:R|section)_(\d+)_(\d+)(?!\d)")

SECTIONS = {
    1: "Folder", 3: "Signing in and secrets", 4: "OpenAPI documents", 5: "Flow files", 6: "Flows made of operations",
    7: "Calls", 8: "Databases", 9: "Python tools", 10: "Errors", 11: "Runs", 12: "Choosing and suggesting",
}  # fmt: skip

RULES = {
    "1.1": "the folder's name is the plugin's id, whatever plugin.json says",
    "1.2": "files that the format does not know are told; hidden ones and `__pycache__` are passed over",
    "1.3": "one error and nothing of the plugin is loaded; what was active before stays so",
    "1.4": "to load and to check a plugin runs nothing of it",
    "1.5": "what was loaded never changes, and is known by id, version and digest",
    "1.6": "a plugin that offers nothing is told",
    "1.7": "text is UTF-8, with or without a byte order mark",
    "3.1": "pairs go into headers, cookies or the query string, for every method",
    "3.2": "`oidc` gets a token by client credentials or in exchange for the user's; the old fields are understood",
    "3.3": "a token is kept until shortly before its end, fetched once for all who wait, and anew after a 401",
    "3.4": "of a list of kinds of auth, all apply",
    "3.5": "`${secret:NAME}` is looked up when a request is sent; what stands in the file is moved out of it",
    "3.6": "a missing secret stops no loading, but every run that needs it, before it sends anything",
    "3.7": "no secret is seen in answers, prompts, logs, records or errors, in whatever encoding",
    "3.8": "what auth sets, no model can set",
    "3.9": "private addresses are asked for by the author, and confirmed one by one by the operator",
    "4.1": "references stay inside the folder; those that go round are kept for checking and cut for models",
    "4.2": "an answer without a schema is any JSON",
    "4.3": "a pattern is for the whole value, for numbers too, and matched in linear time",
    "4.4": "a backslash in double quotes is told, and mended in compat mode",
    "4.5": "defaults and single values need no model; examples are never taken for values",
    "4.6": "what is only read is not sent, what is only written does not come back, what is deprecated is hidden",
    "4.7": "files are known by their format, alone or in a list",
    "4.8": "a text of an answer can become a file to download",
    "5.1": "a flow begins at `start`",
    "5.2": "`next` leads to a step that there is",
    "5.3": "a step without `next` is the last",
    "5.4": "`end` is done like any other step, and is the last",
    "5.5": "`none` does nothing and goes on",
    "5.6": "steps out of reach are told; circles need a choice",
    "5.7": "a flow has a bound of steps",
    "5.8": "one step after the other; what is reserved for later says so",
    "6.1": "with `automatic_flow` every operation is a flow",
    "6.2": "a flow file wins over an operation of the same name",
    "6.3": "such a flow asks first, unless it only looks",
    "6.4": "too many of them are told",
    "7.0": "`data` is what the last step gave; choices, charts and `none` leave it alone",
    "7.1": "a path value stays one segment; `.`, `..` and nothing are refused",
    "7.2": "no control characters in headers and cookies, and no headers of the connection",
    "7.3": "forms and multipart bodies are written plainly, and files streamed",
    "7.4": "redirects are not followed, and proxies of the environment not used",
    "7.5": "every connection goes through the one guarded door",
    "7.6": "time, size and unpacked size have limits",
    "7.7": "any 2xx is a success; JSON, text and files are told apart",
    "7.8": "the output is the whole answer",
    "7.9": "an answer that is not as documented is noted, and no failure",
    "7.10": "conditions decide before a model does",
    "7.11": "a model chooses among the steps there are, if need be by votes",
    "7.12": "no decision is the default, or an error",
    "7.13": "`next` of a choice is ignored; two choices may lead to one step",
    "7.14": "`extract` names values by the last part of their paths",
    "7.15": "a path that leads nowhere is an error with what is there, or null, or left out",
    "7.16": "paths begin at the body of the answer",
    "7.17": "charts are built by code from a table; a model only chooses among columns",
    "7.18": "pies, logarithms and many points have their rules, and what was changed is said",
    "7.19": "a chart is output and artifact; pictures are made when asked for",
    "7.20": "a prompt uses at most 80 % of the window",
    "7.21": "data that is too long is shortened, stays JSON, and the model is told",
    "7.22": "the context is written by code, and by a model only where it is too long",
    "7.23": "placeholders are filled in one pass",
    "7.24": "unknown placeholders are told and left as they are",
    "7.25": "text goes in as it is, other values as compact JSON",
    "7.26": "a placeholder computes nothing",
    "7.27": "what comes from outside is marked as data for the model",
    "8.1": "which database is meant is always clear",
    "8.2": "a bundled database is made by a script that may only create and insert; others are bound by the operator",
    "8.3": "the catalog is all that a model knows of a database, and all it can use",
    "8.4": "a model gets catalog, dialect, date and question",
    "8.5": "a statement is parsed, judged, and written anew before it is run",
    "8.6": "the engine itself is read-only and bounded too",
    "8.7": "a refused statement goes back to the model with the reason, twice at most",
    "8.8": "rows are objects of plain values, cut with a word about it; the statement is kept",
    "8.9": "no rows are a success; names that come twice are numbered",
    "9.1": "code of a plugin waits for the operator's leave, for exactly these bytes",
    "9.2": "it runs in a process of its own without environment, secrets or network, and with limits",
    "9.3": "its tools are listed in that process too",
    "9.4": "its parameters are filled and checked like those of a request",
    "9.5": "runs of it share nothing, least of all our interpreter",
    "10.1": "an error leads to `on_error`, once, and never back",
    "10.2": "if that fails too, the run ends with words of ours",
    "10.3": "what may be tried again is, within bounds; what has effects only if the author says so",
    "10.4": "without `on_error` a model explains",
    "10.5": "what is dangerous is shown and waits: allow, edit or deny",
    "10.6": "a cancelled run ends without `on_error`",
    "11.1": "every step is recorded before the next begins",
    "11.2": "after a restart a flow goes on; what may have had an effect is not repeated unasked",
    "11.3": "an open question expires",
    "11.4": "the answer is a model's text, the last result, composed, or none",
    "11.5": "the events of a run come in their order, and can be followed again",
    "11.6": "a run keeps the plugin that it began with",
    "11.7": "nobody sees files or runs of others",
    "11.8": "a dry run shows everything and sends nothing",
    "12.1": "plugins may be none, all, some, or one flow",
    "12.2": "a search narrows many flows, a model picks one of the rest or none",
    "12.3": "only flows that can be run, of plugins that the user may use; the choice is recorded",
    "12.4": "an author's next flows are suggested as questions, three at most",
    "12.5": "without them other flows are found; an empty list suggests none",
}

TRIALS: Mapping[int, tuple[str, tuple[str, ...]]] = {
    1: ("each code has a fault that causes it, at its line", ()),
    2: ("the samples of the original guide", ()),
    3: ("what plugins in the field do", ()),
    4: ("an `on_error` that fails", ()),
    5: ("two runs at once", ()),
    6: (
        "path values that would lead elsewhere",
        (
            "test_R_7_1_path_values_are_encoded_completely",
            "test_R_7_1_what_goes_up_a_folder_or_is_nothing_is_refused",
        ),
    ),
    7: (
        "every spelling of our own network",
        (
            "test_R_7_5_no_spelling_reaches_our_own_network",
            "test_R_7_5_a_name_with_one_private_address_is_refused_as_a_whole",
            "test_R_7_4_R_7_5_a_redirect_leads_nowhere",
        ),
    ),
    8: ("a secret that is looked for everywhere", ("test_R_3_7_the_canary_is_nowhere_to_be_found",)),
    9: (
        "hostile statements in four dialects, and one without end",
        ("test_R_8_5_a_hostile_statement_is_refused", "test_R_8_6_an_endless_query_is_stopped_within_its_limit"),
    ),
    10: ("archives that attack", ()),
    11: ("instructions in an answer", ()),
    12: ("a server that is killed after each step", ()),
    13: ("random templates", ("test_R_7_23_random_braces_never_raise",)),
    14: ("random conditions", ("test_R_7_10_random_conditions_never_raise_and_never_call_host_code",)),
    15: ("the examples' own cases", ()),
}


def page(text: str) -> str:
    tables = {"rules": rules(), "trials": trials()}
    return _TABLE.sub(lambda match: match[1] + tables[match[2]], text)


def rules() -> str:
    found = by_number()
    lines = ["| rule | | shown by |", "|---|---|---|"]
    for number, meaning in RULES.items():
        section, _, place = number.partition(".")
        if place in ("0", "1") and number != "7.1":
            lines.append(f"| | **{SECTIONS[int(section)]}** | |")
        lines.append(f"| R-{number} | {meaning} | {told(found[number])} |")
    return "\n".join(lines) + "\n"


def trials() -> str:
    found, every = by_number(), dict(tests())
    lines = ["| | trial | shown by |", "|---|---|---|"]
    for number, (meaning, names) in TRIALS.items():
        shown = [*found[f"17.{number}"], *(f"{every[name]}::{name}" for name in names)]
        lines.append(f"| {number} | {meaning} | {told(shown)} |")
    return "\n".join(lines) + "\n"


def by_number() -> Mapping[str, list[str]]:
    """The tests of each rule, as `path::name`."""
    found = defaultdict[str, list[str]](list)
    for name, path in tests():
        for section, place in _NUMBER.findall(name):
            found[f"{section}.{place}"].append(f"{path}::{name}")
    return found


def tests() -> Iterator[tuple[str, str]]:
    """Each test's name and its file, in a lasting order."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield node.name, str(path.relative_to(ROOT))


def told(shown: list[str]) -> str:
    """Tests by their files, so that a line does not say a path twice."""
    files = defaultdict[str, list[str]](list)
    for one in shown[:SHOWN]:
        path, _, name = one.partition("::")
        files[path].append(name)
    lines = [f"`{path}`: {', '.join(f'`{name}`' for name in names)}" for path, names in files.items()]
    more = ["and more"] if len(shown) > SHOWN else []
    return "<br>".join([*lines, *more])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
