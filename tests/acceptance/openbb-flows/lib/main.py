"""Starts the plugins' demo APIs, the model and a server; runs the scenarios; prints the verdicts."""

import argparse
import json
import os
import runpy
import signal
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from runner import Server, free_port, judge, show  # of the suite openbb
from upstream import Upstream

import flows

EXAMPLES = Path("examples/plugins").resolve()
SECRETS = {"weather": "WEATHER_KEY", "host_security": "HOST_SECURITY_TOKEN", "file_convert": "FILE_CONVERT_SECRET"}
TIME = 60.0  # seconds within which every scenario must have begun


class Api:
    """The demo server of a plugin, as its author wrote it, which notes what came."""

    def __init__(self, plugin: str) -> None:
        handler = runpy.run_path(str(EXAMPLES / plugin / "demo" / "server.py"), run_name=f"demo_{plugin}")["Handler"]
        self.seen: list[str] = []
        seen = self.seen

        class Noting(handler):
            def parse_request(self) -> bool:
                is_one = super().parse_request()
                if is_one:
                    seen.append(f"{self.command} {self.path}")
                return is_one

            def log_message(self, *args) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Noting)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", description="Acceptance of plugins in OpenBB Workspace.")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    args = parser.parse_args()
    if args.list:
        for scenario in flows.SCENARIOS:
            print(f"{scenario.name:<28}{scenario.about}")
        return 0
    known = {scenario.name: scenario for scenario in flows.SCENARIOS}
    if unknown := [name for name in args.scenarios if name not in known]:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    chosen = [known[name] for name in args.scenarios] or flows.SCENARIOS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    secrets = {variable: f"{plugin}-canary" for plugin, variable in SECRETS.items()}
    os.environ |= secrets  # the demo servers read them when they are loaded
    flows.CANARIES.extend(secrets.values())
    apis = {plugin: Api(plugin) for plugin in SECRETS}
    flows.APIS.update(apis)
    upstream, server = Upstream(), None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-") as scratch:
        state, log = Path(scratch) / "state", Path(scratch) / "server.log"
        state.mkdir()
        env = {
            "RS_UPSTREAM_OPENAI": upstream.url,
            "RS_STATE_DIR": str(state),
            "RS_PLUGIN_APIS": json.dumps({plugin: api.port for plugin, api in apis.items()}),
            **{f"RIGHTSEAT_SECRET_{variable}": value for variable, value in secrets.items()},
        }
        try:
            port = free_port()
            server = Server([str(Path("tests/acceptance/serve").resolve()), "openbb-flows", str(port)], port, env, log)
            verdicts = run_all(chosen, server.url, upstream, log, state)
            if not all(verdict["ok"] for verdict in verdicts):
                print(f"the end of the server's log:\n{server.tail().strip()}", file=sys.stderr)
        finally:
            if server:
                server.stop()
            upstream.close()
            for api in apis.values():
                api.close()
    failed = sum(not verdict["ok"] for verdict in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run_all(chosen: list, base: str, upstream: Upstream, log: Path, state: Path) -> list[dict]:
    """One after another: what an API has seen is then of one scenario."""
    end, verdicts = time.monotonic() + TIME, []
    for scenario in chosen:
        verdicts.append(judge(scenario, base, upstream, log, state, end))
        show(verdicts[-1], reference=False)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
