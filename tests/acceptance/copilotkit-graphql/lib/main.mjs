// run [--url URL] [--reference] [--list] [--all] [--skip NAME,NAME] [--json FILE] [SCENARIO ...]
import fs from "node:fs";
import { parseArgs } from "node:util";
import { Driver } from "./client.mjs";
import { brief, same, Unmet } from "./expect.mjs";
import { skips } from "./skips.mjs";
import { World } from "./world.mjs";

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string" },
    reference: { type: "boolean" },
    list: { type: "boolean" },
    all: { type: "boolean" },
    skip: { type: "string", multiple: true },
    json: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});
if (options.help) {
  console.log("run [--url URL] [--reference] [--list] [--all] [--skip NAME,NAME] [--json FILE] [SCENARIO ...]   (SCENARIO may end in *)");
  process.exit(0);
}

const files = ["chat", "actions", "errors", "guardrails", "agents", "http", "clients", "browser"];
const all = [];
for (const file of files) {
  const { default: scenarios } = await import(`../scenarios/${file}.mjs`);
  all.push(...scenarios);
}
const picks = (name) => wanted.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
const chosen = wanted.length ? all.filter(({ name }) => picks(name)) : all;
const unknown = wanted.filter((pattern) => !pattern.endsWith("*") && !all.some(({ name }) => name === pattern));
if (unknown.length || !chosen.length) {
  console.error(`no such scenario: ${(unknown.length ? unknown : wanted).join(", ")}`);
  process.exit(2);
}
const left = options.all || options.reference ? new Map() : leftOut();
const skipped = ({ name }) => left.has(name) && !wanted.includes(name);
const judged = chosen.filter((scenario) => !skipped(scenario));
if (options.list) {
  for (const { name, about, beyond } of chosen) console.log(`${name.padEnd(40)} ${beyond ? "beyond" : "      "}  ${skipped({ name }) ? "skip" : "    "}  ${about}`);
  process.exit(0);
}

function leftOut() {
  try {
    return skips(all.map(({ name }) => name), options.skip);
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

process.on("unhandledRejection", () => {}); // the client rejects promises nobody waits for when a stream is cut
console.warn = () => {}; // and warns of every abort
const world = new World();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => world.end().then(() => process.exit(130)));

const outcomes = [];
const started = Date.now();
try {
  const remote = judged.some(({ needs }) => needs === "remote");
  await world.start({ given: options.url, reference: options.reference, remote });
  const driver = new Driver(world.base);
  for (const scenario of chosen) {
    if (skipped(scenario)) {
      const detail = left.get(scenario.name);
      outcomes.push({ name: scenario.name, outcome: "skip", beyond: Boolean(scenario.beyond), ms: 0, detail });
      console.log(`${"skip".padEnd(6)} ${scenario.name}  ${detail}`);
      continue;
    }
    const from = Object.fromEntries(["openai", "agui", "jsonlines", "guardrails", "mcp"].map((name) => [name, world[name].log.length]));
    const seen = (name) => world[name].log.slice(from[name]);
    const upstream = () => seen("openai");
    const asked = (count = 1) => (same("requests to the model", upstream().length, count), upstream()[0]);
    const context = { driver, world, seen, upstream, asked };
    const begun = Date.now();
    let detail;
    let timer;
    try {
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Unmet("the scenario took more than 30 s")), 30_000)));
      await Promise.race([scenario.run(context), late]);
    } catch (error) {
      detail = brief(error);
    } finally {
      clearTimeout(timer);
    }
    const outcome = !detail ? "ok" : options.reference && scenario.beyond ? "beyond" : "FAIL";
    outcomes.push({ name: scenario.name, outcome, beyond: Boolean(scenario.beyond), ms: Date.now() - begun, detail });
    const note = outcome === "ok" ? (options.reference && scenario.beyond ? "  (the peer was expected to fail here)" : "") : `  ${detail}`;
    console.log(`${outcome.padEnd(6)} ${scenario.name}${note}`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
} finally {
  await world.end();
}
const count = (which) => outcomes.filter(({ outcome }) => outcome === which).length;
if (options.json) {
  const target = options.url ?? (options.reference ? "reference" : "rightseat");
  const summary = { suite: "copilotkit-graphql", target, seconds: (Date.now() - started) / 1000, passed: count("ok"), failed: count("FAIL"), beyond: count("beyond"), skipped: count("skip"), scenarios: outcomes };
  fs.writeFileSync(options.json, `${JSON.stringify(summary, null, 2)}\n`);
}
if (options.reference) console.log(`${count("beyond")} beyond the peer`);
console.log(`${count("ok")} passed, ${count("FAIL")} failed${count("skip") ? `, ${count("skip")} skipped` : ""}`);
process.exit(process.exitCode || (count("FAIL") || outcomes.length < chosen.length ? 1 : 0));
