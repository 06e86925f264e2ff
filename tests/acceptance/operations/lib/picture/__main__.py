"""Takes docs/images/dashboard.png: PYTHONPATH=tests/acceptance/operations/lib python -m picture [--minutes 8]

Three servers stream for some minutes, with a queue, an outage of PostgreSQL and a killed server, and a real Prometheus
scrapes them. The panels of deploy/grafana/rightseat.json are then drawn from its answers with Grafana's own components
(`@grafana/ui`), in Chromium: Grafana itself is in no registry that the project uses. Needs node, npm and Chromium.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[5]
sys.path.insert(0, str(PROJECT))

import aiohttp
from model import Script
from runs import complete
from scenarios.metrics import Prometheus, rules
from scenarios.outages import prepare
from stage import Settings, Stage, World

HERE = Path(__file__).parent
DASHBOARD = PROJECT / "deploy" / "grafana" / "rightseat.json"
PICTURE = PROJECT / "docs" / "images" / "dashboard.png"
PACKAGES = ("@grafana/ui@11.6.0", "@grafana/data@11.6.0", "react@18.3.1", "react-dom@18.3.1", "esbuild@0.25.0")
SCRAPE_S = 5
OUTAGE_S = 12
DOWN_S = 25
WIDTH, ROW = 1500, 38
LIMIT = {
    "name": "everyone",
    "subject": "everyone",
    "concurrent_runs": 22,
    "on_exceed": "queue",
    "queue": {"wait": 30, "most": 100},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="picture")
    parser.add_argument("--minutes", type=float, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        data = asyncio.run(play(folder, options.minutes * 60))
        draw(folder, data)


async def play(folder: Path, seconds: float) -> dict:
    world = World(folder, Settings())
    await world.model.start()
    try:
        async with world.stage("dashboard") as stage:
            await prepare(stage, limits=[LIMIT])
            prometheus = await stage.launch(scraper(stage))
            began, wall = time.monotonic(), time.time()
            load = asyncio.create_task(stream(stage, began, seconds))
            await asyncio.sleep(0.45 * seconds)
            stage.database_proxy.cut()
            await asyncio.sleep(OUTAGE_S)
            stage.database_proxy.heal()
            await asyncio.sleep(0.25 * seconds)
            victim = stage.servers[2]
            await stage.people([victim, *stage.servers[:2]]).start(12, 60, 3.0)
            victim.kill()
            await asyncio.sleep(DOWN_S)
            victim.launch()
            await load
            return await ask(prometheus, wall)
    finally:
        await world.stop()


def scraper(stage: Stage) -> Prometheus:
    prometheus = Prometheus(stage.world.folder, [], rules())
    whole = json.loads(prometheus.file.read_text())
    whole["global"] = {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"}
    whole["scrape_configs"][0]["static_configs"] = [
        {"targets": [f"127.0.0.1:{server.port}"], "labels": {"instance": f"server-{number}:8000"}}
        for number, server in enumerate(stage.servers, 1)
    ]
    prometheus.file.write_text(json.dumps(whole))
    return prometheus


async def stream(stage: Stage, began: float, seconds: float) -> None:
    """A few runs each six seconds; for a while more than the limit lets run at once."""
    tasks = []
    while (share := (time.monotonic() - began) / seconds) < 0.95:
        living = [server for server in stage.servers if server.is_alive()]
        crowd = stage.people(random.sample(living, k=len(living)))
        is_burst = 0.25 < share < 0.34 and len(tasks) % 3 == 0
        tasks.append(asyncio.create_task(crowd.start(24 if is_burst else 4, 60, 6.0)))
        tasks.append(asyncio.create_task(chat(random.choice(living).url)))
        await asyncio.sleep(6)
    await asyncio.gather(*tasks, return_exceptions=True)


async def chat(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(complete(session, url, Script(uuid.uuid4().hex[:8], 20, 10.0)) for _ in range(3)))


async def ask(prometheus: Prometheus, wall: float) -> dict:
    """What Grafana asks, by panel."""
    found, end = {}, time.time()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{prometheus.port}") as session:
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            [target] = panel["targets"]
            query = target["expr"].replace("$__rate_interval", f"{4 * SCRAPE_S}s")
            times = {"start": wall, "end": end, "step": SCRAPE_S} if panel["type"] == "timeseries" else {"time": end - 2}
            path = "/api/v1/query_range" if "step" in times else "/api/v1/query"
            async with session.get(path, params={"query": query} | {key: str(at) for key, at in times.items()}) as answer:
                found[panel["id"]] = (await answer.json())["data"]["result"]
    return {"from": wall, "to": end, "panels": found}


def draw(folder: Path, data: dict) -> None:
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium), nor named in CHROMIUM")
    panels = json.loads(DASHBOARD.read_text())["panels"]
    height = ROW * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    for name in ("page.jsx", "scrollbars.cjs", "index.html"):
        shutil.copy(HERE / name, folder)
    shutil.copy(DASHBOARD, folder / "dashboard.json")
    (folder / "data.json").write_text(json.dumps(data))
    (folder / "package.json").write_text('{"private": true}')
    npm = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error")
    subprocess.run([*npm, *PACKAGES], cwd=folder, check=True)
    loaders = [f"--loader:.{kind}=dataurl" for kind in ("svg", "woff2", "ttf")]
    names = ['--define:process.env.NODE_ENV="production"', "--define:global=window"]
    # Its own way to export a default is not what the packages of Grafana expect.
    alias = "--alias:react-custom-scrollbars-2=./scrollbars.cjs"
    bundle = [folder / "node_modules/.bin/esbuild", "page.jsx", "--bundle", "--outfile=page.js", "--log-level=error"]
    subprocess.run([*bundle, *loaders, *names, alias], cwd=folder, check=True)
    size = (f"--window-size={WIDTH},{height}", "--hide-scrollbars", f"--screenshot={PICTURE}")
    rights = ("--no-sandbox", "--allow-file-access-from-files", "--virtual-time-budget=15000")
    page = f"file://{folder}/index.html"
    subprocess.run([browser, "--headless=new", "--disable-gpu", *size, *rights, page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
