// What the scenarios are given, and what is started for them.
import fs from "node:fs";
import path from "node:path";
import { command } from "../../_lib/command.mjs";
import { unique } from "../../_lib/expect.mjs";
import { startChatServer } from "../../_lib/fake-openai.mjs";
import { portOf } from "../../_lib/ports.mjs";
import { runSuite } from "../../_lib/runner.mjs";
import { answersAt, OwnServer, serve } from "../../_lib/server.mjs";
import { answer, plan } from "./model.mjs";
import { annotations } from "../scenarios/annotations.mjs";
import { beside } from "../scenarios/beside.mjs";
import { held } from "../scenarios/held.mjs";
import { live } from "../scenarios/live.mjs";
import { prompt } from "../scenarios/prompt.mjs";
import { users } from "../scenarios/users.mjs";

const MAX_USERS = 240; // of configurations/feedback.py

async function open(chosen, wanted) {
  const openai = await startChatServer({ port: chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0, plan, answer, apiKey: "sk-fake" });
  const own = (env = {}) => new OwnServer({ command: serve("memories"), isUp: answersAt("/copilotkit/info"), env: { RS_UPSTREAM_OPENAI: openai.url, ...env } });
  const needsShared = wanted.some((scenario) => !scenario.ownServer);
  const server = chosen.url ? { url: chosen.url } : needsShared ? await own().start() : undefined;
  let users = 0;

  function world(scenario, atEnd) {
    return {
      url: server?.url, unique,
      /** The bodies of the requests to the model whose question had [KEY]. */
      requests: (key) => openai.requests(key).map((entry) => entry.body),
      /** A user that no other scenario uses. */
      user() {
        if (++users > MAX_USERS) throw new Error("no users left");
        const name = `u${String(users).padStart(3, "0")}`;
        return { name, key: `key-${name}` };
      },
      async ownServer(env) {
        const it = own(env);
        atEnd(() => it.stop());
        await it.start();
        return {
          get url() { return it.url; },
          command: (...words) => command("memories", it, ...words),
          async restart() { await it.kill(); await it.start(); },
          /** The files of its state folder that have the text. */
          filesWith: (text) => fs.readdirSync(it.stateDir, { recursive: true }).filter((name) => { const file = path.join(it.stateDir, String(name)); try { return fs.statSync(file).isFile() && fs.readFileSync(file).includes(text); } catch { return false; } }),
          folder: it.folder,
        };
      },
    };
  }
  return { world, async close() { openai.close(); } };
}

await runSuite({
  usage: "run [--url URL] [--list] [--json FILE] [--all] [SCENARIO ...]",
  scenarios: [...users, ...prompt, ...held, ...beside, ...annotations, ...live],
  describe: (s, reason) => `${s.name.padEnd(26)} ${s.ownServer ? "[own server] " : ""}${s.about}${reason ? ` [skipped: ${reason}]` : ""}`,
  skips: path.resolve("tests/acceptance/memories/skips.txt"),
  limitMs: 120_000, lanes: Number(process.env.RS_LANES ?? 2), open,
});
