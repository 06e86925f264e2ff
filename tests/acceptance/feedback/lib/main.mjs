// What the scenarios are given, and what is started for them.
import { command } from "../../_lib/command.mjs";
import { unique } from "../../_lib/expect.mjs";
import { beginStream, endStream, planUnanswered, readQuestion, sendWhole, startChatServer } from "../../_lib/fake-openai.mjs";
import { portOf } from "../../_lib/ports.mjs";
import { runSuite } from "../../_lib/runner.mjs";
import { answersAt, OwnServer, serve } from "../../_lib/server.mjs";
import { beside } from "../scenarios/beside.mjs";
import { hostile } from "../scenarios/hostile.mjs";
import { operators } from "../scenarios/operators.mjs";
import { users } from "../scenarios/users.mjs";

const MAX_USERS = 240; // of configurations/feedback.py

function plan(body) {
  const { key, said } = readQuestion(body);
  return planUnanswered(body) ?? { key, text: `Hello there, this is an answer to ${said.slice(0, 200)}.` };
}

async function answer(res, body, { text }) {
  if (!body.stream) return sendWhole(res, body, text, []);
  const stream = beginStream(res, body);
  for (const word of text.match(/\S+\s*/g)) stream.delta({ content: word });
  endStream(res, body, stream, "stop");
}

async function open(chosen, wanted) {
  const openai = await startChatServer({ port: chosen.url ? portOf("RS_UPSTREAM_OPENAI") : 0, plan, answer, apiKey: "sk-fake" });
  const own = () => new OwnServer({ command: serve("feedback"), isUp: answersAt("/copilotkit/info"), env: { RS_UPSTREAM_OPENAI: openai.url } });
  const needsShared = wanted.some((scenario) => !scenario.ownServer);
  const server = chosen.url ? { url: chosen.url } : needsShared ? await own().start() : undefined;
  let users = 0;

  function world(scenario, atEnd) {
    return {
      url: server?.url, unique,
      /** A user that no other scenario uses. */
      user() {
        if (++users > MAX_USERS) throw new Error("no users left");
        const name = `u${String(users).padStart(3, "0")}`;
        return { name, key: `key-${name}` };
      },
      async ownServer() {
        const it = own();
        atEnd(() => it.stop());
        await it.start();
        return { url: it.url, command: (...words) => command("feedback", it, ...words) };
      },
    };
  }
  return { world, async close() { openai.close(); } };
}

await runSuite({
  usage: "run [--url URL] [--list] [--json FILE] [SCENARIO ...]",
  scenarios: [...users, ...hostile, ...operators, ...beside],
  describe: (s) => `${s.name.padEnd(26)} ${s.ownServer ? "[own server] " : ""}${s.about}`,
  limitMs: 120_000, lanes: Number(process.env.RS_LANES ?? 2), open,
});
