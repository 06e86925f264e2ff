// What the scenarios are given, and what is started for them.
import { fileURLToPath } from "node:url";
import { unique } from "../../_lib/expect.mjs";
import { startFakeOpenAI } from "../../_lib/fake-openai.mjs";
import { portOf } from "../../_lib/ports.mjs";
import { runSuite } from "../../_lib/runner.mjs";
import { answersAt, OwnServer, peer, serve } from "../../_lib/server.mjs";
import { Tab, launch } from "./browser.mjs";
import { startFakeMcp } from "./fake-mcp.mjs";
import { startPage } from "./page-server.mjs";
import { plan } from "./prompts.mjs";
import { Stream, call } from "./wire.mjs";
import { api } from "../scenarios/api.mjs";
import { beyond } from "../scenarios/beyond.mjs";
import { browser as inBrowser } from "../scenarios/browser.mjs";

const REFERENCE = fileURLToPath(new URL("../reference/runtime.mjs", import.meta.url));
const routes = { "/v1/audio/transcriptions": (raw) => ({ text: raw.length ? "transcribed audio" : "" }) };

async function open(chosen, wanted) {
  const openai = await startFakeOpenAI({ port: chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0, plan, routes, wordMs: 15 });
  const mcp = await startFakeMcp(chosen.url ? portOf("RS_REMOTE_MCP") : 0);
  const env = { RS_UPSTREAM_OPENAI: openai.url, RS_REMOTE_MCP: mcp.url, COPILOTKIT_TELEMETRY_DISABLED: "true" };
  const command = chosen.reference ? peer(REFERENCE) : chosen.url ? undefined : serve("copilotkit-current");
  const own = () => new OwnServer({ command, isUp: answersAt("/api/copilotkit/info"), env });
  const page = wanted.some((s) => s.browser) ? await startPage() : undefined;
  const server = chosen.url ? { url: chosen.url } : await own().start();
  let chromium;

  function world(scenario, atEnd, lane) {
    const given = {
      openai, unique, reference: Boolean(chosen.reference), url: server.url,
      base: server.url + "/api/copilotkit", single: server.url + "/api/single", secure: server.url + "/secure",
      call,
      stream: async (...args) => { const stream = await Stream.open(...args); atEnd(() => stream.drop()); return stream; },
      async open(query = {}) {
        const { runtime = given.base, ...rest } = query;
        const tab = await (await (chromium ??= launch())).page(lane);
        atEnd(() => tab.close());
        return Tab.open(tab, page.url + "?" + new URLSearchParams({ runtime, ...rest }));
      },
      async ownServer() { const it = own(); atEnd(() => it.stop()); return it.start(); },
      /** A server of the scenario's own, where the suite may start one; else the judged one. */
      apart() { return chosen.url ? server : given.ownServer(); },
    };
    return given;
  }
  return { world, async close() { await (await chromium)?.close(); page?.close(); openai.close(); mcp.close(); } };
}

await runSuite({
  usage: "run [--url URL] [--reference] [--all] [--list] [--json FILE] [SCENARIO ...]   (SCENARIO may end in *; --only leaves out what skips.txt names)",
  scenarios: [...api, ...inBrowser, ...beyond.map((scenario) => ({ ...scenario, beyond: true }))],
  options: { reference: { type: "boolean" } },
  skips: new URL("../skips.txt", import.meta.url),
  describe: (s) => `${s.name.padEnd(34)} ${s.beyond ? "beyond: " : ""}${s.about}`,
  limitMs: 150_000, lanes: Number(process.env.RS_LANES ?? 2), open,
});
