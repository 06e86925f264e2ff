// Which scenarios are left out, and why: `skips.txt`, and what --skip names.
import fs from "node:fs";
import path from "node:path";
import { SUITE } from "./packages.mjs";

/** A map from the name of a scenario to the reason. */
export function skips(known, given = []) {
  const lines = fs.readFileSync(path.join(SUITE, "skips.txt"), "utf8").split("\n").map((line) => line.trim());
  const listed = lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split(/\s{2,}/, 2));
  const named = given.flatMap((names) => names.split(",")).filter(Boolean).map((name) => [name, "asked for with --skip"]);
  const found = [...listed, ...named];
  const stale = found.filter(([name]) => !known.includes(name)).map(([name]) => name);
  if (stale.length) throw new Error(`no such scenario to skip: ${stale.join(", ")}`);
  const silent = found.filter(([, reason]) => !reason).map(([name]) => name);
  if (silent.length) throw new Error(`skips.txt gives no reason for: ${silent.join(", ")}`);
  return new Map(found);
}
