"""Starts the plugins' demo APIs, the model and a server; runs the scenarios; prints the verdicts."""

import argparse
import json
import os
import runpy
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.acceptance._lib.modules import add_modules
from tests.acceptance._lib.processes import NotStarted, Server, free_port, serve
from tests.acceptance._lib.scenarios import Outcome, add_options, choose, conclude, exit_on_sigterm, fail, report

add_modules("openbb")
from runner import judge, show_log, start  # noqa: E402
from upstream import Upstream  # noqa: E402

import flows  # noqa: E402

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
    add_options(parser)
    args = parser.parse_args()
    chosen, began = choose(flows.SCENARIOS, args.scenarios), time.monotonic()
    if args.list:
        for scenario in chosen:
            print(f"{scenario.name:<28}{scenario.about}")
        return 0
    exit_on_sigterm()

    secrets = {variable: f"{plugin}-canary" for plugin, variable in SECRETS.items()}
    os.environ |= secrets  # the demo servers read them when they are loaded
    flows.CANARIES.extend(secrets.values())
    apis = {plugin: Api(plugin) for plugin in SECRETS}
    flows.APIS.update(apis)
    upstream, server = Upstream(), None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-") as scratch:
        env = {
            "RS_UPSTREAM_OPENAI": upstream.url,
            "RS_PLUGIN_APIS": json.dumps({plugin: api.port for plugin, api in apis.items()}),
            **{f"RIGHTSEAT_SECRET_{variable}": value for variable, value in secrets.items()},
        }
        try:
            port = free_port()
            server = start(serve("openbb-flows", port), port, env, Path(scratch))
            outcomes = run_all(chosen, server, upstream)
            show_log(server, outcomes)
        except NotStarted as error:
            fail(str(error))
        finally:
            if server:
                server.stop(5)
            upstream.close()
            for api in apis.values():
                api.close()
    return conclude("openbb-flows", outcomes, began, args.json)


def run_all(chosen: list, server: Server, upstream: Upstream) -> list[Outcome]:
    """One after another: what an API has seen is then of one scenario."""
    end = time.monotonic() + TIME
    return [report(judge(scenario, server.origin, upstream, server, end)) for scenario in chosen]


if __name__ == "__main__":
    sys.exit(main())
