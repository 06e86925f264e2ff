"""What servers at rest cost: processor time of the servers and of PostgreSQL, statements, transactions.

python -m tests.measure.rest_cost --servers 2 --rounds 3

PostgreSQL and Redis are started for it and logs every statement. Nothing is requested of the servers.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.acceptance._lib.processes import Server, free_port, inherit, list_descendants, list_group, read_stat
from tests.acceptance._lib.services import Postgres, Redis

SETTLING_S = 65.0  # in its first minute DBOS looks for schedules each second
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROGRAM = ".venv/bin/rightseat"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="of --seconds each (3)")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--show", action="store_true", help="print the statements of the last round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rightseat-rest-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        measure(folder, options.servers, options.rounds, options.seconds, options.show)


def measure(folder: Path, count: int, rounds: int, seconds: float, is_shown: bool) -> None:
    postgres, redis = Postgres(folder), Redis(folder)
    postgres.start()
    redis.start()
    servers = []
    try:
        url = postgres.create("rest")
        servers = [begin(folder / f"server{number}", url, redis.url()) for number in range(count)]
        for server in servers:
            server.await_ready()
        postgres.sql("postgres", "ALTER SYSTEM SET log_statement = 'all'")
        postgres.sql("postgres", "SELECT pg_reload_conf()")
        time.sleep(SETTLING_S)  # what a start leaves to be done ends by itself
        found = [play(folder, servers, postgres, seconds) for _ in range(rounds)]
        for title in found[0]:
            values = sorted(one[title] for one in found)
            sys.stdout.write(
                f"{title}: {statistics.median(values):.1f} [{values[0]:.1f} to {values[-1]:.1f}], n = {rounds}\n"
            )
        if is_shown:
            text = (folder / "postgres.log").read_text(errors="replace")
            for statement, number in Counter(list_statements(text)).most_common(40):
                sys.stdout.write(f"{number:6} {statement[:170]}\n")
    finally:
        for server in servers:
            server.kill()
        redis.kill()
        postgres.crash()


def begin(folder: Path, database: str, redis: str) -> Server:
    folder.mkdir()
    model = {"type": "openai", "model": "none", "base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    configuration = {
        "models": {"default": model},
        "agents": {"default": {"model": "default", "durable": True}},
        "faces": [{"type": "copilotkit", "path": "/copilotkit", "agent": "default"}],
        "threads": {"type": "sql", "url": database},
        "log": {"type": "redis", "url": redis},
        "engine": {"type": "dbos", "url": database},
        "server": {"state_dir": str(folder)},
    }
    file, port = folder / "rightseat.yaml", free_port()
    file.write_text(json.dumps(configuration))  # JSON is YAML
    command = [PROGRAM, "serve", "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    server = Server(command, port, inherit(), folder.with_suffix(".log"))
    server.launch()
    return server


def play(folder: Path, servers: list[Server], postgres: Postgres, seconds: float) -> dict[str, float]:
    assert postgres.process
    log = folder / "postgres.log"
    own = [pid for server in servers if server.process for pid in list_group(server.process.pid)]
    theirs = [postgres.process.pid, *list_descendants(postgres.process.pid)]
    before = (read_cpu_s(own), read_cpu_s(theirs), log.stat().st_size, time.monotonic())
    time.sleep(seconds)  # the time that is measured
    lasted = time.monotonic() - before[3]
    statements = list_statements(log.read_bytes()[before[2] :].decode(errors="replace"))
    transactions = [one for one in statements if re.match(r"BEGIN\b", one)]
    return {
        "CPU of a server, ms a second": (read_cpu_s(own) - before[0]) / lasted / len(servers) * 1000,
        "CPU of PostgreSQL, ms a second": (read_cpu_s(theirs) - before[1]) / lasted * 1000,
        "statements of a server, a second": len(statements) / lasted / len(servers),
        "of them BEGIN": len(transactions) / lasted / len(servers),
    }


def list_statements(log: str) -> list[str]:
    return [" ".join(match.split()) for match in re.findall(r"LOG:  (?:statement|execute [^:]*): (.*)", log)]


def read_cpu_s(pids: list[int]) -> float:
    """Those that have ended count nothing."""
    return sum((int(fields[11]) + int(fields[12])) / TICKS_PER_S for pid in pids if (fields := read_stat(pid)))


if __name__ == "__main__":
    main()
