// Command line, order of work, report.
import fs from "node:fs";
import { startFakeMcp } from "./fake-mcp.mjs";
import { startFakeOpenAI } from "./fake-openai.mjs";
import { Tab, launch } from "./browser.mjs";
import { startPage } from "./page-server.mjs";
import { OwnServer, stopAll } from "./server.mjs";
import { show, sleep, unique } from "./util.mjs";
import { Stream, call } from "./wire.mjs";
import { api } from "../scenarios/api.mjs";
import { beyond } from "../scenarios/beyond.mjs";
import { browser as inBrowser } from "../scenarios/browser.mjs";

const USAGE = "run [--url URL] [--reference] [--all] [--list] [--json FILE] [SCENARIO ...]   (SCENARIO may end in *; --only leaves out what skips.txt names)";
const SCENARIO_LIMIT_MS = 150_000;
const LANES = Number(process.env.RS_LANES ?? 2);
const say = (line) => process.stdout.write(line + "\n");
const scenarios = [...api, ...inBrowser, ...beyond.map((scenario) => ({ ...scenario, beyond: true }))];

const fits = (pattern, { name }) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
/** What is not built yet: name → reason. */
const skips = Object.fromEntries(
  fs.readFileSync(new URL("../skips.txt", import.meta.url), "utf8").split("\n").filter((line) => line.trim() && !line.startsWith("#")).map((line) => /^(\S+)\s+(.*)$/.exec(line).slice(1)),
);

function options(args) {
  const chosen = { names: [] };
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--url") chosen.url = args[++i]?.replace(/\/+$/, "");
    else if (args[i] === "--json") chosen.json = args[++i];
    else if (args[i] === "--reference") chosen.reference = true;
    else if (args[i] === "--list") chosen.list = true;
    else if (args[i] === "--all") chosen.all = true;
    else if (args[i] === "--only") chosen.only = true;
    else if (args[i].startsWith("-")) throw new Error(`unknown option ${args[i]}\n${USAGE}`);
    else chosen.names.push(args[i]);
  }
  const unknown = [...chosen.names.filter((name) => !scenarios.some((s) => fits(name, s))), ...Object.keys(skips).filter((name) => !scenarios.some((s) => s.name === name))];
  if (unknown.length) throw new Error(`no such scenario: ${unknown.join(", ")} (--list names them)`);
  if (chosen.url && chosen.reference) throw new Error("--url and --reference exclude each other");
  return chosen;
}

const portOf = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`with --url, ${name} must say where the judged server looks for that fake; it is started there`);
  return Number(new URL(value).port);
};

async function main() {
  const chosen = options(process.argv.slice(2));
  const named = scenarios.filter((s) => !chosen.names.length || chosen.names.some((pattern) => fits(pattern, s)));
  const keeps = (s) => chosen.all || chosen.reference || (chosen.names.length && !chosen.only) || !(s.name in skips);
  const wanted = named.filter(keeps);
  const left = named.filter((s) => !keeps(s));
  if (!chosen.list) for (const { name } of left) say(`skip   ${name}  ${skips[name]}`);
  if (chosen.list) { for (const s of wanted) say(`${s.name.padEnd(34)} ${s.beyond ? "beyond: " : ""}${s.about}`); return 0; }

  const started = Date.now();
  const openai = await startFakeOpenAI(chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0);
  const mcp = await startFakeMcp(chosen.url ? portOf("RS_REMOTE_MCP") : 0);
  const env = { RS_UPSTREAM_OPENAI: openai.url, RS_REMOTE_MCP: mcp.url };
  const own = () => new OwnServer({ reference: chosen.reference, env });
  const page = wanted.some((s) => s.browser) ? await startPage() : undefined;
  const server = chosen.url ? { url: chosen.url } : await own().start();
  let chromium;

  const results = [];
  async function judge(scenario, lane) {
    const tabs = [], servers = [], streams = [];
    const world = {
      openai, unique, reference: Boolean(chosen.reference), url: server.url,
      base: server.url + "/api/copilotkit", single: server.url + "/api/single", secure: server.url + "/secure",
      call,
      stream: async (...args) => { const stream = await Stream.open(...args); streams.push(stream); return stream; },
      async open(query = {}) {
        chromium ??= launch();
        const { runtime = world.base, ...rest } = query;
        const tab = await (await chromium).page(lane);
        tabs.push(tab);
        return Tab.open(tab, page.url + "?" + new URLSearchParams({ runtime, ...rest }));
      },
      /** A server of the scenario's own, where the suite may start one; else the judged one. */
      apart: () => (chosen.url ? server : world.ownServer()),
      async ownServer() { const it = own(); servers.push(it); await it.start(); return it; },
    };
    const begun = Date.now();
    const result = { name: scenario.name, beyond: Boolean(scenario.beyond) };
    if (scenario.ownServer && chosen.url) result.status = "skip";
    else {
      try {
        await Promise.race([scenario.run(world), sleep(SCENARIO_LIMIT_MS).then(() => { throw new Error(`expected an end within ${SCENARIO_LIMIT_MS / 1000} s; got none`); })]);
        result.status = scenario.beyond && chosen.reference ? "FAIL" : "ok";
        if (result.status === "FAIL") result.detail = "expected the peer to fail here (`beyond`); got a pass";
      } catch (error) {
        result.status = scenario.beyond && chosen.reference ? "beyond" : "FAIL";
        result.detail = show(error, 1200).replace(/\u001b\[\d+m/g, "").replace(/\s+/g, " ");
      }
    }
    for (const stream of streams) stream.drop();
    for (const tab of tabs) await tab.close().catch(() => {});
    for (const one of servers) await one.stop();
    result.ms = Date.now() - begun;
    results.push(result);
    const note = result.status === "skip" ? "needs a server that the suite has started" : result.detail;
    say(`${result.status.padEnd(6)} ${result.name} (${(result.ms / 1000).toFixed(1)} s)${note ? ": " + note : ""}`);
  }
  const queue = [...wanted];
  await Promise.all(Array.from({ length: LANES }, async (_, lane) => { while (queue.length) await judge(queue.shift(), lane); }));

  await (await chromium)?.close();
  await stopAll();
  page?.close(); openai.close(); mcp.close();
  const count = (status) => results.filter((r) => r.status === status).length;
  const passed = count("ok"), failed = count("FAIL");
  if (count("beyond")) say(`${count("beyond")} beyond the peer, as expected`);
  if (chosen.json) fs.writeFileSync(chosen.json, JSON.stringify({ passed, failed, beyond: count("beyond"), skipped: count("skip"), ms: Date.now() - started, results }, null, 2) + "\n");
  say(`${passed} passed, ${failed} failed${left.length ? `, ${left.length} skipped` : ""}`);
  return failed ? 1 : 0;
}

const end = async (code) => { await stopAll().catch(() => {}); process.exit(code); };
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => end(130));
main().then(end, (error) => { process.stderr.write(error.message + "\n"); return end(2); });
