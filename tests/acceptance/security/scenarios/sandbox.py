"""What a plugin's code can do beyond its own folder. It is run as the server runs it, by the agent `probe`."""

import json
import os
import random
import shutil
import stat
import time
from pathlib import Path

from judging import SLACK, Failed, all_of, check, scenario, short
from stage import Server, Stage, end_all, family, lives, unique


def probe(server: Server, *attempts: str, agent: str = "probe", timeout: float = 45, **more: object) -> dict[str, str]:
    """What came of each attempt."""
    text = server.run(agent, "try " + json.dumps({"try": attempts, **more}), timeout=timeout)[2]
    plain = text.replace('\\\\\\"', "'").replace('\\"', '"')
    inner = plain.partition("PROBE")[2].partition("EBORP")[0]
    try:
        return json.loads(inner)
    except ValueError:
        raise NotRun(f"no tool is run here, so nothing can be judged (as root, try a plain user): {short(text[-300:], 300)}") from None


class NotRun(Failed):
    """The server did not run the tool."""


def done(said: dict[str, str]) -> list[str]:
    return [f"{name}: {short(text, 80)}" for name, text in said.items() if text.startswith("DONE")]


def canary(stage: Stage, server: Server) -> Path:
    """A file of the server's own user that only they may read."""
    folder = stage.folder / "canaries"
    folder.mkdir(exist_ok=True)
    path = folder / unique("secrets")
    path.write_text('{"A": "canary-value"}')
    path.chmod(0o600)
    if os.geteuid() == 0:
        owner = os.stat(f"/proc/{server.main}")
        os.chown(path, owner.st_uid, owner.st_gid)
    os.utime(path, (10**9, 10**9))
    return path


@scenario("lib-signals")
def signals(stage: Stage) -> None:
    """kill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo and pidfd_open towards the server are refused (with the null signal)."""
    said = probe(stage.shared(), "kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd")
    all_of(done(said))


@scenario("lib-modes")
def modes(stage: Stage) -> None:
    """chmod (by path, descriptor and fchmodat2), chown, utime and setxattr on a 0600 file outside are refused, and the file is as it was."""
    server = stage.shared()
    file = canary(stage, server)
    said = probe(server, "chmod", "chmod by descriptor", "fchmodat2", "chown", "utime", "setxattr", file=str(file))
    facts, wrong = file.stat(), done(said)
    if stat.S_IMODE(facts.st_mode) != 0o600:
        wrong.append(f"the file has the mode {stat.S_IMODE(facts.st_mode):04o}")
    if facts.st_mtime != 10**9:
        wrong.append("the file has another time")
    if os.listxattr(file):
        wrong.append("the file has an attribute")
    all_of(wrong)


@scenario("lib-shared-memory")
def shared_memory(stage: Stage) -> None:
    """System V shared memory and message queues, keys of the kernel and secret memory are refused, and no segment outlives the call."""
    key = random.randint(0x52000000, 0x52FFFFFF)
    said = probe(stage.shared(), "shared memory", "message queue", "add_key", "memfd_secret", key=key)
    wrong = done(said)
    for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        fields = row.split()
        if int(fields[0]) == key:
            wrong.append(f"a segment of {int(fields[3]) >> 20} MB is left")
            remove_segment(int(fields[1]))
    all_of(wrong)


def remove_segment(id: int) -> None:
    import ctypes

    ctypes.CDLL(None).shmctl(id, 0, None)


@scenario("lib-scheduling")
def scheduling(stage: Stage) -> None:
    """prlimit, setpriority and sched_setaffinity towards the server are refused. (Was broken where the server is not root.)"""
    all_of(done(probe(stage.shared(), "prlimit", "setpriority", "sched_setaffinity")))


@scenario("lib-never-root")
def never_root(stage: Stage) -> None:
    """A tool never runs as uid 0, whatever user the server is and whoever may read its Python (where it cannot be another user, it is not run); its environment is empty of the server's."""
    try:
        said = probe(stage.shared(), "who")["who"]
    except NotRun as refused:
        check(os.geteuid() == 0 and "tool_failed" in str(refused), str(refused))
        return
    check("uid 0 " not in said and " 0 environment" not in said, f"the tool runs as {said}")
    check("RS_" not in said and "HOME" not in said, f"the tool sees {said}")


@scenario("lib-disk")
def disk(stage: Stage) -> None:
    """A tool cannot write 240 MB in 16 files: its folder has a limit of at most 100 MB, and is gone after the call."""
    said = probe(stage.shared(), "fill the disk")
    left = sum(path.stat().st_size for path in (stage.folder / "tmp").rglob("*") if path.is_file() and path.name.startswith("f"))
    check(left < 1 << 20, f"{left >> 20} MB are left in the temporary folder")
    all_of(done(said))


@scenario("lib-held")
def held(stage: Stage) -> None:
    """Reading, writing, linking and removing a file outside, the server's environment, memory and descriptors, the machine's files, sockets, fork, exec, ptrace, io_uring and 2 GB of memory are refused."""
    server = stage.shared()
    file = canary(stage, server)
    attempts = (
        "truncate", "unlink", "link", "rename", "append", "read", "read by link", "environment of the server", "memory of the server", "descriptors of the server", "ptrace",
        "process_vm_readv", "passwd", "list /", "list the temporary folder", "socket", "unix socket", "fork", "exec", "io_uring", "open_tree", "2 GB of memory", "higher limits",
    )  # fmt: skip
    said = probe(server, *attempts, file=str(file))
    wrong = done(said)
    if not file.exists() or file.read_text() != '{"A": "canary-value"}':
        wrong.append("the file outside is not as it was")
    missing = set(attempts) - set(said)
    all_of(wrong + [f"nothing was said of {name}" for name in missing])


@scenario("lib-unallowed-code")
def unallowed(stage: Stage) -> None:
    """Code whose digest the operator has not allowed is not run."""
    text = stage.shared().run("stranger", "go")[2]
    check("STRANGER-RAN" not in text, "code that nobody has allowed was run")


@scenario("lib-changed-code", alone=True)
def changed(stage: Stage) -> None:
    """Code that was changed after it was allowed is not run, neither by the running server nor by one that is started later: the digest no longer fits."""
    folder, state = stage.folder / unique("plugins"), stage.folder / unique("state")
    (folder / "x").mkdir(parents=True)
    shutil.copytree(stage.folder / "plugins", folder / "plugins")
    state.mkdir(mode=0o700)
    changed_file = folder / "plugins" / "probe" / "lib" / "__init__.py"
    more = {"RS_PLUGINS_DIR": str(folder / "plugins")}
    with stage.fresh("changed", state=state, **more) as server:
        check(probe(server, "harmless")["harmless"].startswith("DONE"), "the allowed code runs")
        changed_file.write_text(changed_file.read_text().replace("nothing tried", "CHANGED-CODE-RAN"))
        time.sleep(0.5)
        text = server.run("probe", 'try {"try": ["harmless"]}')[2]
        check("CHANGED-CODE-RAN" not in text, "the running server ran code that was changed after it was allowed")
    with stage.fresh("changed", state=state, **more) as server:
        text = server.run("probe", 'try {"try": ["harmless"]}')[2]
        check("CHANGED-CODE-RAN" not in text, "a server that was started later ran code that was changed after it was allowed")


@scenario("lib-dies-with-its-server", alone=True, spare="main")
def dies(stage: Stage) -> None:
    """When the server is killed (SIGKILL to its own process alone), the process of a tool that is under way is gone within 3 s."""
    import threading

    with stage.spare("main") as server:
        threading.Thread(target=lambda: quiet(server), daemon=True).start()
        end = time.monotonic() + 10 * SLACK
        before = set(family(server.main))
        children: set[int] = set()
        while time.monotonic() < end and not children:
            time.sleep(0.2)
            children = {pid for pid in set(family(server.main)) - before if started(pid)}
        check(children, "the tool has a process of its own")
        time.sleep(1)
        children = {pid for pid in set(family(server.main)) - before if lives(pid)}
        os.kill(server.main, 9)
        end = time.monotonic() + 3 * SLACK
        while time.monotonic() < end and any(map(lives, children)):
            time.sleep(0.1)
        alive = [pid for pid in children if lives(pid)]
        end_all(alive)
        check(not alive, f"{len(alive)} process of the tool was alive 3 s after its server was killed")


def quiet(server: Server) -> None:
    try:
        server.run("probe", 'try {"try": ["sleep"]}', timeout=40)
    except OSError:
        pass
    except Exception:
        pass


def started(pid: int) -> bool:
    try:
        return b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


# ---- once more


@scenario("lib-held-again")
def held_again(stage: Stage) -> None:
    """Some 60 further system calls do not reach the kernel, whatever their arguments; sockets of other families, signals by the owner of a pipe, 2,000 threads, calls of x32, Python's own files, other processes, the kernel's settings and ways out of its folder are refused. The server is not touched."""
    server = stage.shared()
    attempts = (
        "filtered calls", "own signals", "2,000 threads", "calls of x32", "netlink", "packets", "ciphers of the kernel", "virtual machines", "write to its own code", "write to Python", "device",
        "other processes", "settings of the kernel", "way out by a descriptor", "way out by ..",
    )  # fmt: skip
    pid = server.main
    said = probe(server, *attempts)
    check(probe(server, "harmless")["harmless"].startswith("DONE"), "the harmless attempt was refused, so nothing was judged")
    missing = set(attempts) - set(said)
    all_of(done(said) + [f"nothing was said of {name}" for name in missing] + ([] if server.main == pid else ["the server has another process"]))


RESULTS = (
    "lists", "objects", "numbers", "members", "most values", "text", "brackets in text", "11 MB", "deep", "no JSON", "no object", "numbers beyond", "surrogates", "no line", "layers once more", "tools in place of a result",
    "unknown requests", "malformed requests", "read_file of others", "files", "names", "a flood of files",
)  # fmt: skip


@scenario("lib-hostile-results", alone=True)
def hostile_results(stage: Stage) -> None:
    """What the process of a tool says to the server, as a result or in its place: ten megabytes of lists, objects, numbers and members, depth, broken JSON, lines without end, forged messages, requests that it may not make, 140 MB of files. Each ends within 25 s, never as an internal error; /health stays at 250 ms (99th percentile), and the server grows by less than 300 MB."""
    with stage.fresh("results") as server:
        probe(server, "harmless")
        wrong, before, most = [], server.memory(), 0.0
        for name in RESULTS:
            began = time.monotonic()
            try:
                with server.watched():
                    status, _, text = server.run("result", "say " + json.dumps({"result": name}), timeout=30)
            except Failed as slow:
                wrong.append(f"{name}: {slow}")
                continue
            took, most = time.monotonic() - began, max(most, server.memory() - before)
            if status >= 500 or '"internal_error"' in text or took > 25 * SLACK:
                wrong.append(f"{name}: {status} after {took:.1f} s {short(text[-120:], 120)}")
            if "root:x:0" in text:
                wrong.append(f"{name}: shows a file of the machine")
        check(server.run("plain", "are you well?")[0] == 200, "the server still answers")
        if most > 300:
            wrong.append(f"the server has grown by {most:.0f} MB")
        if "Traceback" in server.logs():
            wrong.append(f"a traceback is in the log: {short(server.logs().partition('Traceback')[2], 300)}")
        all_of(wrong)


@scenario("lib-costly-parameters", alone=True)
def costly_parameters(stage: Stage) -> None:
    """A tool whose parameters have alternatives that multiply to 2^40 is refused with the reason within 2 s, and /health stays at 250 ms (99th percentile)."""
    with stage.fresh("costly") as server:
        probe(server, "harmless")
        with server.watched():
            began = time.monotonic()
            status, _, text = server.run("costly", "go", timeout=30)
            took = time.monotonic() - began
        check("RAN" not in text and "multiply" in text, f"expected the reason, but {status} {short(text[-300:], 300)}")
        check(took < 2 * SLACK, f"the refusal took {took:.1f} s")
