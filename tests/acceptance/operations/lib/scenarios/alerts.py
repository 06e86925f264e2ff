"""Alerts: each fires when it should, and not a minute before."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import packages
import yaml
from stage import Finding, Stage

from scenarios.metrics import rules


@dataclass(frozen=True)
class Case:
    """`values` are promtool's: a minute each, `first+step x samples`."""

    alert: str
    series: dict[str, str]
    silent: tuple[int, ...]
    """Minutes at which it does not fire."""
    fires: int | None = None
    """A minute at which it does."""
    labels: dict[str, str] = field(default_factory=dict)


LONG_AGO = "-86400x600"
TAKEOVERS = 'rightseat_takeovers_total{instance="a", outcome="resumed"}'
STARTS = 'process_start_time_seconds{instance="%s"}'
FACE = 'rightseat_face="openai", http_response_status_code="%s"'
REQUESTS = "http_server_request_duration_seconds_count{" + FACE + "}"
FIRST = 'rightseat_first_chunk_seconds_bucket{agent="default", le="%s"}'
OPERATIONS = 'db_client_operation_duration_seconds_bucket{db_system_name="postgresql", db_operation_name="%s", le="%s"}'
DELAYS = 'rightseat_event_loop_delay_seconds_bucket{instance="a", le="%s"}'
POOL = 'instance="a", db_client_connection_pool_name="threads"'
USED = "db_client_connection_count{" + POOL + ', db_client_connection_state="used"}'
MOST = "db_client_connection_max{" + POOL + "}"
QUEUED, ENDED = 'rightseat_queued{limit="all"}', 'rightseat_runs_total{outcome="done"}'
READY = 'rightseat_ready{instance="a", dependency="threads"}'
MEMORY = 'process_resident_memory_bytes{instance="a"}'
CASES = [
    Case(
        "RightseatTakeover",
        {TAKEOVERS: "0x20 3x40", STARTS % "a": LONG_AGO},
        (20, 35),
        22,
        {"outcome": "resumed"},
    ),
    Case("RightseatTakeover", {TAKEOVERS: "0x20 3x40", STARTS % "a": LONG_AGO, STARTS % "b": "1200x60"}, (20, 22, 35)),
    Case(
        "RightseatLeaseOld",
        {'rightseat_lease_age_seconds{instance="a"}': "1x10 30+60x5 1x20"},
        (10, 11, 25),
        13,
        {"instance": "a"},
    ),
    Case("RightseatLeaseOld", {'rightseat_lease_age_seconds{instance="a"}': "1x10 4x50"}, (10, 30)),
    Case(
        "RightseatNotReady",
        {READY: "1x10 0x5 1x20"},
        (10, 12, 20),
        14,
        {"instance": "a", "dependency": "threads"},
    ),
    Case(
        "RightseatErrors",
        {REQUESTS % "200": "0+90x60", REQUESTS % "503": "0x10 0+10x50"},
        (10, 14),
        20,
        {"rightseat_face": "openai"},
    ),
    Case(
        "RightseatErrors",
        {REQUESTS % "200": "0+99x60", REQUESTS % "503": "0+1x60", REQUESTS % "429": "0+50x60"},
        (30, 60),
    ),
    Case(
        "RightseatFirstChunkSlow",
        {FIRST % "10": "0x60", FIRST % "30": "0+10x60", FIRST % "+Inf": "0+10x60"},
        (9,),
        15,
        {"agent": "default"},
    ),
    Case(
        "RightseatFirstChunkSlow",
        {FIRST % "10": "0+10x60", FIRST % "30": "0+10x60", FIRST % "+Inf": "0+10x60"},
        (30, 60),
    ),
    Case(
        "RightseatDatabaseSlow",
        {
            OPERATIONS % ("read", 0.5): "0x60",
            OPERATIONS % ("read", 1): "0+10x60",
            OPERATIONS % ("read", "+Inf"): "0+10x60",
        },
        (9,),
        15,
        {"db_system_name": "postgresql"},
    ),
    Case(  # a search reads all there is
        "RightseatDatabaseSlow",
        {OPERATIONS % ("scan", 0.5): "0x60", OPERATIONS % ("scan", "+Inf"): "0+10x60"},
        (30, 60),
    ),
    Case(
        "RightseatPoolFull",
        {USED: "14x10 15x20", MOST: "15x60"},
        (10, 14),
        18,
        {"instance": "a", "db_client_connection_pool_name": "threads"},
    ),
    Case("RightseatQueueStuck", {QUEUED: "0x10 5x60", ENDED: "0+1x10 10x60"}, (10, 20), 35, {"limit": "all"}),
    Case("RightseatQueueStuck", {QUEUED: "0x10 5x60", ENDED: "0+1x70"}, (35, 60)),
    Case(
        "RightseatEventLoopSlow",
        {DELAYS % 0.25: "0x60", DELAYS % 1: "0+60x60", DELAYS % "+Inf": "0+60x60"},
        (9,),
        15,
        {"instance": "a"},
    ),
    Case(
        "RightseatMemoryRising",
        {MEMORY: "100000000+1000000x600", STARTS % "a": "0x600"},
        (360, 419),
        425,
        {"instance": "a"},
    ),
    Case("RightseatMemoryRising", {MEMORY: "100000000+10000x600", STARTS % "a": "0x600"}, (425, 600)),
]


async def fire(stage: Stage, found: Finding) -> None:
    """Each alert of deploy/ fires where it should and is silent before, after and where all is well, says promtool."""
    folder = stage.world.folder / "alerts"
    folder.mkdir()
    named = write_tests(folder)
    found.figures |= {"alerts": len(named), "cases": len(CASES)}
    for name in sorted(named - {case.alert for case in CASES}):
        found.expect(False, f"no case for {name}")
    done = await asyncio.to_thread(packages.find("promtool").run, "test", "rules", folder / "tests.json")
    found.expect(done.returncode == 0, f"promtool: {(done.stdout + done.stderr)[-600:]!r}")


def write_tests(folder: Path) -> set[str]:
    """The rules without annotations, which promtool would compare, and their cases. Returns the names of all alerts."""
    groups = [group for path in rules() for group in yaml.safe_load(path.read_text())["groups"]]
    severities = {}
    for group in groups:
        for rule in group["rules"]:
            rule.pop("annotations", None)
            severities[rule["alert"]] = rule["labels"]
    (folder / "rules.json").write_text(json.dumps({"groups": groups}))  # JSON is YAML
    whole = {
        "rule_files": ["rules.json"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "alert_rule_test": list(expect(case, severities[case.alert])),
            }
            for case in CASES
        ],
    }
    (folder / "tests.json").write_text(json.dumps(whole))
    return set(severities)


def expect(case: Case, labels: dict[str, str]) -> Iterator[dict]:
    for minute in case.silent:
        yield {"eval_time": f"{minute}m", "alertname": case.alert}
    if case.fires is not None:
        yield {
            "eval_time": f"{case.fires}m",
            "alertname": case.alert,
            "exp_alerts": [{"exp_labels": labels | case.labels}],
        }


SCENARIOS = {"metrics-alerts": fire}
