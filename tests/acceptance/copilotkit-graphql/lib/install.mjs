// The suite's dependencies live in a cache folder outside the repo; they are installed again when their pins change.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const SUITE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const home = process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
export const CACHE = path.join(home, "rightseat", "acceptance", path.basename(SUITE));
export const need = createRequire(path.join(CACHE, "package.json"));
export const PYTHON = path.join(CACHE, "venv", "bin", "python");
export const CHROMIUM =
  process.env.CHROMIUM ||
  ["chromium", "chromium-browser", "google-chrome"]
    .flatMap((name) => (process.env.PATH ?? "").split(path.delimiter).map((folder) => path.join(folder, name)))
    .find((file) => fs.existsSync(file));

const must = (command, args) => {
  const { status, error } = spawnSync(command, args, { cwd: CACHE, stdio: ["ignore", 2, 2] });
  if (error || status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error ?? `exit ${status}`}`);
};

function once(stamp, sources, install) {
  const file = path.join(CACHE, stamp);
  const hash = createHash("sha256");
  for (const source of sources) hash.update(fs.readFileSync(path.join(SUITE, source)));
  const wanted = hash.digest("hex");
  if (fs.existsSync(file) && fs.readFileSync(file, "utf8") === wanted) return;
  console.error(`installing ${sources.at(-1)} into ${CACHE}`);
  for (const source of sources) fs.copyFileSync(path.join(SUITE, source), path.join(CACHE, source));
  install();
  fs.writeFileSync(file, wanted);
}

/** `remote`: a scenario needs the remote endpoint, which is a Python program. */
export function install({ remote }) {
  fs.mkdirSync(CACHE, { recursive: true });
  once(".npm-installed", ["package.json", "package-lock.json"], () => {
    for (const file of fs.readdirSync(CACHE)) if (file.startsWith("bundle-")) fs.rmSync(path.join(CACHE, file));
    must("npm", ["ci", "--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts", "--loglevel=error"]);
  });
  if (!remote) return;
  once(".pip-installed", ["requirements.txt"], () => {
    must("python3", ["-m", "venv", "venv"]);
    must(PYTHON, ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", "requirements.txt"]);
  });
}
