"""A pinned case copies a person's words into a file: redacted, with consent, and found again when they are to be forgotten."""

import json

from fakes import tell
from judging import World, check, command, equal, outcomes, pin, run, scenario

MAIL, CARD = "kim.lee@example.com", "4111 1111 1111 1111"


@scenario
def redacts(world: World) -> None:
    """personal data in the question, arguments, results and answer is replaced before anything is written"""
    project = world.served()
    _, id = project.ask(tell(f"Mail {MAIL} about card {CARD}", calls=[[["send_mail", {"to": MAIL, "text": "hi"}]]], say=f"Sent to {MAIL}."))
    found = pin(project, id, "mail")
    for folder in (project.folder / "evals",):
        for path in folder.rglob("*"):
            if path.is_file():
                check(MAIL.encode() not in path.read_bytes() and CARD.encode() not in path.read_bytes(), f"personal data in {path.name}")
    check("mail" in json.dumps(found["recorded"]) and found["recorded"][0]["arguments"]["to"] != MAIL, "the argument was not replaced")
    done = command(project, "pin", id, "--into", "again", "--name", "x")
    check("2" in done.out + done.err and "redact" in (done.out + done.err).lower(), f"the command does not say what it redacted: {done.out[:200]!r}")


@scenario
def redacts_consistently(world: World) -> None:
    """the same value has the same placeholder everywhere, so that the case can be replayed and passes"""
    project = world.served()
    _, id = project.ask(tell(f"Mail {MAIL}", calls=[[["send_mail", {"to": MAIL, "text": "hi"}]]], say=f"Sent to {MAIL}."))
    found = pin(project, id, "mail")
    placeholder = found["recorded"][0]["arguments"]["to"]
    check(placeholder in json.dumps(found["ask"]), f"the placeholder {placeholder!r} is not in the question")
    project.fakes.forget()
    equal(outcomes(run(project, found["dataset"])), {"mail": "passed"}, "the redacted case, replayed")
    check(MAIL not in json.dumps([request.body for request in project.fakes.requests]), "the model got the address")


@scenario
def redacts_by_guards(world: World) -> None:
    """what the configuration's own guards deny is redacted as well, and what is like a secret"""
    guards = [{"type": "patterns", "phrases": ["project nightjar"], "applies_to": ["answer"]}]
    project = world.served("guards", guards=guards)
    _, id = project.ask(tell("About project nightjar, key sk-abcdefghijklmnopqrstuvwxyz0123456789", say="Yes."))
    found = pin(project, id, "phrase")
    check("project nightjar" not in found["text"], "a phrase that a guard denies is in the file")
    check("sk-abcdefghijklmnopqrstuvwxyz" not in found["text"], "a key is in the file")


@scenario
def keep_personal_data(world: World) -> None:
    """`--keep-personal-data` keeps it, and the file says who decided that"""
    project = world.served()
    _, id = project.ask(tell(f"Mail {MAIL}", say="ok"))
    found = pin(project, id, "kept", "--keep-personal-data", "--consent", "Kim agreed on the phone, 2026-11-02")
    check(MAIL in found["text"], "it was redacted")
    equal(found["source"].get("consent"), "Kim agreed on the phone, 2026-11-02", "source.consent")
    equal(found["source"].get("redacted"), False, "source.redacted")


@scenario
def consent_required(world: World) -> None:
    """with `evals.consent: required` a run is pinned only with a reason"""
    project = world.served("consent", evals={"consent": "required"})
    _, id = project.ask(tell("Hello", say="ok"))
    done = command(project, "pin", id, "--into", "no", codes=(1,))
    check("consent" in done.err.lower() and not (project.folder / "evals" / "no.yaml").exists(), f"pinned without consent: {done.err[:150]!r}")
    equal(pin(project, id, "yes", "--consent", "a test account")["source"].get("consent"), "a test account", "source.consent")


@scenario
def user_not_named(world: World) -> None:
    """the file does not have the user's id; two cases of one user cannot be linked by it"""
    project = world.served()
    _, first = project.ask(tell("One", say="ok"), user="bob")
    _, second = project.ask(tell("Two", say="ok"), user="bob")
    one, two = (pin(project, id, "c") for id in (first, second))
    check("bob" not in one["text"] and "bob" not in two["text"], "the user's id is in the file")
    check(one["source"].get("user") and one["source"].get("user") != two["source"].get("user"), f"source.user: {one['source'].get('user')}, {two['source'].get('user')}")


@scenario
def forget_lists(world: World) -> None:
    """`users forget` lists the pinned cases of the user, by file and name, and no others; `--cases` removes them"""
    project = world.project()
    project.serve()
    _, mine = project.ask(tell("Mine", say="ok"), user="bob")
    _, other = project.ask(tell("Other", say="ok"), user="alice")
    pin(project, mine, "of-bob", into="both")
    pin(project, other, "of-alice", into="both")
    done = project.cli("users", "forget", "bob", "--yes")
    check(done.code == 0 and "both" in done.out and "of-bob" in done.out, f"the case is not listed: {done}")
    check("of-alice" not in done.out, "another user's case is listed")
    done = project.cli("users", "forget", "bob", "--yes", "--cases")
    check(done.code == 0, f"`users forget --cases`: {done}")
    equal([item["name"] for item in project.read("both")["cases"]], ["of-alice"], "cases that are left")


@scenario
def forget_results(world: World) -> None:
    """results and the cache of a removed case are gone, too: no byte of its question is left in the state folder"""
    project = world.project()
    project.serve()
    _, id = project.ask(tell("The zebra crossing question", say="A heron answer."), user="bob")
    found = pin(project, id, "zebra")
    run(project, found["dataset"])
    project.cli("users", "forget", "bob", "--yes", "--cases")
    project.stop()
    left = [str(path.relative_to(project.folder)) for path in project.folder.rglob("*") if path.is_file() and any(word in path.read_bytes() for word in (b"zebra crossing", b"heron answer"))]
    equal(left, [], "files that still have the words")
