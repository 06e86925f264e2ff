"""run [--quick] [--sweep | --saturation] [--peers] [--durable] [--rounds N] [--slack X] [--url URL] [--reference] [--list] [--json FILE] [SCENARIO ...]"""

import argparse
import asyncio
import fnmatch
import json
import os
import random
import resource
import statistics
import sys
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

import report
import rows
import saturation
import shots
from tests.acceptance._lib.meter import Meter, listener
from servers import OURS, PEERS, SUITE, Server, floor, is_durable, limit, peer, rightseat
from shots import Target, Void
from upstream import Upstream
from verdict import Outcome, Scenario, concerned, judge, judge_saturation, scenarios
from world import World

from tests.acceptance._lib.prepare import find_cache
from tests.acceptance._lib.processes import NotStarted
from tests.acceptance._lib.scenarios import cancel_on_signals, print_totals

STREAMS, GAP = 50, 40.0  # 1,250 chunks a second
CHUNKS, PEER_CHUNKS = 47, 22  # of each stream; all but the first and the last are measured
REQUESTS, PEER_REQUESTS = 40, 15
HELD = 2000
QUICK_SATURATION = ["saturation-openai", "saturation-agui"]
SWEEP = ((1, 402, 5.0), (50, 62, 40.0), (500, 10, 400.0), (2000, 5, 1600.0))  # streams, chunks, ms between them


def main() -> None:
    options = arguments()
    chosen = choose(options)
    if options.list:
        for scenario in chosen:
            print(f"{scenario.label:28} {scenario.target:g}")
        return
    if options.saturation and (options.url or options.reference or options.sweep):
        sys.exit("--saturation starts one server after the other on a processor of its own: leave out --url, --reference and --sweep")
    if options.durable and not {"RS_DATABASE_URL", "RS_REDIS_URL"} <= os.environ.keys():
        sys.exit("--durable needs RS_DATABASE_URL and RS_REDIS_URL, the engines to run on")
    if not (options.url or options.reference or Path("tests/acceptance/serve").exists()):
        sys.exit("tests/acceptance/serve is missing: run this from the project's root")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < 3 * HELD:
        sys.exit(f"2,000 streams need about {3 * HELD} open files a process; the limit is {hard}")
    run = Run(options, chosen)
    try:
        failed = uvloop.run(run.sweep() if options.sweep else run.saturate() if options.saturation else run.judge())
    except NotStarted as error:
        sys.exit(str(error))
    except asyncio.CancelledError:
        sys.exit(130)
    sys.exit(1 if failed else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="What a streamed chunk, a request and an open stream cost, against the floor and the peers.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="a target's name, such as chunk-agui or hold-*")
    parser.add_argument("--quick", action="store_true", help="three rounds, and 500 streams held instead of 2,000")
    parser.add_argument("--sweep", action="store_true", help="only print how CPU per chunk and memory grow from 1 to 2,000 streams")
    parser.add_argument("--saturation", action="store_true", help="how many streams a processor carries; with --quick in larger steps")
    parser.add_argument("--peers", action="store_true", help="measure CopilotKit 1.75.0, CopilotKit 1.10.6 and LiteLLM too")
    parser.add_argument("--durable", action="store_true", help="measure AG-UI on RS_DATABASE_URL and RS_REDIS_URL too")
    parser.add_argument("--rounds", type=int, help="how often everything is measured (3 quick, 4 with peers, 5 else)")
    parser.add_argument("--slack", type=float, default=1.0, metavar="X", help="allow X times the CPU of the targets, on a machine with neighbours")
    parser.add_argument("--url", help="a server that runs already; RS_UPSTREAM_OPENAI says where it looks for its model")
    parser.add_argument("--reference", action="store_true", help="judge the peers in our place")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to FILE")
    return parser.parse_args()


def choose(options: argparse.Namespace) -> list[Scenario]:
    known = [slackened(scenario, options.slack) for scenario in scenarios(tomllib.loads((SUITE / "targets.toml").read_text()))]
    for pattern in options.scenarios:
        if not fnmatch.filter([scenario.label for scenario in known], pattern):
            sys.exit(f"no such scenario: {pattern}")
    wanted = options.scenarios or (QUICK_SATURATION if options.quick and options.saturation else ["*"])
    chosen = [scenario for scenario in known if any(fnmatch.fnmatch(scenario.label, pattern) for pattern in wanted)]
    if options.list:
        return chosen
    chosen = [scenario for scenario in chosen if (scenario.section == "saturation") == options.saturation]
    if not chosen:
        sys.exit("targets of saturation are measured with --saturation, and only they are")
    if options.reference:
        return [scenario for scenario in chosen if scenario.name in PEERS.values() and scenario.section not in ("peer", "stored")]
    if not options.peers:
        chosen = [scenario for scenario in chosen if scenario.section != "peer"]
    if not options.durable:
        chosen = [scenario for scenario in chosen if not is_durable(scenario.name)]
    return chosen


def slackened(scenario: Scenario, slack: float) -> Scenario:
    """CPU on a machine with neighbours varies; the memory of a few hundred streams is measured to a twentieth."""
    allowed = {"chunk": slack, "request": slack, "stored": slack, "hold": min(slack, 1.05)}
    return replace(scenario, target=scenario.target * allowed.get(scenario.section, 1.0))


class Run:
    """One run: its servers, and what was measured of them."""

    def __init__(self, options: argparse.Namespace, chosen: Sequence[Scenario]) -> None:
        self.options, self.chosen = options, chosen
        self.upstream = Upstream()
        self.targets: dict[str, Target] = {}
        self.servers: dict[str, Server] = {}
        self.chunks: list[dict[str, dict]] = []
        self.requests: list[dict[str, dict]] = []
        self.once: dict[str, dict[str, dict]] = {}
        self.voids: dict[tuple[str, str], str] = {}
        self.began = time.monotonic()

    async def judge(self) -> int:
        sections = {scenario.section for scenario in self.chosen}
        async with self.started(floor(), limit(), *self.wanted()):
            await self.fresh(sections)
            names = [*self.names(), "floor again"]
            self.targets["floor again"] = self.targets["floor"]
            self.targets["direct"] = Target("openai", self.model, None, self.upstream)
            rounds = self.options.rounds or (3 if self.options.quick else 4 if self.options.peers else 5)
            if sections & {"chunk", "peer"}:
                await self.each([name for name in self.servers if self.servers[name].is_peer], "chunk", {}, self.flow)  # for just-in-time compilers; not counted
            for number in range(rounds):
                say(f"round {number + 1} of {rounds}, {time.monotonic() - self.began:.0f} s")
                if sections & {"chunk", "peer"}:
                    self.chunks.append(costs := {})
                    await self.each(self.concerned(names, "chunk", "peer"), "chunk", costs, self.flow)
                if sections & {"request", "stored"}:
                    self.requests.append(costs := {})
                    await self.each([*self.concerned(names[:-1], "request", "stored"), "direct"], "request", costs, self.ask)
                    self.add_rows(costs)
        return self.conclude()

    async def sweep(self) -> int:
        async with self.started(floor(), limit(), *self.wanted()):
            rows: dict[str, list] = {name: [] for name in self.names()}
            idle = {}
            for name in self.names():
                if await self.attempt(name, "start", shots.warm(self.targets[name])) is not None:
                    idle[name] = self.targets[name].rss()
            for level in SWEEP:
                say(f"{level[0]:,} streams, {time.monotonic() - self.began:.0f} s")
                costs: dict[str, dict] = {}
                able = [name for name in idle if (name, "sweep") not in self.voids]
                await self.each(able, "sweep", costs, partial(shots.chunks, streams=level[0], count=level[1], gap=level[2]))
                for name in self.names():
                    rows[name].append(costs.get(name))
        report.sweep([level[0] for level in SWEEP], self.servers, rows, idle)
        outcomes = [(name, self.voids.get((name, "sweep")) or self.voids.get((name, "start"))) for name in self.names() if self.servers[name].is_ours]
        for name, reason in outcomes:
            print(f"{'FAIL' if reason else 'ok':6} sweep-{name}  {reason or 'every stream came whole'}")
        failed = sum(bool(reason) for _, reason in outcomes)
        self.write({"sweep": {name: dict(zip((level[0] for level in SWEEP), row)) for name, row in rows.items()}, "idle_rss": idle})
        print_totals(len(outcomes) - failed, failed)
        return failed

    async def saturate(self) -> int:
        servers, load = [floor(), *self.wanted()], saturation.Load()
        pace, rounds = saturation.QUICK if self.options.quick else saturation.Pace(), []
        cancel_on_signals()
        world = World(await load.start(), prepare_logs())
        load.share_processor()
        try:
            for number in range(self.options.rounds or 1):
                rounds.append({})
                for server in random.sample(servers, len(servers)):
                    say(f"round {number + 1}, {time.monotonic() - self.began:.0f} s, {server.title}")
                    rounds[-1][server.name] = await load.saturate(server, world, pace)
        finally:
            await world.end()
            await load.end()
        saturation.report(servers, rounds)
        streams = [{name: found.streams for name, found in round.items() if found.streams} for round in rounds]
        notes = {name: found.note for round in rounds for name, found in round.items() if found.note}
        results = []
        for scenario in self.chosen:
            outcome = judge_saturation(scenario, streams, notes)
            results.append((scenario, outcome, "ok" if outcome.met else "FAIL"))
            print(f"{results[-1][2]:6} {scenario.label:28} {outcome.detail}")
        failed = sum(not outcome.met for _, outcome, _ in results)
        levels = [{name: [asdict(level) for level in found.levels] for name, found in round.items()} for round in rounds]
        self.write({"passed": len(results) - failed, "failed": failed, "streams": streams, "notes": notes, "levels": levels})
        print_totals(len(results) - failed, failed)
        return failed

    def wanted(self) -> list[Server]:
        if self.options.reference:
            return [peer(name, in_our_place=True) for name in PEERS if PEERS[name] in {scenario.name for scenario in self.chosen}]
        faces = {PEERS.get(name, name) for scenario in self.chosen for name in concerned(scenario)}
        peers = [peer(name) for name in PEERS if self.options.peers and PEERS[name] in faces]
        return [rightseat(name) for name in OURS if name in faces] + peers

    def names(self) -> list[str]:
        return [name for name in self.targets if name in self.servers]

    def concerned(self, names: Sequence[str], *sections: str) -> list[str]:
        """Those that a target of these sections compares; the floor, the limit and peers always."""
        compared = {name for scenario in self.chosen if scenario.section in sections for name in concerned(scenario)}
        return [name for name in names if name in compared or name not in self.servers or not self.servers[name].is_ours]

    def started(self, *servers: Server) -> "Started":
        return Started(self, servers)

    async def flow(self, target: Target) -> dict:
        return await shots.chunks(target, STREAMS, PEER_CHUNKS if target.heavy else CHUNKS, GAP)

    async def ask(self, target: Target) -> dict:
        return await shots.requests(target, PEER_REQUESTS if target.heavy else REQUESTS)

    def add_rows(self, costs: dict[str, dict]) -> None:
        """Beside AG-UI: what its rows cost if bare `sqlite3` writes them. With --url the file of the server is not known."""
        database = self.state / "agui" / "rightseat.db"
        if "agui" in costs and database.exists():
            self.servers["rows"] = Server("rows", "agui", title="AG-UI's rows, bare sqlite3")
            costs["rows"] = {"ms_per_request": rows.write_runs(database, self.state / "rows.db", REQUESTS) * 1e3, "first": []}

    async def fresh(self, sections: Iterable[str]) -> None:
        """Warm up, then what is measured once, while the servers' memory is still that of fresh ones; the smallest growth first."""
        idle: dict[str, int] = {}  # by address: with --url the faces share a server
        warm = [name for name in self.names() if await self.attempt(name, "start", shots.warm(self.targets[name])) is not None]
        for name in warm:
            idle.setdefault(self.targets[name].base, self.targets[name].rss())
        seconds = 2.0 if self.options.quick else 5.0
        kinds: dict[str, Callable[[Target], Awaitable[dict]]] = {
            "slow-reader": lambda target: shots.slow_reader(target, seconds),
            "disconnect": self.disconnect,
            "hold": lambda target: shots.hold(target, 100 if target.heavy else 500 if self.options.quick else HELD, idle[target.base]),
        }
        heavy = [name for name in warm if self.targets[name].heavy]
        light = [name for name in warm if name not in heavy and not (name == "limit" and self.options.quick)]
        # A peer may grow by hundreds of MB under a slow reader, which would hide what its streams take.
        for kind, names in (("hold", heavy), ("slow-reader", warm), ("disconnect", warm), ("hold", light)):
            if kind in sections and names:
                say(f"{kind}, {time.monotonic() - self.began:.0f} s")
                found: dict[str, dict] = {}
                await self.each([name for name in self.concerned(names, kind) if name in heavy + light], kind, found, kinds[kind])
                for name in found:
                    self.once.setdefault(name, {})[kind] = found[name]

    async def disconnect(self, target: Target) -> dict:
        """The best of three where it is late: contention only ever adds."""
        tries = [await shots.disconnect(target)]
        while len(tries) < 3 and (tries[-1]["slowest_s"] > 0.3 and not tries[-1]["left_open"]):
            tries.append(await shots.disconnect(target))
        return min(tries, key=lambda found: (found["left_open"], found["slowest_s"]))

    async def each(self, names: Sequence[str], kind: str, costs: dict, shoot: Callable[[Target], Awaitable[dict]]) -> None:
        for name in random.sample(names, len(names)):
            if (name, "start") in self.voids:
                continue
            if found := await self.attempt(name, kind, shoot(self.targets[name])):
                costs[name] = found

    async def attempt(self, name: str, kind: str, shot: Awaitable[dict | None]) -> dict | None:
        try:
            return await shot or {}
        except (Void, OSError, TimeoutError) as error:
            self.voids[name.removesuffix(" again"), kind] = str(error) or type(error).__name__
            say(f"void: {name} {kind}: {error}")
            self.upstream.drop()
            return None

    def conclude(self) -> int:
        chunks = [based({name: found["us_per_chunk"] for name, found in costs.items()}) for costs in self.chunks]
        requests = [{name: found["ms_per_request"] for name, found in costs.items() if name != "direct"} for costs in self.requests]
        report.table(self.servers, chunks, requests, self.chunks, self.requests, self.once)
        results = []
        for scenario in self.chosen:
            outcome = judge(scenario, chunks, requests, self.once, self.voids)
            word = "ok" if outcome.met else "beyond" if self.options.reference else "FAIL"
            results.append((scenario, outcome, word))
            print(f"{word:6} {scenario.label:28} {outcome.detail}")
        count = {word: sum(result[2] == word for result in results) for word in ("ok", "FAIL", "beyond")}
        self.write_verdict(results, count)
        if self.options.reference:
            print(f"{count['beyond']} beyond the peers")
        print_totals(count["ok"], count["FAIL"])
        return count["FAIL"]

    def write_verdict(self, results: Sequence[tuple[Scenario, Outcome, str]], count: dict[str, int]) -> None:
        lines = [{"name": scenario.label, "outcome": word, "target": scenario.target, "detail": outcome.detail} for scenario, outcome, word in results]
        voids = [{"server": server, "shot": kind, "reason": reason} for (server, kind), reason in self.voids.items()]
        totals = {"passed": count["ok"], "failed": count["FAIL"], "beyond": count["beyond"]}
        self.write({**totals, "scenarios": lines, "chunks": self.chunks, "requests": self.requests, "once": self.once, "voids": voids})

    def write(self, found: dict) -> None:
        if self.options.json:
            judged = self.options.url or ("reference" if self.options.reference else "rightseat")
            head = {"suite": SUITE.name, "target": judged, "seconds": round(time.monotonic() - self.began, 1)}
            Path(self.options.json).write_text(json.dumps({**head, **found}, indent=2, default=str) + "\n")


class Started:
    """The fake model and all servers, up; and down again."""

    def __init__(self, run: Run, servers: Sequence[Server]) -> None:
        self.run, self.servers = run, servers

    async def __aenter__(self) -> None:
        run = self.run
        given = run.options.url
        port = await run.upstream.listen(urlsplit(os.environ["RS_UPSTREAM_OPENAI"]).port or 0 if given else 0)
        run.model = f"http://127.0.0.1:{port}"
        self.world = World(f"{run.model}/v1", prepare_logs())
        run.state = self.world.state
        cancel_on_signals()
        try:
            say(f"starting {', '.join(server.title for server in self.servers)}")
            addresses = await shots.together(*map(self.address, self.servers))
            for server, address in zip(self.servers, addresses):
                if address:
                    run.servers[server.name] = server
                    run.targets[server.name] = Target(server.face, *address, run.upstream, heavy=server.is_peer)
        except BaseException:
            await self.world.end()
            raise

    async def address(self, server: Server) -> tuple[str, Meter] | None:
        given = self.run.options.url
        if given and server.is_ours:
            return given.rstrip("/"), Meter(listener(urlsplit(given).port or 80), keeper=False)
        try:
            return await self.world.start(server.name, server.command, server.extra, server.cwd)
        except NotStarted as error:
            if not server.is_peer:
                raise
            self.run.voids[server.name, "start"] = str(error)  # a peer that does not run leaves only its comparison void
            say(str(error))
            return None

    async def __aexit__(self, *_: object) -> None:
        await self.world.end()


def prepare_logs() -> Path:
    logs = find_cache(SUITE) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return logs


def based(costs: dict[str, float]) -> dict[str, float]:
    """The floor is measured twice a round; its mean is the base, and how far the two lie apart is what a ratio cannot resolve."""
    twice = [costs[name] for name in ("floor", "floor again") if name in costs]
    return {**costs, "floor": statistics.mean(twice), "floor once": twice[0]} if twice else costs


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
