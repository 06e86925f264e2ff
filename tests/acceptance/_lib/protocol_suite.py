"""A suite that judges a server over a scripted model, or a peer in its place, with the stock clients of one protocol.

Such a suite has its prompts, its scenarios and what holds a message against the SDK's types; the rest is here.
"""

import argparse
import json
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.acceptance._lib import processes, scenarios
from tests.acceptance._lib.processes import ANSWERED, NotStarted, free_port, inherit_without, serve
from tests.acceptance._lib.scenarios import (
    Outcome,
    Scenario,
    Skip,
    add_options,
    choose,
    conclude,
    exit_on_sigterm,
    expect,
    fail,
    judge_each,
    until,
)
from tests.acceptance._lib.scripted_openai import ModelRequest, ScriptedOpenAI

CLIENT_TIMEOUT_S = 60
NO_VARIABLES: Mapping[str, str] = {}


class SuiteServer(processes.Server):
    """A server with a folder of its own; `kill` and `start` again keep port and folder."""

    def __init__(
        self,
        command: Callable[[int], list[str]],
        env: Mapping[str, str],
        folder: Path,
        probe: str,
        dropped: Sequence[str] = (),
    ) -> None:
        home = Path(tempfile.mkdtemp(dir=folder))
        self.state = home / "state"
        self.state.mkdir()
        port = free_port()
        whole = {**inherit_without(*dropped), **env, "RS_STATE_DIR": str(self.state)}
        super().__init__(command(port), port, whole, home / "server.log", probe=probe, statuses=ANSWERED)
        self.start(within=120)


def start_project(
    suite: str, folder: Path, upstream: str, probe: str = "/", dropped: Sequence[str] = ()
) -> SuiteServer:
    """Unless dropped, RS_DATABASE_URL and RS_REDIS_URL say where the server has its threads and its log."""
    return SuiteServer(lambda port: serve(suite, port), {"RS_UPSTREAM_OPENAI": upstream}, folder, probe, dropped)


@dataclass
class ProtocolCase:
    """What a scenario works with. `url` is the origin of the judged server.

    `start` starts another server, with a folder of its own; `packages` is where node_modules is.
    """

    url: str
    fake: ScriptedOpenAI
    server: SuiteServer | None = None
    start: Callable[[], SuiteServer] | None = None
    sources: Path = Path()
    packages: Path = Path()
    scratch: Path = Path()
    reference: bool = False
    notes: list[str] = field(default_factory=list)
    servers: list[SuiteServer] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def key(self) -> str:
        key = "k" + secrets.token_hex(5)
        self.keys.append(key)
        return key

    def own(self) -> SuiteServer:
        """A server of the scenario's own, that may be killed."""
        if not self.start:
            raise Skip("needs a server that the suite has started")
        server = self.start()
        self.servers.append(server)
        return server

    def node(self, script: str, *words: str, env: Mapping[str, str] = NO_VARIABLES) -> Any:
        """What a script of the folder `node` prints, a line of JSON."""
        return run_client("node", self.sources / "node" / script, *words, env=env)

    def asked(self, key: str, at: int = -1) -> ModelRequest:
        got = self.fake.requests(key)
        expect(got, f"a request with [{key}] at the model", "none")
        return got[at]

    def sent(self, key: str, at: int = -1) -> dict[str, Any]:
        return self.asked(key, at).body

    def await_chunks(self, key: str, count: int, seconds: float = 20) -> ModelRequest:
        """The request, once the model has sent so many chunks of its answer."""

        def find() -> ModelRequest | None:
            return next((request for request in self.fake.requests(key) if request.chunks >= count), None)

        found: ModelRequest = until(find, f"{count} chunks of the model's answer", seconds)
        return found

    def hung_up(self, key: str, since: float, limit: float = 0.5) -> float:
        """The model has been hung up on; how long after `since`."""
        asked = self.asked(key)
        until(lambda: asked.left or asked.done, "the model to be hung up on", seconds=5)
        expect(asked.left and not asked.done, "a hang-up, not an end", "the model's answer ran to its end")
        took = (asked.left or 0) - since
        expect(took <= limit, f"the model hung up on within {limit} s", f"{took:.2f} s")
        return took


def run_client(program: str, script: Path, *words: str, env: Mapping[str, str] = NO_VARIABLES) -> Any:
    """What a client in an environment of its own prints, a line of JSON."""
    done = subprocess.run(
        [program, str(script), *words],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_S,
    )
    last = done.stdout.strip().splitlines()[-1:]
    if done.returncode or not last:
        errors = [line for line in done.stderr.splitlines() if "Error" in line or "error" in line]
        message = " / ".join(errors[:3])[:600] or done.stderr[-400:]
        raise AssertionError(f"expected {script.name} {words[0]} to end well, got {message}")
    return json.loads(last[0])


@dataclass(frozen=True)
class ProtocolSuite:
    """`describe` gives the message of an exception of the SDK, or None of another one.

    `prepare` may start what the chosen scenarios need, and gives the function that ends it.
    """

    name: str
    about: str
    client: str
    groups: Sequence[str]
    scenarios: Mapping[str, Scenario]
    make_case: Callable[..., Any]
    make_model: Callable[[int], ScriptedOpenAI]
    start_project: Callable[[Path, str], SuiteServer]
    start_peer: Callable[[Path, str, Path], SuiteServer]
    describe: Callable[[Exception], str | None]
    prepare: Callable[[Sequence[Scenario], Path], Callable[[], None]] | None = None

    def main(self) -> int:
        options = self._read_arguments()
        ordered = dict(sorted(self.scenarios.items(), key=lambda item: self.groups.index(item[1].group)))
        chosen, began = choose(ordered, options.scenarios), time.monotonic()
        if options.list:
            for scenario in chosen:
                beyond = "beyond" if scenario.beyond else ""
                print(f"{scenario.name:<26}{scenario.group:<11}{beyond:<8}{scenario.about}")
            return 0
        exit_on_sigterm()
        with ExitStack() as stack:
            try:
                outcomes = self._judge_all(chosen, options, stack)
            except NotStarted as error:
                fail(str(error))
        return conclude(self.name, outcomes, began, options.json, client=self.client)

    def _read_arguments(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog="run", description=self.about)
        configured = "RS_UPSTREAM_OPENAI says what it was configured with"
        parser.add_argument("--url", help=f"judge a server that runs already (an origin, no path); {configured}")
        parser.add_argument("--reference", action="store_true", help="judge LiteLLM's proxy instead")
        add_options(parser, self.groups)
        options = parser.parse_args()
        if options.url and options.reference:
            parser.error("--url and --reference exclude each other")
        if options.url and not os.environ.get("RS_UPSTREAM_OPENAI"):
            parser.error("--url needs RS_UPSTREAM_OPENAI, as the server was given it: the fake model is started there")
        return options

    def _judge_all(self, chosen: Sequence[Scenario], options: argparse.Namespace, stack: ExitStack) -> list[Outcome]:
        scratch = tempfile.TemporaryDirectory(prefix="rightseat-acceptance-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(scratch))
        fake = self.make_model(urlsplit(os.environ["RS_UPSTREAM_OPENAI"]).port or 0 if options.url else 0)
        stack.callback(fake.close)
        if self.prepare and not options.url and not options.reference:
            stack.callback(self.prepare(chosen, folder))

        def start() -> SuiteServer:
            if options.reference:
                return self.start_peer(folder, fake.url, Path(os.environ["RS_SUITE_PEER"]))
            return self.start_project(folder, fake.url)

        server = None if options.url else start()
        if server:
            stack.callback(server.stop)
        case = self.make_case(
            options.url.rstrip("/") if options.url else server and server.origin,
            fake,
            server,
            None if options.url else start,
            sources=Path(os.environ["RS_SUITE_SOURCES"]),
            packages=Path(os.environ["RS_SUITE_PACKAGES"]),
            scratch=folder,
            reference=options.reference,
        )
        return judge_each(chosen, lambda scenario: self._judge(scenario, case), server)

    def _judge(self, scenario: Scenario, case: ProtocolCase) -> Outcome:
        case.notes, case.servers, case.keys = [], [], []
        outcome = scenarios.judge(scenario, lambda: scenario.run(case), self._explain, case.reference)
        for key in case.keys:
            case.fake.release(key)
        for server in case.servers:
            server.stop()
        outcome.note = "; ".join(filter(None, [*case.notes, outcome.note]))
        has_passed = outcome.outcome == "ok" and not outcome.note.startswith("skipped")
        if case.reference and scenario.beyond and has_passed:
            outcome.outcome, outcome.message = "FAIL", "expected the peer to fail here (`beyond`), got a pass"
        return outcome

    def _explain(self, error: Exception) -> str:
        return self.describe(error) or scenarios.explain(error)
