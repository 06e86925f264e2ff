// What the scenarios are given, and what is started for them.
import { runSuite } from "../../_lib/runner.mjs";
import { Driver } from "./client.mjs";
import { brief, same } from "./expect.mjs";
import { World } from "./world.mjs";

const FILES = ["chat", "actions", "errors", "guardrails", "agents", "http", "clients", "browser"];
const scenarios = [];
for (const file of FILES) scenarios.push(...(await import(`../scenarios/${file}.mjs`)).default);

process.on("unhandledRejection", () => {}); // the client rejects promises nobody waits for when a stream is cut
console.warn = () => {}; // and warns of every abort

async function open(chosen, wanted) {
  const world = new World();
  try {
    await world.start({ given: chosen.url, reference: chosen.reference, remote: wanted.some(({ needs }) => needs === "remote") });
  } catch (error) {
    await world.end();
    throw error;
  }
  const driver = new Driver(world.base);
  function context() {
    const from = Object.fromEntries(["openai", "agui", "jsonlines", "guardrails", "mcp"].map((name) => [name, world[name].log.length]));
    const seen = (name) => world[name].log.slice(from[name]);
    const upstream = () => seen("openai");
    const asked = (count = 1) => (same("requests to the model", upstream().length, count), upstream()[0]);
    return { driver, world, seen, upstream, asked };
  }
  return { world: context, close: () => world.end() };
}

await runSuite({
  usage: "run [--url URL] [--reference] [--list] [--all] [--skip NAME,NAME] [--json FILE] [SCENARIO ...]   (SCENARIO may end in *)",
  scenarios, options: { reference: { type: "boolean" }, skip: { type: "string", multiple: true } },
  skips: new URL("../skips.txt", import.meta.url),
  describe: ({ name, about, beyond }, reason) => `${name.padEnd(40)} ${beyond ? "beyond" : "      "}  ${reason ? "skip" : "    "}  ${about}`,
  limitMs: 30_000, explain: brief, mayPeerPass: true, open,
});
