// Command line, order of work, report.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Watch, launch } from "./browser.mjs";
import { Console, record } from "./console.mjs";
import { startFakeApi } from "./fake-api.mjs";
import { startFakeOpenAI } from "./fake-openai.mjs";
import { startPage, startProxy } from "./proxies.mjs";
import { writeSeed } from "./seed.mjs";
import { OwnServer, stopAll } from "./server.mjs";
import { limit, setSlack, show, sleep, unique } from "./util.mjs";
import { Api } from "./wire.mjs";
import { loading } from "../scenarios/loading.mjs";
import { chat } from "../scenarios/chat.mjs";
import { staying } from "../scenarios/staying.mjs";
import { questions } from "../scenarios/questions.mjs";
import { flows } from "../scenarios/flows.mjs";
import { timeline } from "../scenarios/timeline.mjs";
import { threads } from "../scenarios/threads.mjs";
import { rights } from "../scenarios/rights.mjs";
import { safety } from "../scenarios/safety.mjs";
import { workbench } from "../scenarios/workbench.mjs";
import { operating } from "../scenarios/operating.mjs";
import { everyone } from "../scenarios/everyone.mjs";

const USAGE = "run [--url URL] [--slice N or N-M] [--slack F] [--list] [--json FILE] [SCENARIO ...]";
const SCENARIO_LIMIT_MS = 180_000;
const say = (line) => process.stdout.write(line + "\n");
const scenarios = [...loading, ...chat, ...staying, ...questions, ...flows, ...timeline, ...threads, ...rights, ...safety, ...workbench, ...operating, ...everyone];

function options(args) {
  const chosen = { names: [], from: 1, to: 5 };
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--url") chosen.url = args[++i]?.replace(/\/+$/, "");
    else if (args[i] === "--json") chosen.json = args[++i];
    else if (args[i] === "--list") chosen.list = true;
    else if (args[i] === "--slack") setSlack(Number(args[++i]));
    else if (args[i] === "--slice") {
      const found = /^([1-5])(?:-([1-5]))?$/.exec(args[++i] ?? "");
      if (!found) throw new Error(`--slice wants a number from 1 to 5, or two as 1-3\n${USAGE}`);
      [chosen.from, chosen.to] = [Number(found[1]), Number(found[2] ?? found[1])];
    } else if (args[i].startsWith("-")) throw new Error(`unknown option ${args[i]}\n${USAGE}`);
    else chosen.names.push(args[i]);
  }
  const unknown = chosen.names.filter((name) => !scenarios.some((s) => s.name === name));
  if (unknown.length) throw new Error(`no such scenario: ${unknown.join(", ")} (--list names them)`);
  return chosen;
}

const portOf = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`with --url, ${name} must say where the judged server looks for that fake; it is started there`);
  return Number(new URL(value).port);
};

async function main() {
  const chosen = options(process.argv.slice(2));
  const wanted = scenarios.filter((s) => (chosen.names.length ? chosen.names.includes(s.name) : s.slice >= chosen.from && s.slice <= chosen.to));
  if (chosen.list) { for (const s of wanted) say(`${s.slice}  ${s.name.padEnd(24)} ${s.about}`); return 0; }

  const started = Date.now();
  const openai = await startFakeOpenAI(chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0);
  const api = await startFakeApi(chosen.url ? portOf("RS_UPSTREAM_API") : 0);
  const sister = await startPage("<!doctype html><title>another page</title><p>another page");
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "rs-console-suite-"));
  const own = (env) => new OwnServer({ openai, api, sister: `http://page.sister.test:${sister.port}`, env });
  const shared = new Map(); // servers that several scenarios look at, by their name
  const sharedServer = (name, env) => { if (!shared.has(name)) shared.set(name, own(env()).start()); return shared.get(name); };
  const keyed = () => (chosen.url ? Promise.resolve({ url: chosen.url, foreign: true }) : sharedServer("keys", () => ({})));
  let chromium;

  const results = [];
  async function judge(scenario) {
    const contexts = [], servers = [], closers = [];
    const world = {
      openai, api, sister, unique, record, scratch, slice: chosen.to, url: chosen.url,
      /** The server with keys; one without; one with 10,000 threads. All three are shared by scenarios. */
      keyed,
      open: () => sharedServer("open", () => ({ RS_CONSOLE_MODE: "open" })),
      seeded: () => sharedServer("seeded", () => { const file = path.join(scratch, "seed.ndjson"); writeSeed(file); return { RS_SEED: file }; }),
      async ownServer(env = {}, { start = true } = {}) { const it = own(env); servers.push(it); if (start) await it.start(); return it; },
      api_: (server, user) => new Api(server, user && `key-${user}`),
      async proxy(...args) { const it = await startProxy(...args); closers.push(it); return it; },
      async page(html) { const it = await startPage(html); closers.push(it); return it; },
      async fakeOpenAI(port) { const it = await startFakeOpenAI(port); closers.push(it); return it; },
      /** A browser of its own, with one tab; `user` signs in. */
      async browser({ user, at, route = "chat", more, ready = true } = {}) {
        chromium ??= launch();
        const url = at ?? (await keyed()).url;
        const context = await (await chromium).context(more);
        contexts.push(context);
        const watch = await Watch.over(context, new URL(url).origin);
        const tab = new Console(await context.newPage(), url, watch);
        tab.context = context;
        tab.another = async (there = "chat") => { const next = new Console(await context.newPage(), url, watch); next.context = context; await next.open(there); return next; };
        await tab.open(user ? "chat" : route);
        if (user) { await tab.signIn(`key-${user}`); if (route !== "chat") await tab.open(route); }
        if (ready && (user || route === "chat")) await tab.ready();
        return tab;
      },
    };
    const begun = Date.now();
    const result = { name: scenario.name, slice: scenario.slice };
    if (scenario.ownServer && chosen.url) result.status = "skip";
    else {
      let timer;
      const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`expected an end within ${limit(SCENARIO_LIMIT_MS) / 1000} s; got none`)), limit(SCENARIO_LIMIT_MS)); });
      try { await Promise.race([scenario.run(world), late]); result.status = "ok"; }
      catch (error) { result.status = "FAIL"; result.detail = show(error, 1200).replace(/\u001b\[\d+m/g, "").replace(/\s+/g, " "); }
      clearTimeout(timer);
    }
    api.free(); openai.refuseAll(null);
    for (const context of contexts) await Promise.race([context.close().catch(() => {}), sleep(5000)]);
    for (const one of servers) await one.stop();
    for (const one of closers) one.close();
    result.ms = Date.now() - begun;
    results.push(result);
    const note = result.status === "skip" ? "needs a server that the suite has started" : result.detail;
    say(`${result.status.padEnd(6)} ${result.name} (${(result.ms / 1000).toFixed(1)} s)${note ? ": " + note : ""}`);
  }
  for (const scenario of wanted) await judge(scenario);

  await (await chromium)?.close();
  await stopAll();
  openai.close(); api.close(); sister.close();
  fs.rmSync(scratch, { recursive: true, force: true });
  const count = (status) => results.filter((r) => r.status === status).length;
  const passed = count("ok"), failed = count("FAIL");
  if (chosen.json) fs.writeFileSync(chosen.json, JSON.stringify({ passed, failed, skipped: count("skip"), ms: Date.now() - started, results }, null, 2) + "\n");
  say(`${passed} passed, ${failed} failed`);
  return failed ? 1 : 0;
}

const end = async (code) => { await stopAll().catch(() => {}); process.exit(code); };
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => end(130));
main().then(end, (error) => { process.stderr.write(error.message + "\n"); return end(2); });
