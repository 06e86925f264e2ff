"""How many streams a server on one processor carries until a chunk comes too late.

Streams of 20 chunks a second, answers of ten seconds, each followed by the next one on a new connection. The server is alone on its
processor; the model and the clients are a process each on the other.
"""

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from report import show
from servers import Server
from verdict import spread

from tests.acceptance._lib.meter import TICKS, Meter, clock
from tests.acceptance._lib.processes import NotStarted

from world import World

LIMIT_MS = 250.0  # the 99th percentile of the delay from the model's write to the client's read
FIRST_STREAMS = 100
FULL_SHARE = 0.9
LATE_MS = 50.0
REPEATS = 2
LIB = Path(__file__).parent


@dataclass(frozen=True)
class Pace:
    """How the number of streams is raised. `growth` is the smallest step."""

    growth: float = 1.08
    measured_s: float = 4.0


QUICK = Pace(1.15, 2.5)


@dataclass(frozen=True)
class Level:
    """One number of streams, and what was measured at it."""

    streams: int
    p50: float
    p99: float
    server_share: float
    model_share: float
    client_share: float
    model_late: float
    client_pass: float
    chunks_per_read: float
    stolen_share: float
    error: str = ""
    checked: int = 0

    @property
    def is_carried(self) -> bool:
        return self.p99 <= LIMIT_MS and not self.error

    @property
    def is_limited_by_suite(self) -> bool:
        return self.model_share + self.client_share > FULL_SHARE

    @property
    def is_disturbed(self) -> bool:
        """The model or the clients were late although their processor had time: other processes, or other machines, used it."""
        return not self.is_limited_by_suite and max(self.model_late, self.client_pass) > LATE_MS


@dataclass
class Saturation:
    levels: list[Level] = field(default_factory=list)
    reason: str = ""

    @property
    def carried(self) -> Level | None:
        return max((level for level in self.levels if level.is_carried), key=lambda level: level.streams, default=None)

    @property
    def note(self) -> str:
        """What the number of streams does not say."""
        if self.reason or not self.levels:
            return self.reason or "not measured"
        last = self.levels[-1]
        if last.error:
            return f"at {last.streams:,} streams: {last.error}"
        if last.is_limited_by_suite:
            return "limited by the suite: at least"
        late = max(last.model_late, last.client_pass)
        return f"disturbed, says little: at {last.streams:,} streams the suite was {late:.0f} ms late" if last.is_disturbed else ""

    @property
    def streams(self) -> float:
        """Between the last level that was carried and the first that was not, where the delay crosses the limit."""
        carried = self.carried
        if carried is None:
            return 0.0
        beyond = min((level for level in self.levels if level.streams > carried.streams), key=lambda level: level.streams, default=None)
        if beyond is None or beyond.error or beyond.p99 == float("inf"):
            return carried.streams
        return carried.streams + (beyond.streams - carried.streams) * (LIMIT_MS - carried.p99) / (beyond.p99 - carried.p99)


class Load:
    """The model and, for each server, the clients."""

    async def start(self) -> str:
        command = (sys.executable, LIB / "load_model.py")
        self.model = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert self.model.stdout
        self.port = int(await self.model.stdout.readline())
        return f"http://127.0.0.1:{self.port}/v1"

    def share_processor(self) -> None:
        """The model runs where this process runs, and so will the clients."""
        os.sched_setaffinity(self.model.pid, os.sched_getaffinity(0))

    async def end(self) -> None:
        self.model.kill()
        await self.model.wait()

    async def model_stats(self) -> dict:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /late HTTP/1.1\r\nhost: model\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        stats = json.loads(await reader.readuntil(b"}"))
        writer.close()
        return stats

    async def saturate(self, server: Server, world: World, pace: Pace) -> Saturation:
        found = Saturation()
        try:
            address, meter = await world.start(server.name, server.command, server.extra, server.cwd)
        except NotStarted as error:
            found.reason = str(error)
            return found
        command = (sys.executable, LIB / "load_client.py", address, server.face)
        pipe = asyncio.subprocess.PIPE
        self.clients = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        try:
            async with asyncio.timeout(180):
                await self.raise_streams(found, server, meter, pace)
        except TimeoutError:
            found.reason = "it did not end within 180 s"
        finally:
            self.clients.kill()
            await self.clients.wait()
            await world.end_server(server.name)
        return found

    async def raise_streams(self, found: Saturation, server: Server, meter: Meter, pace: Pace) -> None:
        first = FIRST_STREAMS // 10 if server.is_peer else FIRST_STREAMS
        await self.set_level(first, 5)
        await asyncio.sleep(4)  # the answers end at different times by then
        found.levels.append(level := await self.measure_level(first, meter, pace))
        streams = round(first * max(1.0, 0.6 / level.server_share)) if level.is_carried else first // 3
        while len(found.levels) < 20:
            before = found.levels[-1].streams
            await self.set_level(streams, 2 if streams < 1.5 * before else 5)
            await asyncio.sleep(2)  # as above, for the streams that were added
            found.levels.append(level := await self.measure_level(streams, meter, pace))
            if not level.is_carried or level.is_limited_by_suite or level.is_disturbed:
                return
            streams = round(streams * min(1.4, max(pace.growth, 0.9 / level.server_share)))

    async def set_level(self, streams: int, seconds: float) -> None:
        assert self.clients.stdin
        self.clients.stdin.write(f"level {streams} {seconds:g}\n".encode())
        await asyncio.sleep(seconds)  # the streams begin spread over this time

    async def take(self) -> dict:
        assert self.clients.stdin
        assert self.clients.stdout
        self.clients.stdin.write(b"take\n")
        return json.loads(await self.clients.stdout.readline())

    async def measure_level(self, streams: int, meter: Meter, pace: Pace) -> Level:
        """Once more where the suite was late: that is no property of the server."""
        for _ in range(REPEATS):
            if not (level := await self.measure(streams, meter, pace)).is_disturbed:
                return level
        return await self.measure(streams, meter, pace)

    async def measure(self, streams: int, meter: Meter, pace: Pace) -> Level:
        before = await self.take()
        await self.model_stats()
        loop = asyncio.get_running_loop()
        stolen, began, used = read_stolen(), loop.time(), (meter.cpu(), clock(self.model.pid), clock(self.clients.pid))
        await asyncio.sleep(pace.measured_s)  # the time that is measured
        took = loop.time() - began
        shares = [(after - at_first) / took for after, at_first in zip((meter.cpu(), clock(self.model.pid), clock(self.clients.pid)), used)]
        taken, model = await self.take(), await self.model_stats()
        level = Level(
            streams, taken["p50"], taken["p99"], *shares, model["late_p99"], taken["pass_p99"], taken["chunks_per_read"],
            (read_stolen() - stolen) / took / (os.cpu_count() or 1), before["error"] or taken["error"], before["checked"] + taken["checked"],
        )  # fmt: skip
        print(f"  {describe(level)}", file=sys.stderr, flush=True)
        return level


def read_stolen() -> float:
    """Seconds that the host gave to other machines, of all processors."""
    return int(Path("/proc/stat").read_text().split("\n")[0].split()[8]) / TICKS


def describe(level: Level) -> str:
    words = (
        f"{level.streams:,} streams: delay p50 {level.p50:.0f} p99 {level.p99:.0f} ms, server {level.server_share:.0%}, "
        f"model {level.model_share:.0%} (late {level.model_late:.0f} ms), clients {level.client_share:.0%} (late {level.client_pass:.0f} ms), "
        f"{level.chunks_per_read:.1f} chunks a read, {level.checked} texts checked, {level.stolen_share:.0%} of the processors stolen"
    )
    return f"{words}; {level.error}" if level.error else words


def report(servers: Sequence[Server], rounds: Sequence[Mapping[str, Saturation]]) -> None:
    floors = [{name: found.streams for name, found in saturations.items()} for saturations in rounds]
    rows = [["", "streams a core", "x floor", "before it: p50/p99 ms", "server", "model+clients", "their delay ms", "chunks a read", ""]]
    for server in servers:
        found = [saturations[server.name] for saturations in rounds if server.name in saturations]
        streams = [saturation.streams for saturation in found]
        last = next((saturation.carried for saturation in reversed(found) if saturation.carried), None)
        notes = {saturation.note for saturation in found if saturation.note}
        if last is None:
            rows.append([server.title, "-", "-", "-", "-", "-", "-", "-", "; ".join(notes)])
            continue
        rows.append([
            server.title,
            f"{statistics.median(streams):,.0f} [{min(streams):,.0f}-{max(streams):,.0f}]",
            str(spread(floors, server.name, "floor") or "-"),
            f"{last.p50:.0f}/{last.p99:.0f}",
            f"{last.server_share:.0%}",
            f"{last.model_share:.0%}+{last.client_share:.0%}",
            f"{last.model_late:.0f}+{last.client_pass:.0f}",
            f"{last.chunks_per_read:.1f}",
            "; ".join(notes),
        ])  # fmt: skip
    show(rows)
    print("The model and the clients share a processor. Where they need most of it, or are late all the same, the line says so.")
    print()
