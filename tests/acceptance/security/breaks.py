"""Shows that scenarios can fail: builds rightseat with one line broken, and runs the scenarios that must notice.

    python -m tests.acceptance.security.breaks [NAME …] [--list]

A break replaces a text of one file by another one, in a copy of `src`. Each scenario of a break has to fail; the exit
status is 1 if one passes, or if the text is not in the file exactly once, so that a break cannot rot unnoticed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
SUITES = Path(__file__).resolve().parents[1]
MAX_S = 900


class Break(NamedTuple):
    about: str
    file: str
    old: str
    new: str
    scenarios: Sequence[str]
    suite: str = "security"


BREAKS = {
    "cut-is-free": Break(
        "an answer that breaks off counts nothing",
        "limits/model_charge.py",
        "        if not self._has_content and self.has_failed and self._usage is None:",
        "        if not self.is_complete and self._usage is None:",
        (
            *("budget-of-cut-chats", "budget-of-cut-responses", "budget-of-cut-queries", "budget-of-cut-mutations"),
            *("budget-of-stopped-runs", "budget-of-stopped-chats", "budget-of-streams-at-once", "budget-and-fallback"),
        ),
    ),
    "early-usage-is-final": Break(
        "usage that is reported before the end is taken for that of the whole answer",
        "limits/model_charge.py",
        "        if self._usage is not None and self.is_complete:",
        "        if self._usage is not None:",
        ("budget-of-early-usage",),
    ),
    "nothing-is-reserved": Break(
        "a call reserves nothing, so calls at once do not know of each other",
        "limits/kinds.py",
        "of_ask=0, of_call=lambda counts: counts.tokens)",
        "of_ask=0, of_call=lambda counts: 0)",
        ("budget-over-workers", "budget-of-background-responses"),
    ),
    "sub-agents-are-free": Break(
        "calls of an agent that another one has called are not counted",
        "limits/meter.py",
        "        charges = self._charges(source, call, model if purpose in ANSWER_PURPOSES else None)",
        "        charges = [] if agent is not None else self._charges(source, call, None)",
        ("budget-and-sub-agents",),
    ),
    "every-answer-first": Break(
        "an answer to a question goes first, whether or not the question is open",
        "core/runtime.py",
        "await self._find_continued(ask))",
        "ask.run_id if ask.answers else '')",
        ("answer-that-jumps-the-queue",),
    ),
    "revoked-chats-go-on": Break(
        "runs of a revoked key are never cancelled",
        "app/authentication.py",
        'cancels_runs=access.revoked_runs == "cancel"',
        "cancels_runs=False",
        ("revoked-key-cancels-its-chats", "revoked-on-two-servers"),
    ),
    "revoked-chats-end": Break(
        "runs of a revoked key are cancelled, whatever the operator has configured",
        "app/authentication.py",
        'cancels_runs=access.revoked_runs == "cancel"',
        "cancels_runs=True",
        ("revoked-key-lets-its-chats-finish",),
    ),
    "sign-out-stays-here": Break(
        "other servers do not hear of a session that has signed out",
        "access/ended_sessions.py",
        "        for session in await self._store.find(max(0, self._last_number - MAX_LATE_COMMITS)):",
        "        for session in ():",
        ("signed-out-on-two-servers",),
    ),
    "secrets-are-unknown": Break(
        "no secret is redacted, neither in texts nor in what an API returns",
        "egress/redaction.py",
        "        self._forms = tuple(sorted(every, key=len, reverse=True))",
        "        self._forms = ()",
        ("secrets-in-what-is-kept", "secrets-a-model-repeats", "secrets-an-mcp-server-repeats"),
    ),
    "secrets-go-anywhere": Break(
        "the host of a plugin's request is not compared with what its secret is bound to",
        "egress/secrets.py",
        "        if not self.is_bound(use) and self.recorded.isdisjoint(known):",
        "        if not known:",
        ("secret-of-a-plugin-whose-host-changes", "author-and-secrets-of-others"),
    ),
    "redirects-are-followed": Break(
        "the client of identity providers follows redirects",
        "access/sign_in/provider_client.py",
        "                async for piece in response:\n",
        "                if response.status == 307:\n"
        "                    import http.client as h; place = response.headers['location'].split('/', 3)\n"
        "                    h.HTTPConnection(place[2]).request('GET', '/' + place[3])\n"
        "                async for piece in response:\n",
        ("redirects-of-configured-servers",),
    ),
    "any-host": Break(
        "the name of the server in a request is not checked",
        "access/hosts.py",
        "        if not is_known and not is_test_client(scope, host):",
        "        if False:",
        ("local-rebinding",),
    ),
    "any-origin": Break(
        "a page of another origin may send what needs no preflight",
        "app/application.py",
        "        if origin is None or is_same_origin(origin, scope) or cors.is_allowed_origin(origin):",
        "        if True:",
        ("local-requests-without-preflight",),
    ),
    "any-site": Break(
        "the operator API does not ask which page sends a request",
        "faces/operator/requests.py",
        "    if site not in SAME_ORIGIN or (site is None and is_foreign):",
        "    if False:",
        ("local-gets-of-a-page",),
    ),
    "endless-requests": Break(
        "a request may take as long as its client likes",
        "cli/http_protocol.py",
        "        elif now - since >= self._read_timeout and not connection.transport.is_closing():",
        "        elif False:",
        ("slow-clients-of-the-newer-faces",),
    ),
    "keys-take-time": Break(
        "a key with a known prefix is compared twice as slowly",
        "access/keys.py",
        "        matching = [key for key in known",
        "        known is NO_KEYS or __import__('time').sleep(0.002)\n        matching = [key for key in known",
        ("key-timing",),
    ),
    "any-token": Break(
        "a JWT may be of any type",
        "access/tokens.py",
        "not in TOKEN_TYPES:",
        "in ():",
        ("jwt-confusion",),
    ),
    "raw-log": Break(
        "line breaks of a message stay in the log",
        "telemetry/logs.py",
        '.translate(PLAIN_ESCAPES).replace("\\n", INDENT)',
        '.replace("\\\\n", "\\n")',
        ("log-injection",),
    ),
    "entries-are-pickles": Break(
        "what cannot be decoded as JSON is tried as a pickle",
        "core/stream/codec.py",
        "    except (msgspec.DecodeError, UnicodeDecodeError):\n        return _decode_each(data)",
        "    except (msgspec.DecodeError, UnicodeDecodeError):\n        return __import__('pickle').loads(data)",
        ("entries-of-a-stranger-in-redis",),
    ),
    "bodies-by-bytes": Break(
        "a body is bounded by its bytes alone",
        "faces/_shared/responses.py",
        "    if containers > MAX_CONTAINERS:\n        raise JsonTooLarge",
        "    if False:\n        raise JsonTooLarge",
        ("bodies-that-cost-more-than-they-weigh",),
    ),
    "bodies-by-containers": Break(
        "the texts, numbers and keys of a body are not bounded",
        "faces/_shared/responses.py",
        "    if values > MAX_VALUES:\n        raise JsonTooLarge",
        "    if False:\n        raise JsonTooLarge",
        ("bodies-that-cost-more-than-they-weigh",),
    ),
    "owner-of-a-pipe": Break(
        "plugins' code may use every command of fcntl",
        "plugins/sandbox/worker/seccomp.py",
        "FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36,",
        "FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 36,",
        ("lib-held-again",),
    ),
    "results-by-bytes": Break(
        "what a tool says is bounded by its bytes alone",
        "plugins/sandbox/process.py",
        "MAX_VALUES = 30_000",
        "MAX_VALUES = 10**9",
        ("lib-hostile-results",),
    ),
    "schemas-without-bound": Break(
        "the steps of a validation are not counted before it begins",
        "json_schema/cost.py",
        "        visits, waiting, known = 0, [(self._root, value)], self._applied\n",
        "        return 0\n        visits, waiting, known = 0, [(self._root, value)], self._applied\n",
        ("lib-costly-parameters",),
    ),
    "any-version": Break(
        "tables of an unknown version are used",
        "stores/migrations/__init__.py",
        "    if before is not None and before not in list_versions():",
        "    if False:",
        ("old-tables-with-hostile-rows",),
    ),
    "pages-run-scripts": Break(
        "an HTML file that a run has made may run scripts",
        "faces/_shared/files.py",
        "\"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'\"",
        "\"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\"",
        ("html-file",),
        "console",
    ),
    "inline-scripts": Break(
        "the policy of the console allows scripts in the page",
        "faces/console.py",
        "\"script-src 'self'\",",
        "\"script-src 'self' 'unsafe-inline'\",",
        ("hostile-files", "hostile-names"),
        "console",
    ),
    "console-in-frames": Break(
        "any page may show the console in a frame",
        "faces/console.py",
        "\"frame-ancestors 'none'\",",
        '"frame-ancestors *",',
        ("foreign-page",),
        "console",
    ),
    "watchers-read": Break(
        "an operator who may only watch receives the words of a run",
        "operations/visible_threads.py",
        "        has_words = is_visible(thread, Principal(row.user, operator.rights.read))",
        "        has_words = True",
        ("watcher-sees-no-words",),
        "console",
    ),
    "votes-pile-up": Break(
        "a vote is a row of its own instead of replacing the one on the same answer",
        "stores/feedback.py",
        '"answer_key": answer.key,',
        '"answer_key": new_id("answer"),',
        ("feedback-copilotkit", "feedback-openbb", "feedback-at-once", "feedback-flood"),
        suite="feedback",
    ),
    "votes-on-any-answer": Break(
        "users judge the answers of others",
        "stores/feedback.py",
        "by_run = ANSWERS.where(runs.c.id == id, runs.c.owner == owner)",
        "by_run = ANSWERS.where(runs.c.id == id)",
        ("feedback-other-user",),
        suite="feedback",
    ),
    "comments-without-bound": Break(
        "a comment may have any length",
        "operations/feedback.py",
        "if comment and len(comment) > MAX_COMMENT_CHARS:",
        "if False:",
        ("feedback-hostile",),
        suite="feedback",
    ),
    "tags-without-bound": Break(
        "a vote may have any number of tags",
        "operations/feedback.py",
        "if len(sent.tags) > MAX_TAGS:",
        "if False:",
        ("feedback-hostile",),
        suite="feedback",
    ),
    "watchers-read-comments": Break(
        "comments are listed without the right to read",
        "operations/service.py",
        "reader = make_reader(operator, query.owner, query.agent, is_search=True)",
        "reader = make_reader(operator, query.owner, query.agent)",
        ("feedback-counts",),
        suite="feedback",
    ),
}


def apply(one: Break, source: Path) -> None:
    file = source / "rightseat" / one.file
    if (found := count_places(one, source)) != 1:
        raise SystemExit(f"{one.file} has the text of a break {found} times: {one.old!r}")
    file.write_text(file.read_text().replace(one.old, one.new))


def count_places(one: Break, source: Path) -> int:
    """How often the file has the text; a break needs it once."""
    return (source / "rightseat" / one.file).read_text().count(one.old)


def describe(one: Break) -> str:
    names = ", ".join(f"`{name}`" for name in one.scenarios)
    return f"| {one.about} | {names}{'' if one.suite == 'security' else f' of the suite {one.suite}'} |"


def judge(name: str, one: Break) -> list[str]:
    """The scenarios that passed all the same."""
    with tempfile.TemporaryDirectory() as folder:
        source, found = Path(folder) / "src", Path(folder) / "found.json"
        Path(folder).chmod(0o755)
        shutil.copytree(ROOT / "src", source)
        apply(one, source)
        command = [str(SUITES / one.suite / "run"), "--slack", "2", "--json", str(found), *one.scenarios]
        environment = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=MAX_S, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
        say(f"{name}: {one.about}", *(f"  {line[:240]}" for line in lines))
        return [scenario for scenario in one.scenarios if read_outcomes(found).get(scenario) != "FAIL"]


def read_outcomes(file: Path) -> dict[str, str]:
    """The suites in Python and those in Node name the fields of a result differently."""
    written = json.loads(file.read_text())
    if "scenarios" in written:
        return {row["name"]: row["outcome"] for row in written["scenarios"]}
    return {row["name"]: row["status"] for row in written["results"]}


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.security.breaks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BREAKS))
    parser.add_argument("--list", action="store_true", help="print the table for README.md")
    asked = parser.parse_args()
    if unknown := set(asked.names) - BREAKS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if asked.list:
        say(*map(describe, BREAKS.values()))
        return 0
    unnoticed = {name: judge(name, BREAKS[name]) for name in asked.names or BREAKS}
    missed = [f"{name}: {', '.join(scenarios)}" for name, scenarios in unnoticed.items() if scenarios]
    say(f"{len(unnoticed) - len(missed)} breaks noticed, {len(missed)} not", *missed)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
