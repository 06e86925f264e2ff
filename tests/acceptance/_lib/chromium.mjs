// Chromium. Every name leads nowhere, but for this machine's and what `rules` map.
import fs from "node:fs";
import path from "node:path";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

export function findChromium() {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const places = [process.env.CHROMIUM, ...NAMES.flatMap((name) => [...folders, "/usr/bin"].map((folder) => path.join(folder, name)))];
  const found = places.find((place) => place && fs.existsSync(place));
  if (!found) throw new Error("no Chromium: install it (Debian: apt-get install -y chromium), or name it in CHROMIUM");
  return found;
}

/** playwright-core is one of the suite's packages. */
export async function launchChromium({ rules = [], flags = [] } = {}) {
  const { chromium } = await import("playwright-core");
  const resolve = [...rules, "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"].join(", ");
  return chromium.launch({ executablePath: findChromium(), args: [...FLAGS, ...flags, `--host-resolver-rules=${resolve}`] });
}
