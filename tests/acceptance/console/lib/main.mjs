// What the scenarios are given, and what is started for them.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { sleep, unique } from "../../_lib/expect.mjs";
import { portOf } from "../../_lib/ports.mjs";
import { runSuite } from "../../_lib/runner.mjs";
import { Watch, launch } from "./browser.mjs";
import { Console, record } from "./console.mjs";
import { startFakeApi } from "./fake-api.mjs";
import { startFakeOpenAI } from "./fake-openai.mjs";
import { startPage, startProxy } from "./proxies.mjs";
import { writeSeed } from "./seed.mjs";
import { makeServer } from "./server.mjs";
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
import { cases } from "../scenarios/cases.mjs";
import { feedback } from "../scenarios/feedback.mjs";
import { memories } from "../scenarios/memories.mjs";

const USAGE = "run [--url URL] [--slice N or N-M] [--slack F] [--list] [--json FILE] [SCENARIO ...]";
const scenarios = [...loading, ...chat, ...staying, ...questions, ...flows, ...timeline, ...threads, ...rights, ...safety, ...workbench, ...operating, ...feedback, ...memories, ...cases, ...everyone];

function readSlice(text = "1-5") {
  const found = /^([1-5])(?:-([1-5]))?$/.exec(text);
  if (!found) throw new Error(`--slice wants a number from 1 to 5, or two as 1-3\n${USAGE}`);
  return { from: Number(found[1]), to: Number(found[2] ?? found[1]) };
}

async function open(chosen) {
  const { to } = readSlice(chosen.slice);
  const openai = await startFakeOpenAI(chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0);
  const api = await startFakeApi(chosen.url ? portOf("RS_UPSTREAM_API") : 0);
  const sister = await startPage("<!doctype html><title>another page</title><p>another page");
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "rs-console-suite-"));
  const own = (env) => makeServer({ openai, api, sister: `http://page.sister.test:${sister.port}`, env });
  const shared = new Map(); // servers that several scenarios look at, by their name
  const sharedServer = (name, env) => { if (!shared.has(name)) shared.set(name, own(env()).start()); return shared.get(name); };
  const keyed = () => (chosen.url ? Promise.resolve({ url: chosen.url, foreign: true }) : sharedServer("keys", () => ({})));
  let chromium;

  function world(scenario, atEnd) {
    return {
      openai, api, sister, unique, record, scratch, slice: to, url: chosen.url,
      /** The server with keys; one without; one with 10,000 threads. All three are shared by scenarios. */
      keyed,
      open: () => sharedServer("open", () => ({ RS_CONSOLE_MODE: "open" })),
      seeded: () => sharedServer("seeded", () => { const file = path.join(scratch, "seed.ndjson"); writeSeed(file); return { RS_SEED: file }; }),
      async ownServer(env = {}, { start = true } = {}) { const it = own(env); atEnd(() => it.stop()); if (start) await it.start(); return it; },
      api_: (server, user) => new Api(server, user && `key-${user}`),
      async proxy(...args) { const it = await startProxy(...args); atEnd(() => it.close()); return it; },
      async page(html) { const it = await startPage(html); atEnd(() => it.close()); return it; },
      async fakeOpenAI(port) { const it = await startFakeOpenAI(port); atEnd(() => it.close()); return it; },
      /** A browser of its own, with one tab; `user` signs in. */
      async browser({ user, at, route = "chat", more, ready = true } = {}) {
        const url = at ?? (await keyed()).url;
        const context = await (await (chromium ??= launch())).context(more);
        atEnd(() => Promise.race([context.close(), sleep(5000)]));
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
  }
  async function close() {
    await (await chromium)?.close();
    openai.close(); api.close(); sister.close();
    fs.rmSync(scratch, { recursive: true, force: true });
  }
  return { world, settle() { api.free(); openai.refuseAll(null); }, close };
}

await runSuite({
  usage: USAGE, scenarios, options: { slice: { type: "string" } },
  selects(s, chosen) { const { from, to } = readSlice(chosen.slice); return s.slice >= from && s.slice <= to; },
  describe: (s) => `${s.slice}  ${s.name.padEnd(24)} ${s.about}`,
  limitMs: 180_000, open,
});
