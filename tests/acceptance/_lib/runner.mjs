// The command of a suite in JavaScript: which scenarios run, in what order, what is printed, and the exit code.
import fs from "node:fs";
import { parseArgs } from "node:util";
import { limit, setSlack, show, sleep } from "./expect.mjs";
import { stopAll } from "./server.mjs";

const COMMON = { list: { type: "boolean" }, json: { type: "string" }, slack: { type: "string" }, all: { type: "boolean" }, only: { type: "boolean" }, url: { type: "string" }, help: { type: "boolean", short: "h" } };
const say = (line) => process.stdout.write(line + "\n");
const fits = (pattern, { name }) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
const plain = (error) => show(error, 1200).replace(/\u001b\[\d+m/g, "").replace(/\s+/g, " ");

/**
 * Runs a suite and ends the process: 0 where nothing failed, 1 where something did, 2 where it could not be judged.
 *
 * - `scenarios`: each with `name`, `about` and `run(world)`; also `beyond` (the peer fails here) and `ownServer` (not with --url).
 * - `options`: more of `parseArgs`. With `reference` there is a peer. `selects(scenario, chosen)`: where no scenario is named.
 * - `describe(scenario, reason)`: its line of `--list`; `reason` is why it is skipped.
 * - `skips`: the file with the names of scenarios that are left out, each with its reason.
 * - `mayPeerPass`: a peer that passes a scenario which is `beyond` it is no failure.
 * - `open(chosen, wanted)`: starts what all scenarios share, and gives `world(scenario, atEnd, lane)`, what `run` is called with,
 *   and `close()`. When a scenario is over, `settle()` is called, if there is one, then what `atEnd` was given, last one first.
 */
export async function runSuite(suite) {
  const end = async (code) => { await stopAll().catch(() => {}); process.exit(code); };
  for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => end(130));
  let code = 2;
  try { code = await judgeAll(suite); } catch (error) { process.stderr.write(error.message + "\n"); }
  await end(code);
}

async function judgeAll({ usage, scenarios, options = {}, selects = () => true, describe, skips, limitMs, lanes = 1, explain = plain, mayPeerPass = false, open }) {
  const chosen = readOptions(usage, options);
  if (chosen.help) { say(usage); return 0; }
  const unknown = chosen.names.filter((pattern) => !scenarios.some((s) => fits(pattern, s)));
  if (unknown.length) throw new Error(`no such scenario: ${unknown.join(", ")} (--list names them)`);
  const named = scenarios.filter((s) => (chosen.names.length ? chosen.names.some((pattern) => fits(pattern, s)) : selects(s, chosen)));
  const left = readSkips(skips, chosen, scenarios), reasonOf = ({ name }) => left.get(name);
  if (chosen.list) { for (const s of named) say(describe(s, reasonOf(s))); return 0; }

  const started = Date.now(), results = [];
  const report = (result, note) => { results.push(result); say(`${result.status.padEnd(6)} ${result.name} (${(result.ms / 1000).toFixed(1)} s)${note ? ": " + note : ""}`); };
  for (const s of named.filter(reasonOf)) { results.push({ name: s.name, status: "skip", ms: 0, detail: reasonOf(s) }); say(`skip   ${s.name}  ${reasonOf(s)}`); }
  const wanted = named.filter((s) => !reasonOf(s));
  const shared = await open(chosen, wanted);

  async function judge(scenario, lane) {
    const begun = Date.now(), endings = [], result = { name: scenario.name, beyond: Boolean(scenario.beyond), ...(scenario.slice && { slice: scenario.slice }) };
    if (scenario.ownServer && chosen.url) return report({ ...result, status: "skip", ms: 0 }, "needs a server that the suite has started");
    const failsHere = Boolean(scenario.beyond && chosen.reference), isWrong = failsHere && !mayPeerPass, most = limit(limitMs);
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`expected an end within ${most / 1000} s; got none`)), most); });
    try {
      await Promise.race([scenario.run(shared.world(scenario, (ending) => endings.unshift(ending), lane)), late]);
      result.status = isWrong ? "FAIL" : "ok";
      if (isWrong) result.detail = "expected the peer to fail here (`beyond`); got a pass";
    } catch (error) {
      result.status = failsHere ? "beyond" : "FAIL";
      result.detail = explain(error);
    }
    clearTimeout(timer);
    await shared.settle?.();
    for (const ending of endings) await Promise.race([Promise.resolve().then(ending).catch(() => {}), sleep(30_000)]);
    report({ ...result, ms: Date.now() - begun }, result.detail);
  }
  const queue = [...wanted];
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => { while (queue.length) await judge(queue.shift(), lane); }));
  await shared.close();
  return conclude(results, chosen, Date.now() - started);
}

function readOptions(usage, options) {
  let parsed;
  try { parsed = parseArgs({ allowPositionals: true, options: { ...COMMON, ...options } }); } catch (error) { throw new Error(`${error.message}\n${usage}`); }
  const chosen = { ...parsed.values, names: parsed.positionals, url: parsed.values.url?.replace(/\/+$/, "") };
  if (chosen.slack) setSlack(Number(chosen.slack));
  if (chosen.url && chosen.reference) throw new Error("--url and --reference exclude each other");
  return chosen;
}

/** Why scenarios are left out, by name: what the file says, unless they are asked for, and what --skip names. */
function readSkips(file, chosen, scenarios) {
  const lines = file ? fs.readFileSync(file, "utf8").split("\n").map((line) => line.trim()) : [];
  const listed = lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split(/\s{2,}/, 2));
  const asked = (chosen.skip ?? []).flatMap((names) => names.split(",")).filter(Boolean).map((name) => [name, "asked for with --skip"]);
  for (const [name, reason] of [...listed, ...asked]) {
    if (!scenarios.some((s) => s.name === name)) throw new Error(`no such scenario to skip: ${name}`);
    if (!reason) throw new Error(`no reason to skip ${name}: it comes after the name and two spaces`);
  }
  const areWanted = chosen.all || chosen.reference || (chosen.names.length && !chosen.only);
  return new Map([...(areWanted ? [] : listed), ...asked]);
}

function conclude(results, chosen, ms) {
  const count = (status) => results.filter((result) => result.status === status).length;
  const [passed, failed, beyond, skipped] = ["ok", "FAIL", "beyond", "skip"].map(count);
  if (chosen.json) fs.writeFileSync(chosen.json, JSON.stringify({ passed, failed, beyond, skipped, ms, results }, null, 2) + "\n");
  if (beyond) say(`${beyond} beyond the peer, as expected`);
  say(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  return failed ? 1 : 0;
}
