"""A disk that is full, under a server on SQLite."""

import asyncio
import contextlib
import sqlite3
import uuid
from pathlib import Path

import aiohttp
from fleet import Server, tracebacks
from model import Script
from runs import Run, complete
from stage import Finding, Stage

from scenarios.readiness import recover, watch


def fill(folder: Path) -> Path:
    """Take all that is left, to the last byte."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(b"\0" * size)
    return filler


async def one_run(server: Server, agent: str) -> Run:
    run = Run(Script(uuid.uuid4().hex[:8], 20, 50.0), agent, server)
    async with aiohttp.ClientSession() as session:
        await run.live(session, [server], 15)
    return run


async def full(stage: Stage, found: Finding) -> None:
    """The disk fills under a running server: runs fail with `storage_full`, reads work, /ready 503; space returns: all works, no corruption."""
    disk = stage.small_disk(24)
    server = stage.server(stage.configuration(), disk / "state")
    server.launch()
    await server.ready()
    before = await one_run(server, "plain")
    found.expect(before.ended == "finished", f"a run before: {before.ended}")
    filler = await asyncio.to_thread(fill, disk)
    mark = server.mark()
    codes = []
    for agent in ("plain", "durable", "plain", "durable"):
        codes.append((await one_run(server, agent)).ended or "unended")
    found.figures["codes"] = sorted(set(codes))
    found.expect(all("storage_full" in code for code in codes), f"storage_full expected, came {sorted(set(codes))}")
    status, _ = await server.read(f"/copilotkit/threads/{before.thread}/messages")
    found.expect(status == 200, f"messages of an older thread: {status}, 200 expected")
    async with aiohttp.ClientSession() as session:
        transient = await complete(session, server.url, Script(uuid.uuid4().hex[:8], 5, 50.0))
    found.figures["chat completion"] = transient.error or ("complete" if transient.done else transient.status)
    await watch(found, server, r"full|space|storage|state_dir", 5)
    text = server.text(mark)
    found.figures["tracebacks"] = tracebacks(text)
    found.expect(not tracebacks(text), f"{tracebacks(text)} tracebacks, 0 expected")
    filler.unlink()
    await recover(found, server, 10)
    after = await one_run(server, "durable")
    found.expect(after.ended == "finished", f"a run after space was freed: {after.ended or 'unended'}")
    await server.drain(30)
    check_files(found, disk / "state")


def check_files(found: Finding, folder: Path) -> None:
    for file in folder.glob("*.db"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            result = connection.execute("PRAGMA integrity_check").fetchone()[0]
        found.expect(result == "ok", f"{file.name}: {result}")
    found.figures["databases checked"] = len(list(folder.glob("*.db")))


async def start(stage: Stage, found: Finding) -> None:
    """A start on a full disk ends at once with the folder, the cause and what to do, without a traceback; the same with an existing state."""
    disk = stage.small_disk(24)
    for state in ("new", "old"):
        if state == "old":
            warm = stage.server(stage.configuration(), disk / state)
            warm.launch()
            await warm.ready()
            await one_run(warm, "plain")
            await warm.drain(30)
        filler = await asyncio.to_thread(fill, disk)
        server = stage.server(stage.configuration(), disk / state)
        server.launch()
        code = await server.ended(20)
        text = server.text()
        found.figures[f"{state} folder"] = (
            server.last_line()[:90] if code is not None else f"runs, /ready {await server.get('/ready')}"
        )
        if code is None:
            found.expect(await server.get("/ready") == 503, f"{state} folder: starts on a full disk and says ready")
            server.kill()
        else:
            found.expect(not tracebacks(text), f"{state} folder: a traceback, one line expected")
            found.expect(
                any(word in text.lower() for word in ("full", "space")), f"{state} folder: the cause is not named"
            )
            found.expect(str(disk) in text, f"{state} folder: the folder is not named")
        filler.unlink()


async def filling(stage: Stage, found: Finding) -> None:
    """The disk fills while 12 runs stream: each ends with `storage_full` or completes; none hangs longer than 20 s; the next start works."""
    disk = stage.small_disk(24)
    server = stage.server(stage.configuration(), disk / "state")
    server.launch()
    await server.ready()
    crowd = stage.people([server])
    await crowd.start(12, 60, 10.0, within=40)
    filler = await asyncio.to_thread(fill, disk)
    await asyncio.sleep(8)
    await asyncio.wait(crowd.tasks, timeout=25)
    counts = crowd.count()
    found.figures |= {"complete": counts["complete"], "ended with": crowd.codes()}
    found.expect(not counts["unended"], f"{counts['unended']} of 12 runs never ended")
    strange = {code for code in crowd.codes() if "storage_full" not in code and code != "unended"}
    found.expect(not strange, f"storage_full expected, came {sorted(strange)}")
    filler.unlink()
    server.kill()
    again = stage.server(stage.configuration(), disk / "state")
    again.launch()
    await again.ready()
    after = await one_run(again, "durable")
    found.expect(after.ended == "finished", f"a run after the next start: {after.ended or 'unended'}")
    await again.drain(30)
    check_files(found, disk / "state")


SCENARIOS = {"disk-full": full, "disk-full-start": start, "disk-filling": filling}
