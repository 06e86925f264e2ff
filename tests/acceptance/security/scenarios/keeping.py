"""What is kept, who can read it, what is told, and what is left when it is deleted."""

import base64
import os
import stat
import time
from pathlib import Path

from fakes import call, pieces, refusal, say
from judging import SLACK, all_of, check, scenario
from stage import SECRETS, Server, Stage, dump_redis, unique, until


def files(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


def modes(folder: Path) -> list[str]:
    wrong = []
    for path in [folder, *files(folder)]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077 and path.name != ".gitignore":
            wrong.append(f"{path.relative_to(folder.parent) if path == folder else path.relative_to(folder)} has the mode {mode:04o}")
    return wrong


def use(stage: Stage, server: Server) -> None:
    """So that everything that is kept is there: threads, a durable run, a question, pins, a file, feedback."""
    server.run("plain", "private words")
    server.run("lasting", "private words")
    server.run("banker", "pay " + stage.says(lambda asked: call("pay", {"to": unique()})))
    server.run("filer", "make a file")
    server.query("hello")
    server.post("/openbb/v1/feedback", {"rating": "good"}, key="alice")
    server.run("sql-lite", "how many " + stage.says(lambda asked: say('{"sql": "SELECT id FROM orders", "explanation": "x"}')))


@scenario("modes-of-an-existing-folder", alone=True)
def existing_folder(stage: Stage) -> None:
    """Where the state folder was there before with the mode 0755: no file and no folder in it that the server made is readable by group or others (0600, 0700), under the umask 022."""
    folder = stage.folder / unique("state-open")
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    before = os.umask(0o022)
    try:
        with stage.fresh("modes", state=folder) as server:
            use(stage, server)
            all_of([one for one in modes(folder) if not one.startswith(folder.name)])
    finally:
        os.umask(before)


@scenario("modes-of-a-new-folder", alone=True)
def new_folder(stage: Stage) -> None:
    """Where the server makes the folder itself: it is 0700, and what is in it 0600 and 0700, under the umask 0."""
    folder = stage.folder / unique("state-new")
    before = os.umask(0)
    try:
        with stage.fresh("modes", state=folder) as server:
            use(stage, server)
            all_of(modes(folder))
    finally:
        os.umask(before)


# ---- secrets ---------------------------------------------------------------------------------------------------------


def search(server: Server, told: dict[str, str], names: tuple[str, ...]) -> list[str]:
    """Where one of the secrets is, of what was told, the log, and the files of the state folder."""
    places = {**told, "the log": server.logs()}
    for path in files(server.state):
        if path.is_file():
            places[f"the file {path.name}"] = path.read_bytes().decode("latin-1")
    return [f"{name} is in {place}" for name in names for place, text in places.items() if SECRETS[name] in text]


def echoing(stage: Stage, kind: str) -> str:
    def script(asked):
        lines = asked.heads.decode("latin-1").split("\r\n")
        lines.sort(key=lambda line: not any(secret in line for secret in SECRETS.values()))  # a long text is cut off
        heads = " | ".join(lines)
        whole = f"bad key: {heads} {asked.text}"
        if kind == "refusal":
            return refusal(401, whole)
        if kind == "failure":
            return refusal(500, whole)
        if kind == "stream":
            return [b'data: {"error": {"message": "' + heads.replace('"', "'").encode() + b'"}}\n\n']
        return [b"data: {" + heads.encode() + asked.text.encode() + b"\n\n"]

    return stage.says(script)


def told(stage: Stage, server: Server) -> dict[str, str]:
    found = {}
    for kind in ("refusal", "failure", "stream", "broken"):
        found[f"AG-UI, {kind}"] = server.run("plain", f"hi {echoing(stage, kind)}")[2]
        found[f"OpenAI, {kind}"] = server.chat("plain", f"hi {echoing(stage, kind)}")[2]
        found[f"OpenBB, {kind}"] = server.query(f"hi {echoing(stage, kind)}")[2]
    return found


@scenario("secrets-a-model-repeats")
def model_key(stage: Stage) -> None:
    """The key and the header of a model, repeated by its server in refusals, failures, streams and broken lines, are in no answer, not in the log, and in no file."""
    server = stage.shared()
    all_of(search(server, told(stage, server), ("RS_SECRET_MODEL", "RS_SECRET_HEADER")))


@scenario("secrets-in-extra-fields")
def extra_fields(stage: Stage) -> None:
    """Nor is a secret that the operator put into the extra fields of requests to the model."""
    server = stage.shared()
    all_of(search(server, told(stage, server), ("RS_SECRET_EXTRA",)))


@scenario("secrets-an-mcp-server-repeats")
def mcp_header(stage: Stage) -> None:
    """Nor is the header of an MCP server that repeats its request's headers in an error."""
    server = stage.shared()
    stage.away_mcp.is_echoing = True
    try:
        text = server.run("away", "hello")[2]
        check(any(SECRETS["RS_SECRET_MCP"] in str(heads) for _, _, heads, _ in stage.away_mcp.hits), "the MCP server gets its header")
        all_of(search(server, {"AG-UI": text}, ("RS_SECRET_MCP",)))
    finally:
        stage.away_mcp.is_echoing = False


@scenario("secrets-words-of-the-prompt")
def prompt_words(stage: Stage) -> None:
    """What a person asked is not in the log at its default level, also where a model's server repeats it in an error."""
    server, word = stage.shared(), unique("PERSONAL-WORD")
    for kind in ("refusal", "failure", "broken"):
        server.run("plain", f"{word} {echoing(stage, kind)}")
    check(word not in server.logs(), "a word of the question is in the log")


# ---- erasure ---------------------------------------------------------------------------------------------------------


def spellings(word: str) -> list[bytes]:
    """As it is, in UTF-16, in hexadecimal, and in base64 at each of the three places where it can begin."""
    plain = word.encode()
    shifted = [base64.b64encode(b"x" * shift + plain)[(shift * 8 + 5) // 6 : -4].rstrip(b"=") for shift in range(3)]
    return [plain, word.encode("utf-16-le"), plain.hex().encode(), *(one[1:-2] for one in shifted)]


def left(content: bytes, words: list[str]) -> list[str]:
    return [word for word in words if any(one in content for one in spellings(word))]


def talk(stage: Stage, server: Server, agent: str) -> tuple[str, list[str]]:
    """A thread with a question, an answer of several pieces, a call and its arguments, the name of the thread, and a state."""
    marks = {name: unique(f"ERASE{name}").replace("-", "") + "q7Xz" for name in ("Question", "Answer", "Argument", "State", "Name")}

    def script(asked):
        if asked.is_after_a_tool:
            return say(f"It is {marks['Answer']} indeed")
        return [*pieces(f"I will pay {marks['Answer']}. "), *call("pay", {"to": marks["Argument"]})]

    thread = unique("erase")
    question = server.ask_for(agent, f"{marks['Question']} {stage.says(script)}", thread)
    server.decide(question["id"], {"status": "resolved", "payload": {"approved": True}})
    until(lambda: marks["Answer"] in server.get(f"/copilotkit/threads/{thread}/messages", key="alice")[2].rpartition('"role":"tool"')[2], 5)
    server.run("plain" if agent == "banker" else agent, "and then?", thread, state={"s": marks["State"]})
    server.request("PATCH", f"/copilotkit/threads/{thread}", {"name": marks["Name"]}, key="alice")
    return thread, list(marks.values())


def erased(stage: Stage, server: Server, agent: str, read_all) -> None:
    """Within 5 s of the DELETE, and after the server was stopped in good order, nothing of it is left."""
    thread, words = talk(stage, server, agent)
    before = [place for place, content in read_all() if left(content, words)]
    check(before, "before it is deleted the conversation is kept somewhere (else this scenario is blind)")
    status = server.request("DELETE", f"/copilotkit/threads/{thread}", key="alice")[0]
    check(status == 200, f"DELETE gives 200 ({status})")
    shown = server.get(f"/copilotkit/threads/{thread}/messages", key="alice")[2] + server.get("/copilotkit/threads?includeArchived=true", key="alice")[2]
    check(not left(shown.encode(), words), "the thread is gone for its owner")

    def rest() -> list[str]:
        return [f"{place} has {', '.join(sorted({word[:13] for word in found}))}" for place, content in read_all() if (found := left(content, words))]

    end = time.monotonic() + 5 * SLACK
    while rest() and time.monotonic() < end:
        time.sleep(0.25)
    all_of(rest())


def in_folder(folder: Path):
    return lambda: [(path.name, path.read_bytes()) for path in files(folder) if path.is_file()]


@scenario("erasure")
def erasure(stage: Stage) -> None:
    """DELETE of a thread: within 5 s no byte of question, answer, arguments, state or name is in any file of the state folder, the database's free pages and journals included."""
    server = stage.shared()
    erased(stage, server, "banker", in_folder(server.state))


@scenario("erasure-of-a-durable-run")
def erasure_durable(stage: Stage) -> None:
    """The same for a durable agent, whose finished steps are kept too."""
    server = stage.shared()
    erased(stage, server, "lasting", in_folder(server.state))


@scenario("erasure-on-a-fleet")
def erasure_fleet(stage: Stage) -> None:
    """The same for a durable agent with PostgreSQL and Redis: nothing that can be read from any table or key, nor from a file of the state folder, has it."""
    server = stage.shared("fleet")
    database = server.environment["RS_DATABASE_URL"].rpartition("/")[2]

    def everywhere():
        rows = stage.postgres().dump(database).encode()
        tables, name = [], "?"
        for line in rows.splitlines():
            if line.startswith(b"COPY "):
                name = line.split()[1].decode()
            tables.append((f"the table {name}", line))
        return [*in_folder(server.state)(), ("Redis", dump_redis(stage.redis().port)), *tables]

    erased(stage, server, "lasting", everywhere)
