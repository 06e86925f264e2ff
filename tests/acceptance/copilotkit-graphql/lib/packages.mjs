// What the suite has installed: packages of Node beside it, and an environment of Python where a scenario needs that.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const SUITE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const need = createRequire(import.meta.url); // only when a scenario runs: `--list` works without packages

/** The interpreter that has the packages of the remote endpoint. */
export function findPython() {
  const home = "tests/acceptance";
  const words = [`${home}/_lib/prepare.py`, `${home}/copilotkit-graphql`, `${home}/copilotkit-graphql/requirements.txt`];
  return execFileSync("python3", words, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}
